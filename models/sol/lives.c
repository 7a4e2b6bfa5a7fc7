/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/lives.h"

#include <stdlib.h>

static void *zeroed(size_t n, size_t size)
{
    return calloc(n > 0 ? n : 1, size);
}

/* Finds the distinct intermediates that a layer reads, and those that it writes.
 * slot_of  [ntensors] where the tensor stands in operands, good where its entry there is in this
 *          layer's part and names it */
static void find_operands(struct carm_sol_lives *v, uint32_t index, uint32_t *slot_of)
{
    const struct carm_sol_layer *layer = &v->graph->layers[index];
    if (!carm_sol_operates(layer->kind)) {
        return;
    }
    const struct carm_sol_use *uses = v->graph->uses + layer->uses;
    uint32_t end = layer->uses;
    for (uint32_t i = 0; i < layer->inputs + layer->outputs; i++) {
        const uint32_t base = v->moves->base[uses[i].tensor];
        if (v->moves->kind[base] != CARM_SOL_INTERMEDIATE) {
            continue;
        }
        const uint64_t moved = v->moves->moved[layer->uses + i];
        const uint32_t at = slot_of[base];
        if (i < layer->inputs && at >= layer->uses && at < end && v->operands[at] == base) {
            v->moved[at] += moved;
            continue;
        }
        slot_of[base] = end;
        v->operands[end] = base;
        v->moved[end] = moved;
        end++;
        if (i < layer->inputs) {
            v->reads[index]++;
        } else {
            v->writes[index]++;
            v->written[base] = moved;
        }
    }
}

/* Counts, then places: the readers of tensor t stand at first[t] up to first[t + 1]. */
static int find_readers(struct carm_sol_lives *v)
{
    const struct carm_sol_graph *graph = v->graph;
    for (uint32_t l = 0; l < graph->n; l++) {
        for (uint32_t i = 0; i < v->reads[l]; i++) {
            v->first[v->operands[graph->layers[l].uses + i] + 1]++;
        }
    }
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        v->first[t + 1] += v->first[t];
    }
    uint32_t *next = zeroed(graph->ntensors, sizeof *next);
    v->readers = zeroed(v->first[graph->ntensors], sizeof *v->readers);
    if (!next || !v->readers) {
        free(next);
        return -CARM_ENOMEM;
    }
    for (uint32_t at = 0; at < graph->n; at++) {
        const uint32_t index = graph->order[at];
        for (uint32_t i = 0; i < v->reads[index]; i++) {
            const uint32_t t = v->operands[graph->layers[index].uses + i];
            v->readers[v->first[t] + next[t]++] = at;
        }
    }
    free(next);
    return 0;
}

static int fill(struct carm_sol_lives *v)
{
    const struct carm_sol_graph *graph = v->graph;
    v->written = zeroed(graph->ntensors, sizeof *v->written);
    v->first = zeroed((size_t)graph->ntensors + 1, sizeof *v->first);
    v->operands = zeroed(graph->nuses, sizeof *v->operands);
    v->moved = zeroed(graph->nuses, sizeof *v->moved);
    v->reads = zeroed(graph->n, sizeof *v->reads);
    v->writes = zeroed(graph->n, sizeof *v->writes);
    uint32_t *slot_of = zeroed(graph->ntensors, sizeof *slot_of);
    if (!v->written || !v->first || !v->operands || !v->moved || !v->reads || !v->writes ||
        !slot_of) {
        free(slot_of);
        return -CARM_ENOMEM;
    }
    for (uint32_t l = 0; l < graph->n; l++) {
        find_operands(v, l, slot_of);
    }
    free(slot_of);
    return find_readers(v);
}

int carm_sol_lives_open(const struct carm_sol_graph *graph, struct carm_sol_lives **lives,
                        struct carm_err *err)
{
    *lives = NULL;
    struct carm_sol_lives *v = calloc(1, sizeof *v);
    if (!v) {
        return carm_fail(err, CARM_ENOMEM, "out of memory for a graph of %u layers", graph->n);
    }
    v->graph = graph;
    int rc = carm_sol_moves_open(graph, &v->moves, err);
    if (rc == 0) {
        rc = fill(v);
        if (rc) {
            (void)carm_fail(err, CARM_ENOMEM, "out of memory for a graph of %u layers", graph->n);
        }
    }
    if (rc) {
        carm_sol_lives_close(v);
        return rc;
    }
    *lives = v;
    return 0;
}

void carm_sol_lives_close(struct carm_sol_lives *lives)
{
    if (lives) {
        carm_sol_moves_close(lives->moves);
        free(lives->written);
        free(lives->first);
        free(lives->readers);
        free(lives->operands);
        free(lives->reads);
        free(lives->writes);
        free(lives->moved);
        free(lives);
    }
}
