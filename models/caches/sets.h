/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One set-associative cache: its lines, and the state of each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/caches/lru.h"

/* An entry is line << CARM_LINE_FLAG_BITS | flags; 0 = empty. */
enum {
    CARM_LINE_VALID = 1,
    CARM_LINE_DIRTY = 2,
    CARM_LINE_OWNED = 4,
    CARM_LINE_PREFETCHED = 8,
    CARM_LINE_FLAG_BITS = 8
};
#define CARM_LINE_FLAGS UINT64_C(0xff)

/* The instructions behind a line; the caller numbers them (carm_hierarchy_by). */
struct carm_whose {
    uint32_t brought, stored; /* instruction that fetched the line; last instruction that stored to
                               * it */
};

struct carm_sets {
    uint64_t *entries;        /* [sets * ways]; LRU: the latest used first */
    struct carm_whose *whose; /* [sets * ways] */
    uint64_t *used;           /* [sets * ways] bytes that were accessed, a bit for each */
    uint64_t *trees; /* [sets] tree LRU: bit n is node n's less recently used child; NULL = LRU */
    uint64_t sets, mask; /* mask: sets - 1 where that is a power of two, else 0 */
    uint32_t ways;
    struct carm_lru shadow;
};

enum { CARM_SETS_NOWHERE = -1 };

/* The index in c->entries at which the set of a line begins. */
static inline uint64_t carm_sets_place(const struct carm_sets *c, uint64_t line)
{
    return (c->mask || c->sets == 1 ? line & c->mask : line % c->sets) * c->ways;
}

/* The index of a line in c->entries, or CARM_SETS_NOWHERE */
static inline int64_t carm_sets_find(const struct carm_sets *c, uint64_t line)
{
    const uint64_t at = carm_sets_place(c, line);
    const uint64_t key = line << CARM_LINE_FLAG_BITS | CARM_LINE_VALID;
    for (uint64_t i = at; i < at + c->ways; i++) {
        if ((c->entries[i] & ~(CARM_LINE_FLAGS & ~(uint64_t)CARM_LINE_VALID)) == key) {
            return (int64_t)i;
        }
    }
    return CARM_SETS_NOWHERE;
}

/* shadow  lines of the fully associative cache that tells conflict from capacity misses
 * returns false: no memory; close it all the same */
bool carm_sets_open(struct carm_sets *c, uint64_t lines, uint32_t ways, bool tree_lru,
                    uint64_t shadow);
void carm_sets_close(struct carm_sets *c); /* zeros allowed */
/* Memory, bytes, for simulating a cache of `lines` lines. */
uint64_t carm_sets_bytes(uint64_t lines);
/* Marks entry i as the latest used of the set that begins at `at`. returns the entry's new index */
uint64_t carm_sets_touch(struct carm_sets *c, uint64_t at, uint64_t i);
/* The entry to be replaced by this line. */
uint64_t carm_sets_victim(const struct carm_sets *c, uint64_t line);
/* Removes the line whose entry has index i. */
void carm_sets_empty(struct carm_sets *c, uint64_t line, uint64_t i);
