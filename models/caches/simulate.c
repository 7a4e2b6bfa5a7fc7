/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/simulate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 12, FRONT_BITS = 10 };

static const uint64_t level_lines_max = UINT64_C(1) << 26; /* 4 GiB of cache */
static const uint64_t limit_max = UINT64_C(1) << 30;       /* an entry has 31 bits for an id */

/* Every line of the trace has an id, from 1 up; the caches hold ids. */

/* What is known of a line. */
enum flag {
    LOADED = 1,
    STORED = 2,
    INFINITE = 4, /* in the infinite cache */
    INFINITE_DIRTY = 8,
    ASSOCIATIVE = 16, /* in the fully associative cache */
    ASSOCIATIVE_DIRTY = 32,
    COMBINING = 64, /* non-temporal stores to it are being combined */
    MARK = 128,     /* counted, while dirty lines are being counted */
};

struct line {
    uint64_t number;     /* address / 64 */
    uint32_t prev, next; /* neighbours in the fully associative cache by time of use, line 0 closing
                          * the ring: its next is the latest, its prev the victim */
    uint32_t flags;
};

/* Entries of a set, the latest used first: id * 2 + dirty; 0 = empty, at the end. */
struct level {
    uint32_t *entries; /* [sets * ways] */
    uint64_t sets;
    uint64_t mask; /* sets - 1 where that is a power of two, else 0 */
    uint32_t ways;
};

struct buffer {
    uint32_t id;
    uint64_t bytes; /* written so far, a bit for each */
};

struct carm_cache_sim {
    struct line *lines; /* [room], line 0 is none */
    uint32_t nlines;    /* line 0 included */
    uint32_t room;
    uint64_t limit;      /* lines without line 0 */
    uint32_t *table;     /* [2^table_bits] open addressing: ids, 0 = empty */
    unsigned table_bits; /* at most half of the table is full */
    struct {
        uint64_t number;
        uint32_t id;          /* 0 = empty */
    } front[1 << FRONT_BITS]; /* lines seen of late: most lookups need no table */

    struct level levels[CARM_CACHE_SIM_LEVELS_MAX];
    size_t nlevels;
    uint64_t resident, resident_max; /* lines in the fully associative cache */

    struct buffer buffers[CARM_CACHE_SIM_BUFFERS_MAX]; /* the latest used first */
    unsigned nbuffers, buffers_max;

    struct carm_cache_sim_counts counts; /* as far as the trace has come */
    bool over;                           /* the trace touches more lines than the limit */
    bool failed;                         /* over, or no memory */
};

/* ---- lines: from line numbers to ids ----------------------------------------------------------- */

/* Where a line lies in a table of 2^bits, bits > 0. The multiplier is 2^64 over the golden ratio:
 * neighbours and power-of-two strides spread (Knuth, The Art of Computer Programming 3, 6.4). */
static uint64_t hash_of(uint64_t number, unsigned bits)
{
    return (number * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits);
}

static bool open_lines(struct carm_cache_sim *sim)
{
    sim->table_bits = FIRST_BITS;
    sim->room = UINT32_C(1) << (FIRST_BITS - 1);
    sim->lines = calloc(sim->room, sizeof *sim->lines);
    sim->table = calloc((size_t)1 << FIRST_BITS, sizeof *sim->table);
    sim->nlines = 1;
    return sim->lines && sim->table;
}

static void close_lines(struct carm_cache_sim *sim)
{
    free(sim->lines);
    free(sim->table);
}

static void enter(uint32_t *table, unsigned bits, uint64_t number, uint32_t id)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t at = hash_of(number, bits);
    while (table[at] != 0) {
        at = (at + 1) & mask;
    }
    table[at] = id;
}

/* Twice the room. returns false when there is no memory: all is as before */
static bool grow(struct carm_cache_sim *sim)
{
    const unsigned bits = sim->table_bits + 1;
    const uint32_t room = sim->room * 2;
    struct line *lines = realloc(sim->lines, (size_t)room * sizeof *lines);
    if (!lines) {
        return false;
    }
    sim->lines = lines;
    uint32_t *table = calloc((size_t)1 << bits, sizeof *table);
    if (!table) {
        return false;
    }
    for (uint32_t id = 1; id < sim->nlines; id++) {
        enter(table, bits, lines[id].number, id);
    }
    free(sim->table);
    sim->table = table;
    sim->table_bits = bits;
    sim->room = room;
    return true;
}

