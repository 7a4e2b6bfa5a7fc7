/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/stencil/piece.h"

#include <immintrin.h>

static void scalar(const struct carm_stencil_piece *p)
{
    const ptrdiff_t n = p->n;
    const ptrdiff_t pitch = p->pitch;
    const ptrdiff_t plane = p->plane;
    const double alpha = p->alpha;
    const double beta = p->beta;
    for (ptrdiff_t z = 0; z < p->planes; z++) {
        for (ptrdiff_t y = 0; y < p->lines; y++) {
            const double *c = p->in + z * plane + y * pitch;
            double *restrict out = p->out + z * plane + y * pitch;
            for (ptrdiff_t x = 0; x < n; x++) {
                const double sum = ((c[x - 1] + c[x + 1]) + (c[x - pitch] + c[x + pitch])) +
                                   (c[x - plane] + c[x + plane]);
                out[x] = alpha * c[x] + beta * sum;
                __asm__ volatile(""); /* keeps compilers from vectorising the loop */
            }
        }
    }
}

#define VECTOR_TEMPLATE "kernels/stencil/simd.h"
#include "kernels/widths.h"

const struct carm_stencil_kernel carm_stencil_scalar = {scalar, NULL, CARM_SCALAR, 1};
const struct carm_stencil_kernel carm_stencil_sse = {sse_stored, sse_streamed, CARM_SSE, 2};
const struct carm_stencil_kernel carm_stencil_avx = {avx_stored, avx_streamed, CARM_AVX, 4};
const struct carm_stencil_kernel carm_stencil_avx2 = {avx2_stored, avx2_streamed, CARM_AVX2, 4};
const struct carm_stencil_kernel carm_stencil_avx512 = {avx512_stored, avx512_streamed, CARM_AVX512,
                                                        8};

const struct carm_stencil_kernel *carm_stencil_kernel_find(const struct carm_cpu *cpu)
{
    if (cpu->isa[CARM_AVX512] && cpu->fma) {
        return &carm_stencil_avx512;
    }
    if (cpu->isa[CARM_AVX2] && cpu->fma) {
        return &carm_stencil_avx2;
    }
    return cpu->isa[CARM_AVX] ? &carm_stencil_avx : &carm_stencil_sse;
}
