/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/hierarchy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/caches/state.h"

enum {
    LINE = CARM_HIERARCHY_LINE,
    LINES_OF_PAGE = 64, /* prefetchers stay in a page of 4 KiB */
    BUFFERS = 10,       /* Intel optimization manual, Nehalem to Broadwell: fill buffers */
    STREAM_AHEAD = 8,   /* lines; the manual says up to 20 */
    STREAM_TRAINED = 2, /* steps in one direction */
};

static const uint64_t default_memory = UINT64_C(2) << 30;

/* Results of a lookup in the levels, in their order. */
struct way {
    bool demand; /* not a prefetch */
    size_t aim;  /* of a prefetch: its level */
    bool store;
    bool forward; /* another core has the line */
    bool first, lost;
    uint64_t flags;  /* out: of the copy that was found: CARM_LINE_DIRTY, CARM_LINE_OWNED */
    uint64_t used;   /* out: used bytes of a copy that was moved */
    uint32_t stored; /* out: the instruction that made the copy dirty */
};

/* A copy of a line in one cache. */
struct copy {
    uint64_t flags, used;
    struct carm_whose whose;
};

static struct copy copy_at(const struct carm_sets *c, uint64_t i)
{
    return (struct copy){c->entries[i] & CARM_LINE_FLAGS, c->used[i], c->whose[i]};
}

/* ---- the instruction that counts ---- */

static struct carm_hierarchy_counts *now(const struct carm_hierarchy *h)
{
    return &h->by[h->now];
}

static void count_written(const struct carm_hierarchy *h, size_t k, const struct copy *copy)
{
    h->by[copy->whose.stored].levels[k].writebacks++;
}

static void count_left(const struct carm_hierarchy *h, size_t k, const struct copy *copy)
{
    struct carm_hierarchy_level_counts *n = &h->by[copy->whose.brought].levels[k];
    n->left++;
    n->useless += (copy->flags & CARM_LINE_PREFETCHED) != 0;
    n->wasted_bytes += LINE - (unsigned)__builtin_popcountll(copy->used);
}

void carm_hierarchy_by(struct carm_hierarchy *h, uint32_t who)
{
    if (who >= h->nby) {
        const uint32_t n = who < UINT32_MAX / 2 ? 2 * who + 1 : UINT32_MAX;
        const uint64_t more = (uint64_t)(n - h->nby) * sizeof *h->by;
        struct carm_hierarchy_counts *by = h->taken + more <= h->config.memory_bytes
                                               ? realloc(h->by, (size_t)n * sizeof *by)
                                               : NULL;
        if (!by) {
            h->failed = true;
            return;
        }
        memset(by + h->nby, 0, more);
        h->by = by;
        h->nby = n;
        h->taken += more;
    }
    h->now = who;
}

/* ---- lines that leave a cache ---- */

static void write_back(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                       const struct copy *copy);

/* The bytes of a line that the levels before k have used so far. */
static uint64_t used_before(const struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line)
{
    uint64_t used = 0;
    const uint32_t by = h->config.levels[k].shared_by;
    const uint32_t first = core / by * by;
    const uint64_t *mask = h->nprivate ? carm_linemap_find(&h->map, line + 1) : NULL;
    for (uint32_t c = first; c < first + by && c < h->config.cores; c++) {
        for (size_t j = 0; j < k && (!h->nprivate || (mask && carm_holders_bit(mask, c))); j++) {
            const struct carm_sets *cache = carm_state_cache(h, j, c);
            const int64_t i = carm_sets_find(cache, line);
            used |= i == CARM_SETS_NOWHERE ? 0 : cache->used[i];
        }
    }
    return used;
}

/* A line that an inclusive last level loses leaves the levels before it. copy: receives their
 * dirty bytes and their use */
static void recall(struct carm_hierarchy *h, uint32_t core, uint64_t line, struct copy *copy)
{
    const size_t last = h->config.nlevels - 1;
    const uint32_t by = h->config.levels[last].shared_by;
    const uint32_t first = core / by * by;
    for (size_t j = 0; j < last; j++) {
        for (uint32_t c = first; c < first + by && c < h->config.cores;
             c += h->config.levels[j].shared_by) {
            struct carm_sets *cache = carm_state_cache(h, j, c);
            const int64_t i = carm_sets_find(cache, line);
            if (i != CARM_SETS_NOWHERE) {
                const struct copy before = copy_at(cache, (uint64_t)i);
                copy->used |= before.used;
                count_left(h, j, &before);
                if (before.flags & CARM_LINE_DIRTY) {
                    count_written(h, j, &before);
                    copy->flags |= CARM_LINE_DIRTY;
                    copy->whose.stored = before.whose.stored;
                }
                carm_sets_empty(cache, line, (uint64_t)i);
                if (j < h->nprivate) {
                    carm_holders_left(h, j, c, line);
                }
            }
        }
    }
}

