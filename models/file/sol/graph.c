/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/sol/graph.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/text.h"
#include "models/file/sol/draft.h"
#include "models/sol/equation.h"

const char carm_sol_graph_root[] = "not an einsum graph, which is a map with model_name and layers";

/* State that the checks share. */
struct check {
    struct carm_sol_draft *draft;
    struct carm_sol_graph *graph; /* the draft's */
    struct carm_err *err;         /* the draft's */
    /* [graph->nlinks] the links reversed: each layer's successors, in the file's order */
    uint32_t *successors;
    uint32_t *first_successor; /* [graph->n + 2]; the successors of layer i end where those of i + 1
                                * begin */
};

static int no_memory(struct carm_err *err)
{
    return carm_fail(err, CARM_ENOMEM, "not enough memory for the graph");
}

static const char *id_of(const struct check *c, uint32_t layer)
{
    return carm_sol_draft_id(c->draft, layer);
}

/* ---- connections ---- */

/* Replaces the names on one side of a layer's connections by layers. Repetitions are dropped, and names of no layer:
 * tensors from outside the graph, or readers there.
 * from   index of the layer's first name in the list
 * n      number of the layer's names; out: number of layers that are left
 * kept   number of entries of the list kept so far
 * stamp  [layers] the last layer, plus 1, that named it */
