/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translations that a core keeps: a first level of 64 pages in front of a second one with LRU replacement. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/caches/lru.h"

/* Both levels are simpler than a core's. The first level keeps one page in each set. Its extra misses hit in the second
 * level and cost no time. The second level is fully associative, so that its misses contain no conflicts of sets. */
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
