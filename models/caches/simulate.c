/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/simulate.h"

#include <inttypes.h>
#include <stdlib.h>

#include "models/caches/state.h"

static const uint64_t level_lines_max = UINT64_C(1) << 26; /* 4 GiB of cache */
static const uint64_t limit_max = UINT64_C(1) << 30;       /* an entry has 31 bits for an id */

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
                         " bytes, which are no whole sets of %" PRIu32
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
    bool got = sim != NULL && carm_sim_lines_open(sim);
    for (size_t k = 0; got && k < n; k++) {
        struct carm_sim_level *level = &sim->levels[k];
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
        carm_sim_lines_close(sim);
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
        const struct carm_sim_level *level = &sim->levels[k];
        for (uint64_t i = 0; i < level->sets * level->ways; i++) {
            uint32_t *flags = &sim->lines[level->entries[i] >> 1].flags;
            if ((level->entries[i] & 1) != 0 && (*flags & CARM_SIM_MARK) == 0) {
                *flags |= CARM_SIM_MARK;
                dirty++;
            }
        }
    }
    for (uint32_t id = 1; id < sim->nlines; id++) {
        sim->lines[id].flags &= ~(uint32_t)CARM_SIM_MARK;
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
        const bool stored = (flags & CARM_SIM_INFINITE) != 0 && (flags & CARM_SIM_LOADED) == 0;
        c.lines_stored += stored ? 1 : 0;
        c.associative.writebacks += flush && (flags & CARM_SIM_ASSOCIATIVE_DIRTY) != 0 ? 1 : 0;
        c.infinite.writebacks += flush && (flags & CARM_SIM_INFINITE_DIRTY) != 0 ? 1 : 0;
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
