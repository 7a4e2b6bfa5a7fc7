/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocked kernels of one ISA: a template that kernels/spmv/rows.c includes once for each, with
 * LANES (doubles of its widest vector), FMA (1: multiply and add in one instruction), TARGET (the
 * function attribute) and NAME(f). Macros that are equal for all ISAs are defined again each time. */
#ifdef LANES

/* ---- vectors of 1, 2, 4 and 8 doubles --------------------------------------------------------------- */

#define LOAD1(p)     (*(p))
#define LOAD2(p)     _mm_loadu_pd(p)
#define LOAD4(p)     _mm256_loadu_pd(p)
#define LOAD8(p)     _mm512_loadu_pd(p)
#define STORE1(p, v) (*(p) = (v))
#define STORE2(p, v) _mm_storeu_pd(p, v)
#define STORE4(p, v) _mm256_storeu_pd(p, v)
#define STORE8(p, v) _mm512_storeu_pd(p, v)
#define ALL1(s)      (s)
#define ALL2(s)      _mm_set1_pd(s)
#define ALL4(s)      _mm256_set1_pd(s)
#define ALL8(s)      _mm512_set1_pd(s)
#define ADD1(a, b)   ((a) + (b))
#define ADD2(a, b)   _mm_add_pd(a, b)
#define ADD4(a, b)   _mm256_add_pd(a, b)
#define ADD8(a, b)   _mm512_add_pd(a, b)
#if FMA
#define MADD1(a, b, c) __builtin_fma(a, b, c)
#define MADD2(a, b, c) _mm_fmadd_pd(a, b, c)
#define MADD4(a, b, c) _mm256_fmadd_pd(a, b, c)
#define MADD8(a, b, c) _mm512_fmadd_pd(a, b, c)
#else
#define MADD1(a, b, c) ((a) * (b) + (c))
#define MADD2(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
#define MADD4(a, b, c) _mm256_add_pd(_mm256_mul_pd(a, b), c)
#endif
typedef double vector1;
typedef __m128d vector2;
#if LANES >= 4
typedef __m256d vector4;
#endif
#if LANES >= 8
typedef __m512d vector8;
#endif

TARGET static inline double NAME(sum2)(__m128d v)
{
    return _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v)));
}

#if LANES >= 4
TARGET static inline double NAME(sum4)(__m256d v)
{
    return NAME(sum2)(_mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1)));
}
#endif

#if LANES >= 8
TARGET static inline double NAME(sum8)(__m512d v)
{
    return NAME(sum4)(_mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1)));
}
#endif

/* ---- the vectors of R rows of a column: S(lanes, number, offset) for each vector ----------------------- */

#define ROWS_2(S) S(2, 0, 0)
#define ROWS_3(S) S(2, 0, 0) S(1, 1, 2)
#if LANES >= 8
#define ROWS_4(S) S(4, 0, 0)
#define ROWS_8(S) S(8, 0, 0)
#elif LANES >= 4
#define ROWS_4(S) S(4, 0, 0)
#define ROWS_8(S) S(4, 0, 0) S(4, 1, 4)
#else
#define ROWS_4(S) S(2, 0, 0) S(2, 1, 2)
#define ROWS_8(S) S(2, 0, 0) S(2, 1, 2) S(2, 2, 4) S(2, 3, 6)
#endif

/* Separate sums of even and odd columns: chains of additions are half as long. */
#define EVEN_ZERO(l, n, at)  vector##l even##n = ALL##l(0.0);
#define ODD_ZERO(l, n, at)   vector##l odd##n = ALL##l(0.0);
#define EVEN(l, n, at)       even##n = MADD##l(LOAD##l(column + (at)), ALL##l(xj), even##n);
#define ODD(l, n, at)        odd##n = MADD##l(LOAD##l(column + (at)), ALL##l(xj), odd##n);
#define STORE_EVEN(l, n, at) STORE##l(to + (at), even##n);
#define STORE_BOTH(l, n, at) STORE##l(to + (at), ADD##l(even##n, odd##n));

#define COLUMN(R, j, S)                               \
    {                                                 \
        const double *column = v + (size_t)(R) * (j); \
        const double xj = xs[j];                      \
        ROWS_##R(S)                                   \
    }
