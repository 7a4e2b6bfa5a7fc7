/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caches of models/caches/simulate.h once more, naively: every copy of a line carries the time of its
 * last use, and everything is found by looking at everything. */
#ifndef CARM_TESTS_MODELS_CACHES_REFERENCE_H
#define CARM_TESTS_MODELS_CACHES_REFERENCE_H

#include <stdlib.h>
#include <string.h>

#include "models/caches/simulate.h"

enum { REFERENCE_LINES = 512 }; /* line numbers are below this */

/* What one cache holds of a line. */
struct reference_copy {
    bool there, dirty;
    uint64_t used;
};

struct reference_cache {
    uint64_t sets, ways;
    struct reference_copy copies[REFERENCE_LINES];
};

struct reference {
    uint64_t clock;
    size_t nlevels;
    struct reference_cache levels[CARM_CACHE_SIM_LEVELS_MAX];
    struct reference_cache associative, infinite; /* each alone before memory */
    bool combining[REFERENCE_LINES];
    bool written[REFERENCE_LINES][CARM_CACHE_SIM_LINE];
    uint64_t combined_at[REFERENCE_LINES];
    unsigned buffers;
    bool seen[REFERENCE_LINES], loaded[REFERENCE_LINES];
    struct carm_cache_sim_counts counts;
};

static inline struct reference *reference_open(const struct carm_cache_sim_level *levels, size_t n,
                                               unsigned buffers)
{
    struct reference *r = calloc(1, sizeof *r);
    if (!r) {
        abort();
    }
    for (size_t k = 0; k < n; k++) {
        const uint64_t lines = levels[k].size_bytes / CARM_CACHE_SIM_LINE;
        r->levels[k].ways = levels[k].ways;
        r->levels[k].sets = lines / levels[k].ways;
        r->associative.ways = lines;
    }
    r->associative.sets = 1;
    r->infinite.sets = 1;
    r->infinite.ways = REFERENCE_LINES;
    r->nlevels = n;
    r->buffers = buffers;
    return r;
}

/* Marks a line as used now; if its set is then too full, the line used longest ago leaves.
 * returns it when it was dirty, else -1 */
static inline int reference_use(struct reference *r, struct reference_cache *c, int line,
                                bool dirty)
{
    struct reference_copy *copy = &c->copies[line];
    copy->dirty = dirty || (copy->there && copy->dirty);
    copy->there = true;
    copy->used = ++r->clock;
    int oldest = line;
    uint64_t full = 0;
    for (int i = 0; i < REFERENCE_LINES; i++) {
        if (c->copies[i].there && (uint64_t)i % c->sets == (uint64_t)line % c->sets) {
            full++;
            oldest = c->copies[i].used < c->copies[oldest].used ? i : oldest;
        }
    }
    if (full <= c->ways) {
        return -1;
    }
    c->copies[oldest].there = false;
    return c->copies[oldest].dirty ? oldest : -1;
}

static inline void reference_levels(struct reference *r, int line, bool store)
{
    size_t at = 0;
    while (at < r->nlevels && !r->levels[at].copies[line].there) {
        r->counts.levels[at].misses++;
        at++;
    }
    if (at < r->nlevels) {
        r->counts.levels[at].hits++;
    } else {
        r->counts.real.fills++;
        at--;
    }
    /* the line comes inwards; a dirty victim moves outwards until it finds room */
    for (size_t k = at + 1; k-- > 0;) {
        size_t to = k;
        int victim = reference_use(r, &r->levels[k], line, store && k == 0);
        while (victim >= 0) {
            r->counts.levels[to].writebacks++;
            to++;
            if (to == r->nlevels) {
                r->counts.real.writebacks++;
                break;
            }
            victim = reference_use(r, &r->levels[to], victim, true);
        }
    }
}

static inline void reference_drain(struct reference *r, int line)
{
    unsigned bytes = 0;
    for (int i = 0; i < CARM_CACHE_SIM_LINE; i++) {
        bytes += r->written[line][i] ? 1 : 0;
    }
    r->counts.nt_lines += bytes == CARM_CACHE_SIM_LINE ? 1 : 0;
    r->counts.nt_partial += bytes < CARM_CACHE_SIM_LINE ? 1 : 0;
    r->counts.nt_partial_bytes += bytes < CARM_CACHE_SIM_LINE ? bytes : 0;
    r->combining[line] = false;
    memset(r->written[line], 0, sizeof r->written[line]);
}

