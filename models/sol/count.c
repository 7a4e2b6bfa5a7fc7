/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/count.h"

#include <stdlib.h>

static int no_memory(const struct carm_sol_graph *graph, struct carm_err *err)
{
    carm_fail(err, CARM_ENOMEM, "not enough memory for a graph of %u layers", graph->n);
    return -CARM_ENOMEM;
}

static void *zeroed(size_t n, size_t size)
{
    return calloc(n > 0 ? n : 1, size);
}

/* ---- traffic ----------------------------------------------------------------------------------- */

enum { SEEN_TAKEN = 1, SEEN_WEIGHT = 2 }; /* of a tensor, by any layer */

/* What the kind's reckoning starts from. */
struct sums {
    uint64_t inputs, largest_input, outputs;
};

static bool add_up(const struct carm_sol_use *uses, const struct carm_sol_layer *layer,
                   struct sums *sums)
{
    *sums = (struct sums){0};
    for (uint32_t i = 0; i < layer->inputs; i++) {
        if (uses[i].elements > sums->largest_input) {
            sums->largest_input = uses[i].elements;
        }
        if (!carm_sol_add(&sums->inputs, uses[i].elements)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < layer->outputs; i++) {
        if (!carm_sol_add(&sums->outputs, uses[layer->inputs + i].elements)) {
            return false;
        }
    }
    return true;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool is_weight(const struct carm_sol_use *use)
{
    return use->role == CARM_SOL_WEIGHT || use->role == CARM_SOL_BIAS;
}

/* An embedding's table: its first weight, else its last input. The layer has inputs. */
static uint32_t table_slot(const struct carm_sol_use *uses, const struct carm_sol_layer *layer)
{
    for (uint32_t i = 0; i < layer->inputs; i++) {
        if (is_weight(&uses[i])) {
            return i;
        }
    }
    return layer->inputs - 1;
}

/* Rows of the table, and what is beyond it of the other inputs. */
static void move_embedding(const struct carm_sol_use *uses, const struct carm_sol_layer *layer,
                           const struct sums *sums, uint64_t *moved)
{
    if (layer->inputs == 0) {
        return;
    }
    const uint32_t table = table_slot(uses, layer);
    uint64_t rest = smaller(sums->inputs, sums->outputs);
    moved[table] = smaller(rest, uses[table].elements);
    rest -= moved[table];
    for (uint32_t i = 0; i < layer->inputs; i++) {
        if (i != table) {
            moved[i] = smaller(rest, uses[i].elements);
            rest -= moved[i];
        }
    }
}

static void move_all(const struct carm_sol_use *uses, uint32_t from, uint32_t to, uint64_t *moved)
{
    for (uint32_t i = from; i < to; i++) {
        moved[i] = uses[i].elements;
    }
}

/* moved has the layer's slots, all 0 before */
static void move_slots(const struct carm_sol_use *uses, const struct carm_sol_layer *layer,
                       const struct sums *sums, uint64_t *moved)
{
    const uint32_t inputs = layer->inputs;
    const uint32_t slots = inputs + layer->outputs;
    switch ((enum carm_sol_kind)layer->kind) {
    case CARM_SOL_START:
    case CARM_SOL_VIEW:
        break;
    case CARM_SOL_SLICE:
        if (inputs > 0) {
            moved[0] = sums->outputs;
        }
        break;
    case CARM_SOL_SCATTER:
        if (layer->outputs > 0) {
            moved[inputs] = inputs == 1 ? sums->inputs : sums->inputs - sums->largest_input;
        }
        break;
    case CARM_SOL_EMBEDDING:
        move_embedding(uses, layer, sums, moved);
        break;
    case CARM_SOL_GATHER:
        move_all(uses, 0, slots, moved);
        if (inputs > 0) {
            moved[0] = smaller(moved[0], sums->outputs);
        }
        break;
    case CARM_SOL_COMPUTE:
    case CARM_SOL_MOVE:
        move_all(uses, 0, slots, moved);
        break;
    }
}

/* Whether no layer makes any input, views apart, and one is no weight. */
static bool from_nowhere(const struct carm_sol_graph *graph, const struct carm_sol_layer *layer,
                         const uint32_t *base)
{
    const struct carm_sol_use *uses = graph->uses + layer->uses;
    bool data = false;
    for (uint32_t i = 0; i < layer->inputs; i++) {
        if (graph->producer[base[uses[i].tensor]] != UINT32_MAX) {
            return false;
        }
        data = data || !is_weight(&uses[i]);
    }
    return data;
}

/* From the last layer to the first: which tensors an operation takes, by itself or through views, and
 * which ones any layer has as a weight. Of a view's further inputs only the shape is wanted. */
static void see(const struct carm_sol_graph *graph, bool starts, struct carm_sol_traffic *traffic,
                uint8_t *seen)
{
    for (uint32_t at = graph->n; at-- > 0;) {
        const uint32_t index = graph->order[at];
        const struct carm_sol_layer *layer = &graph->layers[index];
        const struct carm_sol_use *uses = graph->uses + layer->uses;
        const bool operates = carm_sol_operates(layer->kind);
        bool taken = false;
        for (uint32_t i = 0; i < layer->outputs; i++) {
            taken = taken || (seen[uses[layer->inputs + i].tensor] & SEEN_TAKEN) != 0;
        }
        traffic->dead[index] =
            starts && operates && !taken && from_nowhere(graph, layer, traffic->base);
        for (uint32_t i = 0; i < layer->inputs; i++) {
            uint8_t *mark = &seen[uses[i].tensor];
            const bool passed = layer->kind == CARM_SOL_VIEW && i == 0 && taken;
            if ((operates || passed) && graph->producer[uses[i].tensor] != index) {
                *mark |= SEEN_TAKEN;
            }
            if (is_weight(&uses[i])) {
                *mark |= SEEN_WEIGHT;
            }
        }
    }
}

static bool has_starts(const struct carm_sol_graph *graph)
{
    for (uint32_t i = 0; i < graph->n; i++) {
        if (graph->layers[i].kind == CARM_SOL_START) {
            return true;
        }
    }
    return false;
}

/* In execution order, so that a view's own input is known. */
static void find_bases(const struct carm_sol_graph *graph, struct carm_sol_traffic *traffic)
{
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        traffic->base[t] = t;
    }
    for (uint32_t at = 0; at < graph->n; at++) {
        const struct carm_sol_layer *layer = &graph->layers[graph->order[at]];
        if (layer->kind != CARM_SOL_VIEW || layer->inputs == 0) {
            continue;
        }
        const struct carm_sol_use *uses = graph->uses + layer->uses;
        const uint32_t base = traffic->base[uses[0].tensor];
        for (uint32_t i = 0; i < layer->outputs; i++) {
            traffic->base[uses[layer->inputs + i].tensor] = base;
        }
    }
}

static void classify(const struct carm_sol_graph *graph, struct carm_sol_traffic *traffic,
                     uint8_t *seen)
{
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        seen[traffic->base[t]] |= seen[t] & SEEN_WEIGHT;
    }
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        const uint32_t maker = graph->producer[t];
        const bool made = maker != UINT32_MAX && carm_sol_operates(graph->layers[maker].kind);
        traffic->kind[t] = CARM_SOL_EXTERNAL;
        if ((seen[t] & SEEN_WEIGHT) != 0) {
            traffic->kind[t] = CARM_SOL_WEIGHTS;
        } else if (made && (seen[t] & SEEN_TAKEN) != 0) {
            traffic->kind[t] = CARM_SOL_INTERMEDIATE;
        }
    }
}

