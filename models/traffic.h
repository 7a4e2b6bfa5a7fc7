/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes that cross between levels of the memory hierarchy when a code streams through a working
 * set, by construction: what the original Roofline Model counts where there are no counters. */
#ifndef CARM_MODELS_TRAFFIC_H
#define CARM_MODELS_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>

/* One repetition of a code, all threads together. */
struct carm_stream {
    double load_bytes, store_bytes; /* as the core sees them */
    bool update;                    /* stores go to lines that were loaded */
    bool nontemporal;               /* stores go past the caches */
    double set_bytes;               /* working set */
    double repetitions;             /* that together touch the set for the first time once */
};

/* Bytes that one repetition moves across the upper side of level `link` (1: between the first and the
 * second level, ..., n - 1: between the last cache and memory) when the working set lies in level
 * `home` (0 .. n - 1).
 * link <= home: every access misses the levels above: loads are filled; a plain store's line is filled
 * (write-allocate) and written back later; an updated line was filled by its load and is written
 * back; a non-temporal store is written.
 * link > home: the set crosses once, at first touch, as in Ilic et al. 2014, Table 2; each repetition
 * carries its share.
 * Exclusive caches also move clean lines down, and some processors avoid the fill of lines that are
 * written whole: counters see that, this does not. */
double carm_traffic_bytes(const struct carm_stream *stream, size_t link, size_t home);

#endif
