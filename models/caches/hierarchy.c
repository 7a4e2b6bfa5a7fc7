/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/hierarchy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/caches/lru.h"
#include "models/caches/linemap.h"

enum {
    LINE = CARM_HIERARCHY_LINE,
    LINES_OF_PAGE = 64, /* prefetchers stay in a page of 4 KiB */
    BUFFERS = 10,       /* Intel optimization manual, Nehalem to Broadwell: fill buffers */
    STREAMS = 16, /* Intel optimization manual, 2.4.5.4: one forward and backward for each page */
    STREAM_AHEAD = 8,   /* lines; the manual says up to 20 */
    STREAM_TRAINED = 2, /* steps in one direction */
};

static const uint64_t default_memory = UINT64_C(2) << 30;
static const uint64_t level_lines_max = UINT64_C(1) << 26; /* 4 GiB of cache */

/* ---- a cache ------------------------------------------------------------------------------------- */

/* An entry is line << FLAG_BITS | flags; 0 = empty. */
enum { VALID = 1, DIRTY = 2, OWNED = 4, PREFETCHED = 8, FLAG_BITS = 8 };
#define FLAGS UINT64_C(0xff)

struct cache {
    uint64_t *entries; /* [sets * ways]; LRU: the latest used first */
    uint64_t *used;    /* [sets * ways] bytes that were accessed, a bit for each */
    uint64_t *trees; /* [sets] of tree LRU: bit n leads to the child of node n that was used before
                        * the other; NULL = LRU */
    uint64_t sets, mask; /* mask: sets - 1 where that is a power of two, else 0 */
    uint32_t ways;
    struct carm_lru shadow;
};

struct buffer {
    uint64_t line;
    uint64_t bytes; /* written so far, a bit for each; 0 = free */
};

struct stream {
    uint64_t page;        /* + 1; 0 = free */
    uint64_t last, ahead; /* lines: the latest seen, the farthest fetched */
    int steps;            /* in one direction: above 0 ascending */
    uint64_t when;
};

struct core {
    struct buffer buffers[CARM_HIERARCHY_BUFFERS_MAX]; /* the latest used first */
    unsigned nbuffers;
    struct stream streams[STREAMS];
    uint64_t clock;
    uint64_t
        *lost; /* [2^LOST_BITS] lines that others' stores took, + 1, by hash; NULL = none yet */
};
enum { LOST_BITS = 15 };

struct carm_hierarchy {
    struct carm_hierarchy_config config;
    struct cache *caches[CARM_HIERARCHY_LEVELS_MAX]; /* [cores / shared_by, rounded up] */
    struct cache **ways; /* [cores * CARM_HIERARCHY_LEVELS_MAX] the caches on the way of a core */
    uint32_t ncaches[CARM_HIERARCHY_LEVELS_MAX];
    size_t group[CARM_HIERARCHY_LEVELS_MAX]; /* the first level that as many cores share */
    struct carm_linemap
        *seen[CARM_HIERARCHY_LEVELS_MAX]; /* of a group, [ncaches]: pages, a bit a line */
    struct core *cores;
    size_t nprivate; /* levels of which there are several caches: these are kept coherent */
    struct carm_linemap
        map; /* lines in these levels: a bit for each core that has one on its way */
    unsigned mapwords;
    uint64_t taken; /* bytes of memory */
    bool failed;
    struct carm_hierarchy_counts counts;
};

/* What a lookup learns on its way. */
struct way {
    bool demand; /* not a prefetch */
    size_t aim;  /* of a prefetch: its level */
    bool store;
    bool forward; /* another core has it */
    bool first, lost;
    uint64_t flags; /* out: of the copy that was found: DIRTY, OWNED */
    uint64_t used;  /* out: where it was moved */
};

static struct cache *cache_of(const struct carm_hierarchy *h, size_t k, uint32_t core)
{
    return h->ways[(size_t)core * CARM_HIERARCHY_LEVELS_MAX + k];
}

static uint64_t place_of(const struct cache *c, uint64_t line)
{
    return (c->mask || c->sets == 1 ? line & c->mask : line % c->sets) * c->ways;
}

enum { NOWHERE = -1 };

