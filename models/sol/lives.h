/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When an operation writes each intermediate of a graph, and which ones read it, by position in the
 * execution order: what models/sol/cache.c sweeps over. */
#ifndef CARM_MODELS_SOL_LIVES_H
#define CARM_MODELS_SOL_LIVES_H

#include <stdint.h>

#include "base/err.h"
#include "models/sol/cache.h"
#include "models/sol/moves.h"

struct carm_sol_lives {
    const struct carm_sol_graph *graph;
    struct carm_sol_moves *moves;
    uint64_t *written; /* [ntensors] elements that its writer moves */
    uint32_t *first;   /* [ntensors + 1] index into readers; those of other tensors are none */
    uint32_t *readers; /* positions, ascending, each once */
    uint32_t
        *operands;    /* [nuses] bases of intermediates, each layer's distinct ones first, the read
                         * ones before the written */
    uint32_t *reads;  /* [n] by layer: how many operands are read */
    uint32_t *writes; /* [n] how many after these are written */
    uint64_t *moved;  /* [nuses] beside operands: what the layer moves of it */
};

#endif