/* The id of a line, a new one where it has none; 0, and sim->failed, when no more can be had. */
static uint32_t find_line(struct carm_cache_sim *sim, uint64_t number)
{
    const uint64_t mask = (UINT64_C(1) << sim->table_bits) - 1;
    uint64_t at = hash_of(number, sim->table_bits);
    while (sim->table[at] != 0) {
        const uint32_t id = sim->table[at];
        if (sim->lines[id].number == number) {
            return id;
        }
        at = (at + 1) & mask;
    }
    sim->over = sim->nlines > sim->limit;
    if (sim->over || (sim->nlines == sim->room && !grow(sim))) {
        sim->failed = true;
        return 0;
    }
    const uint32_t id = sim->nlines++;
    sim->lines[id] = (struct line){.number = number};
    enter(sim->table, sim->table_bits, number, id);
    return id;
}

/* The id of a line, mostly without the table. */
static uint32_t id_of(struct carm_cache_sim *sim, uint64_t number)
{
    const uint64_t at = hash_of(number, FRONT_BITS);
    if (sim->front[at].number == number && sim->front[at].id != 0) {
        return sim->front[at].id;
    }
    const uint32_t id = find_line(sim, number);
    sim->front[at].number = number;
    sim->front[at].id = id;
    return id;
}

/* ---- the real levels ------------------------------------------------------------------------- */

static uint32_t *set_of(const struct level *level, uint64_t number)
{
    const uint64_t set = level->mask != 0 ? number & level->mask : number % level->sets;
    return level->entries + set * level->ways;
}

/* The place of a line in its set; ways = not there. */
static uint32_t find(const struct level *level, const uint32_t *set, uint32_t id)
{
    for (uint32_t way = 0; way < level->ways; way++) {
        if (set[way] >> 1 == id) {
            return way;
        }
    }
    return level->ways;
}

/* Makes it the first of its set, the ones before it the next. */
static void put_first(uint32_t *set, uint32_t way, uint32_t entry)
{
    for (uint32_t i = way; i > 0; i--) {
        set[i] = set[i - 1];
    }
    set[0] = entry;
}

static uint32_t as_entry(uint32_t id, bool dirty)
{
    return id << 1 | (dirty ? 1U : 0U);
}

static void write_back(struct carm_cache_sim *sim, size_t k, uint32_t id);

/* Puts a line in that is not there. The line has come from below before its place is made. */
static void insert(struct carm_cache_sim *sim, size_t k, uint32_t *set, uint32_t id, bool dirty)
{
    const uint32_t last = sim->levels[k].ways - 1;
    const uint32_t victim = set[last];
    put_first(set, last, as_entry(id, dirty));
    if ((victim & 1) != 0) {
        sim->counts.levels[k].writebacks++;
        write_back(sim, k + 1, victim >> 1);
    }
}

/* A dirty victim comes whole: a level without the line takes it without a fill. */
static void write_back(struct carm_cache_sim *sim, size_t k, uint32_t id)
{
    if (k == sim->nlevels) {
        sim->counts.real.writebacks++;
        return;
    }
    uint32_t *set = set_of(&sim->levels[k], sim->lines[id].number);
    const uint32_t way = find(&sim->levels[k], set, id);
    if (way < sim->levels[k].ways) {
        put_first(set, way, as_entry(id, true));
    } else {
        insert(sim, k, set, id, true);
    }
}

/* A lookup in level k and, where it misses, in the ones behind it. Only the first level's copy gets
 * dirty: the others learn of the store when it is written back. */
static void look_up(struct carm_cache_sim *sim, size_t k, uint32_t id, bool store)
{
    if (k == sim->nlevels) {
        sim->counts.real.fills++;
        return;
    }
    uint32_t *set = set_of(&sim->levels[k], sim->lines[id].number);
    const uint32_t way = find(&sim->levels[k], set, id);
    if (way < sim->levels[k].ways) {
        sim->counts.levels[k].hits++;
        put_first(set, way, set[way] | (store ? 1U : 0U));
        return;
    }
    sim->counts.levels[k].misses++;
    look_up(sim, k + 1, id, false);
    insert(sim, k, set, id, store);
}