/* Where the line is, from c->entries; NOWHERE */
static int64_t find(const struct cache *c, uint64_t line)
{
    const uint64_t at = place_of(c, line);
    const uint64_t key = line << FLAG_BITS | VALID;
    for (uint64_t i = at; i < at + c->ways; i++) {
        if ((c->entries[i] & ~(FLAGS & ~(uint64_t)VALID)) == key) {
            return (int64_t)i;
        }
    }
    return NOWHERE;
}

/* The latest used of the set that begins at `at` is remembered. returns where the entry is then */
static uint64_t touch(struct cache *c, uint64_t at, uint64_t i)
{
    if (c->trees) {
        uint64_t *tree = &c->trees[at / c->ways];
        uint64_t n = 1;
        for (uint32_t half = c->ways / 2; half; half /= 2) {
            const uint64_t right = ((i - at) & half) != 0;
            *tree = right ? *tree & ~(UINT64_C(1) << n) : *tree | UINT64_C(1) << n;
            n = 2 * n + right;
        }
        return i;
    }
    const uint64_t entry = c->entries[i];
    const uint64_t used = c->used[i];
    for (; i > at; i--) {
        c->entries[i] = c->entries[i - 1];
        c->used[i] = c->used[i - 1];
    }
    c->entries[at] = entry;
    c->used[at] = used;
    return at;
}

/* The entry to be replaced by this line. */
static uint64_t victim(const struct cache *c, uint64_t line)
{
    const uint64_t at = place_of(c, line);
    if (!c->trees) {
        return at + c->ways - 1; /* empty ones are at the end */
    }
    for (uint64_t i = at; i < at + c->ways; i++) {
        if (c->entries[i] == 0) {
            return i;
        }
    }
    uint64_t n = 1;
    uint64_t way = 0;
    for (uint32_t half = c->ways / 2; half; half /= 2) {
        const uint64_t right = c->trees[at / c->ways] >> n & 1;
        way += right ? half : 0;
        n = 2 * n + right;
    }
    return at + way;
}

static void empty(struct cache *c, uint64_t line, uint64_t i)
{
    if (!c->trees) {
        const uint64_t last = place_of(c, line) + c->ways - 1;
        memmove(c->entries + i, c->entries + i + 1, (last - i) * sizeof *c->entries);
        memmove(c->used + i, c->used + i + 1, (last - i) * sizeof *c->used);
        i = last;
    }
    c->entries[i] = 0;
    c->used[i] = 0;
}

/* ---- which cores have a line ---------------------------------------------------------------------- */

static bool has_bit(const uint64_t *mask, uint32_t core)
{
    return mask[core / 64] >> core % 64 & 1;
}

static void map_add(struct carm_hierarchy *h, uint32_t core, uint64_t line)
{
    const uint64_t at = carm_linemap_at(&h->map, line + 1);
    uint64_t *mask = h->map.words + at * h->mapwords;
    if (h->map.keys[at] == 0) {
        if (2 * (h->map.used + 1) >> h->map.bits) { /* no more lines than the caches hold */
            if (!carm_linemap_grow(&h->map)) {
                h->failed = true;
                return;
            }
            map_add(h, core, line);
            return;
        }
        h->map.keys[at] = line + 1;
        h->map.used++;
    }
    mask[core / 64] |= UINT64_C(1) << core % 64;
}

static bool holds(const struct carm_hierarchy *h, uint32_t core, uint64_t line)
{
    for (size_t k = 0; k < h->nprivate; k++) {
        if (find(cache_of(h, k, core), line) != NOWHERE) {
            return true;
        }
    }
    return false;
}

static void map_clear(struct carm_hierarchy *h, uint64_t line, uint64_t *mask, uint32_t core)
{
    mask[core / 64] &= ~(UINT64_C(1) << core % 64);
    for (unsigned i = 0; i < h->mapwords; i++) {
        if (mask[i]) {
            return;
        }
    }
    carm_linemap_erase(&h->map, line + 1);
}

/* A line has left the cache of level k that is on the way of this core. */
static void map_left(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line)
{
    const uint32_t by = h->config.levels[k].shared_by;
    const uint32_t first = core / by * by;
    for (uint32_t c = first; c < first + by && c < h->config.cores; c++) {
        uint64_t *mask = carm_linemap_find(&h->map, line + 1);
        if (!mask) {
            return;
        }
        if (has_bit(mask, c) && !holds(h, c, line)) {
            map_clear(h, line, mask, c);
        }
    }
}

