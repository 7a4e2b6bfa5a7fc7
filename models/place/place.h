/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement: where a point stands against the roofs of a model, what binds it, and what is left.
 *
 * One point: carm_place_cache_aware, carm_place_original. Many points: carm_place_prepare once for
 * each set of roofs, then carm_place_point. */
#ifndef CARM_MODELS_PLACE_PLACE_H
#define CARM_MODELS_PLACE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "models/ceilings.h"
#include "models/model.h"

enum {
    CARM_PLACE_CEILINGS_MAX = 2 * CARM_CEILINGS_MAX,
    CARM_PLACE_ADVICE_MAX = 512,
    CARM_PLACE_WIDTHS = 4, /* of vectors: none, 16, 32 and 64 bytes */
};

enum carm_bound {
    CARM_BOUND_MEMORY,
    CARM_BOUND_COMPUTE,
    CARM_BOUND_BOTH, /* a slope and a horizontal one lie within a tenth of each other above it */
};

struct carm_place {
    double intensity;                     /* flop/byte, as the model counts bytes */
    double performance;                   /* flop/s */
    double roof;                          /* flop/s attainable at this intensity */
    double share;                         /* performance / roof */
    double intensity_low, intensity_high; /* by the bounds of flops and bytes; both = intensity when
                                           * these are exact */
    double share_low, share_high;
    struct carm_ceiling ceilings[CARM_PLACE_CEILINGS_MAX]; /* ascending by `at`, the roof's own two
                                                            * included; those on the other side of the
                                                            * ridge do not show */
    size_t nceilings;
    int above, below; /* index of the next ceiling at or above the point, and below it; -1 = none */
    enum carm_bound bound;
    bool over; /* above the roof by more than 3%: wrong roof or wrong count, never clipped */
    char advice[CARM_PLACE_ADVICE_MAX]; /* one sentence */
    /* Of the original model where the roofs have measured ceilings: */
    bool has_region;
    enum carm_region region;
    size_t ngains; /* optimisations in reach, in the order in which to try them */
    struct carm_gain gains[CARM_PLACE_CEILINGS_MAX];
};

/* The roofs that a point is placed under: of its number of threads and precision, and of the ISA with
 * the highest peak. 0 threads or "" precision: any, the best.
 * note  [CARM_TEXT_MAX] out: what had to be chosen otherwise, and which of the roofs were disturbed;
 *       "" when nothing
 * returns NULL when the model has no roofs; borrowed from model */
const struct carm_roofs *carm_place_roofs(const struct carm_model *model, const char *precision,
                                          int threads, char note[CARM_TEXT_MAX]);

/* The same for one ISA; "" = any. */
const struct carm_roofs *carm_place_roofs_of(const struct carm_model *model, const char *isa,
                                             const char *precision, int threads,
                                             char note[CARM_TEXT_MAX]);

/* Appends to the note which of these roofs were disturbed: the levels at the model's mix, and the peak.
 * Those that choose roofs above do so. */
void carm_place_note_disturbed(const struct carm_model *model, const struct carm_roofs *roofs,
                               char note[CARM_TEXT_MAX]);

/* Against the cache-aware model: bytes are those that the core loads and stores. Ceilings are the
 * levels at the model's mix, the operations, and first level and peak of narrower ISAs with as many
 * threads.
 * flops, bytes, seconds  > 0
 * returns 0; -CARM_EINVAL (not positive); -CARM_ENOTSUP (no memory or no compute roof there)
 * source: Ilic et al. 2014, equations 2 and 3; the sandwich: Williams et al. 2009, table 4 */
int carm_place_cache_aware(const struct carm_model *model, const struct carm_roofs *roofs,
                           double flops, double bytes, double seconds, struct carm_place *out,
                           struct carm_err *err);

/* Against the original model: bytes are those between last-level cache and DRAM. */
int carm_place_original(const struct carm_model *model, const struct carm_roofs *roofs,
                        double flops, double dram_bytes, double seconds, struct carm_place *out,
                        struct carm_err *err);

/* ---- many points ----------------------------------------------------------------------------- */

enum carm_place_which { CARM_PLACE_CACHE_AWARE, CARM_PLACE_ORIGINAL };

