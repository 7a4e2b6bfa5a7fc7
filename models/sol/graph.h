/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An einsum graph of a neural network (models/file/sol/graph.h opens one). Names are kept once, shapes and
 * links in pools, so that a million layers stay small.
 * Source of the format: the Solar project's docs/FORMAT.md, section 2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The kind of work of an operation's type (models/sol/graph.c has the table of types). */
enum carm_sol_kind {
    CARM_SOL_COMPUTE,   /* any type without an entry: elementwise, reduction, contraction */
    CARM_SOL_VIEW,      /* view, reshape, transpose, split, ...: no work, no traffic, transparent */
    CARM_SOL_SLICE,     /* slice, select, ...: reads as many elements as its output has; writes
                         * none */
    CARM_SOL_SCATTER,   /* scatter, index_put, ...: writes its inputs without the largest */
    CARM_SOL_EMBEDDING, /* reads the smaller of inputs and outputs */
    CARM_SOL_GATHER,    /* gather, index_select, ...: reads of its first input at most as many
                           elements as it writes, the other inputs (indices) whole; writes its
                           outputs */
    CARM_SOL_MOVE,      /* cat, stack, pad, clone, casts: traffic without operations */
    CARM_SOL_START,     /* a model input */
};

/* returns the kind of a type, in any case; CARM_SOL_COMPUTE for one that is not in the table */
enum carm_sol_kind carm_sol_kind_find(const char *type);

enum carm_sol_role { CARM_SOL_INPUT, CARM_SOL_WEIGHT, CARM_SOL_BIAS, CARM_SOL_OUTPUT };

/* The types in tensor_dtypes of tensors that hold values; indices and masks have other types. */
enum carm_sol_dtype {
    CARM_SOL_FLOAT64,
    CARM_SOL_FLOAT32,
    CARM_SOL_FLOAT16,
    CARM_SOL_BFLOAT16,
    CARM_SOL_FLOAT8, /* of any layout */
    CARM_SOL_QINT8,  /* int8, uint8 and their quantised kinds */
    CARM_SOL_DTYPES,
};

/* word  "torch.float32" or "float32"
 * returns CARM_SOL_DTYPES for another one */
enum carm_sol_dtype carm_sol_dtype_find(const char *word);

/* One slot of a layer: a tensor and the shape in which this layer sees it. */
struct carm_sol_use {
    uint32_t tensor;   /* same number = same name */
    uint32_t dims;     /* index of its first extent in graph.extents */
    uint8_t rank;      /* 0 = a scalar, one element */
    uint8_t role;      /* enum carm_sol_role */
    uint64_t elements; /* product of the extents; may be 0 */
};

/* The rule that counted a layer's work. */
enum carm_sol_counted {
    CARM_SOL_BY_EQUATION,
    CARM_SOL_BY_SHAPES,   /* no contraction, and the equation does not fit the shapes */
    CARM_SOL_BY_GROUPS,   /* a contraction that the equation does not fit: also from the shapes */
    CARM_SOL_NO_EQUATION, /* is_real_einsum without an equation, and nothing to count MACs by */
};

/* Layers of one type that were not counted by their equation. */
struct carm_sol_note {
    uint32_t type; /* offset into graph.text */
    uint32_t layers;
    uint8_t counted; /* enum carm_sol_counted */
};

struct carm_sol_layer {
    uint32_t id, type, equation, elementwise, reduction; /* offsets into graph.text; "" = none */
    uint32_t raw;             /* offset of raw_attributes, only of slices */
    uint32_t line;            /* of the file that has the id */
    uint32_t uses;            /* index of its first input in graph.uses */
    uint32_t inputs, outputs; /* slots: inputs first, then outputs */
    uint32_t links; /* index of its first predecessor in graph.links: connections, in either
                     * direction, and tensors */
    uint32_t predecessors;
    uint8_t kind;    /* enum carm_sol_kind */
    uint8_t counted; /* enum carm_sol_counted */
    bool real_einsum, supportable;
    uint64_t macs; /* product of the unique ranks' sizes; 0 unless real_einsum */
    /* points of the iteration space, for operations that are not contractions; 0 for other kinds */
    uint64_t points;
};

struct carm_sol_graph {
    char *name;                    /* model_name */
    struct carm_sol_layer *layers; /* [n] in the file's order, start layers too */
    uint32_t n;
    uint32_t *order; /* [n] execution order: the file's where that is possible, else always the
                 * earliest layer of the file whose predecessors are done */
    struct carm_sol_use *uses;
    uint32_t nuses;
    uint32_t *links; /* indices of layers */
    uint32_t nlinks;
    uint32_t *producer; /* [ntensors] layer with the tensor as an output; UINT32_MAX = none */
    uint32_t *tensors;  /* [ntensors] names: offsets into text */
    uint32_t ntensors;
    uint64_t *extents;
    uint32_t nextents;
    struct carm_sol_note *notes; /* by type */
    uint32_t nnotes;
    uint32_t dtypes[CARM_SOL_DTYPES]; /* number of slots with tensors of that type */
    uint32_t one_sided;               /* connections that only one of both layers names */
    uint32_t resized; /* input slots whose tensor has another number of elements at its maker */
    uint32_t renamed; /* input slots that were connected to another output of the layer that they
                       * name */
    char *text;       /* NUL-terminated strings, each once; offset 0 is "" */
};

static inline const char *carm_sol_text(const struct carm_sol_graph *graph, uint32_t offset)
{
    return graph->text + offset;
}

/* A remark for readers of the figures about the file: operations not counted by their equation,
 * once for each type, and contradictions. i: from 0
 * returns dst, or NULL after the last one */
char *carm_sol_graph_remark(const struct carm_sol_graph *graph, uint32_t i, char *dst, size_t size);

void carm_sol_graph_close(struct carm_sol_graph *graph); /* NULL allowed */

/* Fills err: out of memory for a graph of `layers` layers. returns -CARM_ENOMEM */
int carm_sol_no_memory(uint32_t layers, struct carm_err *err);
#ifdef __clang_analyzer__ /* as carm_fail */
#define carm_sol_no_memory(...) (carm_sol_no_memory(__VA_ARGS__), -CARM_ENOMEM)
#endif