/* ---- lines that leave a cache ------------------------------------------------------------------------ */

static void write_back(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                       uint64_t flags, uint64_t used);

/* The bytes of a line that the levels before k have used so far. */
static uint64_t used_before(const struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line)
{
    uint64_t used = 0;
    const uint32_t by = h->config.levels[k].shared_by;
    const uint32_t first = core / by * by;
    const uint64_t *mask = h->nprivate ? carm_linemap_find(&h->map, line + 1) : NULL;
    for (uint32_t c = first; c < first + by && c < h->config.cores; c++) {
        for (size_t j = 0; j < k && (!h->nprivate || (mask && has_bit(mask, c))); j++) {
            const struct cache *cache = cache_of(h, j, c);
            const int64_t i = find(cache, line);
            used |= i == NOWHERE ? 0 : cache->used[i];
        }
    }
    return used;
}

static void count_left(struct carm_hierarchy_level_counts *n, uint64_t flags, uint64_t used)
{
    n->left++;
    n->useless += (flags & PREFETCHED) != 0;
    n->wasted_bytes += LINE - (unsigned)__builtin_popcountll(used);
}

/* What an inclusive last level loses, the levels before lose, too. returns their dirt and use */
static uint64_t recall(struct carm_hierarchy *h, uint32_t core, uint64_t line, uint64_t *used)
{
    const size_t last = h->config.nlevels - 1;
    const uint32_t by = h->config.levels[last].shared_by;
    const uint32_t first = core / by * by;
    uint64_t dirty = 0;
    for (size_t j = 0; j < last; j++) {
        for (uint32_t c = first; c < first + by && c < h->config.cores;
             c += h->config.levels[j].shared_by) {
            struct cache *cache = cache_of(h, j, c);
            const int64_t i = find(cache, line);
            if (i != NOWHERE) {
                const uint64_t flags = cache->entries[i] & FLAGS;
                *used |= cache->used[i];
                count_left(&h->counts.levels[j], flags, cache->used[i]);
                h->counts.levels[j].writebacks += (flags & DIRTY) != 0;
                dirty |= flags & DIRTY;
                empty(cache, line, (uint64_t)i);
                if (j < h->nprivate) {
                    map_left(h, j, c, line);
                }
            }
        }
    }
    return dirty;
}

/* A line that was replaced in level k, which holds it no longer. */
static void leave(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line, uint64_t flags,
                  uint64_t used)
{
    const size_t last = h->config.nlevels - 1;
    if (k == last && k > 0 && h->config.last == CARM_LAST_INCLUSIVE) {
        flags |= recall(h, core, line, &used);
    } else if (k > 0) {
        used |= used_before(h, k, core, line);
    }
    count_left(&h->counts.levels[k], flags, used);
    if (k < h->nprivate) {
        map_left(h, k, core, line);
    }
    const bool moves = k + 1 == last && h->config.last == CARM_LAST_EXCLUSIVE;
    if ((flags & DIRTY) || moves) {
        h->counts.levels[k].writebacks++;
        write_back(h, k + 1, core, line, flags & DIRTY, used);
    } else if (k < last) {
        struct cache *next = cache_of(h, k + 1, core);
        const int64_t i = find(next, line);
        if (i != NOWHERE) {
            next->used[i] |= used;
        }
    }
}

/* Puts a line in that is not there. */
static void insert(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line, uint64_t flags,
                   uint64_t used)
{
    struct cache *c = cache_of(h, k, core);
    const uint64_t i = victim(c, line);
    const uint64_t old = c->entries[i];
    const uint64_t old_used = c->used[i];
    c->entries[i] = line << FLAG_BITS | flags | VALID;
    c->used[i] = used;
    touch(c, place_of(c, line), i);
    if (k < h->nprivate) {
        map_add(h, core, line);
    }
    if (old) {
        leave(h, k, core, old >> FLAG_BITS, old & FLAGS, old_used);
    }
}

