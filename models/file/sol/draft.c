/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/sol/draft.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "models/sol/equation.h"

enum { RANK_MAX = 64 }; /* most dimensions of a tensor, as in PyTorch */

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
    const char *name;
    bool required;
} keys[NKEYS] = {
    [TYPE] = {"type", true},
    [EQUATION] = {"einsum_equation", false},
    [ELEMENTWISE] = {"elementwise_op", false},
    [REDUCTION] = {"reduction_op", false},
    [REAL] = {"is_real_einsum", true},
    [SUPPORTABLE] = {"is_einsum_supportable", false},
    [NAMES] = {"tensor_names", true},
    [ROLES] = {"tensor_types", false},
    [SHAPES] = {"tensor_shapes", true},
    [DTYPES] = {"tensor_dtypes", false},
    [CONNECTIONS] = {"connections", false},
    [RAW] = {"raw_attributes", false},
};

static const char *const sides[2] = {"inputs", "outputs"};

struct reader {
    struct carm_sol_draft *draft;
    struct carm_sol_graph *graph; /* the draft's */
    struct carm_yaml *yaml;       /* the draft's */
    struct carm_err *err;         /* the draft's */
    uint32_t *tensor_of;          /* [names.n] tensor of that name, or CARM_SOL_NONE */
    uint32_t names_room;          /* of tensor_of and of the draft's layer_of */
    size_t layers_room, first_out_room, uses_room, use_lines_room, tensors_room, extents_room;
    struct carm_sol_layer *layer; /* the layer being read */
};

/* ---- room and refusals ---- */

/* Adds the message to a failure without one (-CARM_ENOMEM; -CARM_EFORMAT: too large). */
static int fail(const struct reader *r, int rc)
{
    if (rc == -CARM_EFORMAT) {
        return carm_yaml_refuse(r->yaml, r->graph->n ? r->graph->layers[0].line : 1, r->err,
                                "the graph is too large: carm reads up to 4 GiB of names and up to "
                                "4e9 layers, tensors and sizes");
    }
    return carm_fail(r->err, CARM_ENOMEM, "not enough memory for the graph");
}

/* Makes room for `more` members behind the first `used`. array: the address of a pointer */
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

int carm_sol_draft_refuse(const struct carm_sol_draft *draft, const struct carm_sol_layer *layer,
                          uint32_t line, const char *format, ...)
{
    char reason[256];
    CARM_TEXT_OF_ARGS(reason, format);
    return carm_yaml_refuse(draft->yaml, line ? line : layer->line, draft->err, "layer %.60s: %s",
                            draft->names.text + layer->id, reason);
}

/* Refuses the current layer. */
static int refuse(const struct reader *r, const struct carm_yaml_item *item, enum key key,
                  const char *reason)
{
    return carm_sol_draft_refuse(r->draft, r->layer, item->line, "%s %s", keys[key].name, reason);
}