/* ---- the fully associative cache ------------------------------------------------------------- */

static void unlink_line(struct line *lines, uint32_t id)
{
    lines[lines[id].prev].next = lines[id].next;
    lines[lines[id].next].prev = lines[id].prev;
}

static void link_first(struct line *lines, uint32_t id)
{
    lines[id].prev = 0;
    lines[id].next = lines[0].next;
    lines[lines[0].next].prev = id;
    lines[0].next = id;
}

static void leave_associative(struct carm_cache_sim *sim, uint32_t id)
{
    struct line *line = &sim->lines[id];
    unlink_line(sim->lines, id);
    sim->counts.associative.writebacks += (line->flags & ASSOCIATIVE_DIRTY) != 0 ? 1 : 0;
    line->flags &= ~(uint32_t)(ASSOCIATIVE | ASSOCIATIVE_DIRTY);
    sim->resident--;
}

static void look_up_associative(struct carm_cache_sim *sim, uint32_t id)
{
    if ((sim->lines[id].flags & ASSOCIATIVE) != 0) {
        unlink_line(sim->lines, id);
        link_first(sim->lines, id);
        return;
    }
    sim->counts.associative.fills++;
    if (sim->resident == sim->resident_max) {
        leave_associative(sim, sim->lines[0].prev);
    }
    link_first(sim->lines, id);
    sim->lines[id].flags |= ASSOCIATIVE;
    sim->resident++;
}

/* ---- non-temporal stores --------------------------------------------------------------------- */

/* Throws cached copies out of all three. The copies of a line in several levels are one line to
 * write back. */
static void throw_out(struct carm_cache_sim *sim, uint32_t id)
{
    struct line *line = &sim->lines[id];
    bool dirty = false;
    for (size_t k = 0; k < sim->nlevels; k++) {
        const struct level *level = &sim->levels[k];
        uint32_t *set = set_of(level, line->number);
        const uint32_t way = find(level, set, id);
        if (way < level->ways) {
            dirty = dirty || (set[way] & 1) != 0;
            memmove(set + way, set + way + 1, (level->ways - 1 - way) * sizeof *set);
            set[level->ways - 1] = 0;
        }
    }
    sim->counts.real.writebacks += dirty ? 1 : 0;
    if ((line->flags & ASSOCIATIVE) != 0) {
        leave_associative(sim, id);
    }
    sim->counts.infinite.writebacks += (line->flags & INFINITE_DIRTY) != 0 ? 1 : 0;
    line->flags &= ~(uint32_t)(INFINITE | INFINITE_DIRTY);
}

/* Takes buffer i out. */
static struct buffer take_buffer(struct carm_cache_sim *sim, unsigned i)
{
    const struct buffer buffer = sim->buffers[i];
    sim->nbuffers--;
    memmove(sim->buffers + i, sim->buffers + i + 1, (sim->nbuffers - i) * sizeof sim->buffers[0]);
    sim->lines[buffer.id].flags &= ~(uint32_t)COMBINING;
    return buffer;
}

static void write_buffer(struct carm_cache_sim *sim, unsigned i)
{
    const struct buffer buffer = take_buffer(sim, i);
    if (buffer.bytes == UINT64_MAX) {
        sim->counts.nt_lines++;
    } else {
        sim->counts.nt_partial++;
        sim->counts.nt_partial_bytes += (unsigned)__builtin_popcountll(buffer.bytes);
    }
}

static unsigned find_buffer(const struct carm_cache_sim *sim, uint32_t id)
{
    unsigned i = 0;
    while (i < sim->nbuffers && sim->buffers[i].id != id) {
        i++;
    }
    return i;
}

/* bytes  the ones written, a bit for each */
static void combine(struct carm_cache_sim *sim, uint32_t id, uint64_t bytes)
{
    struct buffer buffer = {id, 0};
    if ((sim->lines[id].flags & COMBINING) != 0) {
        buffer = take_buffer(sim, find_buffer(sim, id));
    } else {
        throw_out(sim, id);
        if (sim->nbuffers == sim->buffers_max) {
            write_buffer(sim, sim->nbuffers - 1);
        }
    }
    buffer.bytes |= bytes;
    memmove(sim->buffers + 1, sim->buffers, sim->nbuffers * sizeof sim->buffers[0]);
    sim->buffers[0] = buffer;
    sim->nbuffers++;
    sim->lines[id].flags |= COMBINING;
    if (buffer.bytes == UINT64_MAX) {
        write_buffer(sim, 0);
    }
}

