/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A roofline with its ceilings: slopes (memory) and horizontals (in-core), each with what breaks
 * through it. Made from a measured model or from a published machine; the rest of the program draws,
 * places and advises from this one form.
 * source: Williams, Waterman, Patterson 2009, sections 4 and 6, figures 2 to 4, appendix A.1, A.2 */
#ifndef CARM_MODELS_LADDER_H
#define CARM_MODELS_LADDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/model.h"

enum { CARM_RUNGS_MAX = 24, CARM_RUNG_STEP_MAX = 96 };

struct carm_rung {
    char name[CARM_NAME_MAX];      /* "peak dp", "without fma", "TLP only", "no affinity" */
    char step[CARM_RUNG_STEP_MAX]; /* what breaks through it: "keep memory on the threads' own
                                    * node"; "" for the roof */
    double rate;                   /* flop/s, or byte/s; > 0 */
    double low, high;              /* 95% interval; both = rate where none is known */
    bool aside;                    /* drawn and listed, but not of the chain: instruction mix, load
                                    * imbalance: only where the kernel has that trait */
};

/* Ascending by what has to be done first, which is ascending by rate; the last one that is not aside
 * is the roof. */
struct carm_ladder {
    char title[CARM_TEXT_MAX]; /* "AMD Opteron X4", or the processor and threads of a model */
    char metric[16];           /* "flop", "exchange": what `rate` of compute counts */
    struct carm_rung memory[CARM_RUNGS_MAX];
    size_t nmemory;
    struct carm_rung compute[CARM_RUNGS_MAX];
    size_t ncompute;
};

/* Where multiply/add balance stands: on top, as few kernels have it; or at the bottom, as in figure
 * 3d to f, for kernels that are balanced by nature (SpMV). */
enum carm_ladder_order { CARM_BALANCE_TOP, CARM_BALANCE_BOTTOM };

/* From the measured ceilings of a set of roofs (`carm build --ceilings`), against memory (the original
 * model).
 * returns 0; -CARM_ENOTSUP: the set has no ceilings (names the remedy) */
int carm_ladder_of_roofs(const struct carm_model *model, const struct carm_roofs *roofs,
                         enum carm_ladder_order order, struct carm_ladder *out,
                         struct carm_err *err);

/* The roofs: the last rung of each side that is not aside; NULL = the side has none. */
const struct carm_rung *carm_ladder_slope(const struct carm_ladder *ladder);
const struct carm_rung *carm_ladder_peak(const struct carm_ladder *ladder);

/* flop/byte at which they meet; 0 where a side has none */
double carm_ladder_ridge(const struct carm_ladder *ladder);

/* A rung next to a point. */
struct carm_sandwich_side {
    bool known;   /* false: nothing there ("none" in table 4) */
    bool compute; /* a horizontal one */
    size_t index; /* into ladder->compute or ->memory */
    double at;    /* operations/s that it allows at the point's intensity */
};

/* Table 4: the ceilings that lie next above and next below the performance at this intensity.
 * A point above the roof has no upper one. Rungs aside take part only if asked for.
 * returns 0 or -CARM_EINVAL (not positive) */
int carm_ladder_sandwich(const struct carm_ladder *ladder, double intensity, double performance,
                         bool with_aside, struct carm_sandwich_side *upper,
                         struct carm_sandwich_side *lower, struct carm_err *err);

/* Figure 2c: the regions of operational intensity. */
enum carm_region { CARM_REGION_MEMORY, CARM_REGION_BOTH, CARM_REGION_COMPUTE };

/* One optimisation in reach. */
struct carm_gain {
    bool compute;
    size_t index; /* the rung that it breaks through */
    double from;  /* operations/s that the rung allows at this intensity */
    double to;    /* the next rung of its side, or the roof, whichever is lower there */
    double times; /* what it can give at most: to / from, or to / performance when the point already
                   * stands above the rung; > 1 */
};

/* Which optimisations are in reach at an intensity, in the order in which to try them, and what each
 * can give at most.
 * performance  0 = not known: all that the intensity leaves in reach
 * gains        out: [2 * CARM_RUNGS_MAX]
 * returns how many were filled */
size_t carm_ladder_gains(const struct carm_ladder *ladder, double intensity, double performance,
                         enum carm_region *region, struct carm_gain *gains);

/* "memory", "memory and compute", "compute" */
const char *carm_region_name(enum carm_region region);

#endif