/* A victim comes whole: a level without the line takes it without a fill. */
static void write_back(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                       uint64_t flags, uint64_t used)
{
    if (k == h->config.nlevels) {
        return;
    }
    struct cache *c = cache_of(h, k, core);
    int64_t i = find(c, line);
    if (i == NOWHERE) {
        insert(h, k, core, line, flags, used);
        return;
    }
    i = (int64_t)touch(c, place_of(c, line), (uint64_t)i);
    c->entries[i] |= flags;
    c->used[i] |= used;
}

/* ---- other cores ----------------------------------------------------------------------------------- */

static void note_lost(struct carm_hierarchy *h, uint32_t core, uint64_t line)
{
    struct core *c = &h->cores[core];
    if (!c->lost) {
        c->lost = calloc((size_t)1 << LOST_BITS, sizeof *c->lost);
        h->taken += sizeof *c->lost << LOST_BITS;
    }
    if (c->lost) {
        c->lost[carm_linemap_hash(line, LOST_BITS)] = line + 1;
    } else {
        h->failed = true;
    }
}

/* The copies that one other core has in caches that are not on the way of this core as well: taken, or
 * made clean and shared. returns whether a dirty one was among them */
static bool visit(struct carm_hierarchy *h, uint32_t core, uint32_t other, uint64_t line, bool take)
{
    bool dirty = false;
    bool found = false;
    for (size_t k = 0; k < h->nprivate; k++) {
        struct cache *c = cache_of(h, k, other);
        if (c == cache_of(h, k, core)) {
            break; /* and so are those behind it */
        }
        const int64_t i = find(c, line);
        found |= i != NOWHERE;
        dirty |= i != NOWHERE && (c->entries[i] & DIRTY) != 0;
        if (take) {
            carm_lru_remove(&c->shadow, line);
        } else {
            h->counts.levels[k].writebacks += dirty;
        }
        if (take && i != NOWHERE) {
            count_left(&h->counts.levels[k], c->entries[i] & FLAGS, c->used[i]);
            empty(c, line, (uint64_t)i);
        } else if (i != NOWHERE) {
            c->entries[i] &= ~(uint64_t)(DIRTY | OWNED);
        }
    }
    if (take && found) {
        h->counts.invalidations++;
        note_lost(h, other, line);
    }
    return dirty;
}

/* Before a core gets a line, or stores to it. returns whether another core has it */
static bool visit_others(struct carm_hierarchy *h, uint32_t core, uint64_t line, bool take)
{
    bool any = false;
    bool dirty = false;
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
            dirty |= visit(h, core, other, line, take);
            uint64_t *now = take ? carm_linemap_find(&h->map, line + 1) : NULL;
            if (now && !holds(h, other, line)) {
                map_clear(h, line, now, other);
            }
        }
    }
    if (dirty && !take) {
        write_back(h, h->nprivate, core, line, DIRTY, 0);
    }
    return any;
}

/* ---- lookups --------------------------------------------------------------------------------------- */

/* Whether it is the first time. */
static bool see(struct carm_hierarchy *h, size_t group, uint32_t core, uint64_t line)
{
    struct carm_linemap *t = &h->seen[group][core / h->config.levels[group].shared_by];
    const uint64_t page = line / LINES_OF_PAGE + 1;
    const uint64_t bit = UINT64_C(1) << line % LINES_OF_PAGE;
    uint64_t at = carm_linemap_at(t, page);
    if (t->keys[at] == 0) {
        if (2 * (t->used + 1) >> t->bits) {
            const uint64_t more = carm_linemap_bytes(t);
            if (h->taken + 2 * more > h->config.memory_bytes || !carm_linemap_grow(t)) {
                h->failed = true;
                return false;
            }
            h->taken += more;
            at = carm_linemap_at(t, page);
        }
        t->keys[at] = page;
        t->used++;
    }
    const bool first = (t->words[at] & bit) == 0;
    t->words[at] |= bit;
    return first;
}

static void count_miss(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                       struct way *w, bool associative)
{
    struct core *c = &h->cores[core];
    if (k == 0 && c->lost) {
        uint64_t *lost = &c->lost[carm_linemap_hash(line, LOST_BITS)];
        w->lost = *lost == line + 1;
        *lost = w->lost ? 0 : *lost;
    }
    const enum carm_miss_reason reason = w->lost && k < h->nprivate ? CARM_MISS_COHERENCE
                                         : w->first                 ? CARM_MISS_FIRST
                                         : associative              ? CARM_MISS_SETS
                                                                    : CARM_MISS_SIZE;
    h->counts.levels[k].misses[reason]++;
}