/* The ceilings of one of the two models; of more than there is room for the highest stay. */
struct carm_place_side {
    struct carm_ceilings ceilings;
    double slope, peak; /* the roof's; 0 = the model has none */
    double any_mix;     /* byte/s of the roof's level at whichever mix is fastest; 0 = the same */
    char mix[CARM_NAME_MAX];
    /* What another ISA, with as many threads, reaches above the roof; 0 = none does */
    double isa_slope, isa_peak;
    char slope_isa[CARM_NAME_MAX], slope_isa_mix[CARM_NAME_MAX], peak_isa[CARM_NAME_MAX];
};

struct carm_place_set {
    const struct carm_roofs *roofs;  /* borrowed */
    bool has_isa[CARM_PLACE_WIDTHS]; /* the model has roofs of that width, of as many threads */
    struct carm_place_side sides[2]; /* by enum carm_place_which */
    char metric[CARM_NAME_MAX];      /* what is counted in place of flops, "" = flops */
    bool has_measured;
    struct carm_ceilings measured; /* of `carm build --ceilings`, with their steps */
};

/* With the measured ceilings of the roofs, where they have any, multiply/add balance on top. */
void carm_place_prepare(struct carm_place_set *set, const struct carm_model *model,
                        const struct carm_roofs *roofs);
void carm_place_prepare_ordered(struct carm_place_set *set, const struct carm_model *model,
                                const struct carm_roofs *roofs, enum carm_ceilings_order order);

/* For operations that are not flops: slopes alone bound them, or peak as well. Points are then given
 * with their operations as flops.
 * metric  the operation's name: "exchange"
 * peak    operations/s; 0 = none */
void carm_place_prepare_metric(struct carm_place_set *set, const struct carm_model *model,
                               const struct carm_roofs *roofs, const char *metric, double peak);

/* Makes measured ceilings those of the original model, and their horizontals ceilings of the
 * cache-aware one, beside those that it has. carm_place_prepare does so with those of the roofs. */
void carm_place_use_ceilings(struct carm_place_set *set, const struct carm_ceilings *ceilings);

/* The roofs at an intensity, before any performance is known: fills intensity, roof, ceilings, region
 * and gains of *out, with performance 0 and neither neighbours nor advice.
 * returns as carm_place_point */
int carm_place_intensity(const struct carm_place_set *set, enum carm_place_which which,
                         double intensity, struct carm_place *out, struct carm_err *err);

/* A point, and what is known of it that tells why it may lie above a roof. */
struct carm_place_input {
    double flops, bytes, seconds; /* > 0; bytes as the model in question counts them */
    double flops_low, flops_high, bytes_low, bytes_high; /* 0 or less = exact */
    int threads;                                         /* 0 = unknown */
    const char *isa, *precision;                         /* "" or NULL = unknown */
    bool elsewhere;                                      /* measured on another machine */
};

/* returns as carm_place_cache_aware; allocates nothing */
int carm_place_point(const struct carm_place_set *set, enum carm_place_which which,
                     const struct carm_place_input *in, struct carm_place *out,
                     struct carm_err *err);

/* Fills out->advice from the rest of *out. */
void carm_place_advise(const struct carm_place_set *set, enum carm_place_which which,
                       const struct carm_place_input *in, struct carm_place *out);

/* How far above a ceiling still counts as on it: roofs and counts have errors of their own. */
#define CARM_PLACE_TOLERANCE 0.03
/* Ceilings that lie this near to each other bind together; a point this near is at its ceiling. */
#define CARM_PLACE_TOGETHER 0.10

/* An optimisation that gives at least this much is worth naming. */
#define CARM_PLACE_WORTHWHILE 1.1

/* The height of the first ceiling that lies clearly above ceiling i, or the roof, flop/s. */
double carm_place_next(const struct carm_place *place, int i);

/* The optimisations in reach as one text: "keep memory on the threads' node (no affinity) 1.8x; ...",
 * "none" where none gives more than errors of measurement. returns dst */
char *carm_place_gains_text(char *dst, size_t size, const struct carm_place_set *set,
                            const struct carm_place *place);

/* "memory", "compute", "both" */
const char *carm_bound_name(enum carm_bound bound);

/* Whether two ISA names have vectors of one width, so that one's roofs serve the other: equal, or avx
 * and avx2. */
bool carm_place_same_isa(const char *a, const char *b);

#endif
