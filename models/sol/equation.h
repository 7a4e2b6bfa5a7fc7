/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Einsum equations with named ranks: "MK,KN->MN", "BC(P+R)(Q+S),OCRS->BOPQ".
 *
 * A rank is one capital letter with optional digits; a tensor has it once. A compound rank is
 * a sum or difference of ranks, which may have whole factors: (2P+R), (P-R). A plain rank has one
 * size in all tensors; in an operation that is not a contraction, 1 fits any size (broadcasting),
 * the output may have ranks of its own, and inputs after those of the equation are let be.
 * Source: the Solar project's docs/EINSUM_GUIDE.md; factors, broadcasting and the last are ours. */
#ifndef CARM_MODELS_SOL_EQUATION_H
#define CARM_MODELS_SOL_EQUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sol/graph.h"

enum { CARM_SOL_WHY_MAX = 160 };

/* The tensors under an equation. */
struct carm_sol_operands {
    const struct carm_sol_use *uses; /* inputs, then outputs */
    uint32_t inputs, outputs;
    const uint64_t *extents; /* what uses[].dims are indices of */
    bool contraction;        /* each tensor has its operand, each rank its one size */
};

/* The points of the iteration space: the product of all ranks' sizes.
 * operands  NULL: only the syntax is checked, and points is not set
 * why       [CARM_SOL_WHY_MAX] out: the reason of a refusal
 * returns 0 or -CARM_EFORMAT */
int carm_sol_equation(const char *text, const struct carm_sol_operands *operands, uint64_t *points,
                      char *why);

/* The product of n factors, 1 of none. returns 0, or -1 where it passes INT64_MAX */
int carm_sol_product(const uint64_t *factors, size_t n, uint64_t *product);

#endif
