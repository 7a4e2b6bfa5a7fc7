/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translations that a core keeps: a first level of 64 pages in front of a second one with LRU replacement. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/caches/lru.h"

/* Both levels are simpler than a core's. The first one keeps one page in each of its sets, so that it sends more
 * lookups to the second, which hit there and wait for nothing. The second one is fully associative, so that its misses
 * are those that no conflict of sets adds to. */
enum { CARM_TLB_FIRST = 64 };

struct carm_tlb {
    uint64_t first[CARM_TLB_FIRST]; /* page + 1; 0 = none */
    struct carm_lru second;
};

/* pages  of the second level, > 0
 * returns false: no memory; close it all the same */
bool carm_tlb_open(struct carm_tlb *tlb, uint64_t pages);
void carm_tlb_close(struct carm_tlb *tlb); /* zeros allowed */
/* A lookup, which keeps the page. returns whether it needs a walk through the tables of pages */
bool carm_tlb_walks(struct carm_tlb *tlb, uint64_t page);
