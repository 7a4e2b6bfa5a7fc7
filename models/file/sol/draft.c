/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layer's keys come in any order. Their values lie in slots until the layer's map closes, then
 * go to the graph's pools. */
#include "models/file/sol/draft.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "models/sol/equation.h"

enum { RANK_MAX = 64 }; /* dimensions of a tensor, as PyTorch has it */

enum key {
    TYPE,
    EQUATION,
    ELEMENTWISE,
    REDUCTION,
    REAL,
    SUPPORTABLE,
    NAMES,
    ROLES,
    SHAPES,
    DTYPES,
    CONNECTIONS,
    RAW,
    NKEYS
};

static const struct {
    const char name[24];
    size_t length;
    bool required;
} keys[NKEYS] = {
    [TYPE] = {"type", 4, true},
    [EQUATION] = {"einsum_equation", 15, false},
    [ELEMENTWISE] = {"elementwise_op", 14, false},
    [REDUCTION] = {"reduction_op", 12, false},
    [REAL] = {"is_real_einsum", 14, true},
    [SUPPORTABLE] = {"is_einsum_supportable", 21, false},
    [NAMES] = {"tensor_names", 12, true},
    [ROLES] = {"tensor_types", 12, false},
    [SHAPES] = {"tensor_shapes", 13, true},
    [DTYPES] = {"tensor_dtypes", 13, false},
    [CONNECTIONS] = {"connections", 11, false},
    [RAW] = {"raw_attributes", 14, false},
};

static const char *const sides[2] = {"inputs", "outputs"};

/* A name that has no number yet. */
struct pending {
    uint32_t hash, length;
};

struct reader {
    struct carm_sol_draft *draft;
    struct carm_sol_graph *graph; /* the draft's */
    struct carm_yaml *yaml;       /* the draft's */
    struct carm_err *err;         /* the draft's */
    uint32_t *tensor_of;          /* [names.n] tensor of that name, or CARM_SOL_NONE */
    uint32_t names_room;          /* of this and of the draft's layer_of */
    size_t layers_room, first_out_room, uses_room, use_lines_room, tensors_room, extents_room;
    /* the layer in hand; [0] inputs, [1] outputs */
    struct carm_sol_layer *layer;
    struct carm_sol_list names[2];   /* with lines; places in pending until the map closes */
    struct carm_sol_list links[2];   /* the same: names of layers */
    struct carm_sol_list roles[2];   /* enum carm_sol_role */
    struct carm_sol_list ranks[2];   /* with lines */
    struct carm_sol_list extents[2]; /* of all shapes, one after another */
    char *pending;                   /* struct pending and its text, one after another */
    size_t pending_used, pending_room;
    bool accelforge; /* the document has the key workload */
};

/* ---- room and refusals ---- */

static uint32_t clip(size_t line)
{
    return line < UINT32_MAX ? (uint32_t)line : UINT32_MAX;
}

static uint64_t with_line(uint32_t value, size_t line)
{
    return (uint64_t)clip(line) << 32 | value;
}

/* Turns a failure without words (-CARM_ENOMEM, -CARM_EFORMAT: too large) into one with words. */
static int fail(const struct reader *r, int rc)
{
    if (rc == -CARM_EFORMAT) {
        return carm_yaml_refuse(r->yaml, r->graph->n ? r->graph->layers[0].line : 1, r->err,
                                "the graph is too large: carm reads up to 4 GiB of names and up to "
                                "4e9 layers, tensors and sizes");
    }
    return carm_fail(r->err, CARM_ENOMEM, "not enough memory for the graph");
}

/* Makes room for more members after the first used. array: the address of a pointer */
static int grow(const struct reader *r, void *array, size_t *room, size_t used, size_t more,
                size_t size)
{
    if (used + more <= *room) {
        return 0;
    }
    return used + more < CARM_SOL_NONE
               ? carm_array_grow(array, room, used, more, size, "the graph", r->err)
               : fail(r, -CARM_EFORMAT);
}

static int push(const struct reader *r, struct carm_sol_list *list, uint64_t value)
{
    const int rc = grow(r, &list->v, &list->room, list->n, 1, sizeof *list->v);
    if (!rc) {
        list->v[list->n++] = value;
    }
    return rc;
}

