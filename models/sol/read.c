/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/read.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sol/draft.h"
#include "models/sol/equation.h"

/* What the checks share. */
struct check {
    struct carm_sol_draft *draft;
    struct carm_sol_graph *graph; /* the draft's */
    struct carm_err *err;         /* the draft's */
    uint32_t
        *successors; /* [graph->nlinks] links the other way round, each list in the file's order */
    uint32_t *first_successor; /* [graph->n + 2]; those of layer i end where those of i + 1 begin */
};

static int no_memory(struct carm_err *err)
{
    return carm_fail(err, CARM_ENOMEM, "not enough memory for the graph");
}

static const char *id_of(const struct check *c, uint32_t layer)
{
    return carm_sol_draft_id(c->draft, layer);
}

/* ---- connections ------------------------------------------------------------------------------- */

/* One side of a layer's connections: names become layers, repetitions go away.
 * from   the first of the layer's in the list
 * n      how many there are; out: how many are left
 * kept   of the list, so far
 * stamp  [layers] the last layer, plus 1, that named it */
static int resolve(const struct check *c, uint32_t layer, struct carm_sol_list *list, size_t from,
                   uint32_t *n, size_t *kept, const char *side, uint32_t *stamp)
{
    const struct carm_sol_layer *l = &c->graph->layers[layer];
    const size_t first = *kept;
    for (size_t i = from; i < from + *n; i++) {
        const uint32_t name = (uint32_t)list->v[i];
        const uint32_t line = carm_sol_line_in(list->v[i]);
        const uint32_t other = c->draft->layer_of[name];
        if (other == CARM_SOL_NONE) {
            return carm_sol_draft_refuse(c->draft, l, line,
                                         "connections.%s names %.60s, which is not a layer", side,
                                         carm_names_text(&c->draft->names, name));
        }
        if (other == layer) {
            return carm_sol_draft_refuse(c->draft, l, line,
                                         "connections.%s names the layer itself: a cycle", side);
        }
        if (stamp[other] != layer + 1) {
            stamp[other] = layer + 1;
            list->v[(*kept)++] = (uint64_t)line << 32 | other;
        }
    }
    *n = (uint32_t)(*kept - first);
    return 0;
}

static int resolve_all(const struct check *c, uint32_t *stamps)
{
    struct carm_sol_draft *draft = c->draft;
    struct carm_sol_graph *graph = c->graph;
    size_t ins = 0;
    size_t outs = 0;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < graph->n; i++) {
        struct carm_sol_layer *layer = &graph->layers[i];
        uint32_t from = layer->links;
        layer->links = (uint32_t)ins;
        rc = resolve(c, i, &draft->ins, from, &layer->predecessors, &ins, "inputs", stamps);
        from = draft->first_out[i];
        uint32_t n = draft->first_out[i + 1] - from;
        draft->first_out[i] = (uint32_t)outs;
        rc = rc ? rc : resolve(c, i, &draft->outs, from, &n, &outs, "outputs", stamps + graph->n);
    }
    draft->ins.n = ins;
    draft->outs.n = outs;
    draft->first_out[graph->n] = (uint32_t)outs;
    return rc;
}

/* The graph's links, and the same the other way round: sorted by counting, so that each list is in the
 * file's order. */
static int link_layers(struct check *c)
{
    struct carm_sol_graph *graph = c->graph;
    const uint32_t n = (uint32_t)c->draft->ins.n;
    uint32_t *first = c->first_successor = calloc((size_t)graph->n + 2, sizeof *first);
    c->successors = malloc(((size_t)n + 1) * sizeof *c->successors);
    graph->links = malloc(((size_t)n + 1) * sizeof *graph->links);
    if (!first || !c->successors || !graph->links) {
        return no_memory(c->err);
    }
    graph->nlinks = n;
    for (uint32_t i = 0; i < n; i++) {
        graph->links[i] = (uint32_t)c->draft->ins.v[i];
        first[graph->links[i] + 2]++;
    }
    for (uint32_t i = 2; i <= graph->n; i++) {
        first[i] += first[i - 1];
    }
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        for (uint32_t k = 0; k < layer->predecessors; k++) {
            c->successors[first[graph->links[layer->links + k] + 1]++] = i;
        }
    }
    return 0;
}

