/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples by a timer on each thread's clock, where perf_event_open is forbidden: a shared object
 * (preload.c), which LD_PRELOAD loads into the program and its children. Statically linked and
 * set-user-id programs do not load it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "harness/profile/record.h"

struct carm_timer;

/* Creates the ring and the environment for the program.
 * hz  samples for each second of processor time; the kernel gives at most one for each of its ticks
 * returns 0, -CARM_ENOTSUP (no files in memory), -CARM_ENOMEM */
int carm_timer_open(struct carm_timer **out, unsigned hz, struct carm_err *err);
void carm_timer_close(struct carm_timer *timer); /* NULL allowed */

/* The environment for the program; owned by the timer. */
char *const *carm_timer_environment(const struct carm_timer *timer);

/* The ring with its counters; owned by the timer. */
const struct carm_slots *carm_timer_slots(const struct carm_timer *timer);

/* Passes on the new records.
 * last  the program has ended: unfinished records are skipped */
void carm_timer_read(struct carm_timer *timer, bool last,
                     void (*take)(void *arg, const struct carm_record *record), void *arg);