int carm_sol_draft_refuse(const struct carm_sol_draft *draft, const struct carm_sol_layer *layer,
                          uint32_t line, const char *format, ...)
{
    char reason[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(reason, sizeof reason, format, ap);
    va_end(ap);
    return carm_yaml_refuse(draft->yaml, line ? line : layer->line, draft->err, "layer %.60s: %s",
                            draft->names.text + layer->id, reason);
}

/* The layer in hand. */
static int refuse(const struct reader *r, const struct carm_yaml_item *item, enum key key,
                  const char *reason)
{
    return carm_sol_draft_refuse(r->draft, r->layer, clip(item->line), "%s %s", keys[key].name,
                                 reason);
}

/* The number of a string; layer_of and tensor_of have room for it. */
static int number_of(struct reader *r, const char *text, struct pending head, uint32_t *number)
{
    struct carm_sol_draft *draft = r->draft;
    int rc = carm_names_add_hashed(&draft->names, text, head.length, head.hash, number);
    if (rc) {
        return fail(r, rc);
    }
    const uint32_t old = r->names_room;
    const uint32_t n = draft->names.n;
    if (n <= old) {
        return 0;
    }
    size_t room = old;
    rc = grow(r, &draft->layer_of, &room, n, 0, sizeof *draft->layer_of);
    room = old;
    rc = rc ? rc : grow(r, &r->tensor_of, &room, n, 0, sizeof *r->tensor_of);
    if (rc) {
        return rc;
    }
    r->names_room = (uint32_t)room;
    memset(draft->layer_of + old, 0xff, (room - old) * sizeof *draft->layer_of);
    memset(r->tensor_of + old, 0xff, (room - old) * sizeof *r->tensor_of);
    return 0;
}

static struct pending hash_of(const struct reader *r, const struct carm_yaml_item *item)
{
    return (struct pending){.hash = carm_names_hash(&r->draft->names, item->text, item->length),
                            .length = (uint32_t)item->length};
}

/* ---- members of lists ---- */

static int add_name(struct reader *r, enum key key, int side, const struct carm_yaml_item *item)
{
    if (item->kind != CARM_YAML_SCALAR || item->length == 0) {
        return refuse(r, item, key, "has a member that is not a name");
    }
    const struct pending head = hash_of(r, item);
    const size_t at = r->pending_used;
    const int rc = grow(r, &r->pending, &r->pending_room, at, sizeof head + item->length, 1);
    if (rc) {
        return rc;
    }
    memcpy(r->pending + at, &head, sizeof head);
    memcpy(r->pending + at + sizeof head, item->text, item->length);
    r->pending_used += sizeof head + item->length;
    return push(r, key == NAMES ? &r->names[side] : &r->links[side],
                with_line((uint32_t)at, item->line));
}

static int add_role(struct reader *r, int side, const struct carm_yaml_item *item)
{
    static const char *const words[] = {[CARM_SOL_INPUT] = "input",
                                        [CARM_SOL_WEIGHT] = "weight",
                                        [CARM_SOL_BIAS] = "bias",
                                        [CARM_SOL_OUTPUT] = "output"};
    if (item->kind != CARM_YAML_SCALAR) {
        return refuse(r, item, ROLES, "has a member that is not a word");
    }
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (*item->text == *words[i] && strcmp(item->text, words[i]) == 0) {
            return push(r, &r->roles[side], i);
        }
    }
    return carm_sol_draft_refuse(r->draft, r->layer, clip(item->line),
                                 "tensor_types has %.40s: a tensor is input, weight, bias or "
                                 "output",
                                 item->text);
}

static int add_shape(struct reader *r, int side, const struct carm_yaml_item *item)
{
    struct carm_yaml_item member;
    uint32_t rank = 0;
    int rc = 0;
    const size_t line = item->line;
    if (item->kind != CARM_YAML_LIST) {
        return refuse(r, item, SHAPES, "has a member that is not a list of sizes");
    }
    while (carm_yaml_more_members(r->yaml, &member, &rc, r->err)) {
        uint64_t extent = 0;
        rc = carm_yaml_count(r->yaml, &member, "a size in tensor_shapes", &extent, r->err);
        if (!rc && ++rank > RANK_MAX) {
            return refuse(r, &member, SHAPES, "has a shape of more than 64 dimensions");
        }
        rc = rc ? rc : push(r, &r->extents[side], extent);
    }
    return rc ? rc : push(r, &r->ranks[side], with_line(rank, line));
}

