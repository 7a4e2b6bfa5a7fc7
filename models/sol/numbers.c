/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/numbers.h"

#include <assert.h>
#include <stddef.h>
#include <strings.h>

/* Source: the Solar project's BYTES_PER_ELEMENT; TF32 lies in memory as 32 bits. */
static const struct {
    const char *name;
    unsigned bits;
} precisions[CARM_SOL_PRECISIONS] = {
    [CARM_SOL_FP64] = {"fp64", 64}, [CARM_SOL_FP32] = {"fp32", 32},  [CARM_SOL_TF32] = {"tf32", 32},
    [CARM_SOL_FP16] = {"fp16", 16}, [CARM_SOL_BF16] = {"bf16", 16},  [CARM_SOL_FP8] = {"fp8", 8},
    [CARM_SOL_INT8] = {"int8", 8},  [CARM_SOL_NVFP4] = {"nvfp4", 4},
};

const char *carm_sol_precision_name(enum carm_sol_precision precision)
{
    assert(precision < CARM_SOL_PRECISIONS);
    return precisions[precision].name;
}

int carm_sol_precision_find(const char *name)
{
    for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
        if (strcasecmp(precisions[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

unsigned carm_sol_precision_bits(enum carm_sol_precision precision)
{
    assert(precision < CARM_SOL_PRECISIONS);
    return precisions[precision].bits;
}

int carm_sol_bytes(uint64_t elements, enum carm_sol_precision precision, uint64_t *bytes)
{
    const unsigned bits = carm_sol_precision_bits(precision);
    const uint64_t whole = bits < 8 ? elements / 2 + elements % 2 : elements;
    const uint64_t each = bits < 8 ? 1 : bits / 8;
    if (whole > INT64_MAX / each) {
        return -1;
    }
    *bytes = whole * each;
    return 0;
}
