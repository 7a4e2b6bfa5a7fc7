/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Einsum equations with named ranks: "MK,KN->MN", "BC(P+R)(Q+S),OCRS->BOPQ".
 *
 * A rank is one capital letter with optional digits; a tensor has it once. A compound rank is
 * a sum or difference of ranks, which may have whole factors: (2P+R), (P-R). A plain rank has one
 * size in all tensors; in an operation that is not a contraction, 1 fits any size (broadcasting), and
 * the output may have ranks of its own. Further tensors behind the equation's are not checked: the bias of a
 * convolution, indices beside a maximum.
 * Source: the Solar project's docs/EINSUM_GUIDE.md; factors and broadcasting are ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sol/graph.h"

enum { CARM_SOL_WHY_MAX = 160 };

/* The tensors under an equation. */
struct carm_sol_operands {
    const struct carm_sol_use *uses; /* inputs, then outputs */
    uint32_t inputs, outputs;
    const uint64_t *extents; /* index space of uses[].dims */
    bool contraction;        /* each rank has its one size */
};

/* Why an equation is refused. */
enum carm_sol_misfit {
    CARM_SOL_MISFIT_TEXT,  /* it cannot be read, or gives no number */
    CARM_SOL_MISFIT_SHAPE, /* it can be read, but the shapes have other ranks or sizes */
    CARM_SOL_MISFIT_PART, /* a rank's size in one tensor is a multiple of that in another (groups, heads
                              that share keys), or an operand has no tensor */
};

/* The points of the iteration space: the product of all ranks' sizes.
 * operands  NULL: only the syntax is checked, and points is not set
 * why       [CARM_SOL_WHY_MAX] out: the reason of a refusal
 * misfit    out, may be NULL: the kind of a refusal
 * returns 0 or -CARM_EFORMAT */
int carm_sol_equation(const char *text, const struct carm_sol_operands *operands, uint64_t *points,
                      char *why, enum carm_sol_misfit *misfit);

/* The multiply-accumulates of a convolution, transposed or not, in any number of groups, or of a
 * product of matrices, from the shapes alone. An equation cannot express groups, nor heads that share keys.
 *   conv1d to conv3d     each output element: the weights of one output channel
 *   convtranspose1d ...  each input element: the weights of one input channel. At most each output position
 *                        times all weights, which the equation BC(P-R),CKR->BKP counts with one group
 *   matmul mm bmm linear each output element: the last dimension of the first input
 * type  as Solar writes it; misfit: why there is no equation to count by
 * returns false where the type is another or the shapes do not agree with it */
bool carm_sol_contraction(const char *type, const struct carm_sol_operands *operands,
                          enum carm_sol_misfit misfit, uint64_t *macs);

/* The product of n factors, 1 of none. returns 0, or -1 where it passes INT64_MAX */
int carm_sol_product(const uint64_t *factors, size_t n, uint64_t *product);
