/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of a build share. */
#ifndef CARM_VALIDATION_ROOFS_BUILD_H
#define CARM_VALIDATION_ROOFS_BUILD_H

#include "base/observer.h"
#include "harness/machine/clock.h"
#include "harness/machine/measure.h"
#include "harness/machine/topo.h"
#include "models/levels.h"
#include "models/model.h"
#include "validation/roofs/plan.h"

/* A build at work; all borrowed. */
struct carm_build {
    const struct carm_build_config *config;
    const struct carm_build_plan *plan;
    const struct carm_cpu *cpu;
    const struct carm_topo *topo;
    const struct carm_clock *clock;
    struct carm_observer *observer;
    const struct carm_model *before; /* whose rounds are taken over; NULL = none */
    uint64_t begin,
        until;     /* TSC: when it began, and when its budget ends, less the part of the ceilings */
    uint64_t end;  /* TSC: when the part of the ceilings ends, too */
    uint64_t last; /* TSC: when its budget ends: what is left after the roofs is for latencies */
    /* of every point: those of the configuration, or fewer where the budget is short */
    size_t reps;
};

enum { CARM_LEVEL_SETS = 3, CARM_CURVE_POINTS_MAX = 256 };

struct carm_build_level {
    char name[CARM_NAME_MAX];
    struct carm_level_range range;  /* all threads together */
    bool borrowed;                  /* the range is that of fewer threads */
    uint64_t os_size_bytes;         /* one instance, 0 = unknown */
    uint64_t knee_bytes;            /* one instance, 0 = not seen */
    uint64_t sets[CARM_LEVEL_SETS]; /* working sets of one thread to try for the roof */
    size_t nsets;                   /* 0: the level is not resolved */
    char note[CARM_TEXT_MAX];
};

struct carm_build_levels {
    int threads;                                     /* of the curve they were found on */
    struct carm_build_level levels[CARM_LEVELS_MAX]; /* fastest first, DRAM last */
    size_t n;
};

/* Bytes of each thread's buffer beyond its largest working set: for the padding between streams. */
#define CARM_TEAM_SPARE ((size_t)2 << 20)

/* The measurements with one number of threads. All sets have one team, and take turns with it. */
struct carm_build_set {
    const struct carm_build *build;
    int threads;
    struct carm_team *team;
    struct carm_overhead overhead; /* of this many threads */
    uint64_t *places;              /* [threads] where small sets lie; NULL = at the start */
    struct carm_build_levels levels;
};

/* Seconds that a run waits for cores of its own: one of a search, a curve's point, a roof's round, and a round
 * of those that need more. States of a shared core last 1 to 10 ms (docs/results.md). */
#define CARM_WAIT_SEARCH 2e-3
#define CARM_WAIT_CURVE  8e-3
#define CARM_WAIT_ROUND  10e-3
#define CARM_WAIT_AGAIN  30e-3

/* The team works for this set from now on; its runs wait as those of a search do, in the time for these. */
void carm_build_use(struct carm_build_set *s);

/* The team works for this set, and the empty code's time is measured anew. */
void carm_build_calibrate(struct carm_build_set *s);

/* How long each run of the team may wait for cores of its own, as long as there is time left. */
void carm_build_wait(struct carm_build_set *s, double seconds);

/* Whether there is time left for measuring disturbed points again: of the part of the budget that the curves
 * may take, of that until which searches wait and levels that are not clear are looked at again, of that until which all roofs
 * have rounds alike, or of all of it. */
#define CARM_CURVES_SHARE 0.30
#define CARM_LEVELS_SHARE 0.50
#define CARM_ROUNDS_SHARE 0.65
bool carm_build_has_time(const struct carm_build *build, double share);

/* Until when the team may measure in each part of a build, as shares of the budget. Where time is short, each part
 * leaves some for the next, and each number of threads some for the others: the curve and its levels; the searches,
 * after which the usual code of each roof is taken; the rounds; all. On a quiet machine all parts end before. */
#define CARM_CURVES_END 0.40
#define CARM_LEVELS_END 0.50
#define CARM_SEARCH_END 0.70
#define CARM_SHAPES_END \
    0.80 /* how repetitions of a code run, where the search had no time to see it */
#define CARM_ROUNDS_END 1.00
#define CARM_BUILD_END  1.05 /* the curves of flops: half a second with 8192 repetitions */

/* The team's deadline is that share of the budget from now on. */
void carm_build_limit(const struct carm_build *build, struct carm_team *team, double share);

#endif
