/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The document around a graph's layers. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "models/sol/draft.h"

static int duplicate(const struct carm_sol_draft *draft, uint32_t old, size_t line,
                     struct carm_err *err)
{
    return carm_yaml_refuse(draft->yaml, line, err,
                            "a second layer %.60s: the first stands in line %u",
                            carm_sol_draft_id(draft, old), draft->graph->layers[old].line);
}

/* key: the layer's id, just read */
static int read_entry(struct carm_sol_draft *draft, const struct carm_yaml_item *key,
                      struct carm_err *err)
{
    struct carm_sol_graph *graph = draft->graph;
    uint32_t id = 0;
    const size_t line = key->line;
    if (key->length == 0) {
        return carm_yaml_refuse(draft->yaml, line, err, "a layer without a name");
    }
    int rc = carm_sol_draft_name(draft, key->text, key->length, &id, err);
    if (rc) {
        return rc;
    }
    if (draft->layer_of[id] != CARM_SOL_NONE) {
        return duplicate(draft, draft->layer_of[id], line, err);
    }
    rc = carm_sol_grow(&graph->layers, &draft->layers_room, graph->n, 1, sizeof *graph->layers);
    /* one more than layers: where the last one ends */
    rc = rc ? rc
            : carm_sol_grow(&draft->first_out, &draft->first_out_room, graph->n, 2,
                            sizeof *draft->first_out);
    if (rc) {
        return carm_sol_draft_fail(draft, rc, err);
    }
    struct carm_sol_layer *layer = &graph->layers[graph->n];
    *layer = (struct carm_sol_layer){.id = draft->names.offsets[id],
                                     .line = line < UINT32_MAX ? (uint32_t)line : UINT32_MAX};
    struct carm_yaml_item item;
    rc = carm_yaml_next(draft->yaml, &item, err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_MAP) {
        return carm_sol_draft_refuse(draft, layer, 0, err,
                                     "it is no map: a layer is a map with type, tensor_names, ...");
    }
    draft->first_out[graph->n] = draft->nouts;
    rc = carm_sol_read_layer(draft, layer, err);
    draft->layer_of[id] = graph->n++;
    draft->first_out[graph->n] = draft->nouts;
    return rc;
}

static int read_layers(struct carm_sol_draft *draft, struct carm_err *err)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(draft->yaml, &item, err);
    if (rc) {
        return rc;
    }
    const size_t line = item.line;
    if (item.kind != CARM_YAML_MAP && !carm_yaml_is_null(&item)) {
        return carm_yaml_refuse(draft->yaml, line, err,
                                "layers is no map: each layer stands under its name");
    }
    bool more = item.kind == CARM_YAML_MAP;
    while (!rc && more) {
        rc = carm_yaml_key(draft->yaml, &item, err);
        more = !rc && item.kind == CARM_YAML_SCALAR;
        if (more) {
            rc = read_entry(draft, &item, err);
        }
    }
    if (!rc && draft->graph->n == 0) {
        return carm_yaml_refuse(draft->yaml, line, err, "layers is empty: a graph has layers");
    }
    return rc;
}

static int read_model_name(struct carm_sol_draft *draft, struct carm_err *err)
{
    struct carm_yaml_item item;
    const int rc = carm_yaml_next(draft->yaml, &item, err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_SCALAR) {
        return carm_yaml_refuse(draft->yaml, item.line, err, "model_name is no text");
    }
    draft->graph->name = strdup(carm_yaml_is_null(&item) ? "" : item.text);
    return draft->graph->name ? 0 : carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
}

static int read_member(struct carm_sol_draft *draft, const struct carm_yaml_item *key,
                       struct carm_err *err)
{
    const bool name = strcmp(key->text, "model_name") == 0;
    const bool layers = strcmp(key->text, "layers") == 0;
    if ((name && draft->graph->name) || (layers && draft->graph->n)) {
        return carm_yaml_refuse(draft->yaml, key->line, err, "a second key %s", key->text);
    }
    if (name) {
        return read_model_name(draft, err);
    }
    return layers ? read_layers(draft, err) : carm_yaml_skip(draft->yaml, err);
}

int carm_sol_read_document(struct carm_sol_draft *draft, struct carm_err *err)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(draft->yaml, &item, err);
    if (rc) {
        return rc;
    }
    const size_t line = item.line;
    if (item.kind != CARM_YAML_MAP) {
        return carm_yaml_refuse(draft->yaml, line, err,
                                "this is no einsum graph: one is a map with model_name and layers");
    }
    do {
        rc = carm_yaml_key(draft->yaml, &item, err);
        if (!rc && item.kind == CARM_YAML_SCALAR) {
            rc = read_member(draft, &item, err);
        }
    } while (!rc && item.kind == CARM_YAML_SCALAR);
    rc = rc ? rc : carm_yaml_next(draft->yaml, &item, err); /* refuses a second document */
    if (!rc && draft->graph->n == 0) {
        return carm_yaml_refuse(draft->yaml, line, err,
                                "it has no key layers: an einsum graph is a map with model_name "
                                "and layers");
    }
    if (!rc && !draft->graph->name) {
        draft->graph->name = strdup("");
        rc = draft->graph->name ? 0 : carm_sol_draft_fail(draft, -CARM_ENOMEM, err);
    }
    return rc;
}
