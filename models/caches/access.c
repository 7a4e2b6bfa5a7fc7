/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One access: through the real levels, the fully associative cache and the infinite one. */
#include <string.h>

#include "models/caches/state.h"

/* ---- the real levels ------------------------------------------------------------------------- */

static uint32_t *set_of(const struct carm_sim_level *level, uint64_t number)
{
    const uint64_t set = level->mask != 0 ? number & level->mask : number % level->sets;
    return level->entries + set * level->ways;
}

/* The place of a line in its set; ways = not there. */
static uint32_t find(const struct carm_sim_level *level, const uint32_t *set, uint32_t id)
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

/* A dirty victim comes whole: a level that lacks it takes it without a fill. */
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

static void unlink_line(struct carm_sim_line *lines, uint32_t id)
{
    lines[lines[id].prev].next = lines[id].next;
    lines[lines[id].next].prev = lines[id].prev;
}

static void link_first(struct carm_sim_line *lines, uint32_t id)
{
    lines[id].prev = 0;
    lines[id].next = lines[0].next;
    lines[lines[0].next].prev = id;
    lines[0].next = id;
}

static void leave_associative(struct carm_cache_sim *sim, uint32_t id)
{
    struct carm_sim_line *line = &sim->lines[id];
    unlink_line(sim->lines, id);
    sim->counts.associative.writebacks += (line->flags & CARM_SIM_ASSOCIATIVE_DIRTY) != 0 ? 1 : 0;
    line->flags &= ~(uint32_t)(CARM_SIM_ASSOCIATIVE | CARM_SIM_ASSOCIATIVE_DIRTY);
    sim->resident--;
}

static void look_up_associative(struct carm_cache_sim *sim, uint32_t id)
{
    if ((sim->lines[id].flags & CARM_SIM_ASSOCIATIVE) != 0) {
        unlink_line(sim->lines, id);
        link_first(sim->lines, id);
        return;
    }
    sim->counts.associative.fills++;
    if (sim->resident == sim->resident_max) {
        leave_associative(sim, sim->lines[0].prev);
    }
    link_first(sim->lines, id);
    sim->lines[id].flags |= CARM_SIM_ASSOCIATIVE;
    sim->resident++;
}

/* ---- non-temporal stores --------------------------------------------------------------------- */

/* Throws cached copies out of all three. The copies of a line in several levels are one line to
 * write back. */
static void throw_out(struct carm_cache_sim *sim, uint32_t id)
{
    struct carm_sim_line *line = &sim->lines[id];
    bool dirty = false;
    for (size_t k = 0; k < sim->nlevels; k++) {
        const struct carm_sim_level *level = &sim->levels[k];
        uint32_t *set = set_of(level, line->number);
        const uint32_t way = find(level, set, id);
        if (way < level->ways) {
            dirty = dirty || (set[way] & 1) != 0;
            memmove(set + way, set + way + 1, (level->ways - 1 - way) * sizeof *set);
            set[level->ways - 1] = 0;
        }
    }
    sim->counts.real.writebacks += dirty ? 1 : 0;
    if ((line->flags & CARM_SIM_ASSOCIATIVE) != 0) {
        leave_associative(sim, id);
    }
    sim->counts.infinite.writebacks += (line->flags & CARM_SIM_INFINITE_DIRTY) != 0 ? 1 : 0;
    line->flags &= ~(uint32_t)(CARM_SIM_INFINITE | CARM_SIM_INFINITE_DIRTY);
}

/* Takes buffer i out. */
static struct carm_sim_buffer take_buffer(struct carm_cache_sim *sim, unsigned i)
{
    const struct carm_sim_buffer buffer = sim->buffers[i];
    sim->nbuffers--;
    memmove(sim->buffers + i, sim->buffers + i + 1, (sim->nbuffers - i) * sizeof sim->buffers[0]);
    sim->lines[buffer.id].flags &= ~(uint32_t)CARM_SIM_COMBINING;
    return buffer;
}

static void write_buffer(struct carm_cache_sim *sim, unsigned i)
{
    const struct carm_sim_buffer buffer = take_buffer(sim, i);
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
    struct carm_sim_buffer buffer = {id, 0};
    if ((sim->lines[id].flags & CARM_SIM_COMBINING) != 0) {
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
    sim->lines[id].flags |= CARM_SIM_COMBINING;
    if (buffer.bytes == UINT64_MAX) {
        write_buffer(sim, 0);
    }
}

/* ---- the access ------------------------------------------------------------------------------ */

static void touch(struct carm_cache_sim *sim, uint64_t number, bool store)
{
    const uint32_t id = carm_sim_id(sim, number);
    if (id == 0) {
        return;
    }
    if ((sim->lines[id].flags & CARM_SIM_COMBINING) != 0) {
        write_buffer(sim, find_buffer(sim, id));
    }
    sim->counts.lookups++;
    look_up(sim, 0, id, store);
    look_up_associative(sim, id);
    uint32_t *flags = &sim->lines[id].flags;
    sim->counts.infinite.fills += (*flags & CARM_SIM_INFINITE) == 0 ? 1 : 0;
    *flags |= store ? CARM_SIM_INFINITE | CARM_SIM_STORED | CARM_SIM_INFINITE_DIRTY |
                          CARM_SIM_ASSOCIATIVE_DIRTY
                    : CARM_SIM_INFINITE | CARM_SIM_LOADED;
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
        const uint32_t id = carm_sim_id(sim, number);
        if (id != 0) {
            const uint64_t from = number == address / line ? address % line : 0;
            const uint64_t to = number == end / line ? end % line : line - 1;
            combine(sim, id, UINT64_MAX >> (line - 1 - (to - from)) << from);
        }
    }
}