/* A layer names another, which does not name it back. line: of the name */
static int refuse_one_sided(const struct check *c, uint32_t layer, uint32_t other, bool output,
                            uint32_t line)
{
    return carm_sol_draft_refuse(
        c->draft, &c->graph->layers[layer], line,
        "connections.%s names %.60s, but connections.%s of that layer (line %u) does not name it",
        output ? "outputs" : "inputs", id_of(c, other), output ? "inputs" : "outputs",
        c->graph->layers[other].line);
}

static uint32_t line_of_link(const struct check *c, uint32_t layer, uint32_t from)
{
    uint32_t i = c->graph->layers[layer].links;
    while (c->graph->links[i] != from) {
        i++;
    }
    return carm_sol_line_in(c->draft->ins.v[i]);
}

/* The outputs that a layer names against the layers that name it as an input.
 * stamp  [layers] zeros at first; holds 2 i + 2 for successors of layer i, 2 i + 3 when matched */
static int agree(const struct check *c, uint32_t layer, uint64_t *stamp)
{
    const uint32_t begin = c->first_successor[layer];
    const uint32_t end = c->first_successor[layer + 1];
    const uint64_t mark = 2 * (uint64_t)layer + 2;
    for (uint32_t i = begin; i < end; i++) {
        stamp[c->successors[i]] = mark;
    }
    for (uint32_t i = c->draft->first_out[layer]; i < c->draft->first_out[layer + 1]; i++) {
        const uint32_t to = (uint32_t)c->draft->outs.v[i];
        if (stamp[to] != mark) {
            return refuse_one_sided(c, layer, to, true, carm_sol_line_in(c->draft->outs.v[i]));
        }
        stamp[to] = mark + 1;
    }
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t from = c->successors[i];
        if (stamp[from] == mark) {
            return refuse_one_sided(c, from, layer, false, line_of_link(c, from, layer));
        }
    }
    return 0;
}

/* Connections: resolved, without repetitions, the same in both directions. */
static int check_links(struct check *c)
{
    const uint32_t n = c->graph->n;
    uint64_t *stamps = calloc(n, sizeof *stamps); /* two for each layer, then one */
    if (!stamps) {
        return no_memory(c->err);
    }
    int rc = resolve_all(c, (uint32_t *)stamps);
    rc = rc ? rc : link_layers(c);
    memset(stamps, 0, n * sizeof *stamps);
    for (uint32_t i = 0; !rc && i < n; i++) {
        rc = agree(c, i, stamps);
    }
    free(stamps);
    return rc;
}

/* ---- execution order --------------------------------------------------------------------------- */

/* Kahn's algorithm with the ready layers in a heap by their place in the file: the smallest is first. */

enum { CYCLE_NAMES = 4, CYCLE_TEXT = 200 };

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
static uint32_t sort(const struct check *c, uint32_t *waits, uint32_t *heap)
{
    struct carm_sol_graph *graph = c->graph;
    uint32_t ready = 0;
    uint32_t done = 0;
    assert(c->successors && c->first_successor);
    for (uint32_t i = 0; i < graph->n; i++) {
        waits[i] = graph->layers[i].predecessors;
        if (waits[i] == 0) {
            heap_put(heap, ready++, i);
        }
    }
    while (ready) {
        const uint32_t layer = heap_take(heap, ready--);
        graph->order[done++] = layer;
        for (uint32_t i = c->first_successor[layer]; i < c->first_successor[layer + 1]; i++) {
            const uint32_t next = c->successors[i];
            if (--waits[next] == 0) {
                heap_put(heap, ready++, next);
            }
        }
    }
    return done;
}

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
static int refuse_cycle(const struct check *c, const uint32_t *waits, uint32_t *seen)
{
    const struct carm_sol_graph *graph = c->graph;
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
                                 i ? ", which needs " : "", id_of(c, layer));
    }
    return carm_sol_draft_refuse(c->draft, &graph->layers[first], 0,
                                 "a cycle of %u layers: it needs %s%s", length, text,
                                 length > CYCLE_NAMES ? ", and so on round to it" : "");
}

