/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/spmv/rows.h"

#include <immintrin.h>

#define VECTOR_TEMPLATE "kernels/spmv/simd.h"
#include "kernels/widths.h"

void carm_spmv_rows_csr(const struct carm_csr *a, const double *restrict x, double *restrict y,
                        uint32_t first, uint32_t end)
{
    const uint32_t *start = a->start;
    const uint32_t *column = a->column;
    const double *value = a->value;
    uint32_t k = start[first];
    for (uint32_t row = first; row < end; row++) {
        const uint32_t row_end = start[row + 1];
        double sum = 0.0;
        for (; k < row_end; k++) {
            sum += value[k] * x[column[k]];
            __asm__ volatile(""); /* keeps compilers from vectorising the loop */
        }
        y[row] = sum;
    }
}

bool carm_spmv_kernel_find(const struct carm_cpu *cpu, const struct carm_bcsr *b,
                           struct carm_spmv_kernel *kernel)
{
    if (cpu->isa[CARM_AVX512] && cpu->fma) {
        *kernel = (struct carm_spmv_kernel){avx512_find(b), CARM_AVX512, 8};
    } else if (cpu->isa[CARM_AVX2] && cpu->fma) {
        *kernel = (struct carm_spmv_kernel){avx2_find(b), CARM_AVX2, 4};
    } else if (cpu->isa[CARM_AVX]) {
        *kernel = (struct carm_spmv_kernel){avx_find(b), CARM_AVX, 4};
    } else {
        *kernel = (struct carm_spmv_kernel){sse_find(b), CARM_SSE, 2};
    }
    return kernel->run != NULL;
}