static int resolve(const struct check *c, uint32_t layer, struct carm_sol_list *list, size_t from,
                   uint32_t *n, size_t *kept, const char *side, uint32_t *stamp)
{
    const size_t first = *kept;
    for (size_t i = from; i < from + *n; i++) {
        const uint32_t line = carm_sol_line_in(list->v[i]);
        const uint32_t other = c->draft->layer_of[(uint32_t)list->v[i]];
        if (other == layer) {
            return carm_sol_draft_refuse(c->draft, &c->graph->layers[layer], line,
                                         "connections.%s names the layer itself: a cycle", side);
        }
        if (other != CARM_SOL_NONE && stamp[other] != layer + 1) {
            stamp[other] = layer + 1;
            list->v[(*kept)++] = other;
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

/* The connections that tell that a layer comes before another. */
enum { BY_INPUTS = 1, BY_OUTPUTS = 2 };

/* Calls `found` for each pair of layers: connections in both directions, then tensors. by: 0 for a
 * tensor */
static void each_link(const struct check *c,
                      void (*found)(void *data, uint32_t from, uint32_t to, unsigned by),
                      void *data)
{
    const struct carm_sol_graph *graph = c->graph;
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        for (uint32_t k = 0; k < layer->predecessors; k++) {
            found(data, (uint32_t)c->draft->ins.v[layer->links + k], i, BY_INPUTS);
        }
        for (uint32_t k = c->draft->first_out[i]; k < c->draft->first_out[i + 1]; k++) {
            found(data, i, (uint32_t)c->draft->outs.v[k], BY_OUTPUTS);
        }
        for (uint32_t k = layer->uses; k < layer->uses + layer->inputs; k++) {
            const uint32_t from = graph->producer[graph->uses[k].tensor];
            if (from != CARM_SOL_NONE && from != i) {
                found(data, from, i, 0);
            }
        }
    }
}

struct links {
    uint64_t *v;     /* from << 2 | by, grouped by layer */
    uint32_t *first; /* [layers + 2] index of each layer's first link, and the end */
};

static void count_link(void *data, uint32_t from, uint32_t to, unsigned by)
{
    struct links *links = data;
    (void)from;
    (void)by;
    links->first[to + 2]++;
}

static void place_link(void *data, uint32_t from, uint32_t to, unsigned by)
{
    struct links *links = data;
    links->v[links->first[to + 1]++] = (uint64_t)from << 2 | by;
}

/* Keeps each predecessor once. mark: [layers] the predecessor's index in the graph's links, valid if that link is of
 * the current layer and names it; by: [links] the connections that tell it */
static void keep_links(struct check *c, const struct links *all, uint32_t *mark, uint8_t *by)
{
    struct carm_sol_graph *graph = c->graph;
    uint32_t n = 0;
    for (uint32_t i = 0; i < graph->n; i++) {
        const uint32_t first = n;
        for (uint32_t k = all->first[i]; k < all->first[i + 1]; k++) {
            const uint32_t from = (uint32_t)(all->v[k] >> 2);
            const uint32_t at = mark[from];
            const bool known = at >= first && at < n && graph->links[at] == from;
            if (!known) {
                mark[from] = n;
                by[n] = 0;
                graph->links[n++] = from;
            }
            by[mark[from]] |= all->v[k] & 3;
        }
        for (uint32_t k = first; k < n; k++) {
            graph->one_sided += by[k] == BY_INPUTS || by[k] == BY_OUTPUTS;
        }
        graph->layers[i].links = first;
        graph->layers[i].predecessors = n - first;
    }
    graph->nlinks = n;
}

/* Finds each layer's successors by a counting sort, so that each list is in the file's order. */
static int find_successors(struct check *c)
{
    const struct carm_sol_graph *graph = c->graph;
    uint32_t *first = c->first_successor = calloc((size_t)graph->n + 2, sizeof *first);
    c->successors = malloc(((size_t)graph->nlinks + 1) * sizeof *c->successors);
    if (!first || !c->successors) {
        return no_memory(c->err);
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
            c->successors[first[graph->links[layer->links + k] + 1]++] = i;
        }
    }
    return 0;
}

/* Links layers by all tensors and connections. */
static int link_layers(struct check *c)
{
    struct carm_sol_graph *graph = c->graph;
    const size_t most = c->draft->ins.n + c->draft->outs.n + graph->nuses + 1;
    struct links all = {.v = malloc(most * sizeof *all.v),
                        .first = calloc((size_t)graph->n + 2, sizeof *all.first)};
    uint32_t *mark = malloc(graph->n * sizeof *mark);
    uint8_t *by = malloc(most * sizeof *by);
    graph->links = malloc(most * sizeof *graph->links);
    int rc = 0;
    if (most >= CARM_SOL_NONE || !all.v || !all.first || !mark || !by || !graph->links) {
        rc = no_memory(c->err);
        goto out;
    }
    memset(mark, 0xff, graph->n * sizeof *mark);
    each_link(c, count_link, &all);
    for (uint32_t i = 2; i <= graph->n + 1; i++) {
        all.first[i] += all.first[i - 1];
    }
    each_link(c, place_link, &all);
    keep_links(c, &all, mark, by);
    rc = find_successors(c);
out:
    free(all.v);
    free(all.first);
    free(mark);
    free(by);
    return rc;
}

static int check_links(struct check *c)
{
    uint32_t *stamps = calloc((size_t)c->graph->n * 2, sizeof *stamps); /* two stamps for each
                                                                         * layer */
    int rc = stamps ? resolve_all(c, stamps) : no_memory(c->err);
    rc = rc ? rc : link_layers(c);
    free(stamps);
    return rc;
}

/* ---- execution order ---- */

/* Kahn's algorithm. The ready layers are in a heap, the earliest layer of the file first. */

enum { CYCLE_NAMES = 4, CYCLE_TEXT = 200 };

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

/* waits  [layers] number of predecessors that are not done; heap [layers]
 * returns the number of sorted layers */
static uint32_t sort(const struct check *c, uint32_t *waits, uint32_t *heap)
{
    struct carm_sol_graph *graph = c->graph;
    uint32_t ready = 0;
    uint32_t done = 0;
    assert(c->successors && c->first_successor);
    for (uint32_t i = 0; i < graph->n; i++) {
        waits[i] = graph->layers[i].predecessors;
        if (waits[i] == 0) {
            carm_heap_put(heap, ready++, i);
        }
    }
    while (ready) {
        const uint32_t layer = carm_heap_take(heap, ready--);
        graph->order[done++] = layer;
        for (uint32_t i = c->first_successor[layer]; i < c->first_successor[layer + 1]; i++) {
            const uint32_t next = c->successors[i];
            if (--waits[next] == 0) {
                carm_heap_put(heap, ready++, next);
            }
        }
    }
    return done;
}

/* A predecessor that also waits: each waiting layer has one. */
static uint32_t waiting_before(const struct carm_sol_graph *graph, const uint32_t *waits,
                               uint32_t layer)
{
    uint32_t i = graph->layers[layer].links;
    while (waits[graph->links[i]] == 0) {
        i++;
    }
    return graph->links[i];
}

/* Refuses a graph and names a cycle among the waiting layers. seen: [layers] scratch */
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
    uint32_t first = at; /* first layer of the cycle in the file */
    uint32_t length = 0;
    uint32_t layer = at;
    do {
        layer = waiting_before(graph, waits, layer);
        first = layer < first ? layer : first;
        length++;
    } while (layer != at);
    layer = first;
    for (uint32_t i = 0; i < length && i < CYCLE_NAMES; i++) {
        layer = waiting_before(graph, waits, layer);
        carm_text_list(text, sizeof text, ", which needs ", "%.30s", id_of(c, layer));
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

/* ---- tensors ---- */

static const char *name_of(const struct check *c, uint32_t tensor)
{
    return c->draft->names.text + c->graph->tensors[tensor];
}

static int find_producers(const struct check *c)
{
    struct carm_sol_graph *graph = c->graph;
    graph->producer = malloc((graph->ntensors + (size_t)1) * sizeof *graph->producer);
    if (!graph->producer) {
        return no_memory(c->err);
    }
    memset(graph->producer, 0xff, graph->ntensors * sizeof *graph->producer);
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

/* The index of a tensor among a layer's outputs; the number of outputs = not found. */
static uint32_t output_of(const struct carm_sol_graph *graph, const struct carm_sol_layer *layer,
                          uint32_t tensor)
{
    const struct carm_sol_use *out = graph->uses + layer->uses + layer->inputs;
    uint32_t i = 0;
    while (i < layer->outputs && out[i].tensor != tensor) {
        i++;
    }
    return i;
}

/* Whether Solar named the layer's several outputs: its id with .Output, .Output_1, ... */
static bool has_solars_names(const struct check *c, uint32_t index)
{
    const struct carm_sol_layer *layer = &c->graph->layers[index];
    static const char second[] = ".Output_1";
    const char *id = id_of(c, index);
    const size_t n = strlen(id);
    if (layer->outputs < 2) {
        return false;
    }
    const char *name = name_of(c, c->graph->uses[layer->uses + layer->inputs + 1].tensor);
    return strncmp(name, id, n) == 0 && strcmp(name + n, second) == 0;
}

/* Whether all readers of each layer with such names name its first output. Solar writes so: all readers of a split name
 * its first piece, with the shapes of their own pieces. next: [layers] out: 0 for a layer with such names, else NONE */
static bool names_first_outputs(const struct check *c, uint32_t *next)
{
    const struct carm_sol_graph *graph = c->graph;
    for (uint32_t i = 0; i < graph->n; i++) {
        next[i] = has_solars_names(c, i) ? 0 : CARM_SOL_NONE;
    }
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        for (uint32_t k = layer->uses; k < layer->uses + layer->inputs; k++) {
            const uint32_t maker = graph->producer[graph->uses[k].tensor];
            if (maker != CARM_SOL_NONE && next[maker] != CARM_SOL_NONE &&
                output_of(graph, &graph->layers[maker], graph->uses[k].tensor) > 0) {
                return false;
            }
        }
    }
    return true;
}

/* Gives a reader that names the first piece of a split a piece of its own, while there are pieces of its size. */
static void rename_input(const struct check *c, struct carm_sol_use *use, uint32_t maker,
                         uint32_t *next)
{
    const struct carm_sol_layer *from = &c->graph->layers[maker];
    const struct carm_sol_use *out = c->graph->uses + from->uses + from->inputs;
    for (uint32_t tried = 0; tried < from->outputs; tried++) {
        const uint32_t i = (*next + tried) % from->outputs;
        if (out[i].elements == use->elements && (i >= *next || *next >= from->outputs)) {
            c->graph->renamed += i > 0;
            use->tensor = out[i].tensor;
            *next = i + 1;
            return;
        }
    }
}

static int rename_inputs(const struct check *c)
{
    const struct carm_sol_graph *graph = c->graph;
    uint32_t *next = malloc(graph->n * sizeof *next);
    if (!next) {
        return no_memory(c->err);
    }
    const bool first = names_first_outputs(c, next);
    for (uint32_t i = 0; first && i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        for (uint32_t k = layer->uses; k < layer->uses + layer->inputs; k++) {
            const uint32_t maker = graph->producer[graph->uses[k].tensor];
            if (maker != CARM_SOL_NONE && maker != i && next[maker] != CARM_SOL_NONE &&
                graph->layers[maker].kind == CARM_SOL_VIEW) {
                rename_input(c, &graph->uses[k], maker, &next[maker]);
            }
        }
    }
    free(next);
    return 0;
}

/* elements: [tensors] elements at the tensor's maker, else at the first layer that uses the
 * tensor */
static int check_uses(const struct check *c, uint32_t index, uint64_t *elements)
{
    const struct carm_sol_layer *layer = &c->graph->layers[index];
    for (uint32_t k = layer->uses; k < layer->uses + layer->inputs; k++) {
        const struct carm_sol_use *use = &c->graph->uses[k];
        if (c->graph->producer[use->tensor] == index) {
            return carm_sol_draft_refuse(c->draft, layer, c->draft->use_lines[k],
                                         "the tensor %.60s is both its input and its output: "
                                         "give the output a name of its own",
                                         name_of(c, use->tensor));
        }
        if (elements[use->tensor] == UINT64_MAX) {
            elements[use->tensor] = use->elements;
        }
        c->graph->resized += elements[use->tensor] != use->elements;
    }
    return 0;
}

static int check_tensors(const struct check *c)
{
    const struct carm_sol_graph *graph = c->graph;
    uint64_t *elements = malloc((graph->ntensors + (size_t)1) * sizeof *elements);
    if (!elements) {
        return no_memory(c->err);
    }
    memset(elements, 0xff, graph->ntensors * sizeof *elements);
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        for (uint32_t k = 0; k < layer->outputs; k++) {
            const struct carm_sol_use *use = &graph->uses[layer->uses + layer->inputs + k];
            elements[use->tensor] = use->elements;
        }
    }
    int rc = 0;
    for (uint32_t i = 0; !rc && i < graph->n; i++) {
        rc = check_uses(c, i, elements);
    }
    free(elements);
    return rc;
}

/* ---- equations ---- */

/* Counts the points: elements of all inputs, or of the largest output if these are more. */
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

/* Counts an operation without contraction whose equation gives no count. */
static int count_shapes(const struct check *c, struct carm_sol_layer *layer,
                        enum carm_sol_counted counted)
{
    layer->counted = (uint8_t)counted;
    return points_of_shapes(c, layer);
}

/* Counts a contraction without an equation that fits. */
static bool count_contraction(const struct check *c, struct carm_sol_layer *layer,
                              const struct carm_sol_operands *operands, enum carm_sol_misfit misfit)
{
    const char *type = c->draft->names.text + layer->type;
    const bool counted = carm_sol_contraction(type, operands, misfit, &layer->macs);
    layer->counted = counted ? CARM_SOL_BY_GROUPS : layer->counted;
    return counted;
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
    const bool counted = layer->kind == CARM_SOL_COMPUTE;
    const bool usable = *equation && (layer->supportable || layer->real_einsum);
    enum carm_sol_misfit misfit = CARM_SOL_MISFIT_PART; /* without an equation */
    uint64_t points = 0;
    if (layer->kind == CARM_SOL_START || (!counted && !usable)) {
        return 0;
    }
    if (usable && !carm_sol_equation(equation, counted ? &operands : NULL, &points, why, &misfit)) {
        *(layer->real_einsum ? &layer->macs : &layer->points) = points;
        return 0;
    }
    if (counted && layer->real_einsum && count_contraction(c, layer, &operands, misfit)) {
        return 0;
    }
    if (!usable) {
        return count_shapes(c, layer,
                            layer->real_einsum ? CARM_SOL_NO_EQUATION : CARM_SOL_BY_EQUATION);
    }
    if (counted && !layer->real_einsum && misfit != CARM_SOL_MISFIT_TEXT) {
        return count_shapes(c, layer, CARM_SOL_BY_SHAPES);
    }
    return carm_sol_draft_refuse(c->draft, layer, 0, "einsum_equation %.48s: %s", equation, why);
}

static int by_type(const void *a, const void *b)
{
    const struct carm_sol_note *x = a;
    const struct carm_sol_note *y = b;
    if (x->type != y->type) {
        return x->type < y->type ? -1 : 1;
    }
    return (int)x->counted - (int)y->counted;
}

/* Notes layers that were not counted by their equation, by type. */
static int note_types(const struct check *c)
{
    struct carm_sol_graph *graph = c->graph;
    uint32_t n = 0;
    for (uint32_t i = 0; i < graph->n; i++) {
        n += graph->layers[i].counted != CARM_SOL_BY_EQUATION;
    }
    if (n == 0) {
        return 0;
    }
    graph->notes = calloc(n, sizeof *graph->notes);
    if (!graph->notes) {
        return no_memory(c->err);
    }
    n = 0;
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct carm_sol_layer *layer = &graph->layers[i];
        if (layer->counted != CARM_SOL_BY_EQUATION) {
            graph->notes[n++] =
                (struct carm_sol_note){.type = layer->type, .layers = 1, .counted = layer->counted};
        }
    }
    qsort(graph->notes, n, sizeof *graph->notes, by_type);
    for (uint32_t i = 0; i < n; i++) {
        struct carm_sol_note *last = graph->nnotes ? &graph->notes[graph->nnotes - 1] : NULL;
        if (last && by_type(last, &graph->notes[i]) == 0) {
            last->layers++;
        } else {
            graph->notes[graph->nnotes++] = graph->notes[i];
        }
    }
    return 0;
}