static inline bool reference_drop(struct reference_cache *c, int line)
{
    const bool dirty = c->copies[line].there && c->copies[line].dirty;
    c->copies[line].there = false;
    return dirty;
}

/* last  of the access's bytes in this line */
static inline void reference_nt(struct reference *r, int line, int byte, bool last)
{
    if (!r->combining[line]) {
        bool dirty = false;
        for (size_t k = 0; k < r->nlevels; k++) {
            dirty = reference_drop(&r->levels[k], line) || dirty;
        }
        r->counts.real.writebacks += dirty ? 1 : 0;
        r->counts.associative.writebacks += reference_drop(&r->associative, line) ? 1 : 0;
        r->counts.infinite.writebacks += reference_drop(&r->infinite, line) ? 1 : 0;
        unsigned open = 0;
        int oldest = -1;
        for (int i = 0; i < REFERENCE_LINES; i++) {
            if (r->combining[i]) {
                open++;
                oldest = oldest < 0 || r->combined_at[i] < r->combined_at[oldest] ? i : oldest;
            }
        }
        if (open == r->buffers) {
            reference_drain(r, oldest);
        }
    }
    r->combining[line] = true;
    r->written[line][byte] = true;
    r->combined_at[line] = ++r->clock;
    for (int i = 0; last && i < CARM_CACHE_SIM_LINE; i++) {
        last = r->written[line][i];
    }
    if (last) {
        reference_drain(r, line);
    }
}

static inline void reference_alone(struct reference *r, struct reference_cache *c,
                                   struct carm_cache_sim_memory *memory, int line, bool store)
{
    memory->fills += c->copies[line].there ? 0 : 1;
    memory->writebacks += reference_use(r, c, line, store) >= 0 ? 1 : 0;
}

static inline void reference_access(struct reference *r, uint64_t address, unsigned bytes,
                                    bool store, bool nontemporal)
{
    int before = -1;
    r->counts.accesses++;
    for (unsigned i = 0; i < bytes; i++) {
        const int line = (int)((address + i) / CARM_CACHE_SIM_LINE);
        r->counts.bytes_stored += store ? 1 : 0;
        r->counts.bytes_loaded += store ? 0 : 1;
        r->seen[line] = true;
        if (store && nontemporal) {
            const int byte = (int)((address + i) % CARM_CACHE_SIM_LINE);
            reference_nt(r, line, byte, i + 1 == bytes || byte + 1 == CARM_CACHE_SIM_LINE);
        } else if (line != before) {
            if (r->combining[line]) {
                reference_drain(r, line);
            }
            r->counts.lookups++;
            r->loaded[line] = r->loaded[line] || !store;
            reference_levels(r, line, store);
            reference_alone(r, &r->associative, &r->counts.associative, line, store);
            reference_alone(r, &r->infinite, &r->counts.infinite, line, store);
        }
        before = line;
    }
}

static inline struct carm_cache_sim_counts reference_close(struct reference *r, bool flush)
{
    for (int i = 0; i < REFERENCE_LINES; i++) {
        bool dirty = false;
        for (size_t k = 0; k < r->nlevels; k++) {
            dirty = dirty || (r->levels[k].copies[i].there && r->levels[k].copies[i].dirty);
        }
        r->counts.lines += r->seen[i] ? 1 : 0;
        r->counts.lines_stored += r->infinite.copies[i].there && !r->loaded[i] ? 1 : 0;
        r->counts.real.writebacks += flush && dirty ? 1 : 0;
        r->counts.associative.writebacks += flush && reference_drop(&r->associative, i) ? 1 : 0;
        r->counts.infinite.writebacks += flush && reference_drop(&r->infinite, i) ? 1 : 0;
        if (r->combining[i]) {
            reference_drain(r, i);
        }
    }
    struct carm_cache_sim_counts c = r->counts;
    c.nlevels = r->nlevels;
    c.compulsory = c.infinite.fills;
    c.capacity = c.associative.fills - c.infinite.fills;
    c.conflict = (int64_t)c.real.fills - (int64_t)c.associative.fills;
    free(r);
    return c;
}

#endif
