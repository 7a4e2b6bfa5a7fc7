/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of a simulation: the caches, the cores, and which cores hold a line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/caches/config.h"
#include "models/caches/counts.h"
#include "models/caches/linemap.h"
#include "models/caches/sets.h"

enum {
    /* Intel optimization manual, 2.4.5.4: one forward and backward for each page */
    CARM_STREAMS = 16,
    CARM_LOST_BITS = 15,
};

struct carm_nt_buffer {
    uint64_t line;
    uint64_t bytes;  /* written so far, a bit for each; 0 = free */
    uint32_t stored; /* instruction that wrote last */
};

struct carm_stream {
    uint64_t page;        /* + 1; 0 = free */
    uint64_t last, ahead; /* lines: the latest seen, the farthest fetched */
    int steps;            /* in one direction: above 0 ascending */
    uint64_t when;
};

struct carm_core_state {
    struct carm_nt_buffer buffers[CARM_HIERARCHY_BUFFERS_MAX]; /* the latest used first */
    unsigned nbuffers;
    struct carm_stream streams[CARM_STREAMS];
    uint64_t clock;
    /* [2^CARM_LOST_BITS] lines that other cores' stores invalidated, + 1, by hash; NULL = none
     * yet */
    uint64_t *lost;
};

struct carm_hierarchy {
    struct carm_hierarchy_config config;
    struct carm_sets *caches[CARM_HIERARCHY_LEVELS_MAX]; /* [cores / shared_by, rounded up] */
    /* [cores * CARM_HIERARCHY_LEVELS_MAX] the caches that a core's accesses pass */
    struct carm_sets **ways;
    uint32_t ncaches[CARM_HIERARCHY_LEVELS_MAX];
    size_t group[CARM_HIERARCHY_LEVELS_MAX]; /* the first level whose caches the same cores share */
    /* [ncaches] for the first level of a group: lines seen, a bit each, by page */
    struct carm_linemap *seen[CARM_HIERARCHY_LEVELS_MAX];
    struct carm_core_state *cores;
    size_t nprivate; /* levels of which there are several caches: these are kept coherent */
    /* lines in the private levels: a bit for each core one of whose caches has the line */
    struct carm_linemap map;
    unsigned mapwords;
    struct carm_linemap contested; /* pages, with a bit for each line that a core's store
                                    * invalidated in another */
    uint64_t taken;                /* bytes of memory */
    bool failed;
    struct carm_hierarchy_counts *by; /* [nby] the counts, by instruction */
    uint32_t nby, now;                /* now: the instruction that makes the access */
};

/* The cache of level k on the way of a core. */
static inline struct carm_sets *carm_state_cache(const struct carm_hierarchy *h, size_t k,
                                                 uint32_t core)
{
    return h->ways[(size_t)core * CARM_HIERARCHY_LEVELS_MAX + k];
}

static inline bool carm_holders_bit(const uint64_t *mask, uint32_t core)
{
    return mask[core / 64] >> core % 64 & 1;
}

/* Creates the state that h->config describes.
 * returns false: no memory, or more than h->config.memory_bytes; close it all the same */
bool carm_state_open(struct carm_hierarchy *h);
void carm_state_close(struct carm_hierarchy *h);

/* A line came into a cache on the way of a core. */
void carm_holders_add(struct carm_hierarchy *h, uint32_t core, uint64_t line);
/* Whether one of the core's private caches holds the line. */
bool carm_holders_has(const struct carm_hierarchy *h, uint32_t core, uint64_t line);
/* Removes a core from the holders of a line. mask: of the line in h->map */
void carm_holders_clear(struct carm_hierarchy *h, uint64_t line, uint64_t *mask, uint32_t core);
/* A line has left the cache of level k that is on the way of this core. */
void carm_holders_left(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line);
