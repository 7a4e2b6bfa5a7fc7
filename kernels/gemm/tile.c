/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/tile.h"

#include <assert.h>

/* The layout of struc T in kernels/gemm/micro.asm: bytes and counts; inner and outer loops run over tiles. */
struct frame {
    const double *a, *b;
    double *c;
    uint64_t a_stride, b_stride, c_stride;
    uint64_t steps, accumulate;
    uint64_t inner, outer;
    int64_t inner_a, inner_b, inner_c; /* from the end of a tile to the next */
    int64_t outer_a, outer_b, outer_c; /* then, at the end of the inner loop */
};

void carm_gemm_tiles_strided_scalar_mad(void *frame);
void carm_gemm_tiles_strided_scalar_fma(void *frame);
void carm_gemm_tiles_scalar_mad(void *frame);
void carm_gemm_tiles_scalar_fma(void *frame);
void carm_gemm_tiles_sse_mad(void *frame);
void carm_gemm_tiles_sse_fma(void *frame);
void carm_gemm_tiles_avx_mad(void *frame);
void carm_gemm_tiles_avx2_fma(void *frame);
void carm_gemm_tiles_avx512_fma(void *frame);
void carm_gemm_transpose(const double *src, size_t src_stride, double *dst, size_t dst_stride,
                         size_t row_pairs, size_t column_fours);
void carm_gemm_copy(const double *src, size_t src_stride, double *dst, size_t dst_stride,
                    size_t rows, size_t column_eights);

enum { LOADS_FMA = 7, LOADS_MAD = 10 }; /* STEP_FMA, STEP_MAD_* */

const struct carm_gemm_kernel carm_gemm_kernels[] = {
    {"strided_scalar_mad", CARM_SCALAR, false, true, 1, LOADS_MAD,
     carm_gemm_tiles_strided_scalar_mad},
    {"strided_scalar_fma", CARM_SCALAR, true, true, 1, LOADS_FMA,
     carm_gemm_tiles_strided_scalar_fma},
    {"scalar_mad", CARM_SCALAR, false, false, 1, LOADS_MAD, carm_gemm_tiles_scalar_mad},
    {"scalar_fma", CARM_SCALAR, true, false, 1, LOADS_FMA, carm_gemm_tiles_scalar_fma},
    {"sse_mad", CARM_SSE, false, false, 2, LOADS_MAD, carm_gemm_tiles_sse_mad},
    {"sse_fma", CARM_SSE, true, false, 2, LOADS_FMA, carm_gemm_tiles_sse_fma},
    {"avx_mad", CARM_AVX, false, false, 4, LOADS_MAD, carm_gemm_tiles_avx_mad},
    {"avx2_fma", CARM_AVX2, true, false, 4, LOADS_FMA, carm_gemm_tiles_avx2_fma},
    {"avx512_fma", CARM_AVX512, true, false, 8, LOADS_FMA, carm_gemm_tiles_avx512_fma},
    {NULL, CARM_SCALAR, false, false, 0, 0, NULL},
};

const struct carm_gemm_kernel *carm_gemm_kernel_find(const struct carm_cpu *cpu, enum carm_isa isa,
                                                     bool strided)
{
    const bool fma = cpu->fma && cpu->isa[CARM_AVX] && isa != CARM_AVX;
    if (!cpu->isa[isa]) {
        return NULL;
    }
    for (const struct carm_gemm_kernel *k = carm_gemm_kernels; k->name; k++) {
        if (k->strided == strided && k->fma == fma && k->isa == (strided ? CARM_SCALAR : isa)) {
            return k;
        }
    }
    return NULL;
}

