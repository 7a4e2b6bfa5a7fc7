/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Caches to simulate, from the model of a machine. */
#ifndef CARM_MODELS_CACHES_MACHINE_H
#define CARM_MODELS_CACHES_MACHINE_H

#include "models/caches/hierarchy.h"
#include "models/model.h"

enum { CARM_CACHES_TEXT_MAX = 320 };

/* A cache as the operating system reports it. */
struct carm_cache_ways {
    int level;
    uint64_t size_bytes;
    int ways;      /* 0 = not known, -1 = fully associative */
    int inclusive; /* of the levels before it: 1, 0; -1 = not known */
};

/* Fills levels, cores and last of *out. The size of a level is the reported size. When the measured
 * curve leaves the level's plateau at a size that differs by more than a quarter, this size counts,
 * rounded by up to 6% so that sets can be sampled. Cores that share a cache are counted without
 * their second hardware threads. Unknown ways are taken as 8, or 16 in the last level. A fully
 * associative cache is simulated with 64 ways, which is fast and misses hardly more.
 * ways  [n] of this machine; not used where the model's caches have other sizes
 * text  out: the caches in words, and what was assumed
 * returns 0; -CARM_ENOTSUP (the model has no cache whose size is known) */
int carm_caches_of_model(const struct carm_model *model, const struct carm_cache_ways *ways,
                         size_t n, struct carm_hierarchy_config *out,
                         char text[CARM_CACHES_TEXT_MAX], struct carm_err *err);

#endif
