/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What spills, found the slow way: lists that are searched from end to end for every question. */
#pragma once

#include "models/sol/cache.h"
#include "models/sol/count.h"
#include "tests/unit.h"

enum { SOL_REFERENCE_MAX = 256 }; /* layers, tensors and slots of a layer */

struct sol_reference {
    const struct carm_sol_graph *g;
    const struct carm_sol_traffic *m;
    enum carm_sol_policy policy;
    uint64_t bytes[SOL_REFERENCE_MAX];
    bool here[SOL_REFERENCE_MAX], written_back[SOL_REFERENCE_MAX];
    uint32_t used_at[SOL_REFERENCE_MAX], used_slot[SOL_REFERENCE_MAX];
    uint64_t spilled[SOL_REFERENCE_MAX];
};

/* elements of an intermediate that the layer at a position reads; reads: whether it does at all */
static inline uint64_t sol_reference_read(const struct sol_reference *s, uint32_t position,
                                          uint32_t tensor, bool *reads)
{
    const struct carm_sol_layer *l = &s->g->layers[s->g->order[position]];
    uint64_t sum = 0;
    *reads = false;
    for (uint32_t i = 0; carm_sol_operates(l->kind) && i < l->inputs; i++) {
        if (s->m->base[s->g->uses[l->uses + i].tensor] == tensor) {
            sum += s->m->moved[l->uses + i];
            *reads = true;
        }
    }
    return sum;
}

/* the position of the next reader; graph->n = none */
static inline uint32_t sol_reference_next(const struct sol_reference *s, uint32_t position,
                                          uint32_t tensor)
{
    bool reads = false;
    for (uint32_t at = position + 1; at < s->g->n; at++) {
        (void)sol_reference_read(s, at, tensor, &reads);
        if (reads) {
            return at;
        }
    }
    return s->g->n;
}

/* charged to the layer that writes it */
static inline void sol_reference_write_back(struct sol_reference *s, uint32_t tensor)
{
    if (!s->written_back[tensor]) {
        const struct carm_sol_layer *l = &s->g->layers[s->g->producer[tensor]];
        s->written_back[tensor] = true;
        for (uint32_t i = l->inputs; i < l->inputs + l->outputs; i++) {
            if (s->g->uses[l->uses + i].tensor == tensor) {
                s->spilled[s->g->producer[tensor]] += s->m->moved[l->uses + i];
            }
        }
    }
}

static inline uint64_t sol_reference_used(const struct sol_reference *s)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < s->g->ntensors; t++) {
        sum += s->here[t] ? s->bytes[t] : 0;
    }
    return sum;
}

/* what goes next of those that are not held */
static inline uint32_t sol_reference_victim(const struct sol_reference *s, uint32_t position,
                                            const bool *held)
{
    uint32_t victim = UINT32_MAX;
    for (uint32_t t = 0; t < s->g->ntensors; t++) {
        if (!s->here[t] || held[t]) {
            continue;
        }
        if (victim == UINT32_MAX) {
            victim = t;
        } else if (s->policy == CARM_SOL_FARTHEST) {
            victim = sol_reference_next(s, position, t) >= sol_reference_next(s, position, victim)
                         ? t
                         : victim;
        } else if (s->used_at[t] < s->used_at[victim] || (s->used_at[t] == s->used_at[victim] &&
                                                          s->used_slot[t] < s->used_slot[victim])) {
            victim = t;
        }
    }
    return victim;
}

static inline void sol_reference_operate(struct sol_reference *s, uint32_t position,
                                         uint64_t capacity)
{
    const uint32_t index = s->g->order[position];
    const struct carm_sol_layer *l = &s->g->layers[index];
    uint32_t operands[SOL_REFERENCE_MAX];
    uint32_t n = 0;
    bool held[SOL_REFERENCE_MAX] = {false};
    uint64_t room = capacity;
    for (uint32_t i = 0; carm_sol_operates(l->kind) && i < l->inputs + l->outputs; i++) {
        const uint32_t t = s->m->base[s->g->uses[l->uses + i].tensor];
        bool known = s->m->kind[t] != CARM_SOL_INTERMEDIATE;
        for (uint32_t j = 0; j < n; j++) {
            known = known || operands[j] == t;
        }
        if (known) {
            continue;
        }
        operands[n++] = t;
        if (i < l->inputs && s->here[t]) {
            held[t] = true;
            room -= s->bytes[t];
        } else if (i < l->inputs) {
            bool reads = false;
            s->spilled[index] += sol_reference_read(s, position, t, &reads);
        }
    }
    for (uint32_t j = 0; j < n; j++) {
        const uint32_t t = operands[j];
        s->used_at[t] = position;
        s->used_slot[t] = j;
        if (held[t] || sol_reference_next(s, position, t) == s->g->n) {
            continue;
        }
        s->here[t] = s->bytes[t] <= room;
        if (!s->here[t]) {
            sol_reference_write_back(s, t);
        }
    }
    while (sol_reference_used(s) > capacity) {
        const uint32_t victim = sol_reference_victim(s, position, held);
        assert_true(victim != UINT32_MAX);
        s->here[victim] = false;
        sol_reference_write_back(s, victim);
    }
    for (uint32_t j = 0; j < n; j++) {
        if (sol_reference_next(s, position, operands[j]) == s->g->n) {
            s->here[operands[j]] = false;
        }
    }
}

static inline void sol_reference_spill(const struct carm_sol_graph *g, uint64_t capacity,
                                       enum carm_sol_precision precision,
                                       enum carm_sol_policy policy, uint64_t *spilled)
{
    struct sol_reference s = {.g = g, .policy = policy};
    struct carm_sol_traffic *m = NULL;
    assert_true(g->n <= SOL_REFERENCE_MAX && g->ntensors <= SOL_REFERENCE_MAX);
    assert_int_equal(carm_sol_traffic_open(g, &m, NULL), 0);
    s.m = m;
    for (uint32_t t = 0; t < g->ntensors; t++) {
        assert_int_equal(carm_sol_bytes(m->size[t], precision, &s.bytes[t]), 0);
    }
    for (uint32_t at = 0; at < g->n; at++) {
        sol_reference_operate(&s, at, capacity);
    }
    memcpy(spilled, s.spilled, g->n * sizeof *spilled);
    carm_sol_traffic_close(m);
}