void carm_gemm_tiles_run(const struct carm_gemm_kernel *kernel, const struct carm_gemm_tiles *t)
{
    assert(t->k > 0 && t->k % CARM_GEMM_STEP == 0 && t->rows > 0 && t->columns > 0);
    const int64_t depth = (int64_t)(t->k * sizeof *t->a); /* bytes by which a tile moves along A */
    const int64_t down_a = (int64_t)(CARM_GEMM_ROWS * t->a_stride);
    const int64_t down_c = (int64_t)(CARM_GEMM_ROWS * t->c_stride);
    const int64_t tile_bytes = (int64_t)(CARM_GEMM_COLUMNS * sizeof *t->c);
    const int64_t right_b = kernel->strided ? tile_bytes : CARM_GEMM_COLUMNS * (int64_t)t->b_stride;
    const int64_t depth_b = kernel->strided ? (int64_t)(t->k * t->b_stride) : depth;
    const int64_t rows = (int64_t)t->rows;
    const int64_t columns = (int64_t)t->columns;
    struct frame f = {.a = t->a,
                      .b = t->b,
                      .c = t->c,
                      .a_stride = t->a_stride,
                      .b_stride = t->b_stride,
                      .c_stride = t->c_stride,
                      .steps = t->k / (uint64_t)kernel->lanes,
                      .accumulate = t->accumulate ? 1 : 0};
    if (t->columns_outer) {
        f.inner = t->rows;
        f.outer = t->columns;
        f.inner_a = down_a - depth;
        f.inner_b = -depth_b;
        f.inner_c = down_c;
        f.outer_a = -rows * down_a;
        f.outer_b = right_b;
        f.outer_c = tile_bytes - rows * down_c;
    } else {
        f.inner = t->columns;
        f.outer = t->rows;
        f.inner_a = -depth;
        f.inner_b = right_b - depth_b;
        f.inner_c = tile_bytes;
        f.outer_a = down_a;
        f.outer_b = -columns * right_b;
        f.outer_c = down_c - columns * tile_bytes;
    }
    kernel->run(&f);
}

void carm_gemm_tiles_account(const struct carm_gemm_kernel *kernel, const struct carm_gemm_tiles *t,
                             struct carm_gemm_account *account)
{
    const double tile = CARM_GEMM_ROWS * CARM_GEMM_COLUMNS; /* elements */
    const double outer = (double)(t->columns_outer ? t->columns : t->rows);
    const double tiles = (double)t->rows * (double)t->columns;
    const double lanes = kernel->lanes;
    const double vector_bytes = lanes * sizeof(double);
    const double step_loads = (double)t->k / lanes * kernel->loads_per_step;
    /* C is accessed by vectors of at most 4 elements */
    const double c_lanes = lanes < CARM_GEMM_COLUMNS ? lanes : CARM_GEMM_COLUMNS;
    const double c_accesses = tile / c_lanes;
    /* loads of 8 bytes from the frame. Each tile: steps, C's stride, accumulate and three advances. Each outer
     * iteration: the inner count, three advances and its own count, which is stored, too. The call: five pointers
     * and strides, and the return address */
    const double frame_loads = tiles * 6 + outer * 5 + 5 + 1;
    account->flops +=
        tiles * tile * (2.0 * (double)t->k + (lanes - 1.0) + (t->accumulate ? 1.0 : 0.0));
    account->loads += tiles * (step_loads + (t->accumulate ? c_accesses : 0.0)) + frame_loads;
    account->load_bytes +=
        tiles * (step_loads * vector_bytes + (t->accumulate ? tile * sizeof(double) : 0.0)) +
        frame_loads * 8.0;
    account->stores += tiles * c_accesses + outer;
    account->store_bytes += tiles * tile * sizeof(double) + outer * 8.0;
}

void carm_gemm_transposed(const double *src, size_t src_stride, double *dst, size_t dst_stride,
                          size_t rows, size_t columns)
{
    assert(rows % 2 == 0 && columns % 4 == 0);
    if (rows > 0 && columns > 0) {
        carm_gemm_transpose(src, src_stride, dst, dst_stride, rows / 2, columns / 4);
    }
}

void carm_gemm_copied(const double *src, size_t src_stride, double *dst, size_t dst_stride,
                      size_t rows, size_t columns)
{
    assert(columns % 8 == 0);
    if (rows > 0 && columns > 0) {
        carm_gemm_copy(src, src_stride, dst, dst_stride, rows, columns / 8);
    }
}

/* Adds the account of a copy: each element is loaded and stored once, 16 bytes at a time.
 * saved  registers that the call saves, beside the return address */
static void moved(size_t rows, size_t columns, double saved, struct carm_gemm_account *account)
{
    const double bytes = (double)rows * (double)columns * sizeof(double);
    if (bytes > 0.0) {
        account->loads += bytes / 16.0 + saved + 1.0;
        account->load_bytes += bytes + (saved + 1.0) * 8.0;
        account->stores += bytes / 16.0 + saved;
        account->store_bytes += bytes + saved * 8.0;
    }
}

void carm_gemm_transposed_account(size_t rows, size_t columns, struct carm_gemm_account *account)
{
    moved(rows, columns, 1.0, account);
}

void carm_gemm_copied_account(size_t rows, size_t columns, struct carm_gemm_account *account)
{
    moved(rows, columns, 0.0, account);
}