/* Only counted: a remark says where the estimate's precision is another. */
static int add_dtype(struct reader *r, const struct carm_yaml_item *item)
{
    if (item->kind != CARM_YAML_SCALAR) {
        return refuse(r, item, DTYPES, "has a member that is not a word");
    }
    const enum carm_sol_dtype dtype = carm_sol_dtype_find(item->text);
    if (dtype < CARM_SOL_DTYPES && r->graph->dtypes[dtype] < UINT32_MAX) {
        r->graph->dtypes[dtype]++;
    }
    return 0;
}

static int add_member(struct reader *r, enum key key, int side, const struct carm_yaml_item *item)
{
    switch (key) {
    case ROLES:
        return add_role(r, side, item);
    case SHAPES:
        return add_shape(r, side, item);
    case DTYPES:
        return add_dtype(r, item);
    default:
        return add_name(r, key, side, item);
    }
}

/* ---- values of a layer's keys ---- */

static int read_list(struct reader *r, enum key key, int side)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc || carm_yaml_is_null(&item)) {
        return rc;
    }
    if (item.kind != CARM_YAML_LIST) {
        return refuse(r, &item, key,
                      side ? "has outputs that are not a list" : "has inputs that are not a list");
    }
    while (carm_yaml_more_members(r->yaml, &item, &rc, r->err)) {
        rc = add_member(r, key, side, &item);
    }
    return rc;
}

/* { inputs: [...], outputs: [...] } */
static int read_sides(struct reader *r, enum key key)
{
    bool seen[2] = {false, false};
    struct carm_yaml_item item;
    int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_MAP) {
        return refuse(r, &item, key, "is not a map of inputs and outputs");
    }
    const struct carm_yaml_item open = item;
    while (carm_yaml_more_keys(r->yaml, &item, &rc, r->err)) {
        const int side = strcmp(item.text, sides[0]) == 0   ? 0
                         : strcmp(item.text, sides[1]) == 0 ? 1
                                                            : -1;
        if (side < 0) {
            rc = carm_yaml_skip(r->yaml, r->err);
            continue;
        }
        if (seen[side]) {
            return refuse(r, &item, key, side ? "has outputs twice" : "has inputs twice");
        }
        seen[side] = true;
        rc = read_list(r, key, side);
    }
    if (!rc && !(seen[0] && seen[1])) {
        return refuse(r, &open, key, seen[0] ? "has no outputs" : "has no inputs");
    }
    return rc;
}

static int read_text(struct reader *r, enum key key, uint32_t *offset)
{
    struct carm_yaml_item item;
    uint32_t number = 0;
    int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_SCALAR) {
        return refuse(r, &item, key, "is not text");
    }
    if (!carm_yaml_is_null(&item)) {
        rc = number_of(r, item.text, hash_of(r, &item), &number);
    }
    if (!rc && key == TYPE && number == 0) {
        return refuse(r, &item, key, "is empty");
    }
    *offset = r->draft->names.offsets[number];
    return rc;
}

static int read_flag(struct reader *r, enum key key, bool *flag)
{
    struct carm_yaml_item item;
    const int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc || (key == SUPPORTABLE && carm_yaml_is_null(&item))) {
        return rc;
    }
    return carm_yaml_bool(r->yaml, &item, keys[key].name, flag, r->err);
}

/* The type says whether raw_attributes, which follow it, are of use. */
static int read_type(struct reader *r)
{
    const int rc = read_text(r, TYPE, &r->layer->type);
    r->layer->kind = (uint8_t)carm_sol_kind_find(r->draft->names.text + r->layer->type);
    return rc;
}

static int read_value(struct reader *r, enum key key)
{
    switch (key) {
    case TYPE:
        return read_type(r);
    case RAW:
        return r->layer->kind == CARM_SOL_SLICE ? read_text(r, key, &r->layer->raw)
                                                : carm_yaml_skip(r->yaml, r->err);
    case EQUATION:
        return read_text(r, key, &r->layer->equation);
    case ELEMENTWISE:
        return read_text(r, key, &r->layer->elementwise);
    case REDUCTION:
        return read_text(r, key, &r->layer->reduction);
    case REAL:
        return read_flag(r, key, &r->layer->real_einsum);
    case SUPPORTABLE:
        return read_flag(r, key, &r->layer->supportable);
    case NAMES:
    case ROLES:
    case DTYPES:
    case SHAPES:
    case CONNECTIONS:
        return read_sides(r, key);
    default:
        return carm_yaml_skip(r->yaml, r->err);
    }
}

