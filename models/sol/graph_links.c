/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections: names become layers, and both ends of each say the same. */
#include <stdlib.h>

#include "models/sol/draft.h"

/* One side of the connections of all layers. */
struct side {
    uint32_t *links, *lines;
    uint32_t n; /* left after repetitions are gone */
    const char *key;
};

/* stamp  [layers] the last layer, plus 1, that named it
 * count  how many of the layer's links to read at from; out: how many are left */
static int resolve(const struct carm_sol_draft *draft, uint32_t layer, uint32_t from,
                   uint32_t *count, struct side *side, uint32_t *stamp, struct carm_err *err)
{
    const struct carm_sol_layer *l = &draft->graph->layers[layer];
    const uint32_t first = side->n;
    for (uint32_t i = from; i < from + *count; i++) {
        const uint32_t name = side->links[i];
        const uint32_t other = draft->layer_of[name];
        if (other == CARM_SOL_NONE) {
            return carm_sol_draft_refuse(draft, l, side->lines[i], err,
                                         "connections.%s names %.60s, which is no layer", side->key,
                                         carm_names_text(&draft->names, name));
        }
        if (other == layer) {
            return carm_sol_draft_refuse(draft, l, side->lines[i], err,
                                         "connections.%s names the layer itself: a cycle",
                                         side->key);
        }
        if (stamp[other] != layer + 1) {
            stamp[other] = layer + 1;
            side->links[side->n] = other;
            side->lines[side->n++] = side->lines[i];
        }
    }
    *count = side->n - first;
    return 0;
}

static int resolve_all(struct carm_sol_draft *draft, uint32_t *stamps, struct carm_err *err)
{
    struct carm_sol_graph *graph = draft->graph;
    struct side in = {.links = graph->links, .lines = draft->link_lines, .key = "inputs"};
    struct side out = {.links = draft->outs, .lines = draft->out_lines, .key = "outputs"};
    for (uint32_t i = 0; i < graph->n; i++) {
        struct carm_sol_layer *layer = &graph->layers[i];
        uint32_t from = layer->links;
        layer->links = in.n;
        int rc = resolve(draft, i, from, &layer->predecessors, &in, stamps, err);
        if (rc) {
            return rc;
        }
        from = draft->first_out[i];
        uint32_t outs = draft->first_out[i + 1] - from;
        draft->first_out[i] = out.n;
        rc = resolve(draft, i, from, &outs, &out, stamps + graph->n, err);
        if (rc) {
            return rc;
        }
    }
    graph->nlinks = in.n;
    draft->nouts = out.n;
    draft->first_out[graph->n] = out.n;
    return 0;
}

/* Sorted by counting, so that each list is in the file's order. */
static int reverse(struct carm_sol_draft *draft, struct carm_err *err)
{
    const struct carm_sol_graph *graph = draft->graph;
    uint32_t *first = draft->first_successor = calloc((size_t)graph->n + 2, sizeof *first);
    draft->successors = malloc(((size_t)graph->nlinks + 1) * sizeof *draft->successors);
    if (!first || !draft->successors) {
        return carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
    }
    for (uint32_t i = 0; i < graph->nlinks; i++) {
        first[graph->links[i] + 2]++;
    }
    for (uint32_t i = 2; i <= graph->n; i++) {
        first[i] += first[i - 1];
    }
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        for (uint32_t k = 0; k < layer->predecessors; k++) {
            draft->successors[first[graph->links[layer->links + k] + 1]++] = i;
        }
    }
    return 0;
}

/* The link from one layer to another is missing at one end; line: of the end that has it. */
static int one_sided(const struct carm_sol_draft *draft, uint32_t from, uint32_t to, bool has_out,
                     uint32_t line, struct carm_err *err)
{
    const uint32_t has = has_out ? from : to;
    const uint32_t lacks = has_out ? to : from;
    return carm_sol_draft_refuse(
        draft, &draft->graph->layers[has], line, err,
        "connections.%s names %.60s, whose connections.%s (layer in line %u) lack it",
        has_out ? "outputs" : "inputs", carm_sol_draft_id(draft, lacks),
        has_out ? "inputs" : "outputs", draft->graph->layers[lacks].line);
}

static uint32_t line_of_link(const struct carm_sol_draft *draft, uint32_t layer, uint32_t from)
{
    const struct carm_sol_layer *l = &draft->graph->layers[layer];
    uint32_t i = l->links;
    while (draft->graph->links[i] != from) {
        i++;
    }
    return draft->link_lines[i];
}

/* The outputs that a layer names against the layers that name it as an input.
 * stamp  [layers] zeros at first; holds 2 i + 2 for successors of layer i, 2 i + 3 when matched */
static int agree(const struct carm_sol_draft *draft, uint32_t layer, uint64_t *stamp,
                 struct carm_err *err)
{
    const uint32_t begin = draft->first_successor[layer];
    const uint32_t end = draft->first_successor[layer + 1];
    const uint64_t mark = 2 * (uint64_t)layer + 2;
    for (uint32_t i = begin; i < end; i++) {
        stamp[draft->successors[i]] = mark;
    }
    for (uint32_t i = draft->first_out[layer]; i < draft->first_out[layer + 1]; i++) {
        const uint32_t to = draft->outs[i];
        if (stamp[to] != mark) {
            return one_sided(draft, layer, to, true, draft->out_lines[i], err);
        }
        stamp[to] = mark + 1;
    }
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t to = draft->successors[i];
        if (stamp[to] == mark) {
            return one_sided(draft, layer, to, false, line_of_link(draft, to, layer), err);
        }
    }
    return 0;
}

int carm_sol_check_links(struct carm_sol_draft *draft, struct carm_err *err)
{
    const uint32_t n = draft->graph->n;
    uint32_t *stamps = calloc(n, 2 * sizeof *stamps);
    if (!stamps) {
        return carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
    }
    int rc = resolve_all(draft, stamps, err);
    free(stamps);
    rc = rc ? rc : reverse(draft, err);
    if (rc) {
        return rc;
    }
    uint64_t *stamp = calloc(n, sizeof *stamp);
    if (!stamp) {
        return carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
    }
    for (uint32_t i = 0; !rc && i < n; i++) {
        rc = agree(draft, i, stamp, err);
    }
    free(stamp);
    return rc;
}
