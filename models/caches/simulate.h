/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation of caches over a trace of accesses: what goes to memory, and which misses are
 * compulsory, capacity or conflict misses.
 *
 * Every level is set-associative, write-back and write-allocate, with LRU replacement and 64-byte
 * lines. A level is looked up by the misses of the one before, and takes that one's dirty victims. It
 * neither holds all that the levels before it hold nor leaves that out (non-inclusive). The addresses
 * of the trace are taken as physical ones. Prefetchers, hashed slices and other threads are not
 * simulated.
 *
 * source: Hill, Smith 1989, Evaluating Associativity in CPU Caches, section 2: compulsory misses are
 * those of an infinite cache; capacity misses are what a fully associative LRU cache of the same size
 * misses beyond these; conflict misses are the rest. */
#ifndef CARM_MODELS_CACHES_SIMULATE_H
#define CARM_MODELS_CACHES_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    CARM_CACHE_SIM_LINE = 64, /* bytes */
    CARM_CACHE_SIM_LEVELS_MAX = 4,
    CARM_CACHE_SIM_BUFFERS_MAX = 64,
    /* Intel optimization manual, Nehalem to Broadwell: 10 fill buffers, which also combine writes */
    CARM_CACHE_SIM_BUFFERS = 10,
    CARM_CACHE_SIM_LINES = 4000000, /* 244 MiB touched, which takes 128 MiB */
};

struct carm_cache_sim_level {
    uint64_t size_bytes; /* a multiple of ways * 64; the sets need not be a power of two */
    uint32_t ways;       /* 1 = direct-mapped, size_bytes / 64 = fully associative; an access takes
                          * time in proportion to it */
};

/* Lines that cross between a cache and memory. */
struct carm_cache_sim_memory {
    uint64_t fills;      /* read from memory: misses */
    uint64_t writebacks; /* dirty lines written to memory */
};

struct carm_cache_sim_counts {
    uint64_t accesses;     /* calls */
    uint64_t bytes_loaded; /* by the core */
    uint64_t bytes_stored; /* by the core, non-temporal stores included */
    uint64_t lookups;      /* of lines in the first level: an access that straddles counts twice */
    uint64_t lines;        /* distinct lines that the trace touched, by whatever access */
    uint64_t lines_stored; /* distinct lines that were stored to and never loaded: where they are
                             * overwritten whole, no-allocate stores save their fills */
    size_t nlevels;
    struct {
        uint64_t hits, misses; /* of lookups, not of write-backs from the level before */
        uint64_t writebacks;   /* dirty victims that left for the next level or memory; what a flush
                                * at the end writes is not among them */
    } levels[CARM_CACHE_SIM_LEVELS_MAX];
    struct carm_cache_sim_memory real;
    struct carm_cache_sim_memory associative; /* fully associative, LRU, as large as the last level,
                                               * over the whole trace */
    struct carm_cache_sim_memory infinite;
    uint64_t nt_lines;         /* written past the caches whole */
    uint64_t nt_partial;       /* writes of parts of a line past the caches */
    uint64_t nt_partial_bytes; /* bytes of these */
    /* compulsory + capacity + conflict = real.fills */
    uint64_t
        compulsory; /* first touch of a line, or first after a non-temporal store threw it out */
    uint64_t capacity;
    int64_t conflict; /* negative where the real caches keep what LRU over all lines throws out, and
                       * where several levels together hold more than the last one */
};

struct carm_cache_sim;

/* levels  [n] from the core outwards; copied
 * returns 0; -CARM_EINVAL (a geometry that cannot be); -CARM_ENOMEM */
int carm_cache_sim_open(struct carm_cache_sim **out, const struct carm_cache_sim_level *levels,
                        size_t n, struct carm_err *err);
void carm_cache_sim_close(struct carm_cache_sim *sim); /* NULL allowed */

/* Bounds the memory that the simulation takes: distinct lines that a trace may touch, 30 to 60
 * bytes for each. CARM_CACHE_SIM_LINES by default.
 * returns 0 or -CARM_EINVAL (0, or more than 2^30) */
int carm_cache_sim_limit(struct carm_cache_sim *sim, uint64_t lines, struct carm_err *err);

/* How many lines non-temporal stores can combine at a time; CARM_CACHE_SIM_BUFFERS by default. To be
 * set before the first access.
 * returns 0 or -CARM_EINVAL (not 1 to CARM_CACHE_SIM_BUFFERS_MAX) */
int carm_cache_sim_buffers(struct carm_cache_sim *sim, unsigned n, struct carm_err *err);

/* One access of the program. It looks up every line that it touches.
 * A non-temporal store combines with others to its line. The first one throws cached copies out; dirty
 * ones are written back. The line goes to memory when it is whole, or in part when its buffer is
 * needed for another line, when a plain access touches it, or at the end. A non-temporal load is a
 * plain one, as it is in ordinary memory. After an error nothing happens; carm_cache_sim_read tells.
 * context  struct carm_cache_sim; void, so that this very function is a carm_dwarf_access
 * bytes    0: nothing happens; nor past the end of the address space */
void carm_cache_sim_access(void *context, uint64_t address, unsigned bytes, bool store,
                           bool nontemporal);

/* The counts so far; the trace may go on afterwards.
 * flush  dirty lines that are left count as written back
 * out    untouched on error
 * returns 0 or -CARM_ENOMEM (the trace touched more lines than the limit or than fit memory) */
int carm_cache_sim_read(struct carm_cache_sim *sim, bool flush, struct carm_cache_sim_counts *out,
                        struct carm_err *err);

#endif