static enum key find_key(const struct carm_yaml_item *item)
{
    enum key key = TYPE;
    while (key < NKEYS && (item->length != keys[key].length ||
                           memcmp(item->text, keys[key].name, item->length) != 0)) {
        key++;
    }
    return key;
}

static int read_keys(struct reader *r)
{
    unsigned seen = 0;
    struct carm_yaml_item item;
    int rc = 0;
    while (carm_yaml_more_keys(r->yaml, &item, &rc, r->err)) {
        const enum key key = find_key(&item);
        if (key < NKEYS && (seen >> key & 1U)) {
            return refuse(r, &item, key, "is given twice");
        }
        seen |= 1U << key;
        rc = read_value(r, key);
    }
    for (enum key key = TYPE; !rc && key < NKEYS; key++) {
        if (keys[key].required && !(seen >> key & 1U)) {
            return carm_sol_draft_refuse(r->draft, r->layer, 0, "the key %s is missing",
                                         keys[key].name);
        }
    }
    return rc;
}

/* ---- from the slots to the pools ---- */

/* Tensors at the end may have no entry in tensor_types: Solar writes none for tensors whose name
 * it had to make up. */
static int check_lengths(struct reader *r)
{
    /* Solar writes no shape for a scalar input of the model: its readers have one */
    if (r->layer->kind == CARM_SOL_START && r->ranks[1].n < r->names[1].n) {
        r->names[1].n = r->ranks[1].n;
        r->roles[1].n = r->roles[1].n < r->ranks[1].n ? r->roles[1].n : r->ranks[1].n;
    }
    for (int side = 0; side < 2; side++) {
        const size_t n = r->names[side].n;
        const uint64_t role = side ? CARM_SOL_OUTPUT : CARM_SOL_INPUT;
        while (r->roles[side].n < n && n == r->ranks[side].n) {
            const int rc = push(r, &r->roles[side], role);
            if (rc) {
                return rc;
            }
        }
        if (n != r->roles[side].n || n != r->ranks[side].n) {
            return carm_sol_draft_refuse(
                r->draft, r->layer, 0,
                "%s: %zu in tensor_names, %zu in tensor_types, %zu in tensor_shapes; each tensor "
                "needs an entry in all three",
                sides[side], n, r->roles[side].n, r->ranks[side].n);
        }
    }
    return 0;
}

/* Places in pending become numbers of names. */
static int number_names(struct reader *r, struct carm_sol_list *list)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < list->n; i++) {
        const char *at = r->pending + (uint32_t)list->v[i];
        struct pending head;
        uint32_t number = 0;
        memcpy(&head, at, sizeof head);
        rc = number_of(r, at + sizeof head, head, &number);
        list->v[i] = with_line(number, carm_sol_line_in(list->v[i]));
    }
    return rc;
}

static int tensor_number(struct reader *r, uint32_t name, uint32_t *tensor)
{
    struct carm_sol_graph *graph = r->graph;
    if (r->tensor_of[name] == CARM_SOL_NONE) {
        const int rc =
            grow(r, &graph->tensors, &r->tensors_room, graph->ntensors, 1, sizeof *graph->tensors);
        if (rc) {
            return rc;
        }
        graph->tensors[graph->ntensors] = r->draft->names.offsets[name];
        r->tensor_of[name] = graph->ntensors++;
    }
    *tensor = r->tensor_of[name];
    return 0;
}

/* at: the shape's first extent among the extents of its side; advanced behind the shape */
static int move_use(struct reader *r, int side, size_t i, size_t *at)
{
    struct carm_sol_graph *graph = r->graph;
    const uint8_t rank = (uint8_t)r->ranks[side].v[i];
    const uint64_t *extents = rank ? r->extents[side].v + *at : NULL;
    const uint64_t name = r->names[side].v[i];
    struct carm_sol_use *use = &graph->uses[graph->nuses];
    *use = (struct carm_sol_use){
        .dims = graph->nextents, .rank = rank, .role = (uint8_t)r->roles[side].v[i]};
    const int rc = tensor_number(r, (uint32_t)name, &use->tensor);
    if (rc) {
        return rc;
    }
    if (carm_sol_product(extents, rank, &use->elements)) {
        return carm_sol_draft_refuse(r->draft, r->layer, carm_sol_line_in(r->ranks[side].v[i]),
                                     "the tensor %.60s has more than 2^63 - 1 elements",
                                     carm_names_text(&r->draft->names, (uint32_t)name));
    }
    if (extents) {
        memcpy(graph->extents + graph->nextents, extents, rank * sizeof *extents);
    }
    *at += rank;
    graph->nextents += rank;
    r->draft->use_lines[graph->nuses++] = carm_sol_line_in(name);
    return 0;
}

