/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vector kernels of one ISA: a template that kernels/stencil/piece.c includes once for each, with
 * LANES (doubles of its vector), FMA (1: multiply and add in one instruction), TARGET (the function
 * attribute) and NAME(f). */
#ifdef LANES

#if LANES >= 8
#define VECTOR  __m512d
#define V(name) _mm512_##name
#elif LANES >= 4
#define VECTOR  __m256d
#define V(name) _mm256_##name
#else
#define VECTOR  __m128d
#define V(name) _mm_##name
#endif

#if FMA
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

/* The other threads must see the non-temporal stores before the barrier. */
#define PUT_stored(at, v)   V(storeu_pd)(at, v)
#define PUT_streamed(at, v) V(stream_pd)(at, v)
#define END_stored          (void)0
#define END_streamed        _mm_sfence()

#define KERNEL(name)                                                                         \
    TARGET static void NAME(name)(const struct carm_stencil_piece *p)                        \
    {                                                                                        \
        const ptrdiff_t n = p->n;                                                            \
        const ptrdiff_t pitch = p->pitch;                                                    \
        const ptrdiff_t plane = p->plane;                                                    \
        const VECTOR alpha = V(set1_pd)(p->alpha);                                           \
        const VECTOR beta = V(set1_pd)(p->beta);                                             \
        for (ptrdiff_t z = 0; z < p->planes; z++) {                                          \
            for (ptrdiff_t y = 0; y < p->lines; y++) {                                       \
                const double *c = p->in + z * plane + y * pitch;                             \
                double *restrict out = p->out + z * plane + y * pitch;                       \
                const double *end = c + n;                                                   \
                for (; end - c >= LANES; c += LANES) {                                       \
                    const VECTOR sum = ADD(ADD(PAIR(c, 1), PAIR(c, pitch)), PAIR(c, plane)); \
                    PUT_##name(out, MADD(beta, sum, MUL(alpha, LOAD(c))));                   \
                    out += LANES;                                                            \
                }                                                                            \
                for (; c < end; c++) {                                                       \
                    const double sum =                                                       \
                        ((c[-1] + c[1]) + (c[-pitch] + c[pitch])) + (c[-plane] + c[plane]);  \
                    *out++ = MADD_SCALAR(p->beta, sum, p->alpha * *c);                       \
                    __asm__ volatile(""); /* no vectors here: counted point by point */      \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
        END_##name;                                                                          \
    }

KERNEL(stored)
KERNEL(streamed)

#undef VECTOR
#undef V
#undef MADD
#undef MADD_SCALAR
#undef LANES
#undef FMA
#undef TARGET
#undef NAME
#endif