/* The maker's shape says what a tensor has; of one from nowhere the largest that a layer sees. */
static int move_layers(const struct carm_sol_graph *graph, struct carm_sol_traffic *traffic,
                       struct carm_err *err)
{
    for (uint32_t l = 0; l < graph->n; l++) {
        const struct carm_sol_layer *layer = &graph->layers[l];
        const struct carm_sol_use *uses = graph->uses + layer->uses;
        struct sums sums;
        if (!add_up(uses, layer, &sums)) {
            return carm_fail(err, CARM_EFORMAT,
                             "layer %.100s: the elements of its tensors sum to more than 2^63-1; "
                             "check the shapes",
                             carm_sol_text(graph, layer->id));
        }
        if (!traffic->dead[l]) {
            move_slots(uses, layer, &sums, traffic->moved + layer->uses);
        }
        for (uint32_t i = 0; i < layer->inputs + layer->outputs; i++) {
            const uint32_t t = uses[i].tensor;
            if ((graph->producer[t] == UINT32_MAX && uses[i].elements > traffic->size[t]) ||
                (graph->producer[t] == l && i >= layer->inputs)) {
                traffic->size[t] = uses[i].elements;
            }
        }
    }
    return 0;
}

int carm_sol_traffic_open(const struct carm_sol_graph *graph, struct carm_sol_traffic **traffic,
                          struct carm_err *err)
{
    *traffic = NULL;
    int rc = 0;
    uint8_t *seen = zeroed(graph->ntensors, sizeof *seen);
    struct carm_sol_traffic *m = calloc(1, sizeof *m);
    if (!m || !seen) {
        rc = no_memory(graph, err);
        goto out;
    }
    m->moved = zeroed(graph->nuses, sizeof *m->moved);
    m->base = zeroed(graph->ntensors, sizeof *m->base);
    m->size = zeroed(graph->ntensors, sizeof *m->size);
    m->kind = zeroed(graph->ntensors, sizeof *m->kind);
    m->dead = zeroed(graph->n, sizeof *m->dead);
    if (!m->moved || !m->base || !m->size || !m->kind || !m->dead) {
        rc = no_memory(graph, err);
        goto out;
    }
    find_bases(graph, m);
    see(graph, has_starts(graph), m, seen);
    classify(graph, m, seen);
    rc = move_layers(graph, m, err);
out:
    free(seen);
    if (rc) {
        carm_sol_traffic_close(m);
        return rc;
    }
    *traffic = m;
    return 0;
}

