/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The description of this machine in a model. */
#pragma once

#include "harness/machine/clock.h"
#include "harness/machine/cpu.h"
#include "harness/machine/topo.h"
#include "models/model.h"

/* Fills in everything except the page size, which is known after buffers were written. Caches
 * larger than memory are left out. */
void carm_machine_describe(struct carm_machine *machine, const struct carm_cpu *cpu,
                           const struct carm_topo *topo, const struct carm_clock *clock);

/* Whether a model was measured on this machine: 0, or -CARM_EINVAL with the difference (host,
 * CPU, caches). here: from carm_machine_describe */
int carm_machine_check(const struct carm_machine *here, const struct carm_machine *model,
                       struct carm_err *err);