static int check_order(const struct check *c)
{
    struct carm_sol_graph *graph = c->graph;
    graph->order = malloc(graph->n * sizeof *graph->order);
    if (!graph->order) {
        return no_memory(c->err);
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
        rc = no_memory(c->err);
    } else if (sort(c, waits, heap) < graph->n) {
        rc = refuse_cycle(c, waits, heap);
    }
    free(waits);
    free(heap);
    return rc;
}

/* ---- tensors ----------------------------------------------------------------------------------- */

static const char *name_of(const struct check *c, uint32_t tensor)
{
    return c->draft->names.text + c->graph->tensors[tensor];
}

static int find_producers(const struct check *c)
{
    struct carm_sol_graph *graph = c->graph;
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
                    c->draft, layer, c->draft->use_lines[k],
                    "its output %.60s is also an output of layer %.60s (line %u)",
                    name_of(c, graph->uses[k].tensor), id_of(c, *producer),
                    graph->layers[*producer].line);
            }
            *producer = i;
        }
    }
    return 0;
}

/* first: [tensors] the use that a tensor's others are compared with, or CARM_SOL_NONE */
static int check_elements(const struct check *c, const struct carm_sol_layer *layer, uint32_t k,
                          uint32_t *first)
{
    const struct carm_sol_use *use = &c->graph->uses[k];
    uint32_t *old = &first[use->tensor];
    if (*old == CARM_SOL_NONE) {
        *old = k;
        return 0;
    }
    const uint64_t elements = c->graph->uses[*old].elements;
    return use->elements == elements
               ? 0
               : carm_sol_draft_refuse(
                     c->draft, layer, c->draft->use_lines[k],
                     "the tensor %.60s has %" PRIu64 " elements here and %" PRIu64
                     " in line %u: give what a view or a slice makes a name of its own",
                     name_of(c, use->tensor), use->elements, elements, c->draft->use_lines[*old]);
}

/* stamp: [layers] the last layer, plus 1, that has it before itself */
static int check_uses(const struct check *c, uint32_t index, uint32_t *first, uint32_t *stamp)
{
    const struct carm_sol_graph *graph = c->graph;
    const struct carm_sol_layer *layer = &graph->layers[index];
    for (uint32_t i = 0; i < layer->predecessors; i++) {
        stamp[graph->links[layer->links + i]] = index + 1;
    }
    for (uint32_t k = layer->uses; k < layer->uses + layer->inputs + layer->outputs; k++) {
        const uint32_t tensor = graph->uses[k].tensor;
        const uint32_t producer = graph->producer[tensor];
        const int rc = check_elements(c, layer, k, first);
        if (rc) {
            return rc;
        }
        if (k >= layer->uses + layer->inputs || producer == CARM_SOL_NONE) {
            continue;
        }
        if (producer == index) {
            return carm_sol_draft_refuse(c->draft, layer, c->draft->use_lines[k],
                                         "the tensor %.60s is both its input and its output: "
                                         "give the output a name of its own",
                                         name_of(c, tensor));
        }
        if (stamp[producer] != index + 1) {
            return carm_sol_draft_refuse(
                c->draft, layer, c->draft->use_lines[k],
                "its input %.60s comes from layer %.60s (line %u), which its connections.inputs "
                "does not name",
                name_of(c, tensor), id_of(c, producer), graph->layers[producer].line);
        }
    }
    return 0;
}

/* room of check_uses: first, then stamp */
static int check_layers(const struct check *c, uint32_t *room)
{
    const struct carm_sol_graph *graph = c->graph;
    uint32_t *stamp = room + graph->ntensors;
    int rc = 0;
    for (uint32_t i = 0; i < graph->ntensors; i++) {
        room[i] = CARM_SOL_NONE;
    }
    for (uint32_t i = 0; !rc && i < graph->n; i++) {
        rc = check_uses(c, i, room, stamp);
    }
    return rc;
}

static int check_tensors(const struct check *c)
{
    struct carm_sol_graph *graph = c->graph;
    const size_t n = graph->ntensors;
    graph->producer = malloc((n + 1) * sizeof *graph->producer);
    if (!graph->producer) {
        return no_memory(c->err);
    }
    int rc = find_producers(c);
    if (rc) {
        return rc;
    }
    uint32_t *room = calloc(n + graph->n + 1, sizeof *room);
    if (!room) {
        return no_memory(c->err);
    }
    rc = check_layers(c, room);
    free(room);
    return rc;
}

