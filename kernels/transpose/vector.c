/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tiles of 4 x 4 points: four lines of in become four lines of out, written past the caches as whole lines. A
 * point has 16 bytes and stays in one half (AVX) or quarter (AVX-512) of a register. */
#include <immintrin.h>

#include "kernels/transpose/exchange.h"

#define INLINE static inline __attribute__((always_inline))

/* Moves points at the edges: `rows` points of a column of in, point by point. */
INLINE void column(const struct carm_transpose_point *in, size_t in_row,
                   struct carm_transpose_point *out, size_t rows)
{
    for (size_t y = 0; y < rows; y++) {
        _mm_stream_pd(&out[y].re, _mm_load_pd(&in[y * in_row].re));
    }
}

/* Moves a tile. in: four rows at some x; out: four rows at some y; in_row, out_row: points from row to row. */
INLINE void sse_tile(const struct carm_transpose_point *in, size_t in_row,
                     struct carm_transpose_point *out, size_t out_row)
{
    for (size_t x = 0; x < 4; x++) {
        for (size_t y = 0; y < 4; y++) {
            _mm_stream_pd(&out[x * out_row + y].re, _mm_load_pd(&in[y * in_row + x].re));
        }
    }
}

__attribute__((target("avx"))) INLINE void avx_tile(const struct carm_transpose_point *in,
                                                    size_t in_row, struct carm_transpose_point *out,
                                                    size_t out_row)
{
    for (size_t x = 0; x < 4; x += 2) {
        for (size_t y = 0; y < 4; y += 2) {
            __m256d a = _mm256_load_pd(&in[y * in_row + x].re);
            __m256d b = _mm256_load_pd(&in[(y + 1) * in_row + x].re);
            __asm__("" : "+x"(a), "+x"(b)); /* used twice, see below */
            _mm256_stream_pd(&out[x * out_row + y].re, _mm256_permute2f128_pd(a, b, 0x20));
            _mm256_stream_pd(&out[(x + 1) * out_row + y].re, _mm256_permute2f128_pd(a, b, 0x31));
        }
    }
}

__attribute__((target("avx512f"))) INLINE void avx512_tile(const struct carm_transpose_point *in,
                                                           size_t in_row,
                                                           struct carm_transpose_point *out,
                                                           size_t out_row)
{
    __m512d a = _mm512_load_pd(&in[0].re);
    __m512d b = _mm512_load_pd(&in[in_row].re);
    __m512d c = _mm512_load_pd(&in[2 * in_row].re);
    __m512d d = _mm512_load_pd(&in[3 * in_row].re);
    /* each register is used twice: without this, GCC 12 loads it twice */
    __asm__("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d));
    /* quarters 0 1 and 2 3 of two rows, then the even or the odd quarters of the results */
    const __m512d ab = _mm512_shuffle_f64x2(a, b, 0x44);
    const __m512d ab_high = _mm512_shuffle_f64x2(a, b, 0xee);
    const __m512d cd = _mm512_shuffle_f64x2(c, d, 0x44);
    const __m512d cd_high = _mm512_shuffle_f64x2(c, d, 0xee);
    _mm512_stream_pd(&out[0].re, _mm512_shuffle_f64x2(ab, cd, 0x88));
    _mm512_stream_pd(&out[out_row].re, _mm512_shuffle_f64x2(ab, cd, 0xdd));
    _mm512_stream_pd(&out[2 * out_row].re, _mm512_shuffle_f64x2(ab_high, cd_high, 0x88));
    _mm512_stream_pd(&out[3 * out_row].re, _mm512_shuffle_f64x2(ab_high, cd_high, 0xdd));
}

/* Tiles of a band of at most CARM_TRANSPOSE_TILE rows, along x; then the points behind the last
 * tile. */
#define ROWS(isa, attribute)                                                              \
    attribute static void isa##_rows(const struct carm_transpose_part *part)              \
    {                                                                                     \
        const struct carm_transpose *t = part->t;                                         \
        const size_t n = t->n;                                                            \
        const size_t row = t->pitch;                                                      \
        const size_t plane = n * row;                                                     \
        const size_t whole = n / 4 * 4;                                                   \
        for (size_t band = part->first; band < part->last; band += CARM_TRANSPOSE_TILE) { \
            const struct carm_transpose_point *in = carm_transpose_in(t, part->z, band);  \
            struct carm_transpose_point *out = carm_transpose_out(t, 0, part->z) + band;  \
            const size_t left = part->last - band;                                        \
            const size_t rows = left < CARM_TRANSPOSE_TILE ? left : CARM_TRANSPOSE_TILE;  \
            const size_t end = rows / 4 * 4;                                              \
            for (size_t x = 0; x < whole; x += 4) {                                       \
                for (size_t y = 0; y < end; y += 4) {                                     \
                    isa##_tile(in + y * row + x, row, out + x * plane + y, plane);        \
                }                                                                         \
            }                                                                             \
            for (size_t x = 0; x < n; x++) {                                              \
                const size_t y = x < whole ? end : 0;                                     \
                column(in + y * row + x, row, out + x * plane + y, rows - y);             \
            }                                                                             \
        }                                                                                 \
    }

ROWS(sse, )
ROWS(avx, __attribute__((target("avx"))))
ROWS(avx512, __attribute__((target("avx512f"))))

const struct carm_transpose_vector *carm_transpose_vector_of(const struct carm_cpu *cpu)
{
    static const struct carm_transpose_vector sse = {"sse", 1, sse_rows};
    static const struct carm_transpose_vector avx = {"avx", 2, avx_rows};
    static const struct carm_transpose_vector avx512 = {"avx512", 4, avx512_rows};
    return cpu->isa[CARM_AVX512] ? &avx512 : cpu->isa[CARM_AVX] ? &avx : &sse;
}

void carm_transpose_plain_rows(const struct carm_transpose_part *part)
{
    const struct carm_transpose *t = part->t;
    const size_t n = t->n;
    const size_t pitch = t->pitch;
    const size_t column = n * pitch;
    const struct carm_transpose_point *in = carm_transpose_in(t, part->z, part->first);
    struct carm_transpose_point *out = carm_transpose_out(t, 0, part->z) + part->first;
    for (size_t rows = part->last - part->first; rows > 0; rows--) {
        for (size_t x = 0; x < n; x++) {
            /* one load and one store of 16 bytes, with any compiler options */
            _mm_store_pd(&out[x * column].re, _mm_load_pd(&in[x].re));
        }
        in += pitch;
        out++;
    }
}
