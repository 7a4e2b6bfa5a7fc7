/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples by the kernel's task clock (perf_event_open), which needs neither a performance monitoring unit nor more
 * rights than kernel.perf_event_paranoid 2. Time in the kernel is not sampled. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "harness/profile/record.h"

struct carm_perf;

/* Samples a process, its threads and children from its next exec on: one ring for each processor.
 * pid 0 is the calling process, to try whether sampling works here.
 * hz  samples for each second of processor time
 * returns 0, -CARM_ENOTSUP (says what forbids it), -CARM_ENOMEM */
int carm_perf_open(struct carm_perf **out, pid_t pid, unsigned hz, struct carm_err *err);
void carm_perf_close(struct carm_perf *perf); /* NULL allowed */

/* Passes on the new records up to a time, in order of time. Later records stay.
 * returns the number of lost samples */
uint64_t carm_perf_read(struct carm_perf *perf, uint64_t until_ns,
                        void (*take)(void *arg, const struct carm_record *record), void *arg);

/* The number of samples lost since the begin. Counts also losses of a ring that stayed full
 * until the end, which has no record of them. 0 before Linux 6.0. */
uint64_t carm_perf_lost(const struct carm_perf *perf);