/* ---- the access ------------------------------------------------------------------------------ */

static void touch(struct carm_cache_sim *sim, uint64_t number, bool store)
{
    const uint32_t id = id_of(sim, number);
    if (id == 0) {
        return;
    }
    if ((sim->lines[id].flags & COMBINING) != 0) {
        write_buffer(sim, find_buffer(sim, id));
    }
    sim->counts.lookups++;
    look_up(sim, 0, id, store);
    look_up_associative(sim, id);
    uint32_t *flags = &sim->lines[id].flags;
    sim->counts.infinite.fills += (*flags & INFINITE) == 0 ? 1 : 0;
    *flags |= store ? INFINITE | STORED | INFINITE_DIRTY | ASSOCIATIVE_DIRTY : INFINITE | LOADED;
}

void carm_cache_sim_access(void *context, uint64_t address, unsigned bytes, bool store,
                           bool nontemporal)
{
    struct carm_cache_sim *sim = context;
    if (sim->failed || bytes == 0) {
        return;
    }
    sim->counts.accesses++;
    sim->counts.bytes_stored += store ? bytes : 0;
    sim->counts.bytes_loaded += store ? 0 : bytes;
    const uint64_t line = CARM_CACHE_SIM_LINE;
    const uint64_t end = address + (bytes - 1); /* the last byte */
    for (uint64_t number = address / line; number <= end / line && !sim->failed; number++) {
        if (!store || !nontemporal) {
            touch(sim, number, store);
            continue;
        }
        const uint32_t id = id_of(sim, number);
        if (id != 0) {
            const uint64_t from = number == address / line ? address % line : 0;
            const uint64_t to = number == end / line ? end % line : line - 1;
            combine(sim, id, UINT64_MAX >> (line - 1 - (to - from)) << from);
        }
    }
}

/* ---- opening and reading ----------------------------------------------------------------------- */

static int check_level(const struct carm_cache_sim_level *level, size_t k, struct carm_err *err)
{
    const uint64_t lines = level->size_bytes / CARM_CACHE_SIM_LINE;
    if (level->ways < 1) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu of the simulation has 0 ways: give at least 1", k + 1);
    }
    if (lines < 1 || lines > level_lines_max) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu of the simulation has %" PRIu64
                         " bytes: give 64 bytes to 4 GiB",
                         k + 1, level->size_bytes);
    }
    if (level->size_bytes % ((uint64_t)CARM_CACHE_SIM_LINE * level->ways) != 0) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu of the simulation has %" PRIu64
                         " bytes, which is not a whole number of sets of %" PRIu32
                         " lines of 64 bytes: give another size or number of ways",
                         k + 1, level->size_bytes, level->ways);
    }
    return 0;
}

int carm_cache_sim_open(struct carm_cache_sim **out, const struct carm_cache_sim_level *levels,
                        size_t n, struct carm_err *err)
{
    if (n < 1 || n > CARM_CACHE_SIM_LEVELS_MAX) {
        return carm_fail(err, CARM_EINVAL, "%zu cache levels cannot be simulated: give 1 to %d", n,
                         (int)CARM_CACHE_SIM_LEVELS_MAX);
    }
    for (size_t k = 0; k < n; k++) {
        const int rc = check_level(&levels[k], k, err);
        if (rc) {
            return rc;
        }
    }
    struct carm_cache_sim *sim = calloc(1, sizeof *sim);
    bool got = sim != NULL && open_lines(sim);
    for (size_t k = 0; got && k < n; k++) {
        struct level *level = &sim->levels[k];
        const uint64_t lines = levels[k].size_bytes / CARM_CACHE_SIM_LINE;
        level->ways = levels[k].ways;
        level->sets = lines / level->ways;
        level->mask = (level->sets & (level->sets - 1)) == 0 ? level->sets - 1 : 0;
        level->entries = calloc(lines, sizeof *level->entries);
        got = level->entries != NULL;
        sim->resident_max = lines;
        sim->nlevels = k + 1;
    }
    if (!got) {
        carm_cache_sim_close(sim);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to simulate caches");
    }
    sim->limit = CARM_CACHE_SIM_LINES;
    sim->buffers_max = CARM_CACHE_SIM_BUFFERS;
    *out = sim;
    return 0;
}

