/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The execution order: Kahn's algorithm with the ready layers in a heap by their place in the file. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/sol/draft.h"

enum { CYCLE_NAMES = 4, CYCLE_TEXT = 200 };

/* ---- heap of the smallest first -------------------------------------------------------------- */

static void heap_put(uint32_t *heap, uint32_t n, uint32_t value)
{
    while (n > 0 && heap[(n - 1) / 2] > value) {
        heap[n] = heap[(n - 1) / 2];
        n = (n - 1) / 2;
    }
    heap[n] = value;
}

/* n: before */
static uint32_t heap_take(uint32_t *heap, uint32_t n)
{
    const uint32_t least = heap[0];
    const uint32_t value = heap[n - 1];
    uint32_t at = 0;
    for (uint64_t child = 1; child < n - 1; child = 2 * (uint64_t)at + 1) {
        if (child + 1 < n - 1 && heap[child + 1] < heap[child]) {
            child++;
        }
        if (heap[child] >= value) {
            break;
        }
        heap[at] = heap[child];
        at = (uint32_t)child;
    }
    heap[at] = value;
    return least;
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool file_is_ordered(const struct carm_sol_graph *graph)
{
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        for (uint32_t k = 0; k < layer->predecessors; k++) {
            if (graph->links[layer->links + k] > i) {
                return false;
            }
        }
    }
    return true;
}

/* waits  [layers] predecessors that are not done; heap [layers]
 * returns how many layers found their place */
static uint32_t sort(struct carm_sol_draft *draft, uint32_t *waits, uint32_t *heap)
{
    struct carm_sol_graph *graph = draft->graph;
    uint32_t ready = 0;
    uint32_t done = 0;
    for (uint32_t i = 0; i < graph->n; i++) {
        waits[i] = graph->layers[i].predecessors;
        if (waits[i] == 0) {
            heap_put(heap, ready++, i);
        }
    }
    while (ready) {
        const uint32_t layer = heap_take(heap, ready--);
        graph->order[done++] = layer;
        for (uint32_t i = draft->first_successor[layer]; i < draft->first_successor[layer + 1];
             i++) {
            const uint32_t next = draft->successors[i];
            if (--waits[next] == 0) {
                heap_put(heap, ready++, next);
            }
        }
    }
    return done;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* A predecessor that waits, too: each layer that waits has one. */
static uint32_t waiting_before(const struct carm_sol_graph *graph, const uint32_t *waits,
                               uint32_t layer)
{
    uint32_t i = graph->layers[layer].links;
    while (waits[graph->links[i]] == 0) {
        i++;
    }
    return graph->links[i];
}

/* Names a cycle among the layers that wait. seen: [layers] room */
static int refuse_cycle(const struct carm_sol_draft *draft, const uint32_t *waits, uint32_t *seen,
                        struct carm_err *err)
{
    const struct carm_sol_graph *graph = draft->graph;
    char text[CYCLE_TEXT] = "";
    uint32_t at = 0;
    while (waits[at] == 0) {
        at++;
    }
    for (uint32_t i = 0; i < graph->n; i++) {
        seen[i] = 0;
    }
    while (!seen[at]) {
        seen[at] = 1;
        at = waiting_before(graph, waits, at);
    }
    uint32_t first = at; /* of the cycle in the file */
    uint32_t length = 0;
    uint32_t layer = at;
    do {
        layer = waiting_before(graph, waits, layer);
        first = layer < first ? layer : first;
        length++;
    } while (layer != at);
    size_t used = 0;
    layer = first;
    for (uint32_t i = 0; i < length && i < CYCLE_NAMES; i++) {
        layer = waiting_before(graph, waits, layer);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.30s",
                                 i ? ", which needs " : "", carm_sol_draft_id(draft, layer));
    }
    return carm_sol_draft_refuse(draft, &graph->layers[first], 0, err,
                                 "a cycle of %u layers: it needs %s%s", length, text,
                                 length > CYCLE_NAMES ? ", and so on round to it" : "");
}

int carm_sol_check_order(struct carm_sol_draft *draft, struct carm_err *err)
{
    struct carm_sol_graph *graph = draft->graph;
    graph->order = malloc(graph->n * sizeof *graph->order);
    if (!graph->order) {
        return carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
    }
    if (file_is_ordered(graph)) {
        for (uint32_t i = 0; i < graph->n; i++) {
            graph->order[i] = i;
        }
        return 0;
    }
    uint32_t *waits = malloc(graph->n * sizeof *waits);
    uint32_t *heap = malloc(graph->n * sizeof *heap);
    int rc = 0;
    if (!waits || !heap) {
        rc = carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
    } else if (sort(draft, waits, heap) < graph->n) {
        rc = refuse_cycle(draft, waits, heap, err);
    }
    free(waits);
    free(heap);
    return rc;
}
