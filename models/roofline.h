/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The attainable performance of both models: the cache-aware roofline and the original one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/model.h"

/* Attainable performance under one slope and one peak, flop/s.
 * ai         flop/byte, > 0
 * bandwidth  byte/s, > 0, in the bytes that ai counts
 * peak       flop/s, > 0
 * source: Williams et al. 2009, equation 1; Ilic et al. 2014, equations 2 and 3 */
double carm_roofline_eval(double ai, double bandwidth, double peak);

/* The compute roof of one operation, borrowed, or NULL when there is none. */
const struct carm_compute_roof *carm_roofs_find_compute(const struct carm_roofs *roofs,
                                                        const char *op);

/* Bandwidth of a level for the original model, byte/s, counting bytes that cross into that level:
 * the best memory roof whose traffic is known without counters (loads: lines are filled; update:
 * filled and written back). For memory the result is dram_peak, which non-temporal stores may give,
 * too.
 * level  a level's name; the first level has no such bandwidth, as no level is above it
 * code   out: the test code behind it, borrowed; "" when there is none; NULL = not wanted
 * returns 0 when no roof gives it
 * source: Williams et al. 2009, A.1.2 (progressively optimised streams) and section 3 */
double carm_original_bandwidth(const struct carm_roofs *roofs, const char *level, bool dram,
                               const char **code);

/* ---- traffic by construction ---------------------------------------------------------------------- */

/* The bytes that cross between levels of the memory hierarchy when a code streams through a
 * working set, which the original Roofline Model uses where there are no counters. */

/* One repetition of a code, all threads together. */
struct carm_stream {
    double load_bytes, store_bytes; /* bytes that the core loads and stores */
    bool update;                    /* stores go to lines that were loaded */
    bool nontemporal;               /* stores go past the caches */
    double set_bytes;               /* working set */
    double repetitions;             /* number of repetitions that touch the whole set once */
};

/* Bytes that one repetition moves across the upper side of level `link` (1: between the first and the
 * second level, ..., n - 1: between the last cache and memory) when the working set lies in level
 * `home` (0 .. n - 1).
 * link <= home: every access misses the levels above: loads are filled; a plain store's line is filled
 * (write-allocate) and written back later; an updated line was filled by its load and is written
 * back; a non-temporal store is written.
 * link > home: the set crosses once, at first touch, as in Ilic et al. 2014, Table 2; each repetition
 * carries its share.
 * Exclusive caches also move clean lines down, and some processors avoid the fill of lines that are written whole.
 * Counters show both; this function ignores both. */
double carm_traffic_bytes(const struct carm_stream *stream, size_t link, size_t home);