void carm_cache_sim_close(struct carm_cache_sim *sim)
{
    if (sim) {
        for (size_t k = 0; k < sim->nlevels; k++) {
            free(sim->levels[k].entries);
        }
        close_lines(sim);
        free(sim);
    }
}

int carm_cache_sim_limit(struct carm_cache_sim *sim, uint64_t lines, struct carm_err *err)
{
    if (lines < 1 || lines > limit_max) {
        return carm_fail(err, CARM_EINVAL,
                         "a simulation of caches cannot be limited to %" PRIu64
                         " lines: give 1 to %" PRIu64,
                         lines, limit_max);
    }
    sim->limit = lines;
    return 0;
}

int carm_cache_sim_buffers(struct carm_cache_sim *sim, unsigned n, struct carm_err *err)
{
    if (n < 1 || n > CARM_CACHE_SIM_BUFFERS_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "%u write-combining buffers cannot be simulated: give 1 to %d", n,
                         (int)CARM_CACHE_SIM_BUFFERS_MAX);
    }
    sim->buffers_max = n;
    return 0;
}

/* Lines of which some level holds a dirty copy. */
static uint64_t count_dirty(struct carm_cache_sim *sim)
{
    uint64_t dirty = 0;
    for (size_t k = 0; k < sim->nlevels; k++) {
        const struct level *level = &sim->levels[k];
        for (uint64_t i = 0; i < level->sets * level->ways; i++) {
            uint32_t *flags = &sim->lines[level->entries[i] >> 1].flags;
            if ((level->entries[i] & 1) != 0 && (*flags & MARK) == 0) {
                *flags |= MARK;
                dirty++;
            }
        }
    }
    for (uint32_t id = 1; id < sim->nlines; id++) {
        sim->lines[id].flags &= ~(uint32_t)MARK;
    }
    return dirty;
}

int carm_cache_sim_read(struct carm_cache_sim *sim, bool flush, struct carm_cache_sim_counts *out,
                        struct carm_err *err)
{
    if (sim->over) {
        return carm_fail(err, CARM_ENOMEM,
                         "the trace touches more than the %" PRIu64
                         " lines (%.0f MiB) that the simulation of caches may hold: use a smaller "
                         "problem size",
                         sim->limit, (double)sim->limit * CARM_CACHE_SIM_LINE / 1048576.0);
    }
    if (sim->failed) {
        return carm_fail(err, CARM_ENOMEM,
                         "not enough memory to simulate caches beyond %" PRIu32
                         " lines: use a smaller problem size",
                         sim->nlines - 1);
    }
    struct carm_cache_sim_counts c = sim->counts;
    c.nlevels = sim->nlevels;
    c.lines = sim->nlines - 1;
    for (uint32_t id = 1; id < sim->nlines; id++) {
        const uint32_t flags = sim->lines[id].flags;
        const bool stored = (flags & INFINITE) != 0 && (flags & LOADED) == 0;
        c.lines_stored += stored ? 1 : 0;
        c.associative.writebacks += flush && (flags & ASSOCIATIVE_DIRTY) != 0 ? 1 : 0;
        c.infinite.writebacks += flush && (flags & INFINITE_DIRTY) != 0 ? 1 : 0;
    }
    c.real.writebacks += flush ? count_dirty(sim) : 0;
    for (unsigned i = 0; i < sim->nbuffers; i++) { /* whole ones do not stay */
        c.nt_partial++;
        c.nt_partial_bytes += (unsigned)__builtin_popcountll(sim->buffers[i].bytes);
    }
    c.compulsory = c.infinite.fills;
    c.capacity = c.associative.fills - c.infinite.fills;
    c.conflict = (int64_t)c.real.fills - (int64_t)c.associative.fills;
    *out = c;
    return 0;
}
