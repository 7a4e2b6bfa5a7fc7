/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "models/sol/draft.h"

/* ---- what the steps share -------------------------------------------------------------------- */

int carm_sol_grow(void *array, size_t *room, size_t used, size_t more, size_t size)
{
    return used + more >= CARM_SOL_NONE
               ? -CARM_EFORMAT
               : carm_array_grow(array, room, used, more, size, "the graph", NULL);
}

int carm_sol_draft_fail(const struct carm_sol_draft *draft, int rc, struct carm_err *err)
{
    if (rc == -CARM_EFORMAT) {
        return carm_yaml_refuse(draft->yaml, draft->graph->n ? draft->graph->layers[0].line : 1,
                                err,
                                "the graph is too large: names up to 4 GiB and up to 4e9 layers, "
                                "tensors and extents can be read");
    }
    return carm_fail(err, CARM_ENOMEM, "not enough memory for the graph");
}

int carm_sol_draft_name(struct carm_sol_draft *draft, const char *text, size_t length,
                        uint32_t *number, struct carm_err *err)
{
    return carm_sol_draft_name_hashed(draft, text, length,
                                      carm_names_hash(&draft->names, text, length), number, err);
}

int carm_sol_draft_name_hashed(struct carm_sol_draft *draft, const char *text, size_t length,
                               uint32_t hash, uint32_t *number, struct carm_err *err)
{
    int rc = carm_names_add_hashed(&draft->names, text, length, hash, number);
    if (rc) {
        return carm_sol_draft_fail(draft, rc, err);
    }
    if (draft->names.n <= draft->names_room) {
        return 0;
    }
    const uint32_t old = draft->names_room;
    size_t room = old;
    rc = carm_sol_grow(&draft->layer_of, &room, old, draft->names.n - old, sizeof *draft->layer_of);
    if (!rc) {
        room = old;
        rc = carm_sol_grow(&draft->tensor_of, &room, old, draft->names.n - old,
                           sizeof *draft->tensor_of);
    }
    if (rc) {
        return carm_sol_draft_fail(draft, rc, err);
    }
    draft->names_room = (uint32_t)room;
    for (uint32_t i = old; i < draft->names_room; i++) {
        draft->layer_of[i] = CARM_SOL_NONE;
        draft->tensor_of[i] = CARM_SOL_NONE;
    }
    return 0;
}

int carm_sol_draft_refuse(const struct carm_sol_draft *draft, const struct carm_sol_layer *layer,
                          uint32_t line, struct carm_err *err, const char *format, ...)
{
    char reason[256];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(reason, sizeof reason, format, ap);
    va_end(ap);
    return carm_yaml_refuse(draft->yaml, line ? line : layer->line, err, "layer %.60s: %s",
                            draft->names.text + layer->id, reason);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* What only the checks needed. */
static void release(struct carm_sol_draft *draft)
{
    carm_names_close(&draft->names);
    free(draft->layer_of);
    free(draft->tensor_of);
    free(draft->use_lines);
    free(draft->link_lines);
    free(draft->outs);
    free(draft->out_lines);
    free(draft->first_out);
    free(draft->successors);
    free(draft->first_successor);
    for (int side = 0; side < 2; side++) {
        free(draft->slots.names[side].v);
        free(draft->slots.roles[side].v);
        free(draft->slots.ranks[side].v);
        free(draft->slots.extents[side].v);
        free(draft->slots.links[side].v);
    }
    free(draft->slots.pending);
}

static int build(struct carm_sol_draft *draft, struct carm_err *err)
{
    uint32_t nameless = 0; /* number and offset 0 are "" */
    carm_names_open(&draft->names);
    int rc = carm_names_add(&draft->names, "", 0, &nameless);
    if (rc) {
        return carm_sol_draft_fail(draft, rc, err);
    }
    rc = carm_sol_read_document(draft, err);
    rc = rc ? rc : carm_sol_check_links(draft, err);
    rc = rc ? rc : carm_sol_check_order(draft, err);
    rc = rc ? rc : carm_sol_check_tensors(draft, err);
    rc = rc ? rc : carm_sol_check_equations(draft, err);
    if (rc) {
        return rc;
    }
    struct carm_sol_graph *graph = draft->graph;
    graph->text = draft->names.text;
    draft->names.text = NULL;
    return 0;
}

/* Takes yaml. */
static int read_graph(struct carm_yaml *yaml, struct carm_sol_graph **out, struct carm_err *err)
{
    struct carm_sol_draft draft = {.yaml = yaml, .graph = calloc(1, sizeof *draft.graph)};
    const int rc =
        draft.graph ? build(&draft, err) : carm_sol_draft_fail(&draft, -CARM_ENOMEM, err);
    release(&draft);
    carm_yaml_close(yaml);
    if (rc) {
        carm_sol_graph_close(draft.graph);
        return rc;
    }
    *out = draft.graph;
    return 0;
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

void carm_sol_graph_close(struct carm_sol_graph *graph)
{
    if (!graph) {
        return;
    }
    free(graph->name);
    free(graph->layers);
    free(graph->order);
    free(graph->uses);
    free(graph->links);
    free(graph->producer);
    free(graph->tensors);
    free(graph->extents);
    free(graph->text);
    free(graph);
}
