/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/traffic.h"

#include <stdlib.h>

static void *zeroed(size_t n, size_t size)
{
    return calloc(n > 0 ? n : 1, size);
}

enum { SEEN_TAKEN = 1, SEEN_WEIGHT = 2 }; /* marks of a tensor, by any layer */

/* The sums that the rules of the kinds use. */
struct sums {
    uint64_t inputs, outputs;
};

static bool add_up(const struct carm_sol_use *uses, const struct carm_sol_layer *layer,
                   struct sums *sums)
{
    *sums = (struct sums){0};
    for (uint32_t i = 0; i < layer->inputs; i++) {
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

/* Moves rows of the table, and of the other inputs the elements beyond these. */
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

/* Moves of a scatter, which writes into its largest input. The last other input is the written
 * data, inputs between are indices. */
static void move_scatter(const struct carm_sol_use *uses, const struct carm_sol_layer *layer,
                         uint64_t *moved)
{
    uint32_t target = 0;
    for (uint32_t i = 1; i < layer->inputs; i++) {
        target = uses[i].elements > uses[target].elements ? i : target;
    }
    const uint32_t last = layer->inputs - 1;
    const uint32_t values = last == target && last > 0 ? last - 1 : last;
    for (uint32_t i = 0; i < layer->inputs; i++) {
        moved[i] = i == target || i == values ? 0 : uses[i].elements;
    }
    if (layer->inputs > 0 && layer->outputs > 0) {
        moved[layer->inputs] = uses[values].elements;
    }
}

static void move_all(const struct carm_sol_use *uses, uint32_t from, uint32_t to, uint64_t *moved)
{
    for (uint32_t i = from; i < to; i++) {
        moved[i] = uses[i].elements;
    }
}

/* moved [slots of the layer] 0 before the call */
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
        move_scatter(uses, layer, moved);
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

/* Whether no layer makes any of the inputs, apart from views, and one input is neither a weight nor
 * a view of a weight. */
static bool from_nowhere(const struct carm_sol_graph *graph, const struct carm_sol_layer *layer,
                         const uint32_t *base, const uint8_t *seen)
{
    const struct carm_sol_use *uses = graph->uses + layer->uses;
    bool data = false;
    for (uint32_t i = 0; i < layer->inputs; i++) {
        if (graph->producer[base[uses[i].tensor]] != UINT32_MAX) {
            return false;
        }
        data = data || (seen[base[uses[i].tensor]] & SEEN_WEIGHT) == 0;
    }
    return data;
}

/* Marks tensors that an operation takes, directly or through views, from the last layer to the first. Of a view's
 * inputs behind the first only the shape matters. */
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
            starts && operates && !taken && from_nowhere(graph, layer, traffic->base, seen);
        for (uint32_t i = 0; i < layer->inputs; i++) {
            uint8_t *mark = &seen[uses[i].tensor];
            const bool passed = layer->kind == CARM_SOL_VIEW && i == 0 && taken;
            if ((operates || passed) && graph->producer[uses[i].tensor] != index) {
                *mark |= SEEN_TAKEN;
            }
        }
    }
}

/* Marks tensors that any layer has as a weight, and the bases of these tensors. */
static void see_weights(const struct carm_sol_graph *graph, const uint32_t *base, uint8_t *seen)
{
    for (uint32_t l = 0; l < graph->n; l++) {
        const struct carm_sol_layer *layer = &graph->layers[l];
        for (uint32_t k = layer->uses; k < layer->uses + layer->inputs; k++) {
            if (is_weight(&graph->uses[k])) {
                seen[graph->uses[k].tensor] |= SEEN_WEIGHT;
                seen[base[graph->uses[k].tensor]] |= SEEN_WEIGHT;
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

/* Finds bases in execution order, so that the base of a view's input is known. */
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

/* Marks an output that no layer takes as taken, if another output of its layer is taken: it need
 * not leave the chip. */
static void take_together(const struct carm_sol_graph *graph, uint8_t *seen)
{
    for (uint32_t l = 0; l < graph->n; l++) {
        const struct carm_sol_layer *layer = &graph->layers[l];
        const struct carm_sol_use *out = graph->uses + layer->uses + layer->inputs;
        uint8_t taken = 0;
        for (uint32_t i = 0; i < layer->outputs; i++) {
            taken |= seen[out[i].tensor] & SEEN_TAKEN;
        }
        for (uint32_t i = 0; carm_sol_operates(layer->kind) && i < layer->outputs; i++) {
            seen[out[i].tensor] |= taken;
        }
    }
}

static void classify(const struct carm_sol_graph *graph, struct carm_sol_traffic *traffic,
                     const uint8_t *seen)
{
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

/* Sets sizes and moves. A tensor's elements are those of its maker's shape, or of the largest shape
 * that a layer has for it. */
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
        rc = carm_sol_no_memory(graph->n, err);
        goto out;
    }
    m->moved = zeroed(graph->nuses, sizeof *m->moved);
    m->base = zeroed(graph->ntensors, sizeof *m->base);
    m->size = zeroed(graph->ntensors, sizeof *m->size);
    m->kind = zeroed(graph->ntensors, sizeof *m->kind);
    m->dead = zeroed(graph->n, sizeof *m->dead);
    if (!m->moved || !m->base || !m->size || !m->kind || !m->dead) {
        rc = carm_sol_no_memory(graph->n, err);
        goto out;
    }
    find_bases(graph, m);
    see_weights(graph, m->base, seen);
    see(graph, has_starts(graph), m, seen);
    take_together(graph, seen);
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
