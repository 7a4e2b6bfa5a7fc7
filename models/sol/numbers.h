/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Speed of light of a DNN graph: the words that its parts share. Source: the Solar guide, and
 * docs/sol.md, which lists where we read it in our own way. */
#ifndef CARM_MODELS_SOL_NUMBERS_H
#define CARM_MODELS_SOL_NUMBERS_H

#include <stdint.h>

/* What the elements of all tensors are, and what executes multiply-accumulates on them. */
enum carm_sol_precision {
    CARM_SOL_FP64, /* a CPU's model alone has it */
    CARM_SOL_FP32,
    CARM_SOL_TF32,
    CARM_SOL_FP16,
    CARM_SOL_BF16,
    CARM_SOL_FP8,
    CARM_SOL_INT8,
    CARM_SOL_NVFP4,
    CARM_SOL_PRECISIONS,
};

/* "fp64", "fp32", ... */
const char *carm_sol_precision_name(enum carm_sol_precision precision);

/* returns the precision, or -1 for another word */
int carm_sol_precision_find(const char *name);

/* Bits of an element: 64, 32, 32, 16, 16, 8, 8, 4. */
unsigned carm_sol_precision_bits(enum carm_sol_precision precision);

/* Bytes of so many elements, a half byte rounded up.
 * returns 0, or -1 where the bytes pass INT64_MAX */
int carm_sol_bytes(uint64_t elements, enum carm_sol_precision precision, uint64_t *bytes);

#endif
