/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of a kernel, repeated within a time limit: median, range, traffic with memory, and whether
 * other programs took the processors meanwhile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/observer.h"
#include "harness/machine/clock.h"
#include "harness/machine/dram.h"

enum { CARM_REPEAT_MAX = 9 };

struct carm_run_limits {
    double seconds;                       /* for all repetitions */
    const struct carm_observer *observer; /* knows when the user wants to stop; NULL = never */
    struct carm_dram *dram;               /* counts around every repetition; NULL = no counters */
};

struct carm_run_times {
    double seconds; /* median of the repetitions */
    double fastest, slowest;
    int reps;
    double dram_bytes; /* median of the repetitions, by the memory controllers; 0 = not counted */
    bool disturbed;    /* preempted so often that the time is not the machine's own */
};

/* Runs `run` once to warm up (rep -1) and then as often as the time allows. If the first run takes all of the time, it
 * is the measured one.
 * threads  of a run: together they should have the processors nearly all the time
 * run      returns 0, or an error, which ends the repetitions
 * returns 0; -CARM_EINTR; what run returned */
int carm_repeat(const struct carm_clock *clock, int threads, struct carm_run_limits limits,
                int (*run)(void *context, int rep, struct carm_err *err), void *context,
                struct carm_run_times *out, struct carm_err *err);

/* ---- single steps, for runs that are timed otherwise ----------------------------------------- */

/* Median and range of seconds[n], which it sorts. */
void carm_run_describe(double *seconds, int n, struct carm_run_times *out);

/* A median tolerates a few disturbed runs. */
bool carm_run_disturbed(int disturbed, int runs);

bool carm_run_stopped(struct carm_run_limits limits);

/* Bytes by counters of the repetitions. After a failure the counters are not read again: callers use an estimate. */
struct carm_traffic_count {
    struct carm_dram *dram; /* NULL = no counters */
    double bytes[CARM_REPEAT_MAX];
};
void carm_traffic_count_begin(struct carm_traffic_count *t);
void carm_traffic_count_end(struct carm_traffic_count *t, int rep);
double carm_traffic_count_median(struct carm_traffic_count *t, int reps); /* 0 = not counted */
