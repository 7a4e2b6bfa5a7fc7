/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph as in its file: layers by name, with their line numbers for messages.
 * models/file/sol/graph.c turns a draft into a graph. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "models/file/sol/yaml.h"
#include "models/sol/graph.h"

#define CARM_SOL_NONE UINT32_MAX

/* A list of numbers from the file, each with its line: line << 32 | value. */
struct carm_sol_list {
    uint64_t *v;
    size_t n, room;
};

static inline uint32_t carm_sol_line_in(uint64_t packed)
{
    return (uint32_t)(packed >> 32);
}

struct carm_sol_draft {
    struct carm_sol_graph *graph; /* layers (links: an index into ins), uses, tensors and extents */
    struct carm_yaml *yaml;       /* borrowed */
    struct carm_err *err;         /* borrowed */
    struct carm_names names;      /* their text becomes the graph's text */
    uint32_t *layer_of;           /* [names.n] layer of that id, or CARM_SOL_NONE */
    uint32_t *use_lines;          /* [graph->nuses] */
    struct carm_sol_list ins;     /* connections.inputs of all layers: names */
    struct carm_sol_list outs;    /* connections.outputs of all layers: names */
    uint32_t *first_out;          /* [graph->n + 1] each layer's first index into outs */
};

/* Reads the whole document. Arrays of a layer are of equal length, the elements of each tensor are
 * counted; nothing between layers is checked.
 * draft  graph, yaml and err are set, the rest is 0; to be released with carm_sol_draft_close, in any case
 * returns 0, -CARM_EIO, -CARM_ENOMEM, -CARM_EFORMAT (file, line, reason) */
int carm_sol_draft_read(struct carm_sol_draft *draft);

/* Frees all but the graph. */
void carm_sol_draft_close(struct carm_sol_draft *draft);

/* Refuses with the layer's name and "FILE, line N"; line 0: the layer's line. */
int carm_sol_draft_refuse(const struct carm_sol_draft *draft, const struct carm_sol_layer *layer,
                          uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline const char *carm_sol_draft_id(const struct carm_sol_draft *draft, uint32_t layer)
{
    return draft->names.text + draft->graph->layers[layer].id;
}