/* The number of a scalar's text; layer_of and tensor_of have room for it. */
static int number_of(struct reader *r, const struct carm_yaml_item *item, uint32_t *number)
{
    struct carm_sol_draft *draft = r->draft;
    int rc = carm_names_add(&draft->names, item->text, item->length, number);
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

/* ---- values of a layer's keys ---- */

/* item: NULL = the key is not given; the offset stays 0, which is "" */
static int read_text(struct reader *r, enum key key, const struct carm_yaml_item *item,
                     uint32_t *offset)
{
    uint32_t number = 0;
    if (!item) {
        return 0;
    }
    if (item->kind != CARM_YAML_SCALAR) {
        return refuse(r, item, key, "is not text");
    }
    const int rc = carm_yaml_is_null(item) ? 0 : number_of(r, item, &number);
    if (!rc && key == TYPE && number == 0) {
        return refuse(r, item, key, "is empty");
    }
    *offset = r->draft->names.offsets[number];
    return rc;
}

static int read_flag(struct reader *r, enum key key, const struct carm_yaml_item *item, bool *flag)
{
    return !item || (key == SUPPORTABLE && carm_yaml_is_null(item))
               ? 0
               : carm_yaml_bool(r->yaml, item, keys[key].name, flag, r->err);
}

/* Reads a list for each side: { inputs: [...], outputs: [...] }; NULL = the key is missing or null. */
static int read_sides(struct reader *r, enum key key, const struct carm_yaml_item *map,
                      const struct carm_yaml_item *lists[2])
{
    bool seen[2] = {false, false};
    int rc = 0;
    lists[0] = lists[1] = NULL;
    if (!map) {
        return 0;
    }
    if (map->kind != CARM_YAML_MAP) {
        return refuse(r, map, key, "is not a map of inputs and outputs");
    }
    for (const struct carm_yaml_item *at = NULL;
         (at = carm_yaml_next_key(r->yaml, map, at, &rc, r->err)) != NULL;) {
        const int side = strcmp(at->text, sides[0]) == 0   ? 0
                         : strcmp(at->text, sides[1]) == 0 ? 1
                                                           : -1;
        if (side < 0) {
            continue;
        }
        if (seen[side]) {
            return refuse(r, at, key, side ? "has outputs twice" : "has inputs twice");
        }
        seen[side] = true;
        if (carm_yaml_is_null(at + 1)) {
            continue;
        }
        if (at[1].kind != CARM_YAML_LIST) {
            return refuse(r, at + 1, key,
                          side ? "has outputs that are not a list"
                               : "has inputs that are not a list");
        }
        lists[side] = at + 1;
    }
    if (!rc && !(seen[0] && seen[1])) {
        return refuse(r, map, key, seen[0] ? "has no outputs" : "has no inputs");
    }
    return rc;
}

/* The member of a list after `before`, the first for before NULL; NULL = none. */
static const struct carm_yaml_item *member(const struct carm_yaml_item *list,
                                           const struct carm_yaml_item *before)
{
    const struct carm_yaml_item *next = !list ? NULL : before ? carm_yaml_after(before) : list + 1;
    return next && next < carm_yaml_after(list) ? next : NULL;
}

static size_t count_members(const struct carm_yaml_item *list)
{
    size_t n = 0;
    for (const struct carm_yaml_item *m = NULL; (m = member(list, m)) != NULL;) {
        n++;
    }
    return n;
}

/* Counts types: a remark names tensors of another type than the estimate's precision. */
static int count_dtypes(struct reader *r, const struct carm_yaml_item *list)
{
    for (const struct carm_yaml_item *m = NULL; (m = member(list, m)) != NULL;) {
        if (m->kind != CARM_YAML_SCALAR) {
            return refuse(r, m, DTYPES, "has a member that is not a word");
        }
        const enum carm_sol_dtype dtype = carm_sol_dtype_find(m->text);
        if (dtype < CARM_SOL_DTYPES && r->graph->dtypes[dtype] < UINT32_MAX) {
            r->graph->dtypes[dtype]++;
        }
    }
    return 0;
}

static int read_name(struct reader *r, enum key key, const struct carm_yaml_item *item,
                     uint32_t *number)
{
    return item->kind != CARM_YAML_SCALAR || item->length == 0
               ? refuse(r, item, key, "has a member that is not a name")
               : number_of(r, item, number);
}

/* item: NULL = no role: Solar writes none for tensors whose names it made up */
static int read_role(struct reader *r, int side, const struct carm_yaml_item *item, uint8_t *role)
{
    static const char *const words[] = {[CARM_SOL_INPUT] = "input",
                                        [CARM_SOL_WEIGHT] = "weight",
                                        [CARM_SOL_BIAS] = "bias",
                                        [CARM_SOL_OUTPUT] = "output"};
    *role = side ? CARM_SOL_OUTPUT : CARM_SOL_INPUT;
    if (item && item->kind != CARM_YAML_SCALAR) {
        return refuse(r, item, ROLES, "has a member that is not a word");
    }
    for (unsigned i = 0; item && i < sizeof words / sizeof *words; i++) {
        if (strcmp(item->text, words[i]) == 0) {
            *role = (uint8_t)i;
            return 0;
        }
    }
    return item
               ? carm_sol_draft_refuse(r->draft, r->layer, item->line,
                                       "tensor_types has %.40s: a tensor is input, weight, bias or "
                                       "output",
                                       item->text)
               : 0;
}

/* Adds a shape to the graph's extents. */
static int read_shape(struct reader *r, const struct carm_yaml_item *item, uint8_t *rank)
{
    struct carm_sol_graph *graph = r->graph;
    int rc = 0;
    *rank = 0;
    if (item->kind != CARM_YAML_LIST) {
        return refuse(r, item, SHAPES, "has a member that is not a list of sizes");
    }
    for (const struct carm_yaml_item *m = NULL; !rc && (m = member(item, m)) != NULL;) {
        uint64_t extent = 0;
        rc = carm_yaml_count(r->yaml, m, "a size in tensor_shapes", &extent, r->err);
        if (!rc && *rank == RANK_MAX) {
            return refuse(r, m, SHAPES, "has a shape of more than 64 dimensions");
        }
        rc = rc ? rc
                : grow(r, &graph->extents, &r->extents_room, graph->nextents, 1,
                       sizeof *graph->extents);
        if (!rc) {
            graph->extents[graph->nextents++] = extent;
            ++*rank;
        }
    }
    return rc;
}

/* ---- tensors and connections of a layer ---- */

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

static int read_use(struct reader *r, int side, const struct carm_yaml_item *name,
                    const struct carm_yaml_item *role, const struct carm_yaml_item *shape)
{
    struct carm_sol_graph *graph = r->graph;
    struct carm_sol_use use = {.dims = graph->nextents};
    uint32_t number = 0;
    int rc = read_name(r, NAMES, name, &number);
    rc = rc ? rc : read_role(r, side, role, &use.role);
    rc = rc ? rc : read_shape(r, shape, &use.rank);
    rc = rc ? rc : tensor_number(r, number, &use.tensor);
    if (rc) {
        return rc;
    }
    if (carm_sol_product(use.rank ? graph->extents + use.dims : NULL, use.rank, &use.elements)) {
        return carm_sol_draft_refuse(r->draft, r->layer, shape->line,
                                     "the tensor %.60s has more than 2^63 - 1 elements",
                                     carm_names_text(&r->draft->names, number));
    }
    r->draft->use_lines[graph->nuses] = name->line;
    graph->uses[graph->nuses++] = use;
    return 0;
}

/* Reads the tensors of one side. */
static int read_uses(struct reader *r, int side, const struct carm_yaml_item *names,
                     const struct carm_yaml_item *roles, const struct carm_yaml_item *shapes,
                     uint32_t *count)
{
    struct carm_sol_graph *graph = r->graph;
    uint32_t **lines = &r->draft->use_lines;
    const size_t nshapes = count_members(shapes);
    size_t n = count_members(names), nroles = count_members(roles);
    /* Solar writes no shape for a scalar input of the model; the layers that read it have its
     * shape */
    if (side && r->layer->kind == CARM_SOL_START && nshapes < n) {
        n = nshapes;
        nroles = nroles < n ? nroles : n;
    }
    if (n != nshapes || nroles > n) {
        return carm_sol_draft_refuse(
            r->draft, r->layer, 0,
            "%s: %zu in tensor_names, %zu in tensor_types, %zu in tensor_shapes; each tensor "
            "needs an entry in all three",
            sides[side], n, nroles, nshapes);
    }
    /* room for one more, so that the array exists even if no layer has a tensor */
    int rc = grow(r, &graph->uses, &r->uses_room, graph->nuses, n + 1, sizeof *graph->uses);
    rc = rc ? rc : grow(r, lines, &r->use_lines_room, graph->nuses, n, sizeof **lines);
    const struct carm_yaml_item *name = NULL, *role = NULL, *shape = NULL;
    for (size_t i = 0; !rc && i < n; i++) {
        name = member(names, name);
        shape = member(shapes, shape);
        role = i < nroles ? member(roles, role) : NULL;
        rc = read_use(r, side, name, role, shape);
    }
    *count = (uint32_t)n;
    return rc;
}

/* Reads the names of layers on one side of connections. */
static int read_links(struct reader *r, const struct carm_yaml_item *list, struct carm_sol_list *to,
                      uint32_t *count)
{
    int rc = grow(r, &to->v, &to->room, to->n, count_members(list), sizeof *to->v);
    *count = 0;
    for (const struct carm_yaml_item *m = NULL; !rc && (m = member(list, m)) != NULL;) {
        uint32_t number = 0;
        rc = read_name(r, CONNECTIONS, m, &number);
        if (!rc) {
            to->v[to->n++] = (uint64_t)m->line << 32 | number;
            ++*count;
        }
    }
    return rc;
}

/* ---- layers ---- */

/* Finds the values of a layer's keys; NULL = not given */
static int find_values(struct reader *r, const struct carm_yaml_item *map,
                       const struct carm_yaml_item *values[NKEYS])
{
    int rc = 0;
    for (const struct carm_yaml_item *at = NULL;
         (at = carm_yaml_next_key(r->yaml, map, at, &rc, r->err)) != NULL;) {
        enum key key = TYPE;
        while (key < NKEYS && strcmp(at->text, keys[key].name) != 0) {
            key++;
        }
        if (key < NKEYS && values[key]) {
            return refuse(r, at, key, "is given twice");
        }
        if (key < NKEYS) {
            values[key] = at + 1;
        }
    }
    for (enum key key = TYPE; !rc && key < NKEYS; key++) {
        if (keys[key].required && !values[key]) {
            return carm_sol_draft_refuse(r->draft, r->layer, 0, "the key %s is missing",
                                         keys[key].name);
        }
    }
    return rc;
}

/* Reads the current layer, whose id and line are set. */
static int read_layer(struct reader *r, const struct carm_yaml_item *map)
{
    const struct carm_yaml_item *values[NKEYS] = {NULL};
    const struct carm_yaml_item *names[2], *roles[2], *shapes[2], *dtypes[2], *links[2];
    struct carm_sol_layer *layer = r->layer;
    uint32_t outs = 0;
    layer->supportable = true; /* unless the file says otherwise */
    int rc = find_values(r, map, values);
    rc = rc ? rc : read_text(r, TYPE, values[TYPE], &layer->type);
    rc = rc ? rc : read_text(r, EQUATION, values[EQUATION], &layer->equation);
    rc = rc ? rc : read_text(r, ELEMENTWISE, values[ELEMENTWISE], &layer->elementwise);
    rc = rc ? rc : read_text(r, REDUCTION, values[REDUCTION], &layer->reduction);
    rc = rc ? rc : read_flag(r, REAL, values[REAL], &layer->real_einsum);
    rc = rc ? rc : read_flag(r, SUPPORTABLE, values[SUPPORTABLE], &layer->supportable);
    if (rc) {
        return rc;
    }
    layer->kind = (uint8_t)carm_sol_kind_find(r->draft->names.text + layer->type);
    if (layer->kind == CARM_SOL_SLICE) {
        rc = read_text(r, RAW, values[RAW], &layer->raw);
    }
    rc = rc ? rc : read_sides(r, NAMES, values[NAMES], names);
    rc = rc ? rc : read_sides(r, ROLES, values[ROLES], roles);
    rc = rc ? rc : read_sides(r, SHAPES, values[SHAPES], shapes);
    rc = rc ? rc : read_sides(r, DTYPES, values[DTYPES], dtypes);
    rc = rc ? rc : read_sides(r, CONNECTIONS, values[CONNECTIONS], links);
    layer->uses = r->graph->nuses;
    layer->links = (uint32_t)r->draft->ins.n;
    for (int side = 0; !rc && side < 2; side++) {
        rc = read_uses(r, side, names[side], roles[side], shapes[side],
                       side ? &layer->outputs : &layer->inputs);
        rc = rc ? rc : count_dtypes(r, dtypes[side]);
    }
    rc = rc ? rc : read_links(r, links[0], &r->draft->ins, &layer->predecessors);
    return rc ? rc : read_links(r, links[1], &r->draft->outs, &outs);
}

/* Reads a layer. key: its id, which its value follows */
static int read_entry(struct reader *r, const struct carm_yaml_item *key)
{
    struct carm_sol_draft *draft = r->draft;
    struct carm_sol_graph *graph = r->graph;
    uint32_t id = 0;
    if (key->length == 0) {
        return carm_yaml_refuse(r->yaml, key->line, r->err, "a layer without a name");
    }
    int rc = number_of(r, key, &id);
    if (rc) {
        return rc;
    }
    if (draft->layer_of[id] != CARM_SOL_NONE) {
        return carm_yaml_refuse(
            r->yaml, key->line, r->err, "a second layer %.60s: the first one is in line %u",
            carm_names_text(&draft->names, id), graph->layers[draft->layer_of[id]].line);
    }
    rc = grow(r, &graph->layers, &r->layers_room, graph->n, 1, sizeof *graph->layers);
    /* one more than layers: the end of the last layer */
    rc = rc ? rc
            : grow(r, &draft->first_out, &r->first_out_room, graph->n, 2, sizeof *draft->first_out);
    if (rc) {
        return rc;
    }
    r->layer = &graph->layers[graph->n];
    *r->layer = (struct carm_sol_layer){.id = draft->names.offsets[id], .line = key->line};
    if (key[1].kind != CARM_YAML_MAP) {
        return carm_sol_draft_refuse(
            draft, r->layer, 0, "it is not a map: a layer is a map with type, tensor_names, ...");
    }
    draft->first_out[graph->n] = (uint32_t)draft->outs.n;
    rc = read_layer(r, key + 1);
    draft->layer_of[id] = graph->n++;
    draft->first_out[graph->n] = (uint32_t)draft->outs.n;
    return rc;
}

static int read_layers(struct reader *r, const struct carm_yaml_item *map)
{
    int rc = 0;
    if (map->kind != CARM_YAML_MAP && !carm_yaml_is_null(map)) {
        return carm_yaml_refuse(r->yaml, map->line, r->err,
                                "layers is not a map: each layer is a key with a map");
    }
    for (const struct carm_yaml_item *key = NULL;
         map->kind == CARM_YAML_MAP &&
         (key = carm_yaml_next_key(r->yaml, map, key, &rc, r->err)) != NULL;) {
        rc = read_entry(r, key);
    }
    if (!rc && r->graph->n == 0) {
        return carm_yaml_refuse(r->yaml, map->line, r->err,
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

static int read_member(struct reader *r, const struct carm_yaml_item *key)
{
    const bool name = strcmp(key->text, "model_name") == 0;
    const bool layers = strcmp(key->text, "layers") == 0;
    if ((name && r->graph->name) || (layers && r->graph->n)) {
        return carm_yaml_refuse(r->yaml, key->line, r->err, "a second key %s", key->text);
    }
    if (name && key[1].kind != CARM_YAML_SCALAR) {
        return carm_yaml_refuse(r->yaml, key[1].line, r->err, "model_name is not text");
    }
    if (name) {
        return set_model_name(r, carm_yaml_is_null(key + 1) ? "" : key[1].text);
    }
    return layers ? read_layers(r, key + 1) : 0;
}

static int read_document(struct reader *r)
{
    const struct carm_yaml_item *root = carm_yaml_root(r->yaml);
    uint32_t nameless = 0; /* number and offset 0 are "" */
    bool accelforge = false;
    carm_names_open(&r->draft->names);
    int rc = carm_names_add(&r->draft->names, "", 0, &nameless);
    rc = rc ? fail(r, rc) : 0;
    for (const struct carm_yaml_item *key = NULL;
         (key = carm_yaml_next_key(r->yaml, root, key, &rc, r->err)) != NULL;) {
        rc = read_member(r, key);
        accelforge = accelforge || strcmp(key->text, "workload") == 0;
    }
    if (!rc && r->graph->n == 0) {
        return carm_yaml_refuse(r->yaml, root->line, r->err,
                                accelforge ? "Solar's graph for AccelForge: give the "
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
