/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes between last-level cache and DRAM during an interval, summed over the sockets' memory
 * controllers. Needs performance counters of the memory controllers. */
#pragma once

#include "harness/count/counters.h"
#include "harness/machine/cpu.h"

struct carm_dram;

/* Opens this processor's socket counters with whatever provider can read them.
 * returns 0; -CARM_ENOTSUP with the reason (no such counters, no recipe, no right to read them);
 * -CARM_ENOMEM */
int carm_dram_open(struct carm_dram **out, const struct carm_cpu *cpu, struct carm_err *err);

/* carm_dram_open with open counters, which are borrowed until carm_dram_close. */
int carm_dram_open_with(struct carm_dram **out, struct carm_counters *counters,
                        struct carm_err *err);

/* From start to stop; other programs on the sockets count, too.
 * bytes  out: read and written
 * returns 0, -CARM_ENOTSUP */
int carm_dram_start(struct carm_dram *dram, struct carm_err *err);
int carm_dram_stop(struct carm_dram *dram, double *bytes, struct carm_err *err);

void carm_dram_close(struct carm_dram *dram); /* NULL allowed */