#define BLOCK_STEP_1(R)   COLUMN(R, 0, EVEN)
#define BLOCK_STEP_2(R)   BLOCK_STEP_1(R) COLUMN(R, 1, ODD)
#define BLOCK_STEP_3(R)   BLOCK_STEP_2(R) COLUMN(R, 2, EVEN)
#define BLOCK_STEP_4(R)   BLOCK_STEP_3(R) COLUMN(R, 3, ODD)
#define BLOCK_ZERO_1(R)   ROWS_##R(EVEN_ZERO)
#define BLOCK_ZERO_2(R)   ROWS_##R(EVEN_ZERO) ROWS_##R(ODD_ZERO)
#define BLOCK_ZERO_3(R)   BLOCK_ZERO_2(R)
#define BLOCK_ZERO_4(R)   BLOCK_ZERO_2(R)
#define BLOCK_FINISH_1(R) ROWS_##R(STORE_EVEN)
#define BLOCK_FINISH_2(R) ROWS_##R(STORE_BOTH)
#define BLOCK_FINISH_3(R) BLOCK_FINISH_2(R)
#define BLOCK_FINISH_4(R) BLOCK_FINISH_2(R)

/* A row of blocks of one row: vectors along the columns. */
#define FLAT_ZERO_2(R)   vector2 even = ALL2(0.0);
#define FLAT_STEP_2(R)   even = MADD2(LOAD2(v), LOAD2(xs), even);
#define FLAT_FINISH_2(R) *to = NAME(sum2)(even);
#define FLAT_ZERO_3(R)   FLAT_ZERO_2(R) double odd = 0.0;
#define FLAT_STEP_3(R)   FLAT_STEP_2(R) odd = MADD1(v[2], xs[2], odd);
#define FLAT_FINISH_3(R) *to = NAME(sum2)(even) + odd;
#if LANES >= 4
#define FLAT_ZERO_4(R)   vector4 even = ALL4(0.0);
#define FLAT_STEP_4(R)   even = MADD4(LOAD4(v), LOAD4(xs), even);
#define FLAT_FINISH_4(R) *to = NAME(sum4)(even);
#else
#define FLAT_ZERO_4(R)   FLAT_ZERO_2(R) vector2 odd = ALL2(0.0);
#define FLAT_STEP_4(R)   FLAT_STEP_2(R) odd = MADD2(LOAD2(v + 2), LOAD2(xs + 2), odd);
#define FLAT_FINISH_4(R) *to = NAME(sum2)(ADD2(even, odd));
#endif

/* ---- kernels -------------------------------------------------------------------------------------------- */

/* Prefetches every line of a block, once for each block. The address may lie behind the array. */
TARGET static inline void NAME(fetch)(const double *v, uintptr_t ahead, size_t bytes)
{
    const uintptr_t at = (uintptr_t)v + ahead;
    __builtin_prefetch((const void *)at);
    if (bytes > 64) {
        __builtin_prefetch((const void *)(at + 64));
    }
    if (bytes > 128) {
        __builtin_prefetch((const void *)(at + 128));
        __builtin_prefetch((const void *)(at + 192));
    }
}

#define BASE_16(row) (x + (size_t)a->base[row] * block_columns)
#define BASE_32(row) (x)

/* LAYOUT: BLOCK or FLAT, the first word of the macros' names above. */
#define KERNEL(LAYOUT, R, C, BITS)                                                                 \
    TARGET static void NAME(rows_##R##x##C##_##BITS)(const struct carm_bcsr *a,                    \
                                                     const double *restrict x, double *restrict y, \
                                                     uint32_t first, uint32_t end)                 \
    {                                                                                              \
        const size_t block_columns = (C);                                                          \
        const size_t block_doubles = (size_t)(R) * (C);                                            \
        const uint32_t *start = a->start;                                                          \
        const uint##BITS##_t *index = a->index##BITS;                                              \
        const uintptr_t ahead = a->prefetch_bytes;                                                 \
        uint32_t k = start[first];                                                                 \
        const double *v = a->value + k * block_doubles;                                            \
        for (uint32_t row = first; row < end; row++) {                                             \
            const uint32_t row_end = start[row + 1];                                               \
            const double *base = BASE_##BITS(row);                                                 \
            double *to = y + (size_t)row * (R);                                                    \
            LAYOUT##_ZERO_##C(R);                                                                  \
            for (; k < row_end; k++, v += block_doubles) {                                         \
                const double *xs = base + index[k] * block_columns;                                \
                if (ahead) {                                                                       \
                    NAME(fetch)(v, ahead, block_doubles * sizeof *v);                              \
                }                                                                                  \
                LAYOUT##_STEP_##C(R);                                                              \
            }                                                                                      \
            LAYOUT##_FINISH_##C(R);                                                                \
        }                                                                                          \
    }

