/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Includes the template VECTOR_TEMPLATE once for each ISA, with LANES (doubles of its vector), FMA (1: multiply
 * and add in one instruction), TARGET (the function attribute) and NAME(f). The template undefines them. */
#ifdef VECTOR_TEMPLATE

#define LANES   2
#define FMA     0
#define TARGET  __attribute__((target("sse2")))
#define NAME(f) sse_##f
#include VECTOR_TEMPLATE

#define LANES   4
#define FMA     0
#define TARGET  __attribute__((target("avx")))
#define NAME(f) avx_##f
#include VECTOR_TEMPLATE

#define LANES   4
#define FMA     1
#define TARGET  __attribute__((target("avx2,fma")))
#define NAME(f) avx2_##f
#include VECTOR_TEMPLATE

#define LANES   8
#define FMA     1
#define TARGET  __attribute__((target("avx512f,avx2,fma")))
#define NAME(f) avx512_##f
#include VECTOR_TEMPLATE

#endif
