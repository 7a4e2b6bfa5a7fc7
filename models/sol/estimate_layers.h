/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What models/sol/estimate.c keeps of a graph's layers, and models/sol/estimate_levels.c adds. */
#ifndef CARM_MODELS_SOL_ESTIMATE_LAYERS_H
#define CARM_MODELS_SOL_ESTIMATE_LAYERS_H

#include <stdint.h>

#include "base/err.h"
#include "models/sol/estimate.h"

/* By policy: what passes the last level, and the slowest level of each layer. */
struct carm_sol_missed {
    uint64_t *spilled;                     /* [n] elements; NULL = nothing known */
    double *level_cycles;                  /* [n] */
    int16_t *level;                        /* [n] -1 = none */
    uint64_t total;                        /* of spilled */
    uint64_t carried[CARM_SOL_LEVELS_MAX]; /* elements of all layers, by level */
};

struct carm_sol_layers {
    const struct carm_sol_analysis *analysis;
    struct carm_sol_arch arch;
    enum carm_sol_precision precision;
    struct carm_sol_missed missed[2];               /* by enum carm_sol_policy */
    enum carm_sol_policy policies[CARM_SOL_MODELS]; /* which one a model takes */
};

/* Cycles that a level needs for so many elements; 0 where its bandwidth is not known. */
double carm_sol_level_cycles(const struct carm_sol_layers *layers, size_t level, uint64_t elements);

/* Fills missed for both policies. The arch has a level of known size.
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT */
int carm_sol_levels_fill(const struct carm_sol_graph *graph, struct carm_sol_layers *layers,
                         uint64_t *peak_bytes, struct carm_err *err);

void carm_sol_missed_free(struct carm_sol_missed *missed);

#endif