#define BOTH(LAYOUT, R, C)   \
    KERNEL(LAYOUT, R, C, 16) \
    KERNEL(LAYOUT, R, C, 32)
#define FLAT(C)    BOTH(FLAT, 1, C)
#define COLUMNS(R) BOTH(BLOCK, R, 1) BOTH(BLOCK, R, 2) BOTH(BLOCK, R, 3) BOTH(BLOCK, R, 4)

FLAT(2)
FLAT(3)
FLAT(4)
COLUMNS(2)
COLUMNS(3)
COLUMNS(4)
COLUMNS(8)

/* Single nonzeros: a vector of nonzeros at a time, the elements of x loaded one by one. Gather instructions do the same
 * internally, and are slow with the microcode against INTEL-SA-00828. */
#define X_AT(i) base[index[i]]
#if LANES >= 8
#define WIDE(name)  name##8
#define SUM_WIDE(v) NAME(sum8)(v)
#define X_WIDE() \
    _mm512_set_pd(X_AT(7), X_AT(6), X_AT(5), X_AT(4), X_AT(3), X_AT(2), X_AT(1), X_AT(0))
#elif LANES >= 4
#define WIDE(name)  name##4
#define SUM_WIDE(v) NAME(sum4)(v)
#define X_WIDE()    _mm256_set_pd(X_AT(3), X_AT(2), X_AT(1), X_AT(0))
#else
#define WIDE(name)  name##2
#define SUM_WIDE(v) NAME(sum2)(v)
#define X_WIDE()    _mm_set_pd(X_AT(1), X_AT(0))
#endif

#define SINGLE(BITS)                                                                              \
    TARGET static void NAME(rows_1x1_##BITS)(const struct carm_bcsr *a, const double *restrict x, \
                                             double *restrict y, uint32_t first, uint32_t end)    \
    {                                                                                             \
        enum { block_columns = 1 };                                                               \
        const uint32_t *start = a->start;                                                         \
        const uintptr_t ahead = a->prefetch_bytes;                                                \
        uint32_t k = start[first];                                                                \
        const double *v = a->value + k;                                                           \
        const uint##BITS##_t *index = a->index##BITS + k;                                         \
        for (uint32_t row = first; row < end; row++) {                                            \
            const uint32_t row_end = start[row + 1];                                              \
            const double *base = BASE_##BITS(row);                                                \
            WIDE(vector) sums = WIDE(ALL)(0.0);                                                   \
            double rest = 0.0;                                                                    \
            for (; row_end - k >= LANES; k += LANES) {                                            \
                if (ahead) {                                                                      \
                    NAME(fetch)(v, ahead, LANES * sizeof *v);                                     \
                }                                                                                 \
                sums = WIDE(MADD)(WIDE(LOAD)(v), X_WIDE(), sums);                                 \
                v += LANES;                                                                       \
                index += LANES;                                                                   \
            }                                                                                     \
            for (; k < row_end; k++) {                                                            \
                rest = MADD1(*v, base[*index], rest);                                             \
                v++;                                                                              \
                index++;                                                                          \
            }                                                                                     \
            y[row] = SUM_WIDE(sums) + rest;                                                       \
        }                                                                                         \
    }

SINGLE(16)
SINGLE(32)

#define PAIR(R, C)                                           \
    {                                                        \
        NAME(rows_##R##x##C##_16), NAME(rows_##R##x##C##_32) \
    }
#define COLUMNS_OF(R)                                  \
    {                                                  \
        PAIR(R, 1), PAIR(R, 2), PAIR(R, 3), PAIR(R, 4) \
    }

static carm_spmv_rows_fn *NAME(find)(const struct carm_bcsr *b)
{
    static carm_spmv_rows_fn *const kernels[][CARM_BLOCK_COLUMNS_MAX][2] = {
        COLUMNS_OF(1), COLUMNS_OF(2), COLUMNS_OF(3), COLUMNS_OF(4), COLUMNS_OF(8)};
    if (!carm_bcsr_shape(b->r, b->c)) {
        return NULL;
    }
    return kernels[b->r == CARM_BLOCK_ROWS_MAX ? 4 : b->r - 1][b->c - 1][b->index16 ? 0 : 1];
}

#undef MADD1
#undef MADD2
#undef MADD4
#undef MADD8
#undef ROWS_4
#undef ROWS_8
#undef FLAT_ZERO_4
#undef FLAT_STEP_4
#undef FLAT_FINISH_4
#undef WIDE
#undef SUM_WIDE
#undef X_WIDE
#undef LANES
#undef FMA
#undef TARGET
#undef NAME
#endif
