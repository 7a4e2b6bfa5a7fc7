/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph while it is read and checked: the graph itself and what only messages and checks need. */
#ifndef CARM_MODELS_SOL_DRAFT_H
#define CARM_MODELS_SOL_DRAFT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/sol/graph.h"
#include "base/hash.h"
#include "models/sol/yaml.h"

enum { CARM_SOL_RANK_MAX = 64 }; /* dimensions of a tensor, as PyTorch has it */

#define CARM_SOL_NONE UINT32_MAX

struct carm_sol_list {
    uint64_t *v;
    size_t n, room;
};

/* What the layer in hand has said so far; [0] inputs, [1] outputs. With a line: line << 32 | value. */
struct carm_sol_slots {
    struct carm_sol_list names[2];   /* with lines; places in pending until the map closes */
    struct carm_sol_list roles[2];   /* enum carm_sol_role */
    struct carm_sol_list ranks[2];   /* with lines */
    struct carm_sol_list extents[2]; /* of all shapes, one after another */
    struct carm_sol_list links[2];   /* names of layers, as in names */
    char *pending;                   /* struct carm_sol_pending and its text, one after another */
    size_t used, room;               /* bytes of it */
};

/* A name that has no number yet. */
struct carm_sol_pending {
    uint32_t hash, length;
};

static inline uint64_t carm_sol_with_line(uint32_t value, size_t line)
{
    return (uint64_t)(line < UINT32_MAX ? line : UINT32_MAX) << 32 | value;
}

static inline uint32_t carm_sol_line_in(uint64_t packed)
{
    return (uint32_t)(packed >> 32);
}

struct carm_sol_draft {
    struct carm_sol_graph *graph;
    struct carm_yaml *yaml;
    struct carm_names names; /* its text becomes the graph's */
    uint32_t *layer_of;      /* [names.n] layer of that id, or CARM_SOL_NONE */
    uint32_t *tensor_of;     /* [names.n] tensor of that name, or CARM_SOL_NONE */
    uint32_t names_room;     /* of both */
    uint32_t *use_lines;     /* [nuses] */
    uint32_t *link_lines;    /* [nlinks] */
    /* connections.outputs, [nouts]; like graph->links names at first, layers when resolved */
    uint32_t *outs, *out_lines, nouts;
    uint32_t *first_out;  /* [n + 1] of each layer, into outs */
    uint32_t *successors; /* [nlinks] links the other way round, each list in the file's order */
    uint32_t *first_successor; /* [n + 1] */
    struct carm_sol_slots slots;
    /* room of the arrays above and of the graph's */
    size_t layers_room, uses_room, use_lines_room, links_room, link_lines_room, outs_room;
    size_t out_lines_room, first_out_room, tensors_room, extents_room;
};

/* Makes room for more members after the first used. returns 0 or -CARM_ENOMEM; -CARM_EFORMAT where
 * a number of them would pass 32 bits */
int carm_sol_grow(void *array, size_t *room, size_t used, size_t more, size_t size);

/* The number of a string; layer_of and tensor_of have room for it. */
int carm_sol_draft_name(struct carm_sol_draft *draft, const char *text, size_t length,
                        uint32_t *number, struct carm_err *err);
int carm_sol_draft_name_hashed(struct carm_sol_draft *draft, const char *text, size_t length,
                               uint32_t hash, uint32_t *number, struct carm_err *err);

/* Turns a failure without words (-CARM_ENOMEM, -CARM_EFORMAT: too large) into one with words. */
int carm_sol_draft_fail(const struct carm_sol_draft *draft, int rc, struct carm_err *err);

/* Refuses with the layer's name and "FILE, line N"; line 0: the layer's own. */
int carm_sol_draft_refuse(const struct carm_sol_draft *draft, const struct carm_sol_layer *layer,
                          uint32_t line, struct carm_err *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static inline const char *carm_sol_draft_id(const struct carm_sol_draft *draft, uint32_t layer)
{
    return draft->names.text + draft->graph->layers[layer].id;
}

/* ---- the steps, in this order. Each returns 0 or a negative CARM_E* with err filled ---------- */

/* The whole document. */
int carm_sol_read_document(struct carm_sol_draft *draft, struct carm_err *err);

/* One layer's map, whose opening was read; layer: id and line are set. */
int carm_sol_read_layer(struct carm_sol_draft *draft, struct carm_sol_layer *layer,
                        struct carm_err *err);

/* What the slots hold goes to the pools; the arrays must be of equal length. */
int carm_sol_store_layer(struct carm_sol_draft *draft, struct carm_sol_layer *layer,
                         struct carm_err *err);

/* Connections: resolved, without repetitions, the same in both directions; then successors. */
int carm_sol_check_links(struct carm_sol_draft *draft, struct carm_err *err);

/* The execution order, or the refusal of a cycle. */
int carm_sol_check_order(struct carm_sol_draft *draft, struct carm_err *err);

/* Producers, and that every use of a tensor agrees with them and with the connections. */
int carm_sol_check_tensors(struct carm_sol_draft *draft, struct carm_err *err);

/* Equations against shapes: macs and points of every layer. */
int carm_sol_check_equations(struct carm_sol_draft *draft, struct carm_err *err);

#endif
