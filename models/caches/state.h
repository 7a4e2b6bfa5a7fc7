/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the simulation of caches: every line of the trace has an id, from 1 up; the caches hold
 * ids. */
#ifndef CARM_MODELS_CACHES_STATE_H
#define CARM_MODELS_CACHES_STATE_H

#include "models/caches/simulate.h"

enum {
    CARM_SIM_FRONT_BITS = 10,
};

/* What is known of a line. */
enum carm_sim_flag {
    CARM_SIM_LOADED = 1,
    CARM_SIM_STORED = 2,
    CARM_SIM_INFINITE = 4, /* in the infinite cache */
    CARM_SIM_INFINITE_DIRTY = 8,
    CARM_SIM_ASSOCIATIVE = 16, /* in the fully associative cache */
    CARM_SIM_ASSOCIATIVE_DIRTY = 32,
    CARM_SIM_COMBINING = 64, /* non-temporal stores to it are being combined */
    CARM_SIM_MARK = 128,     /* counted, while dirty lines are being counted */
};

struct carm_sim_line {
    uint64_t number;     /* address / 64 */
    uint32_t prev, next; /* neighbours in the fully associative cache by time of use, line 0 closing
                          * the ring: its next is the latest, its prev the victim */
    uint32_t flags;
};

/* Entries of a set, the latest used first: id * 2 + dirty; 0 = empty, at the end. */
struct carm_sim_level {
    uint32_t *entries; /* [sets * ways] */
    uint64_t sets;
    uint64_t mask; /* sets - 1 where that is a power of two, else 0 */
    uint32_t ways;
};

struct carm_sim_buffer {
    uint32_t id;
    uint64_t bytes; /* written so far, a bit for each */
};

struct carm_cache_sim {
    struct carm_sim_line *lines; /* [room], line 0 is none */
    uint32_t nlines;             /* line 0 included */
    uint32_t room;
    uint64_t limit;      /* lines without line 0 */
    uint32_t *table;     /* [2^table_bits] open addressing: ids, 0 = empty */
    unsigned table_bits; /* at most half of the table is full */
    struct {
        uint64_t number;
        uint32_t id;                   /* 0 = empty */
    } front[1 << CARM_SIM_FRONT_BITS]; /* lines seen of late: most lookups need no table */

    struct carm_sim_level levels[CARM_CACHE_SIM_LEVELS_MAX];
    size_t nlevels;
    uint64_t resident, resident_max; /* lines in the fully associative cache */

    struct carm_sim_buffer buffers[CARM_CACHE_SIM_BUFFERS_MAX]; /* the latest used first */
    unsigned nbuffers, buffers_max;

    struct carm_cache_sim_counts counts; /* as far as the trace has come */
    bool over;                           /* the trace touches more lines than the limit */
    bool failed;                         /* over, or no memory */
};

/* Room for the first lines. returns false when there is no memory */
bool carm_sim_lines_open(struct carm_cache_sim *sim);
void carm_sim_lines_close(struct carm_cache_sim *sim);

/* The id of a line, a new one where it has none; 0, and sim->failed, when no more can be had. */
uint32_t carm_sim_lines_find(struct carm_cache_sim *sim, uint64_t number);

/* Where a line lies in a table of 2^bits, bits > 0. The multiplier is 2^64 over the golden ratio:
 * neighbours and power-of-two strides spread (Knuth, The Art of Computer Programming 3, 6.4). */
static inline uint64_t carm_sim_hash(uint64_t number, unsigned bits)
{
    return (number * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits);
}

/* The id of a line, mostly without the table. */
static inline uint32_t carm_sim_id(struct carm_cache_sim *sim, uint64_t number)
{
    const uint64_t at = carm_sim_hash(number, CARM_SIM_FRONT_BITS);
    if (sim->front[at].number == number && sim->front[at].id != 0) {
        return sim->front[at].id;
    }
    const uint32_t id = carm_sim_lines_find(sim, number);
    sim->front[at].number = number;
    sim->front[at].id = id;
    return id;
}

#endif
