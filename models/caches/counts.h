/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The counts that a simulation of caches makes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/caches/config.h"

enum carm_miss_reason {
    CARM_MISS_COMPULSORY, /* the first lookup of the line */
    CARM_MISS_CAPACITY,   /* a fully associative cache of this size misses, too */
    CARM_MISS_CONFLICT,   /* a fully associative cache of this size hits */
    CARM_MISS_COHERENCE,  /* another core's store took the line away */
    CARM_MISS_REASONS,
};

struct carm_hierarchy_counts {
    uint64_t accesses;                   /* prefetches do not count */
    uint64_t bytes_loaded, bytes_stored; /* by the cores; non-temporal stores included */
    uint64_t prefetches;                 /* by instructions */
    size_t nlevels;
    struct carm_hierarchy_level_counts {
        uint64_t lookups;                   /* of lines, by accesses; prefetches do not count */
        uint64_t misses[CARM_MISS_REASONS]; /* lookups that missed, by reason */
        uint64_t fills; /* lines that came from the next level (of the last one: from memory) */
        uint64_t writebacks;   /* lines that went to the next level: dirty ones; all victims where
                              * the next level is an exclusive last level */
        uint64_t prefetched;   /* fills by prefetching */
        uint64_t useless;      /* prefetched lines that left before any access */
        uint64_t left;         /* lines that have left; a flush removes all */
        uint64_t wasted_bytes; /* bytes of the lines that left which no core loaded or stored while
                                * they were here; in an exclusive last level: since the line came
                                * from memory */
    } levels[CARM_HIERARCHY_LEVELS_MAX];
    uint64_t nt_lines;      /* written past the caches whole */
    uint64_t nt_partial;    /* writes of parts of a line past the caches */
    uint64_t transfers;     /* misses of lines that another core had */
    uint64_t invalidations; /* copies that a core's store took from other cores */
    uint64_t contested;     /* accesses to lines of which a store ever invalidated a copy: no order
                             * of the cores' accesses gives these lines more coherence misses */
};

/* Adds b to a; a.nlevels stays. */
void carm_hierarchy_add(struct carm_hierarchy_counts *a, const struct carm_hierarchy_counts *b);

/* Bytes between level k (0 = the first) and the next level or memory; those of memory include
 * non-temporal stores. */
double carm_hierarchy_bytes(const struct carm_hierarchy_counts *counts, size_t k);

/* Misses of level k, all reasons. */
uint64_t carm_hierarchy_misses(const struct carm_hierarchy_counts *counts, size_t k);

/* "compulsory", "capacity", "conflict", "coherence" */
const char *carm_miss_reason_name(enum carm_miss_reason reason);