/* Handles a line that was replaced in level k. Level k no longer holds the line. */
static void leave(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                  struct copy copy)
{
    const size_t last = h->config.nlevels - 1;
    if (k == last && k > 0 && h->config.last == CARM_LAST_INCLUSIVE) {
        recall(h, core, line, &copy);
    } else if (k > 0) {
        copy.used |= used_before(h, k, core, line);
    }
    count_left(h, k, &copy);
    if (k < h->nprivate) {
        carm_holders_left(h, k, core, line);
    }
    const bool moves = k + 1 == last && h->config.last == CARM_LAST_EXCLUSIVE;
    if ((copy.flags & CARM_LINE_DIRTY) || moves) {
        /* also counts lines that another instruction stored to before this instruction loaded them again */
        h->by[moves ? copy.whose.brought : copy.whose.stored].levels[k].writebacks++;
        copy.flags &= CARM_LINE_DIRTY;
        write_back(h, k + 1, core, line, &copy);
    } else if (k < last) {
        struct carm_sets *next = carm_state_cache(h, k + 1, core);
        const int64_t i = carm_sets_find(next, line);
        if (i != CARM_SETS_NOWHERE) {
            next->used[i] |= copy.used;
        }
    }
}

/* Inserts a line that the cache does not hold. */
static void insert(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                   const struct copy *copy)
{
    struct carm_sets *c = carm_state_cache(h, k, core);
    const uint64_t i = carm_sets_victim(c, line);
    const uint64_t old = c->entries[i];
    const struct copy victim = copy_at(c, i);
    c->entries[i] = line << CARM_LINE_FLAG_BITS | copy->flags | CARM_LINE_VALID;
    c->used[i] = copy->used;
    c->whose[i] = copy->whose;
    carm_sets_touch(c, carm_sets_place(c, line), i);
    if (k < h->nprivate) {
        carm_holders_add(h, core, line);
    }
    if (old) {
        leave(h, k, core, old >> CARM_LINE_FLAG_BITS, victim);
    }
}

/* A victim comes whole: a level without the line takes it without a fill. */
static void write_back(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                       const struct copy *copy)
{
    if (k == h->config.nlevels) {
        return;
    }
    struct carm_sets *c = carm_state_cache(h, k, core);
    int64_t i = carm_sets_find(c, line);
    if (i == CARM_SETS_NOWHERE) {
        insert(h, k, core, line, copy);
        return;
    }
    i = (int64_t)carm_sets_touch(c, carm_sets_place(c, line), (uint64_t)i);
    c->entries[i] |= copy->flags;
    c->used[i] |= copy->used;
    if (copy->flags & CARM_LINE_DIRTY) {
        c->whose[i].stored = copy->whose.stored;
    }
}

/* ---- marked lines ---- */

/* t  pages, a bit for each line. returns whether the line was not marked yet */
static bool mark(struct carm_hierarchy *h, struct carm_linemap *t, uint64_t line)
{
    const uint64_t page = line / LINES_OF_PAGE + 1;
    const uint64_t bit = UINT64_C(1) << line % LINES_OF_PAGE;
    const uint64_t before = carm_linemap_bytes(t);
    uint64_t *lines = carm_linemap_find(t, page);
    if (!lines) {
        const bool room = !carm_linemap_full(t) || h->taken + 2 * before <= h->config.memory_bytes;
        lines = room ? carm_linemap_add(t, page) : NULL;
        h->taken += carm_linemap_bytes(t) - before;
    }
    if (!lines) {
        h->failed = true;
        return false;
    }
    const bool first = (*lines & bit) == 0;
    *lines |= bit;
    return first;
}

static bool is_marked(const struct carm_linemap *t, uint64_t line)
{
    const uint64_t *lines = t->used ? carm_linemap_find(t, line / LINES_OF_PAGE + 1) : NULL;
    return lines && *lines >> line % LINES_OF_PAGE & 1;
}

