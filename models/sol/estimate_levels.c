/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/estimate_layers.h"

#include <stdlib.h>
#include <string.h>

#include "models/sol/moves.h"

double carm_sol_level_cycles(const struct carm_sol_layers *layers, size_t level, uint64_t elements)
{
    const double rate = layers->arch.levels[level].byte_per_cycle;
    const unsigned bits = carm_sol_precision_bits(layers->precision);
    return rate > 0.0 ? (double)elements * (double)bits / 8.0 / rate : 0.0;
}

/* What one level carries of each layer. missed: intermediates that it has to find, from inside. */
static int carry(const struct carm_sol_layers *layers, size_t level, struct carm_sol_missed *m,
                 struct carm_err *err)
{
    const struct carm_sol_counts *counts = layers->analysis->layers;
    uint64_t *sum = &m->carried[level];
    for (uint32_t i = 0; i < layers->analysis->n; i++) {
        const uint64_t elements =
            level == 0 ? counts[i].unfused : counts[i].external + m->spilled[i];
        if (!carm_sol_add(sum, elements)) {
            return carm_fail(err, CARM_EFORMAT,
                             "level %s carries more than 2^63-1 elements; check the shapes",
                             layers->arch.levels[level].name);
        }
        const double cycles = carm_sol_level_cycles(layers, level, elements);
        if (cycles > m->level_cycles[i]) {
            m->level_cycles[i] = cycles;
            m->level[i] = (int16_t)level;
        }
    }
    return 0;
}

/* What a level misses stays missed, even where a policy does worse with more room. */
static void narrow(struct carm_sol_missed *m, const uint64_t *spilled, uint32_t n)
{
    m->total = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (spilled[i] < m->spilled[i]) {
            m->spilled[i] = spilled[i];
        }
        m->total += m->spilled[i];
    }
}

static int fill_policy(struct carm_sol_lives *lives, struct carm_sol_layers *layers,
                       enum carm_sol_policy policy, uint64_t *spilled, uint64_t *peak_bytes,
                       struct carm_err *err)
{
    const uint32_t n = layers->analysis->n;
    struct carm_sol_missed *m = &layers->missed[policy];
    for (uint32_t i = 0; i < n; i++) {
        m->spilled[i] = layers->analysis->layers[i].intermediate;
        m->level[i] = -1;
    }
    for (size_t k = 0; k < layers->arch.nlevels; k++) {
        int rc = carry(layers, k, m, err);
        const uint64_t capacity = layers->arch.levels[k].capacity;
        if (rc == 0 && capacity > 0) {
            uint64_t total = 0;
            rc = carm_sol_lives_spill(lives, capacity, layers->precision, policy, spilled, &total,
                                      peak_bytes, err);
        }
        if (rc) {
            return rc;
        }
        if (capacity > 0) {
            narrow(m, spilled, n);
        }
    }
    return 0;
}

static bool make(struct carm_sol_missed *m, uint32_t n)
{
    const size_t room = n > 0 ? n : 1;
    m->spilled = calloc(room, sizeof *m->spilled);
    m->level_cycles = calloc(room, sizeof *m->level_cycles);
    m->level = calloc(room, sizeof *m->level);
    return m->spilled && m->level_cycles && m->level;
}

static int out_of_memory(uint32_t n, struct carm_err *err)
{
    return carm_fail(err, CARM_ENOMEM, "out of memory for a graph of %u layers", n);
}

int carm_sol_levels_fill(const struct carm_sol_graph *graph, struct carm_sol_layers *layers,
                         uint64_t *peak_bytes, struct carm_err *err)
{
    struct carm_sol_lives *lives = NULL;
    const uint32_t n = layers->analysis->n;
    if (!make(&layers->missed[CARM_SOL_LRU], n) || !make(&layers->missed[CARM_SOL_FARTHEST], n)) {
        return out_of_memory(n, err);
    }
    uint64_t *spilled = calloc(n > 0 ? n : 1, sizeof *spilled);
    if (!spilled) {
        return out_of_memory(n, err);
    }
    int rc = carm_sol_lives_open(graph, &lives, err);
    if (rc == 0) {
        rc = fill_policy(lives, layers, CARM_SOL_LRU, spilled, peak_bytes, err);
    }
    if (rc == 0) {
        rc = fill_policy(lives, layers, CARM_SOL_FARTHEST, spilled, peak_bytes, err);
    }
    carm_sol_lives_close(lives);
    free(spilled);
    return rc;
}

void carm_sol_missed_free(struct carm_sol_missed *missed)
{
    free(missed->spilled);
    free(missed->level_cycles);
    free(missed->level);
    *missed = (struct carm_sol_missed){0};
}
