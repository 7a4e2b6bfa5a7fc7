/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The levels of the memory hierarchy, found from a measured curve B(beta). */
#pragma once

#include "models/model.h"

enum { CARM_LEVELS_MAX = 8 };

/* A stretch of the curve that is flat: bandwidths within a tenth of each other. */
struct carm_plateau {
    size_t first, last; /* indices of its points */
    double bandwidth;   /* byte/s, median of its points */
};

/* The part of a curve that belongs to one level. */
struct carm_level_range {
    bool resolved;
    double lo, hi; /* byte: working sets of its plateau, all threads together */
    double knee;   /* byte: where the curve leaves the plateau (halfway, on the log scale, from the
                     * last point on it to the first clearly below); 0 where it does not: DRAM */
    double bandwidth;
};

/* Finds the plateaus of a curve, in ascending order of working set.
 * x [n] byte, ascending, > 0; bandwidth [n] byte/s, > 0
 * returns how many, at most max */
size_t carm_levels_plateaus(const double *x, const double *bandwidth, size_t n,
                            struct carm_plateau *out, size_t max);

/* Matches plateaus with the caches that the OS reports.
 * os_size  [ncaches] byte, ascending; sizes that all threads of the curve reach together, 0 =
 *          unknown
 * ranges   [ncaches + 1] out: the caches in order, then DRAM
 * extra    out: plateaus between the last cache and DRAM that no reported cache explains (a cache
 *          that the OS hides)
 * A cache whose plateau cannot be separated from its neighbour's is left unresolved. DRAM is resolved
 * by a plateau that ends the curve, lies beyond the caches' plateaus and is slower than they, or by
 * a curve that ends far beyond the last cache's knee and reported size. */
void carm_levels_match(const double *x, const double *bandwidth, size_t n, const double *os_size,
                       size_t ncaches, struct carm_level_range *ranges, size_t *extra);