/* ---- other cores ---- */

static void note_lost(struct carm_hierarchy *h, uint32_t core, uint64_t line)
{
    struct carm_core_state *c = &h->cores[core];
    if (!c->lost) {
        c->lost = calloc((size_t)1 << CARM_LOST_BITS, sizeof *c->lost);
        h->taken += sizeof *c->lost << CARM_LOST_BITS;
    }
    if (c->lost) {
        c->lost[carm_linemap_hash(line, CARM_LOST_BITS)] = line + 1;
    } else {
        h->failed = true;
    }
}

/* Handles the copies of a line in the caches of one other core that this core does not share: they are removed, or
 * become clean and shared.
 * dirt  out: the state of a dirty copy */
static void visit(struct carm_hierarchy *h, uint32_t core, uint32_t other, uint64_t line, bool take,
                  struct copy *dirt)
{
    bool dirty = false;
    bool found = false;
    for (size_t k = 0; k < h->nprivate; k++) {
        struct carm_sets *c = carm_state_cache(h, k, other);
        if (c == carm_state_cache(h, k, core)) {
            break; /* this cache and all later caches are on the way of this core */
        }
        const int64_t i = carm_sets_find(c, line);
        found |= i != CARM_SETS_NOWHERE;
        const struct copy copy = copy_at(c, i == CARM_SETS_NOWHERE ? 0 : (uint64_t)i);
        if (i != CARM_SETS_NOWHERE && (copy.flags & CARM_LINE_DIRTY)) {
            dirty = true;
            *dirt = (struct copy){.flags = CARM_LINE_DIRTY, .whose = copy.whose};
        }
        if (take) {
            carm_lru_remove(&c->shadow, line);
        } else if (dirty) {
            count_written(h, k, dirt);
        }
        if (take && i != CARM_SETS_NOWHERE) {
            count_left(h, k, &copy);
            carm_sets_empty(c, line, (uint64_t)i);
        } else if (i != CARM_SETS_NOWHERE) {
            c->entries[i] &= ~(uint64_t)(CARM_LINE_DIRTY | CARM_LINE_OWNED);
        }
    }
    if (take && found) {
        now(h)->invalidations++;
        note_lost(h, other, line);
        mark(h, &h->contested, line);
    }
}

/* Coherence before a core gets a line or stores to it. returns whether another core has the line */
static bool visit_others(struct carm_hierarchy *h, uint32_t core, uint64_t line, bool take)
{
    bool any = false;
    struct copy dirt = {.flags = 0};
    const uint64_t *found = carm_linemap_find(&h->map, line + 1);
    if (!found) {
        return false;
    }
    uint64_t mask[CARM_HIERARCHY_CORES_MAX / 64];
    memcpy(mask, found, h->mapwords * sizeof *mask);
    for (unsigned w = 0; w < h->mapwords; w++) {
        for (uint64_t bits = mask[w]; bits; bits &= bits - 1) {
            const uint32_t other = 64 * w + (uint32_t)__builtin_ctzll(bits);
            if (other == core) {
                continue;
            }
            any = true;
            visit(h, core, other, line, take, &dirt);
            uint64_t *left = take ? carm_linemap_find(&h->map, line + 1) : NULL;
            if (left && !carm_holders_has(h, other, line)) {
                carm_holders_clear(h, line, left, other);
            }
        }
    }
    if ((dirt.flags & CARM_LINE_DIRTY) && !take) {
        write_back(h, h->nprivate, core, line, &dirt);
    }
    return any;
}

/* ---- lookups ---- */

/* Whether this is the first access to the line. */
static bool see(struct carm_hierarchy *h, size_t group, uint32_t core, uint64_t line)
{
    return mark(h, &h->seen[group][core / h->config.levels[group].shared_by], line);
}

static void count_miss(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                       struct way *w, bool associative)
{
    struct carm_core_state *c = &h->cores[core];
    if (k == 0 && c->lost) {
        uint64_t *lost = &c->lost[carm_linemap_hash(line, CARM_LOST_BITS)];
        w->lost = *lost == line + 1;
        *lost = w->lost ? 0 : *lost;
    }
    const enum carm_miss_reason reason = w->lost && k < h->nprivate ? CARM_MISS_COHERENCE
                                         : w->first                 ? CARM_MISS_COMPULSORY
                                         : associative              ? CARM_MISS_CONFLICT
                                                                    : CARM_MISS_CAPACITY;
    now(h)->levels[k].misses[reason]++;
}

