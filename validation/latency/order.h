/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of a pointer chase: one random cycle through all its lines, which no prefetcher
 * follows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/latency.h"

/* Lines that a chase visits in a working set: all, or one for each page. */
size_t carm_chase_lines(enum carm_latency_order order, uint64_t page_bytes, uint64_t set_bytes);

/* The number of lines when at most `most` are visited, chosen at random over the whole set: with order "lines" whole
 * pages, with order "pages" any lines. */
size_t carm_chase_some(enum carm_latency_order order, uint64_t page_bytes, uint64_t set_bytes,
                       size_t most);

/* The lines of a working set in the order of the chase, by Fisher and Yates's shuffle. Of order
 * "pages" the line differs from page to page, so that the lines spread evenly over the sets of the
 * L1 cache.
 * page_bytes  a multiple of 64; set_bytes a multiple of 64, of order "pages" of the page
 * sequence    out: [carm_chase_some(..., most)] numbers of lines, each below set_bytes / 64
 * most        lines; SIZE_MAX = all
 * seed        any; the same seed gives the same order */
void carm_chase_order(uint32_t *sequence, enum carm_latency_order order, uint64_t page_bytes,
                      uint64_t set_bytes, size_t most, uint64_t seed);

/* Makes each line of the sequence point to the next, the last to the first. base  aligned to 64 */
void carm_chase_link(void *base, const uint32_t *sequence, size_t n);
