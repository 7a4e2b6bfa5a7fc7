/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each slot of a graph's layers moves, and which tensor that is when views are looked through:
 * the table in models/sol/count.h, slot by slot. */
#ifndef CARM_MODELS_SOL_MOVES_H
#define CARM_MODELS_SOL_MOVES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "models/sol/graph.h"

enum carm_sol_class {
    CARM_SOL_EXTERNAL,     /* read, or a model's output */
    CARM_SOL_WEIGHTS,      /* external, too */
    CARM_SOL_INTERMEDIATE, /* made by one operation, taken by another */
};

/* Arrays by the graph's numbers of slots and tensors. */
struct carm_sol_moves {
    uint64_t *moved; /* [nuses] elements read by an input slot, written by an output slot */
    uint32_t *base;  /* [ntensors] what a tensor is a view of; itself where it is none */
    uint64_t *size;  /* [ntensors] elements of the tensor */
    uint8_t *kind;   /* [ntensors] enum carm_sol_class, of tensors that are their own base */
    bool *dead;      /* [n] layers that are dead ends */
};

/* returns 0; -CARM_ENOMEM; -CARM_EFORMAT (what a layer moves passes INT64_MAX) */
int carm_sol_moves_open(const struct carm_sol_graph *graph, struct carm_sol_moves **moves,
                        struct carm_err *err);

void carm_sol_moves_close(struct carm_sol_moves *moves); /* NULL allowed */

/* Adds to a sum. returns false, with the sum unchanged, where it would pass INT64_MAX */
static inline bool carm_sol_add(uint64_t *sum, uint64_t more)
{
    if (*sum > INT64_MAX || more > INT64_MAX - *sum) {
        return false;
    }
    *sum += more;
    return true;
}

/* Whether a kind moves or computes: neither a start nor a view. */
static inline bool carm_sol_operates(uint8_t kind)
{
    return kind != CARM_SOL_START && kind != CARM_SOL_VIEW;
}

#endif