/* Looks a line up in level k and, on a miss, in the levels behind it. The line is in level k
 * afterwards. returns the level that had the line */
static unsigned look_up(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                        struct way *w)
{
    struct carm_hierarchy_level_counts *n = &now(h)->levels[k];
    const size_t last = h->config.nlevels - 1;
    const bool moves = k == last && k > 0 && h->config.last == CARM_LAST_EXCLUSIVE;
    struct carm_sets *c = carm_state_cache(h, k, core);
    bool associative = false;
    if (w->demand) {
        n->lookups++;
        associative = carm_lru_touch(&c->shadow, line);
    }
    const int64_t i = carm_sets_find(c, line);
    const bool waited = i != CARM_SETS_NOWHERE && (c->entries[i] & CARM_LINE_PREFETCHED);
    if (w->demand && h->group[k] == k && (k > 0 || i == CARM_SETS_NOWHERE || waited)) {
        w->first = see(h, k, core, line);
    }
    if (i != CARM_SETS_NOWHERE) {
        if (w->demand) {
            c->entries[i] &= ~(uint64_t)CARM_LINE_PREFETCHED;
        }
        if (moves) {
            w->flags = (c->entries[i] & CARM_LINE_DIRTY) | (w->forward ? 0 : CARM_LINE_OWNED);
            w->used = c->used[i];
            w->stored = c->whose[i].stored;
            carm_sets_empty(c, line, (uint64_t)i);
            if (k < h->nprivate) {
                carm_holders_left(h, k, core, line);
            }
        } else {
            w->flags = k < h->nprivate ? c->entries[i] & CARM_LINE_OWNED
                       : w->forward    ? 0
                                       : CARM_LINE_OWNED;
            carm_sets_touch(c, carm_sets_place(c, line), (uint64_t)i);
        }
        return (unsigned)k;
    }
    if (w->demand) {
        count_miss(h, k, core, line, w, associative);
    }
    if (k + 1 == h->nprivate) {
        w->forward = visit_others(h, core, line, w->store);
        now(h)->transfers += w->forward;
    }
    unsigned from;
    if (w->forward && k >= h->nprivate) { /* another core's cache sends the line, and this level
                                           * gets no copy */
        return (unsigned)h->config.nlevels + 1;
    }
    if (k == last) {
        from = (unsigned)h->config.nlevels + (w->forward ? 1U : 0U);
        w->flags = w->forward ? 0 : CARM_LINE_OWNED;
    } else {
        from = look_up(h, k + 1, core, line, w);
        w->flags = from > h->config.nlevels ? 0 : w->flags;
    }
    n->fills++;
    n->prefetched += !w->demand;
    if (moves) {
        return from;
    }
    const struct copy copy = {(w->flags & (CARM_LINE_DIRTY | CARM_LINE_OWNED)) |
                                  (w->store ? CARM_LINE_OWNED : 0U) |
                                  (w->demand || w->aim != k ? 0U : CARM_LINE_PREFETCHED),
                              w->used,
                              {h->now, w->stored}};
    insert(h, k, core, line, &copy);
    w->flags &= ~(uint64_t)CARM_LINE_DIRTY; /* only the copy in level k is dirty */
    w->used = 0;
    return from;
}

/* ---- prefetching ---- */

/* Brings a line into level k. An exclusive level takes victims alone: the line then goes into the last level before
 * it. */
static void fetch(struct carm_hierarchy *h, uint32_t core, uint64_t line, size_t k)
{
    const size_t n = h->config.nlevels;
    const size_t most = n - 1 - (n > 1 && h->config.last == CARM_LAST_EXCLUSIVE);
    struct way w = {.aim = k < most ? k : most};
    if (carm_sets_find(carm_state_cache(h, w.aim, core), line) == CARM_SETS_NOWHERE) {
        look_up(h, w.aim, core, line, &w);
    }
}

