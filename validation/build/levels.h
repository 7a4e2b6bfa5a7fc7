/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The curve B(beta) of a build, and the working sets for its levels' roofs. */
#ifndef CARM_VALIDATION_BUILD_LEVELS_H
#define CARM_VALIDATION_BUILD_LEVELS_H

#include "validation/build/build.h"

/* The largest working set, all threads together, that the curve may reach. */
uint64_t carm_build_curve_end(const struct carm_build *build, int threads);

/* Roughly how long the curve takes. */
double carm_build_curve_seconds(const struct carm_build *build, int threads);

/* Measures B(beta) from 2 KiB for each thread until memory's plateau is plain or the end reached.
 * clocks  [CARM_CURVE_POINTS_MAX] out: hertz, the core clock beside each point
 * returns 0, -CARM_EINTR or -CARM_ENOMEM */
int carm_build_curve(const struct carm_build *build, struct carm_team *team,
                     const struct carm_code *code, struct carm_budget *budget,
                     struct carm_curve *curve, double *clocks, struct carm_err *err);

/* Finds the levels on the curve and chooses working sets for their roofs.
 * clocks hertz, one for each point of the curve, NULL = not known: inner caches run at the core's
 *        clock, so that their plateaus are looked for per cycle
 * fewer  the levels of fewer threads, NULL = none: a cache whose plateau this curve does not show
 *        clearly is the same cache, so its range is borrowed from there, times the instances that
 *        the threads reach */
void carm_build_find_levels(const struct carm_build *build, int threads,
                            const struct carm_curve *curve, const double *clocks,
                            const struct carm_build_levels *fewer, struct carm_build_levels *out);

/* Whether a cache that was asked for is not resolved. */
bool carm_build_misses_cache(const struct carm_build *build,
                             const struct carm_build_levels *levels);

#endif
