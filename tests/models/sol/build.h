/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs made in memory, layer by layer, as models/sol/graph.h has them, and what must succeed on them:
 * analysis, estimate, spills. */
#pragma once

#include "models/sol/cache.h"
#include "models/sol/count.h"
#include "models/sol/estimate.h"
#include "models/sol/graph.h"
#include "tests/unit.h"

struct sol_slot {
    uint32_t tensor;
    uint64_t elements;
    uint8_t role;
};

/* slots of a layer */
#define IN(t, n)     ((struct sol_slot){(t), (n), CARM_SOL_INPUT})
#define WEIGHT(t, n) ((struct sol_slot){(t), (n), CARM_SOL_WEIGHT})
#define BIAS(t, n)   ((struct sol_slot){(t), (n), CARM_SOL_BIAS})
#define OUT(t, n)    ((struct sol_slot){(t), (n), CARM_SOL_OUTPUT})

static char sol_build_text[] = "\0layer\0tensor";

static inline void sol_build_close(void *graph)
{
    struct carm_sol_graph *g = graph;
    free(g->layers);
    free(g->order);
    free(g->uses);
    free(g->producer);
    free(g->tensors);
    free(g);
}

CLOSED_BY(carm_sol_analysis_close)
CLOSED_BY(carm_sol_result_close)

/* room for so many layers, slots and tensors */
static inline struct carm_sol_graph *sol_build_open(uint32_t layers, uint32_t uses,
                                                    uint32_t tensors)
{
    struct carm_sol_graph *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->layers = calloc(layers, sizeof *g->layers);
    g->order = calloc(layers, sizeof *g->order);
    g->uses = calloc(uses, sizeof *g->uses);
    g->producer = malloc(tensors * sizeof *g->producer);
    g->tensors = calloc(tensors, sizeof *g->tensors);
    assert_non_null(g->layers);
    assert_non_null(g->order);
    assert_non_null(g->uses);
    assert_non_null(g->producer);
    assert_non_null(g->tensors);
    memset(g->producer, 0xff, tensors * sizeof *g->producer);
    g->text = sol_build_text;
    g->ntensors = tensors;
    return closed_later(sol_build_close, g);
}

/* The next layer, also next in execution order. Slots: inputs, then those with the role of outputs.
 * work: macs of a contraction, else points */
static inline uint32_t sol_build_layer(struct carm_sol_graph *g, enum carm_sol_kind kind,
                                       bool contraction, uint64_t work,
                                       const struct sol_slot *slots, uint32_t n)
{
    struct carm_sol_layer *l = &g->layers[g->n];
    *l =
        (struct carm_sol_layer){.id = 1, .uses = g->nuses, .kind = (uint8_t)kind, .line = g->n + 1};
    l->real_einsum = contraction;
    l->macs = contraction ? work : 0;
    l->points = contraction ? 0 : work;
    for (uint32_t i = 0; i < n; i++) {
        g->uses[g->nuses++] = (struct carm_sol_use){
            .tensor = slots[i].tensor, .role = slots[i].role, .elements = slots[i].elements};
        g->tensors[slots[i].tensor] = 7;
        if (slots[i].role == CARM_SOL_OUTPUT) {
            l->outputs++;
            g->producer[slots[i].tensor] = g->n;
        } else {
            l->inputs++;
        }
    }
    g->order[g->n] = g->n;
    return g->n++;
}

#define sol_slots(...)                      \
    (const struct sol_slot[]){__VA_ARGS__}, \
        (uint32_t)(sizeof((struct sol_slot[]){__VA_ARGS__}) / sizeof(struct sol_slot))

#define sol_matmul(g, macs, ...) \
    sol_build_layer(g, CARM_SOL_COMPUTE, true, macs, sol_slots(__VA_ARGS__))
#define sol_op(g, points, ...) \
    sol_build_layer(g, CARM_SOL_COMPUTE, false, points, sol_slots(__VA_ARGS__))
#define sol_kind(g, kind, ...) sol_build_layer(g, kind, false, 0, sol_slots(__VA_ARGS__))

static inline struct carm_sol_analysis *sol_build_analyse(const struct carm_sol_graph *g)
{
    struct carm_sol_analysis *a = NULL;
    assert_ok(carm_sol_analyse(g, &a, &err));
    return closed_later(by_carm_sol_analysis_close, a);
}

/* Valid until the test ends. */
static inline struct carm_sol_result sol_estimate(const struct carm_sol_graph *g,
                                                  const struct carm_sol_analysis *a,
                                                  const struct carm_sol_arch *arch,
                                                  enum carm_sol_precision precision,
                                                  bool as_implemented)
{
    struct carm_sol_result *r = closed_later(free, calloc(1, sizeof *r));
    assert_non_null(r);
    assert_ok(carm_sol_estimate(g, a, arch, precision, as_implemented, r, &err));
    return *(const struct carm_sol_result *)closed_later(by_carm_sol_result_close, r);
}

/* carm_sol_lifetimes_spill once */
static inline int sol_spill(const struct carm_sol_graph *g, uint64_t capacity,
                            enum carm_sol_precision precision, enum carm_sol_policy policy,
                            uint64_t *spilled, uint64_t *total, uint64_t *peak,
                            struct carm_err *failure)
{
    struct carm_sol_lifetimes *lifetimes = NULL;
    int rc = carm_sol_lifetimes_open(g, &lifetimes, failure);
    rc = rc ? rc
            : carm_sol_lifetimes_spill(lifetimes, capacity, precision, policy, spilled, total, peak,
                                       failure);
    carm_sol_lifetimes_close(lifetimes);
    return rc;
}
