/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement: the position of a point against the roofs of a model, the limit that binds it, and
 * the speed-up that is left.
 *
 * One point: carm_place_cache_aware, carm_place_original. Many points: carm_place_prepare once
 * for each set of roofs, then carm_place_point. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/ceilings.h"
#include "models/model.h"
#include "models/place/set.h"

enum {
    CARM_PLACE_CEILINGS_MAX = 2 * CARM_CEILINGS_MAX,
    CARM_PLACE_ADVICE_MAX = 512,
};

enum carm_bound {
    CARM_BOUND_MEMORY,
    CARM_BOUND_COMPUTE,
    CARM_BOUND_BOTH, /* a slope and a horizontal ceiling above the point are within a tenth of each
                      * other */
};

struct carm_place {
    double intensity;   /* flop/byte, as the model counts bytes; INFINITY = no bytes */
    double performance; /* flop/s */
    double roof;        /* flop/s attainable at this intensity */
    double share;       /* performance / roof */
    double intensity_low, intensity_high; /* from the bounds of flops and bytes; both = intensity
                                           * for exact counts */
    double share_low, share_high;
    struct carm_ceiling ceilings[CARM_PLACE_CEILINGS_MAX]; /* ascending by `at`, with the roof's
                                                            * own two; ceilings on the other side
                                                            * of the ridge are left out */
    size_t nceilings;
    int above, below; /* index of the next ceiling at or above the point, and below it; -1 = none */
    enum carm_bound bound;
    bool over; /* above the roof by more than 3%: wrong roof or wrong count, never clipped */
    char advice[CARM_PLACE_ADVICE_MAX]; /* one sentence */
    /* For the original model, if the roofs have measured ceilings: */
    bool has_region;
    enum carm_region region;
    size_t ngains; /* optimisations in reach, in the order in which to try them */
    struct carm_gain gains[CARM_PLACE_CEILINGS_MAX];
};

/* Places a point on the cache-aware model: bytes that the core loads and stores. Ceilings are the
 * levels at the model's mix, the operations, and first level and peak of narrower ISAs with as many
 * threads.
 * flops, seconds  > 0
 * bytes  >= 0; 0 = infinite intensity, bounded by the peak alone
 * returns 0; -CARM_EINVAL (not positive); -CARM_ENOTSUP (no memory or no compute roof there); -CARM_ENOMEM
 * source: Ilic et al. 2014, equations 2 and 3; the sandwich: Williams et al. 2009, table 4 */
int carm_place_cache_aware(const struct carm_model *model, const struct carm_roofs *roofs,
                           double flops, double bytes, double seconds, struct carm_place *out,
                           struct carm_err *err);

/* Places a point on the original model: bytes between last-level cache and DRAM. */
int carm_place_original(const struct carm_model *model, const struct carm_roofs *roofs,
                        double flops, double dram_bytes, double seconds, struct carm_place *out,
                        struct carm_err *err);

/* ---- many points ----------------------------------------------------------------------------- */

/* The roofs at an intensity, before any performance is known: fills intensity, roof, ceilings, region
 * and gains of *out, with performance 0 and neither neighbours nor advice.
 * returns as carm_place_point */
int carm_place_intensity(const struct carm_place_set *set, enum carm_place_which which,
                         double intensity, struct carm_place *out, struct carm_err *err);

/* A point, and facts about it that explain a position above a roof. */
struct carm_place_input {
    double flops, bytes, seconds; /* > 0; bytes as the model counts them, may be 0 */
    double flops_low, flops_high, bytes_low, bytes_high; /* 0 or less = exact */
    int threads;                                         /* 0 = unknown */
    const char *isa, *precision;                         /* "" or NULL = unknown */
    bool elsewhere;                                      /* measured on another machine */
};

/* returns as carm_place_cache_aware; allocates nothing */
int carm_place_point(const struct carm_place_set *set, enum carm_place_which which,
                     const struct carm_place_input *in, struct carm_place *out,
                     struct carm_err *err);

/* Like carm_place_point, without advice, which takes most of the time. */
int carm_place_find(const struct carm_place_set *set, enum carm_place_which which,
                    const struct carm_place_input *in, struct carm_place *out,
                    struct carm_err *err);

/* Fills out->advice from the rest of *out. */
void carm_place_advise(const struct carm_place_set *set, enum carm_place_which which,
                       const struct carm_place_input *in, struct carm_place *out);

/* Share by which a point may exceed a ceiling and still count as on it: roofs and counts have
 * errors. Chosen by hand. */
#define CARM_PLACE_TOLERANCE 0.03
/* Ceilings that lie this near to each other bind together; a point this near is at its ceiling. */
#define CARM_PLACE_TOGETHER 0.10

/* Smallest gain for which an optimisation is named. */
#define CARM_PLACE_WORTHWHILE 1.1

/* The optimisations in reach as one text: "keep memory on the threads' node (no affinity) 1.8x; ...",
 * "none" where none gives more than errors of measurement. returns dst */
char *carm_place_gains_text(char *dst, size_t size, const struct carm_place_set *set,
                            const struct carm_place *place);

/* "memory", "compute", "both" */
const char *carm_bound_name(enum carm_bound bound);
