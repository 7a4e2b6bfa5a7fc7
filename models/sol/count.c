/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/count.h"

#include <stdlib.h>

#include "models/sol/region.h"

struct counting {
    const struct carm_sol_graph *graph;
    const struct carm_sol_traffic *traffic;
    uint64_t *first; /* [nuses] elements of an input slot that no earlier slot read */
};

static void count_read(struct counting *c, uint32_t slot, struct carm_sol_counts *counts)
{
    const uint32_t base = c->traffic->base[c->graph->uses[slot].tensor];
    const uint64_t moved = c->traffic->moved[slot];
    if (c->traffic->kind[base] == CARM_SOL_INTERMEDIATE) {
        counts->intermediate += moved;
        return;
    }
    counts->external += c->first[slot];
    counts->repeated += moved - c->first[slot];
    if (c->traffic->kind[base] == CARM_SOL_WEIGHTS) {
        counts->weight += c->first[slot];
    }
}

static void count_write(struct counting *c, uint32_t tensor, uint64_t moved,
                        struct carm_sol_counts *counts)
{
    const uint32_t base = c->traffic->base[tensor];
    if (c->traffic->kind[base] == CARM_SOL_INTERMEDIATE) {
        counts->intermediate += moved;
        return;
    }
    counts->external += moved;
    if (c->traffic->kind[base] == CARM_SOL_WEIGHTS) {
        counts->weight += moved;
    }
}

/* model_io  out: external and repeated elements that are no weights */
static int count_layer(struct counting *c, uint32_t index, struct carm_sol_counts *counts,
                       uint64_t *model_io, struct carm_err *err)
{
    const struct carm_sol_layer *layer = &c->graph->layers[index];
    const struct carm_sol_use *uses = c->graph->uses + layer->uses;
    const uint64_t *moved = c->traffic->moved + layer->uses;
    *counts = (struct carm_sol_counts){0};
    *model_io = 0;
    if (!carm_sol_operates(layer->kind) || c->traffic->dead[index]) {
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
            count_read(c, layer->uses + i, counts);
        } else {
            count_write(c, uses[i].tensor, moved[i], counts);
        }
        const uint8_t kind = c->traffic->kind[c->traffic->base[uses[i].tensor]];
        *model_io += kind == CARM_SOL_EXTERNAL ? moved[i] : 0;
    }
    return 0;
}

static bool add_counts(struct carm_sol_counts *sum, const struct carm_sol_counts *more)
{
    /* the other members are parts of unfused */
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
            c->traffic->base[t] == t && c->traffic->kind[t] == CARM_SOL_INTERMEDIATE ? 1 : 0;
    }
    a->prefetched = a->total.external;
    return 0;
}

int carm_sol_analyse(const struct carm_sol_graph *graph, struct carm_sol_analysis **analysis,
                     struct carm_err *err)
{
    *analysis = NULL;
    struct carm_sol_traffic *traffic = NULL;
    int rc = carm_sol_traffic_open(graph, &traffic, err);
    if (rc) {
        return rc;
    }
    struct counting c = {.graph = graph, .traffic = traffic};
    struct carm_sol_analysis *a = calloc(1, sizeof *a);
    if (a) {
        a->n = graph->n;
        a->layers = calloc(graph->n > 0 ? graph->n : 1, sizeof *a->layers);
    }
    rc = a && a->layers ? carm_sol_first_reads(graph, traffic, &c.first, err)
                        : carm_sol_no_memory(graph->n, err);
    rc = rc ? rc : count_graph(&c, a, err);
    free(c.first);
    carm_sol_traffic_close(traffic);
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
