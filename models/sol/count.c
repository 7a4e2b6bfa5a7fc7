/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/count.h"

#include <stdlib.h>

#include "models/sol/moves.h"

/* What is known between the layers. */
struct counting {
    const struct carm_sol_graph *graph;
    const struct carm_sol_moves *moves;
    uint64_t *charged; /* [ntensors] elements of an external tensor that were read before */
};

static void count_read(struct counting *c, uint32_t tensor, uint64_t moved,
                       struct carm_sol_counts *counts)
{
    const uint32_t base = c->moves->base[tensor];
    if (c->moves->kind[base] == CARM_SOL_INTERMEDIATE) {
        counts->intermediate += moved;
        return;
    }
    const uint64_t size = c->moves->size[base];
    const uint64_t reach = moved < size ? moved : size;
    const uint64_t first = reach > c->charged[base] ? reach - c->charged[base] : 0;
    c->charged[base] += first;
    counts->external += first;
    counts->repeated += moved - first;
    if (c->moves->kind[base] == CARM_SOL_WEIGHTS) {
        counts->weight += first;
    }
}

static void count_write(struct counting *c, uint32_t tensor, uint64_t moved,
                        struct carm_sol_counts *counts)
{
    const uint32_t base = c->moves->base[tensor];
    if (c->moves->kind[base] == CARM_SOL_INTERMEDIATE) {
        counts->intermediate += moved;
        return;
    }
    counts->external += moved;
    if (c->moves->kind[base] == CARM_SOL_WEIGHTS) {
        counts->weight += moved;
    }
}

/* model_io  out: external and repeated of what is no weight */
static int count_layer(struct counting *c, uint32_t index, struct carm_sol_counts *counts,
                       uint64_t *model_io, struct carm_err *err)
{
    const struct carm_sol_layer *layer = &c->graph->layers[index];
    const struct carm_sol_use *uses = c->graph->uses + layer->uses;
    const uint64_t *moved = c->moves->moved + layer->uses;
    *counts = (struct carm_sol_counts){0};
    *model_io = 0;
    if (!carm_sol_operates(layer->kind) || c->moves->dead[index]) {
        return 0;
    }
    counts->macs = layer->macs;
    counts->other = layer->points;
    for (uint32_t i = 0; i < layer->inputs + layer->outputs; i++) {
        uint64_t *side = i < layer->inputs ? &counts->input : &counts->output;
        if (!carm_sol_add(side, moved[i]) || !carm_sol_add(&counts->unfused, moved[i])) {
            return carm_fail(err, CARM_EFORMAT,
                             "layer %.100s moves more than 2^63-1 elements; check the shapes",
                             carm_sol_text(c->graph, layer->id));
        }
        if (i < layer->inputs) {
            count_read(c, uses[i].tensor, moved[i], counts);
        } else {
            count_write(c, uses[i].tensor, moved[i], counts);
        }
        const uint8_t kind = c->moves->kind[c->moves->base[uses[i].tensor]];
        *model_io += kind == CARM_SOL_EXTERNAL ? moved[i] : 0;
    }
    return 0;
}

static bool add_counts(struct carm_sol_counts *sum, const struct carm_sol_counts *more)
{
    /* the rest are parts of unfused */
    if (!carm_sol_add(&sum->macs, more->macs) || !carm_sol_add(&sum->other, more->other) ||
        !carm_sol_add(&sum->unfused, more->unfused)) {
        return false;
    }
    sum->input += more->input;
    sum->output += more->output;
    sum->weight += more->weight;
    sum->external += more->external;
    sum->repeated += more->repeated;
    sum->intermediate += more->intermediate;
    return true;
}

static int count_graph(struct counting *c, struct carm_sol_analysis *a, struct carm_err *err)
{
    const struct carm_sol_graph *graph = c->graph;
    for (uint32_t at = 0; at < graph->n; at++) {
        const uint32_t index = graph->order[at];
        uint64_t model_io = 0;
        const int rc = count_layer(c, index, &a->layers[index], &model_io, err);
        if (rc) {
            return rc;
        }
        if (!add_counts(&a->total, &a->layers[index])) {
            return carm_fail(err, CARM_EFORMAT,
                             "with layer %.100s the graph's macs, other operations or elements sum "
                             "to more than 2^63-1; check the shapes",
                             carm_sol_text(graph, graph->layers[index].id));
        }
        a->model_io += model_io;
        a->operations += graph->layers[index].kind != CARM_SOL_START;
    }
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        a->intermediates +=
            c->moves->base[t] == t && c->moves->kind[t] == CARM_SOL_INTERMEDIATE ? 1 : 0;
    }
    a->prefetched = a->total.external;
    return 0;
}

int carm_sol_analyse(const struct carm_sol_graph *graph, struct carm_sol_analysis **analysis,
                     struct carm_err *err)
{
    *analysis = NULL;
    struct carm_sol_moves *moves = NULL;
    int rc = carm_sol_moves_open(graph, &moves, err);
    if (rc) {
        return rc;
    }
    struct counting c = {.graph = graph, .moves = moves};
    c.charged = calloc(graph->ntensors > 0 ? graph->ntensors : 1, sizeof *c.charged);
    struct carm_sol_analysis *a = calloc(1, sizeof *a);
    if (!a || !c.charged) {
        rc = carm_fail(err, CARM_ENOMEM, "out of memory for a graph of %u layers", graph->n);
        goto out;
    }
    a->n = graph->n;
    a->layers = calloc(graph->n > 0 ? graph->n : 1, sizeof *a->layers);
    if (!a->layers) {
        rc = carm_fail(err, CARM_ENOMEM, "out of memory for a graph of %u layers", graph->n);
        goto out;
    }
    rc = count_graph(&c, a, err);
out:
    free(c.charged);
    carm_sol_moves_close(moves);
    if (rc) {
        carm_sol_analysis_close(a);
        return rc;
    }
    *analysis = a;
    return 0;
}

void carm_sol_analysis_close(struct carm_sol_analysis *analysis)
{
    if (!analysis) {
        return;
    }
    for (uint32_t i = 0; analysis->ids && i < analysis->n; i++) {
        free(analysis->ids[i]);
    }
    free(analysis->ids);
    free(analysis->layers);
    free(analysis);
}
