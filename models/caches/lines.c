/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a trace: from line numbers to ids. */
#include <stdlib.h>
#include <string.h>

#include "models/caches/state.h"

enum { FIRST_BITS = 12 };

bool carm_sim_lines_open(struct carm_cache_sim *sim)
{
    sim->table_bits = FIRST_BITS;
    sim->room = UINT32_C(1) << (FIRST_BITS - 1);
    sim->lines = calloc(sim->room, sizeof *sim->lines);
    sim->table = calloc((size_t)1 << FIRST_BITS, sizeof *sim->table);
    sim->nlines = 1;
    return sim->lines && sim->table;
}

void carm_sim_lines_close(struct carm_cache_sim *sim)
{
    free(sim->lines);
    free(sim->table);
}

static void enter(uint32_t *table, unsigned bits, uint64_t number, uint32_t id)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t at = carm_sim_hash(number, bits);
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
    struct carm_sim_line *lines = realloc(sim->lines, (size_t)room * sizeof *lines);
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

uint32_t carm_sim_lines_find(struct carm_cache_sim *sim, uint64_t number)
{
    const uint64_t mask = (UINT64_C(1) << sim->table_bits) - 1;
    uint64_t at = carm_sim_hash(number, sim->table_bits);
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
    sim->lines[id] = (struct carm_sim_line){.number = number};
    enter(sim->table, sim->table_bits, number, id);
    return id;
}
