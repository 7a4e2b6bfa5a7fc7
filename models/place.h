/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement: where a point stands against the roofs of a model, what binds it, and what is left. */
#ifndef CARM_PLACE_H
#define CARM_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "models/model.h"

enum { CARM_PLACE_CEILINGS_MAX = 48, CARM_PLACE_ADVICE_MAX = 256 };

struct carm_ceiling {
    char name[CARM_NAME_MAX]; /* "L2", "DRAM", "add", "avx2 fma" */
    bool compute;             /* a horizontal one */
    bool roof;                /* of the roof, not below it */
    double rate;              /* byte/s of a slope, flop/s of a horizontal one */
    double at;                /* flop/s that it allows at the point's intensity */
};

enum carm_bound {
    CARM_BOUND_MEMORY,
    CARM_BOUND_COMPUTE,
    CARM_BOUND_BOTH, /* a slope and a horizontal one lie within a tenth of each other above it */
};

struct carm_place {
    double intensity;   /* flop/byte, as the model counts bytes */
    double performance; /* flop/s */
    double roof;        /* flop/s attainable at this intensity */
    double share;       /* performance / roof */
    struct carm_ceiling ceilings[CARM_PLACE_CEILINGS_MAX]; /* ascending by `at`, the roof's own two
                                                            * included */
    size_t nceilings;
    int above, below; /* index of the next ceiling at or above the point, and below it; -1 = none */
    enum carm_bound bound;
    bool over; /* above the roof by more than 3%: wrong roof or wrong count, never clipped */
    char advice[CARM_PLACE_ADVICE_MAX]; /* one sentence */
};

/* The roofs that a point is placed under: of its number of threads and precision, and of the ISA with
 * the highest peak. 0 threads or "" precision: any, the best.
 * note  [CARM_TEXT_MAX] out: what had to be chosen otherwise, "" when nothing
 * returns NULL when the model has no roofs; borrowed from model */
const struct carm_roofs *carm_place_roofs(const struct carm_model *model, const char *precision,
                                          int threads, char note[CARM_TEXT_MAX]);

/* Against the cache-aware model: bytes are those that the core loads and stores. Ceilings are the
 * levels at the model's mix, the operations, and the peaks of narrower ISAs with as many threads.
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

#endif