/* A lookup in level k and, where it misses, in the ones behind it; the line is in level k then.
 * returns the level that had it */
static unsigned look_up(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line,
                        struct way *w)
{
    struct carm_hierarchy_level_counts *n = &h->counts.levels[k];
    const size_t last = h->config.nlevels - 1;
    const bool moves = k == last && k > 0 && h->config.last == CARM_LAST_EXCLUSIVE;
    struct cache *c = cache_of(h, k, core);
    bool associative = false;
    if (w->demand) {
        n->lookups++;
        associative = carm_lru_touch(&c->shadow, line);
    }
    const int64_t i = find(c, line);
    const bool waited = i != NOWHERE && (c->entries[i] & PREFETCHED);
    if (w->demand && h->group[k] == k && (k > 0 || i == NOWHERE || waited)) {
        w->first = see(h, k, core, line);
    }
    if (i != NOWHERE) {
        if (w->demand) {
            c->entries[i] &= ~(uint64_t)PREFETCHED;
        }
        if (moves) {
            w->flags = (c->entries[i] & DIRTY) | (w->forward ? 0 : OWNED);
            w->used = c->used[i];
            empty(c, line, (uint64_t)i);
            if (k < h->nprivate) {
                map_left(h, k, core, line);
            }
        } else {
            w->flags = k < h->nprivate ? c->entries[i] & OWNED : w->forward ? 0 : OWNED;
            touch(c, place_of(c, line), (uint64_t)i);
        }
        return (unsigned)k;
    }
    if (w->demand) {
        count_miss(h, k, core, line, w, associative);
    }
    if (k + 1 == h->nprivate) {
        w->forward = visit_others(h, core, line, w->store);
        h->counts.transfers += w->forward;
    }
    unsigned from;
    if (w->forward && k >= h->nprivate) { /* another core's cache sends it past this one */
        return (unsigned)h->config.nlevels + 1;
    }
    if (k == last) {
        from = (unsigned)h->config.nlevels + (w->forward ? 1U : 0U);
        w->flags = w->forward ? 0 : OWNED;
    } else {
        from = look_up(h, k + 1, core, line, w);
        w->flags = from > h->config.nlevels ? 0 : w->flags;
    }
    n->fills++;
    n->prefetched += !w->demand;
    if (moves) {
        return from;
    }
    insert(h, k, core, line,
           (w->flags & (DIRTY | OWNED)) | (w->store ? OWNED : 0U) |
               (w->demand || w->aim != k ? 0U : PREFETCHED),
           w->used);
    w->flags &= ~(uint64_t)DIRTY; /* one copy has the dirt */
    w->used = 0;
    return from;
}

/* ---- prefetching ------------------------------------------------------------------------------------ */

/* Into level k, or the last one before an exclusive one, which takes victims alone. */
static void fetch(struct carm_hierarchy *h, uint32_t core, uint64_t line, size_t k)
{
    const size_t n = h->config.nlevels;
    const size_t most = n - 1 - (n > 1 && h->config.last == CARM_LAST_EXCLUSIVE);
    struct way w = {.aim = k < most ? k : most};
    if (find(cache_of(h, w.aim, core), line) == NOWHERE) {
        look_up(h, w.aim, core, line, &w);
    }
}

