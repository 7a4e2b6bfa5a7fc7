/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tensors: one producer each, the same elements wherever they stand, and connections that say who
 * reads from whom. */
#include <inttypes.h>
#include <stdlib.h>

#include "models/sol/draft.h"

static const char *name_of(const struct carm_sol_draft *draft, uint32_t tensor)
{
    return draft->names.text + draft->graph->tensors[tensor];
}

static int find_producers(struct carm_sol_draft *draft, struct carm_err *err)
{
    struct carm_sol_graph *graph = draft->graph;
    for (uint32_t i = 0; i < graph->ntensors; i++) {
        graph->producer[i] = CARM_SOL_NONE;
    }
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        for (uint32_t k = layer->uses + layer->inputs;
             k < layer->uses + layer->inputs + layer->outputs; k++) {
            uint32_t *producer = &graph->producer[graph->uses[k].tensor];
            if (*producer != CARM_SOL_NONE) {
                return carm_sol_draft_refuse(
                    draft, layer, draft->use_lines[k], err,
                    "its output %.60s is an output of layer %.60s (line %u), too",
                    name_of(draft, graph->uses[k].tensor), carm_sol_draft_id(draft, *producer),
                    graph->layers[*producer].line);
            }
            *producer = i;
        }
    }
    return 0;
}

/* first: [tensors] the use that a tensor's others are compared with, or CARM_SOL_NONE */
static int check_elements(const struct carm_sol_draft *draft, const struct carm_sol_layer *layer,
                          uint32_t k, uint32_t *first, struct carm_err *err)
{
    const struct carm_sol_use *use = &draft->graph->uses[k];
    uint32_t *old = &first[use->tensor];
    if (*old == CARM_SOL_NONE) {
        *old = k;
        return 0;
    }
    const uint64_t elements = draft->graph->uses[*old].elements;
    return use->elements == elements
               ? 0
               : carm_sol_draft_refuse(draft, layer, draft->use_lines[k], err,
                                       "the tensor %.60s has %" PRIu64 " elements here and %" PRIu64
                                       " in line %u: a view or a slice gives a name of its own",
                                       name_of(draft, use->tensor), use->elements, elements,
                                       draft->use_lines[*old]);
}

/* stamp: [layers] the last layer, plus 1, that has it before itself */
static int check_layer(const struct carm_sol_draft *draft, uint32_t index, uint32_t *first,
                       uint32_t *stamp, struct carm_err *err)
{
    const struct carm_sol_graph *graph = draft->graph;
    const struct carm_sol_layer *layer = &graph->layers[index];
    for (uint32_t i = 0; i < layer->predecessors; i++) {
        stamp[graph->links[layer->links + i]] = index + 1;
    }
    for (uint32_t k = layer->uses; k < layer->uses + layer->inputs + layer->outputs; k++) {
        const uint32_t tensor = graph->uses[k].tensor;
        const uint32_t producer = graph->producer[tensor];
        const int rc = check_elements(draft, layer, k, first, err);
        if (rc) {
            return rc;
        }
        if (k >= layer->uses + layer->inputs || producer == CARM_SOL_NONE) {
            continue;
        }
        if (producer == index) {
            return carm_sol_draft_refuse(draft, layer, draft->use_lines[k], err,
                                         "the tensor %.60s is both its input and its output: "
                                         "give the output a name of its own",
                                         name_of(draft, tensor));
        }
        if (stamp[producer] != index + 1) {
            return carm_sol_draft_refuse(
                draft, layer, draft->use_lines[k], err,
                "its input %.60s comes from layer %.60s (line %u), which its connections.inputs "
                "lack",
                name_of(draft, tensor), carm_sol_draft_id(draft, producer),
                graph->layers[producer].line);
        }
    }
    return 0;
}

/* room of check_layer: first, then stamp */
static int check_layers(const struct carm_sol_draft *draft, uint32_t *room, struct carm_err *err)
{
    const struct carm_sol_graph *graph = draft->graph;
    uint32_t *stamp = room + graph->ntensors;
    int rc = 0;
    for (uint32_t i = 0; i < graph->ntensors; i++) {
        room[i] = CARM_SOL_NONE;
    }
    for (uint32_t i = 0; !rc && i < graph->n; i++) {
        rc = check_layer(draft, i, room, stamp, err);
    }
    return rc;
}

int carm_sol_check_tensors(struct carm_sol_draft *draft, struct carm_err *err)
{
    struct carm_sol_graph *graph = draft->graph;
    const size_t n = graph->ntensors;
    graph->producer = malloc((n + 1) * sizeof *graph->producer);
    if (!graph->producer) {
        return carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
    }
    int rc = find_producers(draft, err);
    if (rc) {
        return rc;
    }
    uint32_t *room = calloc(n + graph->n + 1, sizeof *room);
    if (!room) {
        return carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
    }
    rc = check_layers(draft, room, err);
    free(room);
    return rc;
}
