/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples by the kernel's task clock (perf_event_open), which needs neither a performance monitoring unit nor more
 * rights than kernel.perf_event_paranoid 2. Time in the kernel is not sampled. */
#ifndef CARM_HARNESS_PROFILE_PERF_H
#define CARM_HARNESS_PROFILE_PERF_H

#include <sys/types.h>

#include "base/err.h"
#include "harness/profile/record.h"

struct carm_perf;

/* Samples a process, its threads and children from its next exec on: one ring for each processor. Process 0 is the
 * caller's, which shows whether it works here.
 * hz  samples for each second of processor time
 * returns 0, -CARM_ENOTSUP (says what forbids it), -CARM_ENOMEM */
int carm_perf_open(struct carm_perf **out, pid_t pid, unsigned hz, struct carm_err *err);
void carm_perf_close(struct carm_perf *perf); /* NULL allowed */

/* Gives what has come since, in order of time, up to a time; later records stay.
 * returns how many samples were lost */
uint64_t carm_perf_read(struct carm_perf *perf, uint64_t until_ns,
                        void (*take)(void *arg, const struct carm_record *record), void *arg);

/* How many were lost since the begin, also by rings that had no room until the end and so hold no record of it; 0
 * before Linux 6.0. */
uint64_t carm_perf_lost(const struct carm_perf *perf);

#endif