/* Streams that the misses of the first level make. */
static void follow(struct carm_hierarchy *h, uint32_t core, uint64_t line)
{
    struct core *c = &h->cores[core];
    const uint64_t page = line / LINES_OF_PAGE + 1;
    struct stream *s = &c->streams[0];
    for (size_t i = 0; i < STREAMS; i++) {
        if (c->streams[i].page == page) {
            s = &c->streams[i];
            break;
        }
        s = c->streams[i].when < s->when ? &c->streams[i] : s;
    }
    if (s->page != page) {
        *s = (struct stream){.page = page, .last = line, .ahead = line};
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

/* ---- non-temporal stores ------------------------------------------------------------------------------ */

/* Throws cached copies out, all cores'. Dirty ones are written to memory. */
static void throw_out(struct carm_hierarchy *h, uint64_t line)
{
    bool dirty = false;
    for (size_t k = 0; k < h->config.nlevels; k++) {
        for (uint32_t x = 0; x < h->ncaches[k]; x++) {
            struct cache *c = &h->caches[k][x];
            const int64_t i = find(c, line);
            carm_lru_remove(&c->shadow, line);
            if (i != NOWHERE) {
                dirty |= (c->entries[i] & DIRTY) != 0;
                count_left(&h->counts.levels[k], c->entries[i] & FLAGS, c->used[i]);
                empty(c, line, (uint64_t)i);
                h->counts.levels[k].writebacks += dirty && k + 1 < h->config.nlevels;
            }
        }
        for (uint32_t x = 0; h->seen[k] && x < h->ncaches[k]; x++) {
            uint64_t *bits = carm_linemap_find(&h->seen[k][x], line / LINES_OF_PAGE + 1);
            if (bits) {
                *bits &= ~(UINT64_C(1) << line % LINES_OF_PAGE);
            }
        }
    }
    h->counts.levels[h->config.nlevels - 1].writebacks += dirty;
    if (h->nprivate) {
        carm_linemap_erase(&h->map, line + 1);
    }
}

static void take_buffer(struct core *c, unsigned i)
{
    c->nbuffers--;
    memmove(c->buffers + i, c->buffers + i + 1, (c->nbuffers - i) * sizeof c->buffers[0]);
}

static void write_buffer(struct carm_hierarchy *h, struct core *c, unsigned i)
{
    if (c->buffers[i].bytes == UINT64_MAX) {
        h->counts.nt_lines++;
    } else {
        h->counts.nt_partial++;
    }
    take_buffer(c, i);
}

static unsigned find_buffer(const struct core *c, uint64_t line)
{
    unsigned i = 0;
    while (i < c->nbuffers && c->buffers[i].line != line) {
        i++;
    }
    return i;
}

static void combine(struct carm_hierarchy *h, uint32_t core, uint64_t line, uint64_t bytes)
{
    struct core *c = &h->cores[core];
    struct buffer buffer = {line, 0};
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
    memmove(c->buffers + 1, c->buffers, c->nbuffers * sizeof c->buffers[0]);
    c->buffers[0] = buffer;
    c->nbuffers++;
    if (buffer.bytes == UINT64_MAX) {
        write_buffer(h, c, 0);
    }
}

/* ---- the access ------------------------------------------------------------------------------------- */

static unsigned access_line(struct carm_hierarchy *h, uint32_t core, uint64_t line, uint64_t bytes,
                            bool store)
{
    struct cache *c = cache_of(h, 0, core);
    const uint64_t at = place_of(c, line);
    struct way w = {.demand = true, .store = store};
    unsigned from = 0;
    uint64_t i = at;
    if (h->cores[core].nbuffers) {
        const unsigned buffer = find_buffer(&h->cores[core], line);
        if (buffer < h->cores[core].nbuffers) {
            write_buffer(h, &h->cores[core], buffer);
        }
    }
    if (!c->trees && (c->entries[at] & ~(FLAGS & ~(uint64_t)(VALID | PREFETCHED))) ==
                         (line << FLAG_BITS | VALID)) { /* the latest of its set, as most are */
        h->counts.levels[0].lookups++;
        carm_lru_touch(&c->shadow, line);
    } else {
        from = look_up(h, 0, core, line, &w);
        i = c->trees ? (uint64_t)find(c, line) : at;
    }
    c->used[i] |= bytes;
    if (store) {
        if (h->nprivate && !(c->entries[i] & OWNED)) {
            visit_others(h, core, line, true);
        }
        c->entries[i] |= DIRTY | OWNED;
    }
    if (from > 0 && (h->config.next_line || h->config.streams)) {
        prefetch(h, core, line, from);
    }
    return from;
}

unsigned carm_hierarchy_access(struct carm_hierarchy *h, uint32_t core, uint64_t address,
                               uint32_t bytes, enum carm_access_kind kind)
{
    unsigned from = 0;
    if (h->failed || bytes == 0) {
        return 0;
    }
    if (kind >= CARM_ACCESS_PREFETCH) {
        h->counts.prefetches++;
        fetch(h, core, address / LINE, kind != CARM_ACCESS_PREFETCH);
        return 0;
    }
    const bool store = kind != CARM_ACCESS_LOAD;
    h->counts.accesses++;
    *(store ? &h->counts.bytes_stored : &h->counts.bytes_loaded) += bytes;
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

/* ---- flushing and reading ------------------------------------------------------------------------------ */

/* A line of level k goes down until a level has it. */
static void flush_entry(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t entry,
                        uint64_t used)
{
    const uint64_t line = entry >> FLAG_BITS;
    count_left(&h->counts.levels[k], entry & FLAGS, used);
    for (size_t j = k; j < h->config.nlevels; j++) {
        h->counts.levels[j].writebacks += (entry & DIRTY) != 0;
        struct cache *next = j + 1 < h->config.nlevels ? cache_of(h, j + 1, core) : NULL;
        const int64_t i = next ? find(next, line) : NOWHERE;
        if (i != NOWHERE) {
            next->entries[i] |= entry & DIRTY;
            next->used[i] |= used;
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
            struct cache *c = &h->caches[k][x];
            for (uint64_t i = 0; i < c->sets * c->ways; i++) {
                if (c->entries[i]) {
                    flush_entry(h, k, x * h->config.levels[k].shared_by, c->entries[i], c->used[i]);
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
    *out = h->counts;
    out->nlevels = h->config.nlevels;
    return 0;
}

double carm_hierarchy_bytes(const struct carm_hierarchy_counts *counts, size_t k)
{
    const uint64_t nt = k + 1 == counts->nlevels ? counts->nt_lines + counts->nt_partial : 0;
    return (double)LINE * (double)(counts->levels[k].fills + counts->levels[k].writebacks + nt);
}

uint64_t carm_hierarchy_misses(const struct carm_hierarchy_counts *counts, size_t k)
{
    uint64_t all = 0;
    for (size_t i = 0; i < CARM_MISS_REASONS; i++) {
        all += counts->levels[k].misses[i];
    }
    return all;
}

const char *carm_miss_reason_name(enum carm_miss_reason reason)
{
    static const char *const names[CARM_MISS_REASONS] = {"compulsory", "capacity", "conflict",
                                                         "coherence"};
    return (unsigned)reason < CARM_MISS_REASONS ? names[reason] : "";
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static int check_level(const struct carm_hierarchy_config *config, size_t k, struct carm_err *err)
{
    const struct carm_hierarchy_level *l = &config->levels[k];
    const uint64_t lines = l->size_bytes / LINE;
    if (l->ways < 1 || lines < 1 || lines > level_lines_max ||
        l->size_bytes % ((uint64_t)LINE * l->ways) != 0) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu has %" PRIu64 " bytes in %" PRIu32
                         " ways: give whole sets of lines of 64 bytes, 4 GiB at most",
                         k + 1, l->size_bytes, l->ways);
    }
    if (config->tree_lru && ((l->ways & (l->ways - 1)) != 0 || l->ways > 64)) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu has %" PRIu32
                         " ways: a tree of bits needs a power of two, 64 at most",
                         k + 1, l->ways);
    }
    if (l->shared_by < 1 || (k > 0 && l->shared_by % config->levels[k - 1].shared_by != 0)) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu is shared by %" PRIu32
                         " cores: give a multiple of those of the level before",
                         k + 1, l->shared_by);
    }
    return 0;
}

static int check(const struct carm_hierarchy_config *config, struct carm_err *err)
{
    if (config->nlevels < 1 || config->nlevels > CARM_HIERARCHY_LEVELS_MAX) {
        return carm_fail(err, CARM_EINVAL, "%zu cache levels cannot be simulated: give 1 to %d",
                         config->nlevels, (int)CARM_HIERARCHY_LEVELS_MAX);
    }
    if (config->cores < 1 || config->cores > CARM_HIERARCHY_CORES_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "caches of %" PRIu32 " cores cannot be simulated: give 1 to %d",
                         config->cores, (int)CARM_HIERARCHY_CORES_MAX);
    }
    if (config->buffers > CARM_HIERARCHY_BUFFERS_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "%u write-combining buffers cannot be simulated: give at most %d",
                         config->buffers, (int)CARM_HIERARCHY_BUFFERS_MAX);
    }
    int rc = 0;
    for (size_t k = 0; k < config->nlevels && !rc; k++) {
        rc = check_level(config, k, err);
    }
    return rc;
}