static int check_equations(const struct check *c)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < c->graph->n; i++) {
        rc = count_points(c, &c->graph->layers[i]);
    }
    return rc ? rc : note_types(c);
}

/* ---- opening ---- */

static int check_graph(struct check *c)
{
    int rc = find_producers(c);
    rc = rc ? rc : rename_inputs(c);
    rc = rc ? rc : check_tensors(c);
    rc = rc ? rc : check_links(c);
    rc = rc ? rc : check_order(c);
    return rc ? rc : check_equations(c);
}

int carm_sol_graph_of(struct carm_yaml *yaml, struct carm_sol_graph **graph, struct carm_err *err)
{
    struct carm_sol_draft draft = {
        .yaml = yaml, .err = err, .graph = calloc(1, sizeof *draft.graph)};
    *graph = NULL;
    if (!draft.graph) {
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
        *graph = draft.graph;
    }
    free(check.successors);
    free(check.first_successor);
    carm_sol_draft_close(&draft);
    return rc;
}

int carm_sol_graph_parse(const char *text, size_t size_bytes, const char *name,
                         struct carm_sol_graph **graph, struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    *graph = NULL;
    int rc = carm_yaml_open_text(text, size_bytes, name, carm_sol_graph_root, &yaml, err);
    rc = rc ? rc : carm_sol_graph_of(yaml, graph, err);
    carm_yaml_close(yaml);
    return rc;
}
