/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types and functions that the parts of a build share. */
#pragma once

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
        until;       /* TSC at the begin of the build, and at the end of its budget without the
                    * ceilings' part */
    uint64_t end;    /* TSC at the end of the ceilings' part */
    uint64_t scaled; /* TSC at the end of --scaling's part */
    uint64_t last;   /* TSC at the end of the whole budget: the time left after the roofs is for
                    * latencies */
    /* repetitions of every point: as configured, or fewer in a short budget */
    size_t reps;
    bool adds; /* adds roofs to a finished model, which has its curves F(phi) */
};

enum { CARM_LEVEL_SETS = 3, CARM_CURVE_POINTS_MAX = 256 };

struct carm_build_level {
    char name[CARM_NAME_MAX];
    struct carm_level_range range;  /* all threads together */
    bool borrowed;                  /* the range is borrowed from fewer threads */
    uint64_t os_size_bytes;         /* one instance, 0 = unknown */
    uint64_t knee_bytes;            /* one instance, 0 = not seen */
    uint64_t sets[CARM_LEVEL_SETS]; /* candidate working sets of one thread for the roof */
    size_t nsets;                   /* 0: the level is not resolved */
    char note[CARM_TEXT_MAX];
};

struct carm_build_levels {
    int threads;                                     /* threads of the curve on which the levels
                                                      * were found */
    struct carm_build_level levels[CARM_LEVELS_MAX]; /* fastest first, DRAM last */
    size_t n;
};

/* Bytes of each thread's buffer beyond its largest working set, for the padding between streams. */
#define CARM_TEAM_SPARE ((size_t)2 << 20)

/* The measurements with one number of threads. All sets use one team in turn. */
struct carm_build_set {
    const struct carm_build *build;
    int threads;
    struct carm_team *team;
    struct carm_overhead overhead; /* of this many threads */
    uint64_t *places;              /* [threads] where small sets lie; NULL = at the start */
    double clock_hz;               /* of the set's rounds so far, by carm_rounds_wandering */
    struct carm_build_levels levels;
};

/* Seconds that a run waits for cores of its own: in a search, for a point of a curve, in a round
 * of a roof, and in a further round of a doubtful roof. States of a shared core last 1 to 10 ms
 * (docs/results.md). */
#define CARM_WAIT_SEARCH 2e-3
#define CARM_WAIT_CURVE  4e-3
#define CARM_WAIT_ROUND  10e-3
#define CARM_WAIT_AGAIN  30e-3

/* The team works for this set from now on. Its runs wait like runs of a search, up to the
 * searches' deadline. */
void carm_build_use(struct carm_build_set *s);

/* carm_build_use, and measures the empty code's time again. */
void carm_build_calibrate(struct carm_build_set *s);

/* Sets the time that each run of the team may wait for cores of its own, while there is time
 * left. */
void carm_build_wait(struct carm_build_set *s, double seconds);

/* Whether there is time left for measuring disturbed points again, up to a share of the budget:
 * CARM_CURVES_SHARE for curves; CARM_LEVELS_SHARE for waiting searches and unclear levels;
 * CARM_ROUNDS_SHARE for equal rounds of all roofs; 1 for the rest. */
#define CARM_CURVES_SHARE 0.30
#define CARM_LEVELS_SHARE 0.50
#define CARM_ROUNDS_SHARE 0.65
bool carm_build_has_time(const struct carm_build *build, double share);

/* Ends of the parts of a build, as shares of the budget: the curves and levels; the searches,
 * after which the usual code of each roof is taken; the rounds; all. In a short budget, each
 * part leaves time for the next, and each number of threads for the others. On a quiet machine
 * all parts end earlier. */
#define CARM_CURVES_END 0.40
#define CARM_LEVELS_END 0.50
#define CARM_SEARCH_END 0.70
#define CARM_SHAPES_END 0.80 /* shapes of repetitions of codes that the search had no time for */
#define CARM_ROUNDS_END 1.00
#define CARM_BUILD_END  1.05 /* the curves of flops: half a second with 8192 repetitions */

/* Sets the team's deadline to a share of the budget. */
void carm_build_limit(const struct carm_build *build, struct carm_team *team, double share);

/* Instances of a cache that the first threads of the order reach; 1 where these threads have no such cache.
 * cache  index in topo->caches; beyond them: none */
int carm_build_instances(const struct carm_topo *topo, size_t cache, int threads);
