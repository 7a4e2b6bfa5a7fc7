/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofs that points are placed under, and their ceilings, gathered once for many points. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/ceilings.h"
#include "models/model.h"

/* ---- ISAs ------------------------------------------------------------------------------------- */

enum { CARM_PLACE_WIDTHS = 4 }; /* of vectors: none, 16, 32 and 64 bytes */

/* Vector width as a rank, 0 to CARM_PLACE_WIDTHS - 1; -1 = not known. isa may be NULL */
int carm_place_width(const char *isa);

/* Whether the roofs of one ISA serve the other, as both have vectors of one width: equal names, or avx and avx2. */
bool carm_place_same_isa(const char *a, const char *b);

/* ---- which roofs ----------------------------------------------------------------------------- */

/* The roofs for a point: for its number of threads and precision, from the ISA with the highest peak. 0 threads or ""
 * precision: the best of all; "mixed" likewise, with a note if these are dp.
 * note  [CARM_TEXT_MAX] out: why other roofs were chosen, and which of the roofs were disturbed; "" = neither
 * returns NULL when the model has no roofs; borrowed from model */
const struct carm_roofs *carm_place_roofs(const struct carm_model *model, const char *precision,
                                          int threads, char note[CARM_TEXT_MAX]);

/* carm_place_roofs for one ISA; "" = any. */
const struct carm_roofs *carm_place_roofs_of(const struct carm_model *model, const char *isa,
                                             const char *precision, int threads,
                                             char note[CARM_TEXT_MAX]);

/* Appends to the note which of these roofs were disturbed: the levels at the model's mix, and
 * the peak. carm_place_roofs and carm_place_roofs_of call it. */
void carm_place_note_disturbed(const struct carm_model *model, const struct carm_roofs *roofs,
                               char note[CARM_TEXT_MAX]);

/* ---- their ceilings -------------------------------------------------------------------------- */

enum carm_place_which { CARM_PLACE_CACHE_AWARE, CARM_PLACE_ORIGINAL };

/* The ceilings of one of the two models. If there are too many, the highest are kept. */
struct carm_place_side {
    struct carm_ceilings ceilings;
    double slope, peak; /* the roof's; 0 = the model has none */
    double any_mix;     /* byte/s of the roof's level with the fastest mix; 0 = slope */
    char mix[CARM_NAME_MAX];
    /* Performance of another ISA with as many threads, if above the roof; 0 = none above */
    double isa_slope, isa_peak;
    char slope_isa[CARM_NAME_MAX], slope_isa_mix[CARM_NAME_MAX], peak_isa[CARM_NAME_MAX];
};

struct carm_place_set {
    const struct carm_roofs *roofs;  /* borrowed */
    bool has_isa[CARM_PLACE_WIDTHS]; /* the model has roofs of this width and number of threads */
    struct carm_place_side sides[2]; /* by enum carm_place_which */
    /* lines from DRAM that a core can have in flight; borrowed, NULL = not measured */
    const struct carm_in_flight *flight;
    char enough
        [120]; /* how many of the threads saturate DRAM, a clause; "" = all, or not measured */
    char metric[CARM_NAME_MAX]; /* the metric that replaces flops, "" = flops */
    bool has_measured;
    struct carm_ceilings measured; /* of `carm build --ceilings`, with their steps */
};

/* Prepares a set with the roofs' measured ceilings, if there are any, multiply/add balance on
 * top. */
void carm_place_prepare(struct carm_place_set *set, const struct carm_model *model,
                        const struct carm_roofs *roofs);
void carm_place_prepare_ordered(struct carm_place_set *set, const struct carm_model *model,
                                const struct carm_roofs *roofs, enum carm_ceilings_order order);

/* For operations on integers of a precision (metric CARM_METRIC_INTEGERS), under roofs that
 * carm_place_roofs_of found: if the roofs have another precision, only slopes bound the points. */
void carm_place_prepare_integers(struct carm_place_set *set, const struct carm_model *model,
                                 const struct carm_roofs *roofs, const char *precision);

/* For operations other than flops: only slopes bound them, or also `peak`. The operations of points
 * are then given as flops.
 * metric  the operation's name: "exchange"
 * peak    operations/s; 0 = none */
void carm_place_prepare_metric(struct carm_place_set *set, const struct carm_model *model,
                               const struct carm_roofs *roofs, const char *metric, double peak);

/* Uses measured ceilings as ceilings of the original model, and their horizontals as further
 * ceilings of the cache-aware model. carm_place_prepare does this with the ceilings of the
 * roofs. */
void carm_place_use_ceilings(struct carm_place_set *set, const struct carm_ceilings *ceilings);
