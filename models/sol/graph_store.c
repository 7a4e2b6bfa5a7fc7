/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the slots of one layer to the graph's pools. */
#include <string.h>

#include "models/sol/draft.h"
#include "models/sol/equation.h"

/* The layer in hand. */
struct hand {
    struct carm_sol_draft *draft;
    struct carm_sol_layer *layer;
    struct carm_err *err;
};

static int check_lengths(const struct hand *hand)
{
    const struct carm_sol_slots *slots = &hand->draft->slots;
    for (int side = 0; side < 2; side++) {
        const size_t n = slots->names[side].n;
        if (n != slots->roles[side].n || n != slots->ranks[side].n) {
            return carm_sol_draft_refuse(
                hand->draft, hand->layer, 0, hand->err,
                "%s are %zu in tensor_names, %zu in tensor_types, %zu in tensor_shapes: each "
                "tensor stands in all three",
                side ? "outputs" : "inputs", n, slots->roles[side].n, slots->ranks[side].n);
        }
    }
    return 0;
}

/* Places in pending become numbers of names. */
static int number_names(const struct hand *hand, struct carm_sol_list *list)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < list->n; i++) {
        const char *at = hand->draft->slots.pending + (uint32_t)list->v[i];
        struct carm_sol_pending head;
        uint32_t number = 0;
        memcpy(&head, at, sizeof head);
        rc = carm_sol_draft_name_hashed(hand->draft, at + sizeof head, head.length, head.hash,
                                        &number, hand->err);
        list->v[i] = carm_sol_with_line(number, carm_sol_line_in(list->v[i]));
    }
    return rc;
}

static int number_all(const struct hand *hand)
{
    struct carm_sol_slots *slots = &hand->draft->slots;
    int rc = 0;
    for (int side = 0; !rc && side < 2; side++) {
        rc = number_names(hand, &slots->names[side]);
        rc = rc ? rc : number_names(hand, &slots->links[side]);
    }
    return rc;
}

static int tensor_number(const struct hand *hand, uint32_t name, uint32_t *tensor)
{
    struct carm_sol_draft *draft = hand->draft;
    struct carm_sol_graph *graph = draft->graph;
    if (draft->tensor_of[name] == CARM_SOL_NONE) {
        const int rc = carm_sol_grow(&graph->tensors, &draft->tensors_room, graph->ntensors, 1,
                                     sizeof *graph->tensors);
        if (rc) {
            return rc;
        }
        graph->tensors[graph->ntensors] = draft->names.offsets[name];
        draft->tensor_of[name] = graph->ntensors++;
    }
    *tensor = draft->tensor_of[name];
    return 0;
}

/* at: the shape's first extent among those of its side, moved on */
static int move_use(const struct hand *hand, int side, size_t i, size_t *at)
{
    struct carm_sol_draft *draft = hand->draft;
    struct carm_sol_graph *graph = draft->graph;
    const struct carm_sol_slots *slots = &draft->slots;
    const uint8_t rank = (uint8_t)slots->ranks[side].v[i];
    const uint64_t *extents = rank ? slots->extents[side].v + *at : NULL;
    const uint64_t name = slots->names[side].v[i];
    struct carm_sol_use *use = &graph->uses[graph->nuses];
    *use = (struct carm_sol_use){
        .dims = graph->nextents, .rank = rank, .role = (uint8_t)slots->roles[side].v[i]};
    const int rc = tensor_number(hand, (uint32_t)name, &use->tensor);
    if (rc) {
        return carm_sol_draft_fail(draft, rc, hand->err);
    }
    if (carm_sol_product(extents, rank, &use->elements)) {
        return carm_sol_draft_refuse(draft, hand->layer, carm_sol_line_in(slots->ranks[side].v[i]),
                                     hand->err, "the tensor %.60s has more than 2^63 - 1 elements",
                                     carm_names_text(&draft->names, (uint32_t)name));
    }
    if (extents) {
        memcpy(graph->extents + graph->nextents, extents, rank * sizeof *extents);
    }
    *at += rank;
    graph->nextents += rank;
    draft->use_lines[graph->nuses++] = carm_sol_line_in(name);
    return 0;
}

static int move_uses(const struct hand *hand)
{
    struct carm_sol_draft *draft = hand->draft;
    struct carm_sol_graph *graph = draft->graph;
    const struct carm_sol_slots *slots = &draft->slots;
    const size_t nuses = slots->names[0].n + slots->names[1].n;
    const size_t nextents = slots->extents[0].n + slots->extents[1].n;
    int rc =
        carm_sol_grow(&graph->uses, &draft->uses_room, graph->nuses, nuses, sizeof *graph->uses);
    rc = rc ? rc
            : carm_sol_grow(&draft->use_lines, &draft->use_lines_room, graph->nuses, nuses,
                            sizeof *draft->use_lines);
    rc = rc ? rc
            : carm_sol_grow(&graph->extents, &draft->extents_room, graph->nextents, nextents,
                            sizeof *graph->extents);
    if (rc) {
        return carm_sol_draft_fail(draft, rc, hand->err);
    }
    hand->layer->uses = graph->nuses;
    hand->layer->inputs = (uint32_t)slots->names[0].n;
    hand->layer->outputs = (uint32_t)slots->names[1].n;
    for (int side = 0; side < 2; side++) {
        size_t at = 0;
        for (size_t i = 0; i < slots->names[side].n; i++) {
            rc = move_use(hand, side, i, &at);
            if (rc) {
                return rc;
            }
        }
    }
    return 0;
}

static int move_links(const struct hand *hand)
{
    struct carm_sol_draft *draft = hand->draft;
    struct carm_sol_graph *graph = draft->graph;
    const struct carm_sol_list *in = &draft->slots.links[0];
    const struct carm_sol_list *out = &draft->slots.links[1];
    int rc = carm_sol_grow(&graph->links, &draft->links_room, graph->nlinks, in->n,
                           sizeof *graph->links);
    rc = rc ? rc
            : carm_sol_grow(&draft->link_lines, &draft->link_lines_room, graph->nlinks, in->n,
                            sizeof *draft->link_lines);
    rc = rc ? rc
            : carm_sol_grow(&draft->outs, &draft->outs_room, draft->nouts, out->n,
                            sizeof *draft->outs);
    rc = rc ? rc
            : carm_sol_grow(&draft->out_lines, &draft->out_lines_room, draft->nouts, out->n,
                            sizeof *draft->out_lines);
    if (rc) {
        return carm_sol_draft_fail(draft, rc, hand->err);
    }
    hand->layer->links = graph->nlinks;
    hand->layer->predecessors = (uint32_t)in->n;
    for (size_t i = 0; i < in->n; i++) {
        graph->links[graph->nlinks] = (uint32_t)in->v[i];
        draft->link_lines[graph->nlinks++] = carm_sol_line_in(in->v[i]);
    }
    for (size_t i = 0; i < out->n; i++) {
        draft->outs[draft->nouts] = (uint32_t)out->v[i];
        draft->out_lines[draft->nouts++] = carm_sol_line_in(out->v[i]);
    }
    return 0;
}

int carm_sol_store_layer(struct carm_sol_draft *draft, struct carm_sol_layer *layer,
                         struct carm_err *err)
{
    const struct hand hand = {.draft = draft, .layer = layer, .err = err};
    int rc = check_lengths(&hand);
    rc = rc ? rc : number_all(&hand);
    rc = rc ? rc : move_uses(&hand);
    return rc ? rc : move_links(&hand);
}