static bool open_cache(struct carm_hierarchy *h, size_t k, struct cache *c)
{
    const struct carm_hierarchy_level *l = &h->config.levels[k];
    const uint64_t lines = l->size_bytes / LINE;
    c->ways = l->ways;
    c->sets = lines / l->ways;
    c->mask = (c->sets & (c->sets - 1)) == 0 ? c->sets - 1 : 0;
    c->entries = calloc(lines, sizeof *c->entries);
    c->used = calloc(lines, sizeof *c->used);
    c->trees = h->config.tree_lru ? calloc(c->sets, sizeof *c->trees) : NULL;
    h->taken +=
        lines * (2 * sizeof(uint64_t) + sizeof(struct carm_lru_node) + 2 * sizeof(uint32_t));
    return c->entries && c->used && (c->trees || !h->config.tree_lru) &&
           h->taken <= h->config.memory_bytes && carm_lru_open(&c->shadow, lines);
}

static bool open_level(struct carm_hierarchy *h, size_t k)
{
    enum { SEEN_BITS = 8 };
    const uint32_t by = h->config.levels[k].shared_by;
    const uint32_t n = (h->config.cores + by - 1) / by;
    const uint32_t before = k > 0 ? h->ncaches[k - 1] : 0;
    h->ncaches[k] = n;
    h->nprivate = n > 1 ? k + 1 : h->nprivate;
    h->group[k] = k > 0 && before == n ? h->group[k - 1] : k;
    h->caches[k] = calloc(n, sizeof *h->caches[k]);
    h->seen[k] = h->group[k] == k ? calloc(n, sizeof *h->seen[k]) : NULL;
    bool got = h->caches[k] && (h->seen[k] || h->group[k] != k);
    for (uint32_t x = 0; got && x < n; x++) {
        got = open_cache(h, k, &h->caches[k][x]) &&
              (!h->seen[k] || carm_linemap_open(&h->seen[k][x], SEEN_BITS, 1));
    }
    for (uint32_t core = 0; got && core < h->config.cores; core++) {
        h->ways[(size_t)core * CARM_HIERARCHY_LEVELS_MAX + k] = &h->caches[k][core / by];
    }
    return got;
}

