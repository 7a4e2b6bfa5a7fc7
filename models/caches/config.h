/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caches to simulate: sizes, sharing, policies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    CARM_HIERARCHY_LINE = 64, /* bytes */
    CARM_HIERARCHY_LEVELS_MAX = 4,
    CARM_HIERARCHY_CORES_MAX = 1024,
    CARM_HIERARCHY_BUFFERS_MAX = 64,
};

struct carm_hierarchy_level {
    /* of one cache; a multiple of ways * 64; the sets need not be a power of 2 */
    uint64_t size_bytes;
    uint32_t ways;      /* 1 = direct-mapped, size_bytes / 64 = fully associative */
    uint32_t shared_by; /* cores that share one cache; not fewer than in the level before */
};

/* Whether the last level holds lines that the levels before it hold. */
enum carm_hierarchy_last {
    CARM_LAST_NONINCLUSIVE, /* victim cache: lines that left a level before it and are not
                             * replaced yet */
    CARM_LAST_INCLUSIVE,    /* inclusive: all lines of the levels before it; a line that it replaces
                             * leaves those, too */
    CARM_LAST_EXCLUSIVE,    /* exclusive: victims of the level before it, clean ones included; a hit
                             * moves the line out */
};

struct carm_hierarchy_config {
    struct carm_hierarchy_level levels[CARM_HIERARCHY_LEVELS_MAX]; /* from the core outwards */
    size_t nlevels;
    uint32_t cores;
    enum carm_hierarchy_last last;
    bool tree_lru;  /* replacement by a tree of bits in place of LRU; ways are powers of 2 then */
    bool next_line; /* a miss of the second level also fetches the next line of the same page */
    bool streams; /* the second level fetches ahead of ascending and descending streams in a page */
    unsigned buffers; /* lines that non-temporal stores of a core can combine at a time; 0 = 10 */
    double share; /* share of the program's lines that the trace has, 0 = all; the fully associative
                       * caches that define conflict misses shrink by it */
    uint64_t memory_bytes; /* limit of the simulation's memory; 0 = 2 GiB */
};

/* returns 0 or -CARM_EINVAL: no such caches can exist */
int carm_hierarchy_check(const struct carm_hierarchy_config *config, struct carm_err *err);