static int move_uses(struct reader *r)
{
    struct carm_sol_graph *graph = r->graph;
    uint32_t **lines = &r->draft->use_lines;
    const size_t nuses = r->names[0].n + r->names[1].n;
    const size_t nextents = r->extents[0].n + r->extents[1].n;
    /* room for one more: an array, too, where no layer has a tensor */
    int rc = grow(r, &graph->uses, &r->uses_room, graph->nuses, nuses + 1, sizeof *graph->uses);
    rc = rc ? rc : grow(r, lines, &r->use_lines_room, graph->nuses, nuses, sizeof **lines);
    rc = rc ? rc
            : grow(r, &graph->extents, &r->extents_room, graph->nextents, nextents,
                   sizeof *graph->extents);
    r->layer->uses = graph->nuses;
    r->layer->inputs = (uint32_t)r->names[0].n;
    r->layer->outputs = (uint32_t)r->names[1].n;
    for (int side = 0; side < 2; side++) {
        size_t at = 0;
        for (size_t i = 0; !rc && i < r->names[side].n; i++) {
            rc = move_use(r, side, i, &at);
        }
    }
    return rc;
}

static int move_links(const struct reader *r, int side, struct carm_sol_list *to)
{
    const struct carm_sol_list *from = &r->links[side];
    const int rc = grow(r, &to->v, &to->room, to->n, from->n, sizeof *to->v);
    if (!rc && from->n) {
        memcpy(to->v + to->n, from->v, from->n * sizeof *to->v);
        to->n += from->n;
    }
    return rc;
}

static int move_layer(struct reader *r)
{
    int rc = check_lengths(r);
    for (int side = 0; !rc && side < 2; side++) {
        rc = number_names(r, &r->names[side]);
        rc = rc ? rc : number_names(r, &r->links[side]);
    }
    r->layer->links = (uint32_t)r->draft->ins.n;
    r->layer->predecessors = (uint32_t)r->links[0].n;
    rc = rc ? rc : move_uses(r);
    rc = rc ? rc : move_links(r, 0, &r->draft->ins);
    return rc ? rc : move_links(r, 1, &r->draft->outs);
}

/* ---- layers ---- */

/* The map of the layer in hand, whose opening was read; its id and line are set. */
static int read_layer(struct reader *r)
{
    for (int side = 0; side < 2; side++) {
        r->names[side].n = r->links[side].n = r->roles[side].n = 0;
        r->ranks[side].n = r->extents[side].n = 0;
    }
    r->pending_used = 0;
    r->layer->supportable = true; /* where the file does not say otherwise */
    int rc = read_keys(r);
    return rc ? rc : move_layer(r);
}

/* key: the layer's id, just read */
static int read_entry(struct reader *r, const struct carm_yaml_item *key)
{
    struct carm_sol_draft *draft = r->draft;
    struct carm_sol_graph *graph = r->graph;
    struct carm_yaml_item item;
    uint32_t id = 0;
    const size_t line = key->line;
    if (key->length == 0) {
        return carm_yaml_refuse(r->yaml, line, r->err, "a layer without a name");
    }
    int rc = number_of(r, key->text, hash_of(r, key), &id);
    if (rc) {
        return rc;
    }
    if (draft->layer_of[id] != CARM_SOL_NONE) {
        return carm_yaml_refuse(
            r->yaml, line, r->err, "a second layer %.60s: the first one is in line %u",
            carm_names_text(&draft->names, id), graph->layers[draft->layer_of[id]].line);
    }
    rc = grow(r, &graph->layers, &r->layers_room, graph->n, 1, sizeof *graph->layers);
    /* one more than layers: where the last one ends */
    rc = rc ? rc
            : grow(r, &draft->first_out, &r->first_out_room, graph->n, 2, sizeof *draft->first_out);
    rc = rc ? rc : carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    r->layer = &graph->layers[graph->n];
    *r->layer = (struct carm_sol_layer){.id = draft->names.offsets[id], .line = clip(line)};
    if (item.kind != CARM_YAML_MAP) {
        return carm_sol_draft_refuse(
            draft, r->layer, 0, "it is not a map: a layer is a map with type, tensor_names, ...");
    }
    draft->first_out[graph->n] = (uint32_t)draft->outs.n;
    rc = read_layer(r);
    draft->layer_of[id] = graph->n++;
    draft->first_out[graph->n] = (uint32_t)draft->outs.n;
    return rc;
}

