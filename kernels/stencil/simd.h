/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernels of one ISA, written once: a file of each ISA says which and includes this.
 *   CARM_SIMD_TARGET  for __attribute__((target))
 *   CARM_SIMD_ISA     the enum carm_isa
 *   CARM_SIMD_LANES   doubles of its vector
 *   CARM_SIMD_FMA     1: multiply and add in one instruction
 *   CARM_SIMD_KERNEL  the name of the kernel
 * Without them it is what SSE2 runs. */
#ifndef CARM_KERNELS_STENCIL_SIMD_H
#define CARM_KERNELS_STENCIL_SIMD_H

#include <immintrin.h>

#include "kernels/stencil/piece.h"

#ifndef CARM_SIMD_TARGET
#define CARM_SIMD_TARGET "sse2"
#define CARM_SIMD_ISA    CARM_SSE
#define CARM_SIMD_LANES  2
#define CARM_SIMD_FMA    0
#define CARM_SIMD_KERNEL carm_stencil_sse
#endif

#if CARM_SIMD_LANES >= 8
typedef __m512d vector;
#define V(name) _mm512_##name
#elif CARM_SIMD_LANES >= 4
typedef __m256d vector;
#define V(name) _mm256_##name
#else
typedef __m128d vector;
#define V(name) _mm_##name
#endif

#if CARM_SIMD_FMA
#define MADD(a, b, c)        V(fmadd_pd)(a, b, c)
#define MADD_SCALAR(a, b, c) __builtin_fma(a, b, c)
#else
#define MADD(a, b, c)        V(add_pd)(V(mul_pd)(a, b), c)
#define MADD_SCALAR(a, b, c) ((a) * (b) + (c))
#endif

#define LOAD(at)    V(loadu_pd)(at)
#define ADD(a, b)   V(add_pd)(a, b)
#define MUL(a, b)   V(mul_pd)(a, b)
#define PAIR(at, d) ADD(LOAD((at) - (d)), LOAD((at) + (d)))

/* Non-temporal stores are to be seen by the others before they are told that all is done. */
#define PUT_stored(at, v)   V(storeu_pd)(at, v)
#define PUT_streamed(at, v) V(stream_pd)(at, v)
#define END_stored          (void)0
#define END_streamed        _mm_sfence()

#define KERNEL(name)                                                                               \
    __attribute__((target(CARM_SIMD_TARGET))) static void name(const struct carm_stencil_piece *p) \
    {                                                                                              \
        const ptrdiff_t n = p->n;                                                                  \
        const ptrdiff_t pitch = p->pitch;                                                          \
        const ptrdiff_t plane = p->plane;                                                          \
        const vector alpha = V(set1_pd)(p->alpha);                                                 \
        const vector beta = V(set1_pd)(p->beta);                                                   \
        for (ptrdiff_t z = 0; z < p->planes; z++) {                                                \
            for (ptrdiff_t y = 0; y < p->lines; y++) {                                             \
                const double *c = p->in + z * plane + y * pitch;                                   \
                double *restrict out = p->out + z * plane + y * pitch;                             \
                const double *end = c + n;                                                         \
                for (; end - c >= CARM_SIMD_LANES; c += CARM_SIMD_LANES) {                         \
                    const vector sum = ADD(ADD(PAIR(c, 1), PAIR(c, pitch)), PAIR(c, plane));       \
                    PUT_##name(out, MADD(beta, sum, MUL(alpha, LOAD(c))));                         \
                    out += CARM_SIMD_LANES;                                                        \
                }                                                                                  \
                for (; c < end; c++) {                                                             \
                    const double sum =                                                             \
                        ((c[-1] + c[1]) + (c[-pitch] + c[pitch])) + (c[-plane] + c[plane]);        \
                    *out++ = MADD_SCALAR(p->beta, sum, p->alpha * *c);                             \
                    __asm__ volatile(""); /* as counted: one after another */                      \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        END_##name;                                                                                \
    }

KERNEL(stored)
KERNEL(streamed)

const struct carm_stencil_kernel CARM_SIMD_KERNEL = {stored, streamed, CARM_SIMD_ISA,
                                                     CARM_SIMD_LANES};

#endif
