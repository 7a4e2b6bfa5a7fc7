/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation of the caches of several cores over traces of their accesses: the lines that cross
 * between the levels, why they do, and how much of them is used.
 *
 * Lines have 64 bytes. Every level is set-associative, write-back and write-allocate. A level is looked
 * up by the misses of the one before, and takes that one's dirty victims. Levels but the last one
 * neither hold all that the levels before them hold nor leave that out; the last one may
 * (enum carm_hierarchy_last). Copies of several cores are kept coherent (MESI): a store takes the line
 * from the others, a load of another core's dirty line makes that one write it back.
 *
 * Not simulated: time (a prefetched line is there at once), hashed slices, translation of addresses
 * (those of the trace are taken as physical ones), instruction fetches.
 *
 * source: Hill, Smith 1989, Evaluating Associativity in CPU Caches, section 2, for the kinds of misses:
 * of each cache by itself, compared with fully associative LRU over the same lookups. */
#ifndef CARM_MODELS_CACHES_HIERARCHY_H
#define CARM_MODELS_CACHES_HIERARCHY_H

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
    uint64_t
        size_bytes; /* of one cache; a multiple of ways * 64; the sets need not be a power of 2 */
    uint32_t ways;  /* 1 = direct-mapped, size_bytes / 64 = fully associative */
    uint32_t shared_by; /* cores that share one cache; not fewer than in the level before */
};

/* What the last level holds of the lines in the levels before it. */
enum carm_hierarchy_last {
    CARM_LAST_NONINCLUSIVE, /* what passed through it, until it is replaced */
    CARM_LAST_INCLUSIVE,    /* all: what it replaces leaves the levels before it, too */
    CARM_LAST_EXCLUSIVE,    /* the others' victims, clean ones included; a hit moves the line out */
};

struct carm_hierarchy_config {
    struct carm_hierarchy_level levels[CARM_HIERARCHY_LEVELS_MAX]; /* from the core outwards */
    size_t nlevels;
    uint32_t cores;
    enum carm_hierarchy_last last;
    bool tree_lru;  /* replacement by a tree of bits in place of LRU; ways are powers of 2 then */
    bool next_line; /* a miss of the second level also fetches the line behind it, in the page */
    bool streams; /* the second level fetches ahead of ascending and descending streams in a page */
    unsigned buffers; /* lines that non-temporal stores of a core can combine at a time; 0 = 10 */
    uint64_t memory_bytes; /* the most that the simulation may take; 0 = 2 GiB */
};

enum carm_access_kind {
    CARM_ACCESS_LOAD,
    CARM_ACCESS_STORE,
    CARM_ACCESS_STORE_NT,    /* past the caches */
    CARM_ACCESS_PREFETCH,    /* by an instruction, into the first level */
    CARM_ACCESS_PREFETCH_L2, /* into the second */
    CARM_ACCESS_KINDS,
};

enum carm_miss_reason {
    CARM_MISS_FIRST,     /* compulsory: the first lookup of the line */
    CARM_MISS_SIZE,      /* capacity: a fully associative cache of this size misses, too */
    CARM_MISS_SETS,      /* conflict: that one would have hit */
    CARM_MISS_COHERENCE, /* another core's store took the line away */
    CARM_MISS_REASONS,
};

struct carm_hierarchy_counts {
    uint64_t accesses;                   /* prefetches not among them */
    uint64_t bytes_loaded, bytes_stored; /* by the cores; non-temporal stores included */
    uint64_t prefetches;                 /* by instructions */
    size_t nlevels;
    struct carm_hierarchy_level_counts {
        uint64_t lookups;                   /* of lines, by accesses; prefetches not among them */
        uint64_t misses[CARM_MISS_REASONS]; /* of these */
        uint64_t fills; /* lines that came from the next level (of the last one: from memory) */
        uint64_t writebacks;   /* lines that went there: dirty ones; all victims where that is an
                              * exclusive last level */
        uint64_t prefetched;   /* of the fills, those by prefetching */
        uint64_t useless;      /* of the prefetched ones, those that left before any access */
        uint64_t left;         /* lines that have left; of a flush, all */
        uint64_t wasted_bytes; /* of these lines: bytes that no core loaded or stored meanwhile; of
 * an exclusive last level: since the line came from memory */
    } levels[CARM_HIERARCHY_LEVELS_MAX];
    uint64_t nt_lines;      /* written past the caches whole */
    uint64_t nt_partial;    /* writes of parts of a line past the caches */
    uint64_t transfers;     /* misses of lines that another core had */
    uint64_t invalidations; /* copies that a core's store took from other cores */
};

struct carm_hierarchy;

/* returns 0; -CARM_EINVAL (a geometry that cannot be); -CARM_ENOMEM (also: memory_bytes) */
int carm_hierarchy_open(struct carm_hierarchy **out, const struct carm_hierarchy_config *config,
                        struct carm_err *err);
void carm_hierarchy_close(struct carm_hierarchy *h); /* NULL allowed */

/* One access of a core: below config.cores. Lines that it straddles are looked up each.
 * A non-temporal store combines with others to its line and throws cached copies out. The line goes to
 * memory when it is whole, or in part when its buffer is needed for another line, when a plain access of
 * the core touches it, or at a flush; a part costs memory as much as a whole line.
 * address  a line's number has 55 bits: room for a process number above 47 bits of address
 * returns the level that had the (last) line: 0 = the first, nlevels = memory, nlevels + 1 = another
 * core's cache; for a caller that keeps results by instruction. Non-temporal stores: nlevels */
unsigned carm_hierarchy_access(struct carm_hierarchy *h, uint32_t core, uint64_t address,
                               uint32_t bytes, enum carm_access_kind kind);

/* Empties the caches: dirty lines are written back, to memory in the end, and are counted so. */
void carm_hierarchy_flush(struct carm_hierarchy *h);

/* The counts so far; the trace may go on afterwards.
 * returns 0 or -CARM_ENOMEM (the trace touched more than memory_bytes can keep account of) */
int carm_hierarchy_read(const struct carm_hierarchy *h, struct carm_hierarchy_counts *out,
                        struct carm_err *err);

/* Bytes between level k (0 = the first) and the next one or memory, non-temporal stores included
 * there. */
double carm_hierarchy_bytes(const struct carm_hierarchy_counts *counts, size_t k);

/* Misses of level k, all reasons. */
uint64_t carm_hierarchy_misses(const struct carm_hierarchy_counts *counts, size_t k);

/* "compulsory", "capacity", "conflict", "coherence" */
const char *carm_miss_reason_name(enum carm_miss_reason reason);

#endif