/* Follows a stream of misses of the first level, and prefetches ahead of it. */
static void follow(struct carm_hierarchy *h, uint32_t core, uint64_t line)
{
    struct carm_core_state *c = &h->cores[core];
    const uint64_t page = line / LINES_OF_PAGE + 1;
    struct carm_stream *s = &c->streams[0];
    for (size_t i = 0; i < CARM_STREAMS; i++) {
        if (c->streams[i].page == page) {
            s = &c->streams[i];
            break;
        }
        s = c->streams[i].when < s->when ? &c->streams[i] : s;
    }
    if (s->page != page) {
        *s = (struct carm_stream){.page = page, .last = line, .ahead = line};
    }
    s->when = ++c->clock;
    if (line == s->last + 1) {
        s->steps = s->steps > 0 ? s->steps + 1 : 1;
    } else if (line + 1 == s->last) {
        s->steps = s->steps < 0 ? s->steps - 1 : -1;
    } else if (line != s->last) {
        s->steps = 0;
    }
    s->last = line;
    if (s->steps >= STREAM_TRAINED || s->steps <= -STREAM_TRAINED) {
        const bool up = s->steps > 0;
        s->ahead = up == (s->ahead > line) && s->ahead != line ? s->ahead : line;
        while ((up ? s->ahead - line : line - s->ahead) < STREAM_AHEAD) {
            const uint64_t next = up ? s->ahead + 1 : s->ahead - 1;
            if (next / LINES_OF_PAGE + 1 != page) {
                break;
            }
            s->ahead = next;
            fetch(h, core, next, 1);
        }
    }
}

/* After an access that missed the first level. */
static void prefetch(struct carm_hierarchy *h, uint32_t core, uint64_t line, unsigned from)
{
    if (h->config.next_line && (from > 1 || h->config.nlevels == 1) &&
        (line + 1) % LINES_OF_PAGE != 0) {
        fetch(h, core, line + 1, 1);
    }
    if (h->config.streams) {
        follow(h, core, line);
    }
}

/* ---- non-temporal stores ---- */

/* Removes all cores' cached copies of a line. Dirty copies are written to memory. */
static void throw_out(struct carm_hierarchy *h, uint64_t line)
{
    struct copy dirt = {.flags = 0};
    for (size_t k = 0; k < h->config.nlevels; k++) {
        for (uint32_t x = 0; x < h->ncaches[k]; x++) {
            struct carm_sets *c = &h->caches[k][x];
            const int64_t i = carm_sets_find(c, line);
            carm_lru_remove(&c->shadow, line);
            if (i != CARM_SETS_NOWHERE) {
                const struct copy copy = copy_at(c, (uint64_t)i);
                dirt = copy.flags & CARM_LINE_DIRTY ? copy : dirt;
                count_left(h, k, &copy);
                carm_sets_empty(c, line, (uint64_t)i);
                if ((dirt.flags & CARM_LINE_DIRTY) && k + 1 < h->config.nlevels) {
                    count_written(h, k, &dirt);
                }
            }
        }
        for (uint32_t x = 0; h->seen[k] && x < h->ncaches[k]; x++) {
            uint64_t *bits = carm_linemap_find(&h->seen[k][x], line / LINES_OF_PAGE + 1);
            if (bits) {
                *bits &= ~(UINT64_C(1) << line % LINES_OF_PAGE);
            }
        }
    }
    if (dirt.flags & CARM_LINE_DIRTY) {
        count_written(h, h->config.nlevels - 1, &dirt);
    }
    if (h->nprivate) {
        carm_linemap_erase(&h->map, line + 1);
    }
}

static void take_buffer(struct carm_core_state *c, unsigned i)
{
    c->nbuffers--;
    memmove(c->buffers + i, c->buffers + i + 1, (c->nbuffers - i) * sizeof c->buffers[0]);
}

static void write_buffer(struct carm_hierarchy *h, struct carm_core_state *c, unsigned i)
{
    struct carm_hierarchy_counts *n = &h->by[c->buffers[i].stored];
    if (c->buffers[i].bytes == UINT64_MAX) {
        n->nt_lines++;
    } else {
        n->nt_partial++;
    }
    take_buffer(c, i);
}

static unsigned find_buffer(const struct carm_core_state *c, uint64_t line)
{
    unsigned i = 0;
    while (i < c->nbuffers && c->buffers[i].line != line) {
        i++;
    }
    return i;
}

