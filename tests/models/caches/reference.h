/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caches of models/caches/hierarchy.h once more, of one core and naively: every copy of a line
 * carries the time of its last use, and everything is found by looking at everything. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "models/caches/hierarchy.h"

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
    struct reference_cache levels[CARM_HIERARCHY_LEVELS_MAX];
    struct reference_cache associative[CARM_HIERARCHY_LEVELS_MAX]; /* over the same lookups */
    bool known[REFERENCE_LINES]; /* looked up before, and not thrown out since */
    bool combining[REFERENCE_LINES];
    bool written[REFERENCE_LINES][CARM_HIERARCHY_LINE];
    uint64_t combined_at[REFERENCE_LINES];
    unsigned buffers;
    struct carm_hierarchy_counts counts;
};

static inline struct reference *reference_open(const struct carm_hierarchy_config *config)
{
    struct reference *r = calloc(1, sizeof *r);
    if (!r) {
        abort();
    }
    for (size_t k = 0; k < config->nlevels; k++) {
        const uint64_t lines = config->levels[k].size_bytes / CARM_HIERARCHY_LINE;
        r->levels[k].ways = config->levels[k].ways;
        r->levels[k].sets = lines / config->levels[k].ways;
        r->associative[k].ways = lines;
        r->associative[k].sets = 1;
    }
    r->nlevels = config->nlevels;
    r->buffers = config->buffers;
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
    const bool known = r->known[line];
    for (; at < r->nlevels; at++) {
        struct carm_hierarchy_level_counts *n = &r->counts.levels[at];
        const bool fits = r->associative[at].copies[line].there;
        reference_use(r, &r->associative[at], line, false);
        n->lookups++;
        if (r->levels[at].copies[line].there) {
            break;
        }
        n->misses[!known ? CARM_MISS_COMPULSORY : fits ? CARM_MISS_CONFLICT : CARM_MISS_CAPACITY]++;
        n->fills++;
    }
    r->known[line] = true;
    /* the line comes inwards; a dirty victim moves outwards until it finds room */
    for (size_t k = at < r->nlevels ? at + 1 : at; k-- > 0;) {
        size_t to = k;
        int victim = reference_use(r, &r->levels[k], line, store && k == 0);
        while (victim >= 0) {
            r->counts.levels[to].writebacks++;
            to++;
            victim = to < r->nlevels ? reference_use(r, &r->levels[to], victim, true) : -1;
        }
    }
}

static inline void reference_drain(struct reference *r, int line)
{
    unsigned bytes = 0;
    for (int i = 0; i < CARM_HIERARCHY_LINE; i++) {
        bytes += r->written[line][i] ? 1 : 0;
    }
    r->counts.nt_lines += bytes == CARM_HIERARCHY_LINE ? 1 : 0;
    r->counts.nt_partial += bytes < CARM_HIERARCHY_LINE ? 1 : 0;
    r->combining[line] = false;
    memset(r->written[line], 0, sizeof r->written[line]);
}

/* A dirty copy is written to memory, through the levels behind it. */
static inline void reference_throw_out(struct reference *r, int line)
{
    bool dirty = false;
    for (size_t k = 0; k < r->nlevels; k++) {
        struct reference_copy *copy = &r->levels[k].copies[line];
        dirty = dirty || (copy->there && copy->dirty);
        r->counts.levels[k].writebacks += dirty && (copy->there || k + 1 == r->nlevels) ? 1 : 0;
        copy->there = false;
        r->associative[k].copies[line].there = false;
    }
    r->known[line] = false;
}

/* last  of the access's bytes in this line */
static inline void reference_nt(struct reference *r, int line, int byte, bool last)
{
    if (!r->combining[line]) {
        reference_throw_out(r, line);
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
    for (int i = 0; last && i < CARM_HIERARCHY_LINE; i++) {
        last = r->written[line][i];
    }
    if (last) {
        reference_drain(r, line);
    }
}

static inline void reference_access(struct reference *r, uint64_t address, unsigned bytes,
                                    enum carm_access_kind kind)
{
    int before = -1;
    const bool store = kind != CARM_ACCESS_LOAD;
    r->counts.accesses++;
    *(store ? &r->counts.bytes_stored : &r->counts.bytes_loaded) += bytes;
    for (unsigned i = 0; i < bytes; i++) {
        const int line = (int)((address + i) / CARM_HIERARCHY_LINE);
        if (kind == CARM_ACCESS_STORE_NT) {
            const int byte = (int)((address + i) % CARM_HIERARCHY_LINE);
            reference_nt(r, line, byte, i + 1 == bytes || byte + 1 == CARM_HIERARCHY_LINE);
        } else if (line != before) {
            if (r->combining[line]) {
                reference_drain(r, line);
            }
            reference_levels(r, line, store);
        }
        before = line;
    }
}

/* The caches are flushed, the first level first. */
static inline struct carm_hierarchy_counts reference_close(struct reference *r)
{
    for (int i = 0; i < REFERENCE_LINES; i++) {
        if (r->combining[i]) {
            reference_drain(r, i);
        }
        bool dirty = false;
        for (size_t k = 0; k < r->nlevels; k++) {
            const struct reference_copy *copy = &r->levels[k].copies[i];
            dirty = dirty || (copy->there && copy->dirty);
            r->counts.levels[k].writebacks += dirty ? 1 : 0;
        }
    }
    struct carm_hierarchy_counts c = r->counts;
    c.nlevels = r->nlevels;
    free(r);
    return c;
}