void carm_sol_traffic_close(struct carm_sol_traffic *traffic)
{
    if (traffic) {
        free(traffic->moved);
        free(traffic->base);
        free(traffic->size);
        free(traffic->kind);
        free(traffic->dead);
        free(traffic);
    }
}

/* ---- counts ------------------------------------------------------------------------------------ */

/* What is known between the layers. */
struct counting {
    const struct carm_sol_graph *graph;
    const struct carm_sol_traffic *traffic;
    uint64_t *charged; /* [ntensors] elements of an external tensor that were read before */
};

static void count_read(struct counting *c, uint32_t tensor, uint64_t moved,
                       struct carm_sol_counts *counts)
{
    const uint32_t base = c->traffic->base[tensor];
    if (c->traffic->kind[base] == CARM_SOL_INTERMEDIATE) {
        counts->intermediate += moved;
        return;
    }
    const uint64_t size = c->traffic->size[base];
    const uint64_t reach = moved < size ? moved : size;
    const uint64_t first = reach > c->charged[base] ? reach - c->charged[base] : 0;
    c->charged[base] += first;
    counts->external += first;
    counts->repeated += moved - first;
    if (c->traffic->kind[base] == CARM_SOL_WEIGHTS) {
        counts->weight += first;
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

/* model_io  out: external and repeated of what is no weight */
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
            count_read(c, uses[i].tensor, moved[i], counts);
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
    c.charged = zeroed(graph->ntensors, sizeof *c.charged);
    struct carm_sol_analysis *a = calloc(1, sizeof *a);
    if (a) {
        a->n = graph->n;
        a->layers = zeroed(graph->n, sizeof *a->layers);
    }
    rc = a && a->layers && c.charged ? count_graph(&c, a, err) : no_memory(graph, err);
    free(c.charged);
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