static void combine(struct carm_hierarchy *h, uint32_t core, uint64_t line, uint64_t bytes)
{
    struct carm_core_state *c = &h->cores[core];
    struct carm_nt_buffer buffer = {line, 0, 0};
    const unsigned i = find_buffer(c, line);
    if (i < c->nbuffers) {
        buffer = c->buffers[i];
        take_buffer(c, i);
    } else {
        throw_out(h, line);
        if (c->nbuffers == h->config.buffers) {
            write_buffer(h, c, c->nbuffers - 1);
        }
    }
    buffer.bytes |= bytes;
    buffer.stored = h->now;
    memmove(c->buffers + 1, c->buffers, c->nbuffers * sizeof c->buffers[0]);
    c->buffers[0] = buffer;
    c->nbuffers++;
    if (buffer.bytes == UINT64_MAX) {
        write_buffer(h, c, 0);
    }
}

/* ---- the access ---- */

static unsigned access_line(struct carm_hierarchy *h, uint32_t core, uint64_t line, uint64_t bytes,
                            bool store)
{
    struct carm_sets *c = carm_state_cache(h, 0, core);
    const uint64_t at = carm_sets_place(c, line);
    struct way w = {.demand = true, .store = store};
    unsigned from = 0;
    uint64_t i = at;
    now(h)->contested += is_marked(&h->contested, line);
    if (h->cores[core].nbuffers) {
        const unsigned buffer = find_buffer(&h->cores[core], line);
        if (buffer < h->cores[core].nbuffers) {
            write_buffer(h, &h->cores[core], buffer);
        }
    }
    const uint64_t plain = CARM_LINE_FLAGS & ~(uint64_t)(CARM_LINE_VALID | CARM_LINE_PREFETCHED);
    if (!c->trees && (c->entries[at] & ~plain) ==
                         (line << CARM_LINE_FLAG_BITS | CARM_LINE_VALID)) { /* the usual case */
        now(h)->levels[0].lookups++;
        carm_lru_touch(&c->shadow, line);
    } else {
        from = look_up(h, 0, core, line, &w);
        i = c->trees ? (uint64_t)carm_sets_find(c, line) : at;
    }
    c->used[i] |= bytes;
    if (store) {
        if (h->nprivate && !(c->entries[i] & CARM_LINE_OWNED)) {
            visit_others(h, core, line, true);
        }
        c->entries[i] |= CARM_LINE_DIRTY | CARM_LINE_OWNED;
        c->whose[i].stored = h->now;
    }
    if (from > 0 && (h->config.next_line || h->config.streams)) {
        prefetch(h, core, line, from);
    }
    return from;
}

bool carm_hierarchy_hits(struct carm_hierarchy *h, uint32_t core, uint64_t address, uint32_t bytes)
{
    const uint64_t line = address / LINE;
    struct carm_sets *c = carm_state_cache(h, 0, core);
    const int64_t i = carm_sets_find(c, line);
    if (i == CARM_SETS_NOWHERE || (c->entries[i] & CARM_LINE_PREFETCHED) || h->contested.used ||
        h->cores[core].nbuffers) {
        return false;
    }
    carm_lru_touch(&c->shadow, line);
    c->used[carm_sets_touch(c, carm_sets_place(c, line), (uint64_t)i)] |=
        UINT64_MAX >> (LINE - bytes) << address % LINE;
    return true;
}

unsigned carm_hierarchy_access(struct carm_hierarchy *h, uint32_t core, uint64_t address,
                               uint32_t bytes, enum carm_access_kind kind)
{
    unsigned from = 0;
    if (h->failed || bytes == 0) {
        return 0;
    }
    if (kind >= CARM_ACCESS_PREFETCH) {
        now(h)->prefetches++;
        fetch(h, core, address / LINE, kind != CARM_ACCESS_PREFETCH);
        return 0;
    }
    const bool store = kind != CARM_ACCESS_LOAD;
    struct carm_hierarchy_counts *n = now(h);
    n->accesses++;
    *(store ? &n->bytes_stored : &n->bytes_loaded) += bytes;
    const uint64_t end = address + (bytes - 1);
    for (uint64_t line = address / LINE; line <= end / LINE; line++) {
        const uint64_t first = line == address / LINE ? address % LINE : 0;
        const uint64_t last = line == end / LINE ? end % LINE : LINE - 1;
        const uint64_t mask = UINT64_MAX >> (LINE - 1 - (last - first)) << first;
        if (kind == CARM_ACCESS_STORE_NT) {
            combine(h, core, line, mask);
            from = (unsigned)h->config.nlevels;
        } else {
            from = access_line(h, core, line, mask, store);
        }
    }
    return from;
}

