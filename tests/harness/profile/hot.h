/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops of known counts, in assembly so that no compiler changes them: each iteration does flops and bytes that
 * tests/harness/profile/profile_test.sh knows. */
#pragma once

#include <stdint.h>

/* n times the instructions: 1 + their number + 2 of the loop */
#define LOOP(n, at, instructions)                                           \
    do {                                                                    \
        uint64_t left_ = (n);                                               \
        __asm__ volatile("1:\n\t" instructions "dec %0\n\tjnz 1b"           \
                         : "+r"(left_)                                      \
                         : "r"(at)                                          \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"); \
    } while (0)

/* flops, bytes loaded, bytes stored of an iteration */
#define SCALAR "movsd (%1), %%xmm0\n\taddsd %%xmm0, %%xmm1\n\t" /* 1, 8, 0 */
#define SSE    "movups (%1), %%xmm0\n\tmulpd %%xmm0, %%xmm1\n\tmovups %%xmm1, (%1)\n\t" /* 2, 16, 16 */
#define AVX2   "vmovups (%1), %%ymm0\n\tvaddps %%ymm0, %%ymm1, %%ymm1\n\t" /* 8 sp, 32, 0 */
#define AVX512 "vmovups (%1), %%zmm0\n\tvmulpd %%zmm0, %%zmm1, %%zmm1\n\t" /* 8, 64, 0 */
#define LIGHT  "movsd (%1), %%xmm0\n\tmulsd %%xmm0, %%xmm1\n\tmulsd %%xmm0, %%xmm2\n\t" /* 2, 8, 0 */