static int read_layers(struct reader *r)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    const size_t line = item.line;
    if (item.kind != CARM_YAML_MAP && !carm_yaml_is_null(&item)) {
        return carm_yaml_refuse(r->yaml, line, r->err,
                                "layers is not a map: each layer is a key with a map");
    }
    const bool map = item.kind == CARM_YAML_MAP;
    while (map && carm_yaml_more_keys(r->yaml, &item, &rc, r->err)) {
        rc = read_entry(r, &item);
    }
    if (!rc && r->graph->n == 0) {
        return carm_yaml_refuse(r->yaml, line, r->err,
                                "layers is empty: a graph needs at least one layer");
    }
    return rc;
}

/* ---- the document ---- */

static int set_model_name(const struct reader *r, const char *name)
{
    r->graph->name = strdup(name);
    return r->graph->name ? 0 : fail(r, -CARM_ENOMEM);
}

static int read_model_name(const struct reader *r)
{
    struct carm_yaml_item item;
    const int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_SCALAR) {
        return carm_yaml_refuse(r->yaml, item.line, r->err, "model_name is not text");
    }
    return set_model_name(r, carm_yaml_is_null(&item) ? "" : item.text);
}

static int read_member(struct reader *r, const struct carm_yaml_item *key)
{
    const bool name = strcmp(key->text, "model_name") == 0;
    const bool layers = strcmp(key->text, "layers") == 0;
    if ((name && r->graph->name) || (layers && r->graph->n)) {
        return carm_yaml_refuse(r->yaml, key->line, r->err, "a second key %s", key->text);
    }
    if (name) {
        return read_model_name(r);
    }
    r->accelforge = r->accelforge || strcmp(key->text, "workload") == 0;
    return layers ? read_layers(r) : carm_yaml_skip(r->yaml, r->err);
}

static int read_document(struct reader *r)
{
    struct carm_yaml_item item = {0};
    uint32_t nameless = 0; /* number and offset 0 are "" */
    carm_names_open(&r->draft->names);
    int rc = carm_names_add(&r->draft->names, "", 0, &nameless);
    rc = rc ? fail(r, rc) : carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    const size_t line = item.line;
    if (item.kind != CARM_YAML_MAP) {
        return carm_yaml_refuse(r->yaml, line, r->err,
                                "not an einsum graph, which is a map with model_name and layers");
    }
    while (carm_yaml_more_keys(r->yaml, &item, &rc, r->err)) {
        rc = read_member(r, &item);
    }
    rc = rc ? rc : carm_yaml_next(r->yaml, &item, r->err); /* refuses a second document */
    if (!rc && r->graph->n == 0) {
        return carm_yaml_refuse(r->yaml, line, r->err,
                                r->accelforge ? "Solar's graph for AccelForge: give the "
                                                "einsum_graph.yaml that it is made from"
                                              : "the key layers is missing: an einsum graph is a "
                                                "map with model_name and layers");
    }
    return rc || r->graph->name ? rc : set_model_name(r, "");
}

int carm_sol_draft_read(struct carm_sol_draft *draft)
{
    struct reader r = {
        .draft = draft, .graph = draft->graph, .yaml = draft->yaml, .err = draft->err};
    const int rc = read_document(&r);
    for (int side = 0; side < 2; side++) {
        free(r.names[side].v);
        free(r.links[side].v);
        free(r.roles[side].v);
        free(r.ranks[side].v);
        free(r.extents[side].v);
    }
    free(r.pending);
    free(r.tensor_of);
    return rc;
}

void carm_sol_draft_close(struct carm_sol_draft *draft)
{
    carm_names_close(&draft->names);
    free(draft->layer_of);
    free(draft->use_lines);
    free(draft->ins.v);
    free(draft->outs.v);
    free(draft->first_out);
}
