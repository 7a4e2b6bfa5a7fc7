/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The curve B(beta) of a build, and the working sets for the roofs of its levels. */
#pragma once

#include "validation/roofs/build.h"

/* The largest working set, all threads together, that the curve may reach. */
uint64_t carm_build_curve_end(const struct carm_build *build, int threads);

/* Estimate of the curve's seconds. */
double carm_build_curve_seconds(const struct carm_build *build, int threads);

/* Multiple of the reported size. No cache is larger than reported, so a knee beyond this
 * multiple needs more rounds and never replaces the knee of the model before. Seen: a knee at 71
 * MiB of a reported 32 MiB, with the true knee at 9 MiB. */
#define CARM_LATE_KNEE 1.5

/* The points of the curve B(beta) while they are measured. */
struct carm_build_sweep {
    struct carm_build_set *set;
    const struct carm_code *code;
    struct carm_series *points; /* [n] */
    size_t n;
};

/* Plans the points from 2 KiB for each thread on, and runs the first round of each until memory's plateau
 * is clear or the end is reached. To be closed.
 * set  in use (carm_build_use)
 * returns 0, -CARM_EINTR or -CARM_ENOMEM */
int carm_build_sweep_open(struct carm_build_sweep *sweep, struct carm_build_set *set,
                          const struct carm_code *code, struct carm_err *err);
void carm_build_sweep_close(struct carm_build_sweep *sweep);

/* One more round of each point whose working set, all threads together, lies between lo and hi.
 * returns 0 or -CARM_EINTR */
int carm_build_sweep_round(struct carm_build_sweep *sweep, double lo, double hi,
                           struct carm_err *err);

/* The points measured so far, as a curve.
 * fastest  takes each point's fastest sound round instead of the figure of all rounds
 * clocks  [CARM_CURVE_POINTS_MAX] out: hertz, the core clock beside each point
 * returns 0 or -CARM_ENOMEM */
int carm_build_sweep_curve(const struct carm_build_sweep *sweep, bool fastest,
                           struct carm_curve *curve, double *clocks, struct carm_err *err);

/* The number of rounds of a curve's points, and the repetitions of one round. */
size_t carm_build_sweep_rounds(size_t reps, size_t *each);

/* Finds the levels on the curve and chooses working sets for their roofs.
 * clocks  hertz, one for each point of the curve; NULL = not known. Inner caches run at the core's clock, so their
 *         plateaus are searched for per cycle
 * fewer   the levels of fewer threads; NULL = none. If this curve does not show a cache's plateau clearly, the
 *         cache's range with fewer threads is borrowed, times the instances that the threads reach */
void carm_build_find_levels(const struct carm_build *build, int threads,
                            const struct carm_curve *curve, const double *clocks,
                            const struct carm_build_levels *fewer, struct carm_build_levels *out);

/* Whether the curve needs more rounds between lo and hi, all threads together: a requested cache
 * is not resolved, or a private cache ends far below the reported size. */
bool carm_build_doubts_levels(const struct carm_build *build,
                              const struct carm_build_levels *levels, double *lo, double *hi);

/* Gives each cache of one core the size that the OS reports, if the curve shows the cache's step but does not resolve
 * it: beside busy neighbours the points of a plateau scatter more than a plateau's points may.
 * source: all points of L1 on a guest of Emerald Rapids were 1.9 to 2.7 times those beyond it, none within 12% */
void carm_build_assume_levels(const struct carm_build *build, const struct carm_curve *curve,
                              struct carm_build_levels *levels);

/* Replaces each level whose plateau ends beyond CARM_LATE_KNEE times the reported size by the level of the curve of
 * fastest rounds, if that level ends within. Neighbours only slow a shared cache: they cause a plateau between the
 * cache's and memory's bandwidth that reaches far beyond the cache. Seen with 32 MiB: an end at 71 MiB.
 * fewer  as for carm_build_find_levels
 * returns 0 or -CARM_ENOMEM */
int carm_build_doubt_late(const struct carm_build_sweep *sweep,
                          const struct carm_build_levels *fewer, struct carm_build_levels *levels,
                          struct carm_err *err);

/* Whether a cache is private with this number of threads: not the last one, and no two threads
 * share it.
 * level  index in topo->caches, or the next index: memory */
bool carm_build_is_private(const struct carm_topo *topo, size_t level, int threads);