/* ---- flushing and reading ---- */

/* Writes a line of level k back to the next level that has the line. */
static void flush_line(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                       const struct copy *copy)
{
    const bool dirty = copy->flags & CARM_LINE_DIRTY;
    count_left(h, k, copy);
    for (size_t j = k; j < h->config.nlevels; j++) {
        if (dirty) {
            count_written(h, j, copy);
        }
        struct carm_sets *next =
            j + 1 < h->config.nlevels ? carm_state_cache(h, j + 1, core) : NULL;
        const int64_t i = next ? carm_sets_find(next, line) : CARM_SETS_NOWHERE;
        if (i != CARM_SETS_NOWHERE) {
            next->used[i] |= copy->used;
            if (dirty) {
                next->entries[i] |= CARM_LINE_DIRTY;
                next->whose[i].stored = copy->whose.stored;
            }
            return;
        }
    }
}

void carm_hierarchy_flush(struct carm_hierarchy *h)
{
    for (uint32_t core = 0; core < h->config.cores; core++) {
        while (h->cores[core].nbuffers) {
            write_buffer(h, &h->cores[core], h->cores[core].nbuffers - 1);
        }
    }
    for (size_t k = 0; k < h->config.nlevels; k++) {
        for (uint32_t x = 0; x < h->ncaches[k]; x++) {
            struct carm_sets *c = &h->caches[k][x];
            for (uint64_t i = 0; i < c->sets * c->ways; i++) {
                if (c->entries[i]) {
                    const struct copy copy = copy_at(c, i);
                    flush_line(h, k, x * h->config.levels[k].shared_by,
                               c->entries[i] >> CARM_LINE_FLAG_BITS, &copy);
                }
            }
            memset(c->entries, 0, c->sets * c->ways * sizeof *c->entries);
            memset(c->used, 0, c->sets * c->ways * sizeof *c->used);
        }
    }
    if (h->nprivate) {
        memset(h->map.keys, 0, sizeof *h->map.keys << h->map.bits);
        memset(h->map.words, 0, h->mapwords * sizeof *h->map.words << h->map.bits);
        h->map.used = 0;
    }
}

int carm_hierarchy_read(const struct carm_hierarchy *h, struct carm_hierarchy_counts *out,
                        struct carm_err *err)
{
    if (h->failed) {
        return carm_fail(err, CARM_ENOMEM,
                         "the trace touches more memory than the simulation of caches can keep "
                         "account of in %" PRIu64 " MiB: use a smaller problem",
                         h->config.memory_bytes >> 20);
    }
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < h->nby; i++) {
        carm_hierarchy_add(out, &h->by[i]);
    }
    out->nlevels = h->config.nlevels;
    return 0;
}

void carm_hierarchy_read_by(const struct carm_hierarchy *h, uint32_t who,
                            struct carm_hierarchy_counts *out)
{
    memset(out, 0, sizeof *out);
    if (who < h->nby) {
        *out = h->by[who];
    }
    out->nlevels = h->config.nlevels;
}

/* ---- opening ---- */

int carm_hierarchy_open(struct carm_hierarchy **out, const struct carm_hierarchy_config *config,
                        struct carm_err *err)
{
    const int rc = carm_hierarchy_check(config, err);
    if (rc) {
        return rc;
    }
    struct carm_hierarchy *h = calloc(1, sizeof *h);
    uint64_t limit = 0;
    if (h) {
        h->config = *config;
        h->config.buffers = config->buffers ? config->buffers : BUFFERS;
        h->config.memory_bytes = config->memory_bytes ? config->memory_bytes : default_memory;
        limit = h->config.memory_bytes >> 20;
    }
    if (!h || !carm_state_open(h)) {
        carm_hierarchy_close(h);
        return carm_fail(err, CARM_ENOMEM,
                         "not enough memory to simulate the caches of %" PRIu32 " cores (%" PRIu64
                         " MiB at most)",
                         config->cores, limit);
    }
    *out = h;
    return 0;
}

void carm_hierarchy_close(struct carm_hierarchy *h)
{
    if (h) {
        carm_state_close(h);
        free(h);
    }
}
