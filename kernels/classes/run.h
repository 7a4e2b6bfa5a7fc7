/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One instance of an application class, timed from cold data on. */
#pragma once

#include "asm/image.h"
#include "harness/machine/stats.h"
#include "harness/machine/team.h"
#include "kernels/classes/codes.h"

struct carm_class_run {
    const struct carm_class_plan *plan;
    const struct carm_code *code; /* one of the plan's */
    uint64_t iterations;          /* N, over the same data of each thread */
    uint64_t call_iterations;     /* most iterations in one call of the code: a run can be stopped
                                         * between two calls */
    size_t runs;                  /* at most team->max_reps */
    bool evict;                   /* before each run, the data leave all caches */
    double seconds;               /* out: median of the runs, first start to last end, the
                                         * empty code's time subtracted */
    double whole_seconds;         /* out: seconds of all instances, eviction included */
    int64_t switches;             /* out: involuntary context switches */
};

/* Runs an instance. The team's buffers have room for the set; carm_measure_calibrate was called.
 * returns 0; -CARM_EINTR (the team's deadline is over: nothing is known); -CARM_ENOTSUP (too short for this clock) */
int carm_class_run(struct carm_team *team, struct carm_class_run *run, struct carm_err *err);
