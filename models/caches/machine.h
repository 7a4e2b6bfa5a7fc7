/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Caches to simulate, from the model of a machine. */
#pragma once

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

/* A cache's simulated size: the reported size, or the measured size where both differ by more than a quarter.
 * measured  out, may be NULL: whether the result is the measured size
 * returns 0 = the level is not a cache, or its size is not known */
uint64_t carm_caches_bytes(const struct carm_model *model, const struct carm_level *level,
                           bool *measured);

/* The share of lines that come from memory in repeated sweeps over data that is larger than the measured size of the
 * last cache and smaller than its reported size: other users of the machine occupy the difference at times. From the
 * measured bandwidth of a working set of this size. 1 = all lines: the data has another size, or nothing was measured
 * bytes  of the data of all threads */
double carm_caches_from_memory(const struct carm_model *model, int threads, double bytes);

/* Fills levels, cores and last of *out. A level has the size of carm_caches_bytes; a measured size is rounded by up to
 * 6% so that sets can be sampled. Cores that share a cache are counted without
 * their second hardware threads. Unknown ways are taken as 8, or 16 in the last level. A fully
 * associative cache is simulated with 64 ways, which is fast and misses hardly more.
 * ways  [n] of this machine; not used where the model's caches have other sizes
 * text  out: the caches in words, and what was assumed
 * returns 0; -CARM_ENOTSUP (the model has no cache whose size is known) */
int carm_caches_of_model(const struct carm_model *model, const struct carm_cache_ways *ways,
                         size_t n, struct carm_hierarchy_config *out,
                         char text[CARM_CACHES_TEXT_MAX], struct carm_err *err);