/* ---- equations --------------------------------------------------------------------------------- */

/* All inputs, or the largest output: whichever are more elements. */
static int points_of_shapes(const struct check *c, struct carm_sol_layer *layer)
{
    const struct carm_sol_use *uses = c->graph->uses + layer->uses;
    uint64_t all = 0;
    for (uint32_t i = 0; i < layer->inputs; i++) {
        if (uses[i].elements > (uint64_t)INT64_MAX - all) {
            return carm_sol_draft_refuse(c->draft, layer, 0,
                                         "its inputs have more than 2^63 - 1 elements");
        }
        all += uses[i].elements;
    }
    for (uint32_t i = layer->inputs; i < layer->inputs + layer->outputs; i++) {
        all = uses[i].elements > all ? uses[i].elements : all;
    }
    layer->points = all;
    return 0;
}

static int count_points(const struct check *c, struct carm_sol_layer *layer)
{
    const char *equation = c->draft->names.text + layer->equation;
    char why[CARM_SOL_WHY_MAX] = "";
    const struct carm_sol_operands operands = {.uses = c->graph->uses + layer->uses,
                                               .inputs = layer->inputs,
                                               .outputs = layer->outputs,
                                               .extents = c->graph->extents,
                                               .contraction = layer->real_einsum};
    uint64_t points = 0;
    if (layer->kind == CARM_SOL_START) {
        return 0;
    }
    if (layer->real_einsum && !*equation) {
        return carm_sol_draft_refuse(c->draft, layer, 0,
                                     "the key einsum_equation is missing: is_real_einsum is true");
    }
    const bool counted = layer->kind == CARM_SOL_COMPUTE;
    const bool usable = *equation && (layer->supportable || layer->real_einsum);
    if (counted && !usable) {
        return points_of_shapes(c, layer);
    }
    if (usable && carm_sol_equation(equation, counted ? &operands : NULL, &points, why)) {
        return carm_sol_draft_refuse(c->draft, layer, 0, "einsum_equation %.48s: %s", equation,
                                     why);
    }
    *(layer->real_einsum ? &layer->macs : &layer->points) = points;
    return 0;
}

static int check_equations(const struct check *c)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < c->graph->n; i++) {
        rc = count_points(c, &c->graph->layers[i]);
    }
    return rc;
}

/* ---- opening ----------------------------------------------------------------------------------- */

static int check_graph(struct check *c)
{
    int rc = check_links(c);
    rc = rc ? rc : check_order(c);
    rc = rc ? rc : check_tensors(c);
    return rc ? rc : check_equations(c);
}

/* Takes yaml. */
static int read_graph(struct carm_yaml *yaml, struct carm_sol_graph **out, struct carm_err *err)
{
    struct carm_sol_draft draft = {
        .yaml = yaml, .err = err, .graph = calloc(1, sizeof *draft.graph)};
    if (!draft.graph) {
        carm_yaml_close(yaml);
        return no_memory(err);
    }
    struct check check = {.draft = &draft, .graph = draft.graph, .err = err};
    int rc = carm_sol_draft_read(&draft);
    rc = rc ? rc : check_graph(&check);
    if (rc) {
        carm_sol_graph_close(draft.graph);
    } else {
        draft.graph->text = draft.names.text;
        draft.names.text = NULL;
        *out = draft.graph;
    }
    free(check.successors);
    free(check.first_successor);
    carm_sol_draft_close(&draft);
    carm_yaml_close(yaml);
    return rc;
}

int carm_sol_graph_open(const char *path, struct carm_sol_graph **graph, struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    *graph = NULL;
    const int rc = carm_yaml_open(path, &yaml, err);
    return rc ? rc : read_graph(yaml, graph, err);
}

int carm_sol_graph_parse(const char *text, size_t size_bytes, const char *name,
                         struct carm_sol_graph **graph, struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    *graph = NULL;
    const int rc = carm_yaml_open_text(text, size_bytes, name, &yaml, err);
    return rc ? rc : read_graph(yaml, graph, err);
}