int carm_hierarchy_open(struct carm_hierarchy **out, const struct carm_hierarchy_config *config,
                        struct carm_err *err)
{
    enum { MAP_BITS = 12 };
    const int rc = check(config, err);
    if (rc) {
        return rc;
    }
    struct carm_hierarchy *h = calloc(1, sizeof *h);
    bool got = h != NULL;
    if (got) {
        h->config = *config;
        h->config.buffers = config->buffers ? config->buffers : BUFFERS;
        h->config.memory_bytes = config->memory_bytes ? config->memory_bytes : default_memory;
        h->cores = calloc(config->cores, sizeof *h->cores);
        h->ways = calloc((size_t)config->cores * CARM_HIERARCHY_LEVELS_MAX, sizeof(struct cache *));
        got = h->cores && h->ways;
    }
    for (size_t k = 0; got && k < config->nlevels; k++) {
        got = open_level(h, k);
    }
    if (got && h->nprivate) {
        h->mapwords = (config->cores + 63) / 64;
        got = carm_linemap_open(&h->map, MAP_BITS, h->mapwords);
    }
    if (!got) {
        const uint64_t limit = h ? h->config.memory_bytes >> 20 : 0;
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
    if (!h) {
        return;
    }
    for (size_t k = 0; k < h->config.nlevels; k++) {
        for (uint32_t x = 0; h->caches[k] && x < h->ncaches[k]; x++) {
            struct cache *c = &h->caches[k][x];
            free(c->entries);
            free(c->used);
            free(c->trees);
            carm_lru_close(&c->shadow);
        }
        for (uint32_t x = 0; h->seen[k] && x < h->ncaches[k]; x++) {
            carm_linemap_close(&h->seen[k][x]);
        }
        free(h->caches[k]);
        free(h->seen[k]);
    }
    for (uint32_t i = 0; h->cores && i < h->config.cores; i++) {
        free(h->cores[i].lost);
    }
    carm_linemap_close(&h->map);
    free(h->cores);
    free(h->ways);
    free(h);
}
