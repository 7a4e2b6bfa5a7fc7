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

/* Whether two ISA names have vectors of one width, so that one's roofs serve the other: equal, or avx
 * and avx2. */
bool carm_place_same_isa(const char *a, const char *b);

/* ---- which roofs ----------------------------------------------------------------------------- */

/* The roofs for a point: of its number of threads and precision, and of the ISA with the highest
 * peak. 0 threads or "" precision: any, the best; "mixed" likewise, which is noted where that is dp.
 * note  [CARM_TEXT_MAX] out: why other roofs had to be chosen, and which of the roofs were
 *       disturbed; "" when neither
 * returns NULL when the model has no roofs; borrowed from model */
const struct carm_roofs *carm_place_roofs(const struct carm_model *model, const char *precision,
                                          int threads, char note[CARM_TEXT_MAX]);

/* The same for one ISA; "" = any. */
const struct carm_roofs *carm_place_roofs_of(const struct carm_model *model, const char *isa,
                                             const char *precision, int threads,
                                             char note[CARM_TEXT_MAX]);

/* Appends to the note which of these roofs were disturbed: the levels at the model's mix, and
 * the peak. The functions above that choose roofs do so themselves. */
void carm_place_note_disturbed(const struct carm_model *model, const struct carm_roofs *roofs,
                               char note[CARM_TEXT_MAX]);

/* ---- their ceilings -------------------------------------------------------------------------- */

enum carm_place_which { CARM_PLACE_CACHE_AWARE, CARM_PLACE_ORIGINAL };

/* The ceilings of one of the two models; of more than there is room for the highest stay. */
struct carm_place_side {
    struct carm_ceilings ceilings;
    double slope, peak; /* the roof's; 0 = the model has none */
    double any_mix;     /* byte/s of the roof's level at whichever mix is fastest; 0 = the same */
    char mix[CARM_NAME_MAX];
    /* Performance of another ISA with as many threads where it is above the roof; 0 = none is */
    double isa_slope, isa_peak;
    char slope_isa[CARM_NAME_MAX], slope_isa_mix[CARM_NAME_MAX], peak_isa[CARM_NAME_MAX];
};

struct carm_place_set {
    const struct carm_roofs *roofs;  /* borrowed */
    bool has_isa[CARM_PLACE_WIDTHS]; /* the model has roofs of that width, of as many threads */
    struct carm_place_side sides[2]; /* by enum carm_place_which */
    /* lines from DRAM that a core can have; borrowed, NULL = not measured */
    const struct carm_in_flight *flight;
    char enough
        [120]; /* how many of the threads saturate DRAM, a clause; "" = all, or not measured */
    char metric[CARM_NAME_MAX]; /* the metric that is counted in place of flops, "" = flops */
    bool has_measured;
    struct carm_ceilings measured; /* of `carm build --ceilings`, with their steps */
};

/* With the measured ceilings of the roofs, where they have any, multiply/add balance on top. */
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
