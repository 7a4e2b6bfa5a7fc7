/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ceilings of a roofline: slopes (memory) and horizontals (in-core), each with the
 * optimisation that breaks through it. They are made of a model's measured records or of a
 * published machine. Plots, placement and advice start from this one form.
 * source: Williams, Waterman, Patterson 2009, sections 4 and 6, figures 2 to 4, appendix A.1,
 * A.2 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/model.h"

/* ---- the measured records of a set of roofs: its "ceilings" in model.json ------------------------ */

/* "in-core", "mix", "memory", "busy", "traffic": names in the file and of --ceilings */
const char *carm_ceiling_group_name(enum carm_ceiling_group group);

/* The inverse of carm_ceiling_group_name: 0 or -CARM_EINVAL with the list. */
int carm_ceiling_group_parse(const char *name, enum carm_ceiling_group *group,
                             struct carm_err *err);

/* The ceiling of that name, borrowed from roofs, or NULL when the set has none. */
const struct carm_ceiling_roof *carm_ceilings_find(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group, const char *name);

/* Like carm_ceilings_find, but NULL also where the ceiling was not measured. */
const struct carm_ceiling_roof *carm_ceilings_measured(const struct carm_roofs *roofs,
                                                       enum carm_ceiling_group group,
                                                       const char *name);

/* The ceiling with the highest rate among the group's measured ceilings whose name begins with
 * prefix ("" = any), or NULL. */
const struct carm_ceiling_roof *carm_ceilings_best(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group,
                                                   const char *prefix);

/* The gain of one optimisation over a measured ceiling: the rate of the next ceiling over the rate
 * of this ceiling.
 * by      out: the optimisation, for a reader ("SIMD"); borrowed, static
 * returns 0 where there is no next ceiling, or the next ceiling was not measured */
double carm_ceiling_gap(const struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                        const char **by);

/* Copies one ceiling to the end of the set's: 0 or -CARM_ENOMEM (the set is as it was). */
int carm_ceilings_add(struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                      struct carm_err *err);

/* ---- ceilings ----------------------------------------------------------------------------------- */

enum { CARM_CEILINGS_MAX = 24, CARM_CEILING_STEP_MAX = 96 };

/* A slope or a horizontal of a roofline. */
struct carm_ceiling {
    char name[CARM_NAME_MAX]; /* "L2", "avx2 L1", "add", "without fma", "TLP only", "no affinity" */
    char step[CARM_CEILING_STEP_MAX]; /* the optimisation that breaks through it: "keep memory on
                                       * the threads' own node"; "" for the roof, or where it is
                                       * not known */
    double rate;                      /* byte/s of a slope, flop/s of a horizontal; > 0 */
    struct carm_ci ci95;              /* both ends = rate where none is known */
    bool disturbed;                   /* while it was measured, so it may be too low */
    bool aside; /* drawn and listed beside the chain of ceilings: it binds only kernels with a trait
                 * (instruction mix, load imbalance, div) */
    /* At a point's intensity (models/place/place.h): */
    double at;    /* flop/s that the ceiling allows at the point's intensity */
    bool compute; /* a horizontal */
    bool roof;    /* the ceiling is the roof itself */
    bool narrow;  /* from a narrower ISA than the set of roofs */
};

/* Ascending by the order of the optimisations, which is ascending by rate; the last ceiling that
 * is not aside is the roof. */
struct carm_ceilings {
    char title[CARM_TEXT_MAX]; /* "AMD Opteron X4", or the processor and threads of a model */
    char metric[16];           /* "flop", "exchange": the operation that `rate` of compute counts */
    struct carm_ceiling memory[CARM_CEILINGS_MAX];
    size_t nmemory;
    struct carm_ceiling compute[CARM_CEILINGS_MAX];
    size_t ncompute;
};

/* The place of the multiply/add balance: on top, as few kernels are balanced; or at the bottom,
 * as in figure 3d to f, for kernels that are balanced by nature (SpMV). */
enum carm_ceilings_order { CARM_BALANCE_TOP, CARM_BALANCE_BOTTOM };

/* From the measured ceilings of a set of roofs (`carm build --ceilings`), against memory (the original
 * model).
 * returns 0; -CARM_ENOTSUP: the set has no ceilings (names the remedy) */
int carm_ceilings_of_roofs(const struct carm_model *model, const struct carm_roofs *roofs,
                           enum carm_ceilings_order order, struct carm_ceilings *out,
                           struct carm_err *err);

/* The roofs: the last ceiling of each side that is not aside; NULL = the side has none. */
const struct carm_ceiling *carm_ceilings_slope(const struct carm_ceilings *ceilings);
const struct carm_ceiling *carm_ceilings_peak(const struct carm_ceilings *ceilings);

/* flop/byte at which slope and peak meet; 0 where one is missing */
double carm_ceilings_ridge(const struct carm_ceilings *ceilings);

/* A ceiling next to a point. */
struct carm_ceiling_around {
    bool known;   /* false: nothing there ("none" in table 4) */
    bool compute; /* a horizontal one */
    size_t index; /* into ceilings->compute or ->memory */
    double at;    /* operations/s that it allows at the point's intensity */
};

/* Table 4: the ceilings that lie next above and next below the performance at this intensity.
 * A point above the roof has no upper one. Ceilings aside take part only if asked for.
 * returns 0 or -CARM_EINVAL (not positive) */
int carm_ceilings_around(const struct carm_ceilings *ceilings, double intensity, double performance,
                         bool with_aside, struct carm_ceiling_around *upper,
                         struct carm_ceiling_around *lower, struct carm_err *err);

/* Figure 2c: the regions of operational intensity. */
enum carm_region { CARM_REGION_MEMORY, CARM_REGION_BOTH, CARM_REGION_COMPUTE };

/* One optimisation in reach. */
struct carm_gain {
    bool compute;
    size_t index; /* the ceiling that it breaks through */
    double from;  /* operations/s that the ceiling allows at this intensity */
    double to;    /* the next ceiling of its side, or the roof, whichever is lower there */
    double times; /* the largest gain: to / from, or to / performance when the point is already
                   * above the ceiling; > 1 */
};

/* The optimisations in reach at an intensity, in the order in which to try them, with the
 * largest gain of each. Where memory binds, horizontal ceilings below the performance are out of reach; where
 * computation binds, slopes below it.
 * performance  0 = not known: all optimisations that the intensity leaves in reach
 * gains        out: [2 * CARM_CEILINGS_MAX]
 * returns the number of gains */
size_t carm_ceilings_gains(const struct carm_ceilings *ceilings, double intensity,
                           double performance, enum carm_region *region, struct carm_gain *gains);

/* "memory", "memory and compute", "compute" */
const char *carm_region_name(enum carm_region region);
