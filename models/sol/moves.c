/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/moves.h"

#include <stdlib.h>

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
static void see(const struct carm_sol_graph *graph, bool starts, struct carm_sol_moves *moves,
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
        moves->dead[index] =
            starts && operates && !taken && from_nowhere(graph, layer, moves->base);
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
static void find_bases(const struct carm_sol_graph *graph, struct carm_sol_moves *moves)
{
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        moves->base[t] = t;
    }
    for (uint32_t at = 0; at < graph->n; at++) {
        const struct carm_sol_layer *layer = &graph->layers[graph->order[at]];
        if (layer->kind != CARM_SOL_VIEW || layer->inputs == 0) {
            continue;
        }
        const struct carm_sol_use *uses = graph->uses + layer->uses;
        const uint32_t base = moves->base[uses[0].tensor];
        for (uint32_t i = 0; i < layer->outputs; i++) {
            moves->base[uses[layer->inputs + i].tensor] = base;
        }
    }
}

static void classify(const struct carm_sol_graph *graph, struct carm_sol_moves *moves,
                     uint8_t *seen)
{
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        seen[moves->base[t]] |= seen[t] & SEEN_WEIGHT;
    }
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        const uint32_t maker = graph->producer[t];
        const bool made = maker != UINT32_MAX && carm_sol_operates(graph->layers[maker].kind);
        moves->kind[t] = CARM_SOL_EXTERNAL;
        if ((seen[t] & SEEN_WEIGHT) != 0) {
            moves->kind[t] = CARM_SOL_WEIGHTS;
        } else if (made && (seen[t] & SEEN_TAKEN) != 0) {
            moves->kind[t] = CARM_SOL_INTERMEDIATE;
        }
    }
}

/* The maker's shape says what a tensor has; of one from nowhere the largest that a layer sees. */
static int move_layers(const struct carm_sol_graph *graph, struct carm_sol_moves *moves,
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
        if (!moves->dead[l]) {
            move_slots(uses, layer, &sums, moves->moved + layer->uses);
        }
        for (uint32_t i = 0; i < layer->inputs + layer->outputs; i++) {
            const uint32_t t = uses[i].tensor;
            if ((graph->producer[t] == UINT32_MAX && uses[i].elements > moves->size[t]) ||
                (graph->producer[t] == l && i >= layer->inputs)) {
                moves->size[t] = uses[i].elements;
            }
        }
    }
    return 0;
}

static void *zeroed(size_t n, size_t size)
{
    return calloc(n > 0 ? n : 1, size);
}

int carm_sol_moves_open(const struct carm_sol_graph *graph, struct carm_sol_moves **moves,
                        struct carm_err *err)
{
    *moves = NULL;
    int rc = 0;
    uint8_t *seen = zeroed(graph->ntensors, sizeof *seen);
    struct carm_sol_moves *m = calloc(1, sizeof *m);
    if (!m || !seen) {
        rc = carm_fail(err, CARM_ENOMEM, "out of memory for a graph of %u layers", graph->n);
        goto out;
    }
    m->moved = zeroed(graph->nuses, sizeof *m->moved);
    m->base = zeroed(graph->ntensors, sizeof *m->base);
    m->size = zeroed(graph->ntensors, sizeof *m->size);
    m->kind = zeroed(graph->ntensors, sizeof *m->kind);
    m->dead = zeroed(graph->n, sizeof *m->dead);
    if (!m->moved || !m->base || !m->size || !m->kind || !m->dead) {
        rc = carm_fail(err, CARM_ENOMEM, "out of memory for a graph of %u layers", graph->n);
        goto out;
    }
    find_bases(graph, m);
    see(graph, has_starts(graph), m, seen);
    classify(graph, m, seen);
    rc = move_layers(graph, m, err);
out:
    free(seen);
    if (rc) {
        carm_sol_moves_close(m);
        return rc;
    }
    *moves = m;
    return 0;
}

void carm_sol_moves_close(struct carm_sol_moves *moves)
{
    if (moves) {
        free(moves->moved);
        free(moves->base);
        free(moves->size);
        free(moves->kind);
        free(moves->dead);
        free(moves);
    }
}
