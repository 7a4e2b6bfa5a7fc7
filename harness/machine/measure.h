/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a test code many times on windows of a working set, and describes the repetitions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asm/image.h"
#include "harness/machine/stats.h"
#include "harness/machine/team.h"
#include "harness/machine/window.h"

/* Why a measurement may not show the machine's best rate: the first reason that applies. */
enum carm_disturbance {
    CARM_UNDISTURBED,
    CARM_TOO_FAST, /* more instructions a cycle than any core can execute: the clock was misread */
    CARM_MIGRATED, /* a thread moved to another CPU */
    CARM_CLOCK_MOVED, /* the core clock changed by over 3% */
    CARM_PREEMPTED,   /* threads were preempted in over 2% of the repetitions */
    CARM_STOLEN,      /* the hypervisor took over 5% of the time */
    CARM_CUT,         /* the deadline left less than an eighth of the repetitions, or no look at the
               * cores after the first block */
    CARM_CORE_SHARED, /* a thread never had its core for itself */
    CARM_UNEVEN,      /* over 10% of the repetitions took over 1.5 times the median */
    CARM_TOO_SHORT,   /* the empty code took longer: its time is not subtracted */
    CARM_DISTURBANCE_COUNT,
};

struct carm_measurement {
    const struct carm_code *code;
    int threads;
    struct carm_shape shape;
    struct carm_stats seconds; /* of one repetition, all threads: first start to last end, the
                                * empty code's time subtracted; n = 0: no repetition ended */
    double bytes, flops;       /* of one repetition, all threads: loaded and stored; lines that a
                                * stride leaves out do not count */
    double cycles;             /* median core cycles of one repetition: seconds times the core clock
                          * measured before and after its block, so that changes of the clock
                          * cancel */
    double clock_hz;           /* core clock under this load: cycles / seconds.median */
    double clock_spread;       /* relative: late in the point against early */
    double own_share; /* share of all repetitions that ran while every thread had its core for
                          * itself; where there are such repetitions, only they count */
    /* share of the full issue width of the thread with the least, median over the probes */
    double width_share;
    double slow_share;  /* repetitions that took over 1.5 times the median */
    double steal_share; /* of the time, taken by the hypervisor (/proc/stat) */
    int64_t switches;   /* involuntary context switches */
    double taken_share; /* share of the time in which a thread waited for a processor that other
                         * processes used, or was stopped; the largest of all threads */
    uint64_t migrations;
    bool cut; /* the deadline ended the run too early, see CARM_CUT */
    enum carm_disturbance disturbance;
};

/* The team's deadline ends each of these functions at the next repetition of a thread. A run
 * then describes the repetitions that ended before the deadline. Where no repetition ended, the
 * calibration and the places of the call before stay. */

/* Measures the empty code, so that its time can be subtracted from later points. */
void carm_measure_calibrate(struct carm_team *team, const struct carm_code *empty);

/* Number of the team's threads that have their core for themselves while the others sleep. When
 * this exceeds the number in a run of all threads, the team's own threads share cores. */
int carm_measure_own_alone(struct carm_team *team);

/* Looks at each core repeatedly for `seconds`, so that its full width is known. */
void carm_measure_watch(struct carm_team *team, double seconds);

/* Chooses, for each thread by itself, the 2 MiB page of its buffer on which a working set of
 * set_bytes streams fastest. Later sets that fit into the page use it. On bare metal all pages are
 * alike. In a virtual machine the pages behind a 2 MiB page may be scattered: a set then conflicts
 * with itself in the L2 cache, on some pages more than on others.
 * set_bytes  of one thread, at most 2 MiB; places: how many pages to try */
void carm_measure_place(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        size_t places);

/* Chooses windows and passes so that one repetition takes about target_seconds.
 * set_bytes  working set of one thread: all streams together, with up to 4 KiB of padding each. Rounded down
 *            to whole loop iterations, at least one; kind R: to a power of two of lines, at least two.
 *            The set is touched here. Ignored for codes without memory. */
void carm_measure_shape(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        double target_seconds, struct carm_shape *shape);

/* Runs reps (<= team->max_reps) repetitions after one warming lap and describes them. When the
 * deadline leaves no repetition, out->seconds.n = 0, the disturbance is CARM_CUT, and only bytes
 * and flops are set. */
void carm_measure_run(struct carm_team *team, const struct carm_code *code,
                      const struct carm_shape *shape, size_t reps, struct carm_measurement *out);

/* work / median seconds, work being m->bytes or m->flops; 0 without repetitions. */
double carm_measure_rate(const struct carm_measurement *m, double work);

/* The disturbance of a measurement. CARM_TOO_FAST: its rate exceeds the most that a known x86-64
 * core does in a cycle by more than the clock's error (0.5%). Never CARM_TOO_SHORT: only
 * carm_times_describe sees it. */
enum carm_disturbance carm_measure_judge(const struct carm_measurement *m);
