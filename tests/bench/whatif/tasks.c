/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops of programs that are not numerical codes alone, with their twins: images, hashes, parsers, sparse rows, particles,
 * dynamic programming, networks that sort, transforms, matrices, statistics, threads. With tasks.cc and tasks.f90. Compile with -O0,
 * -O2, for AVX2 or for AVX-512, and -fno-math-errno -fno-tree-loop-distribute-patterns. */
#include "twin.h"

#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>

static uint8_t *p, *q;
static uint64_t *words;
static float *x, *y, *z;
static int32_t *k1, *k2;
static uint32_t *cells, steps[256];
static uint8_t shades[256];
static int64_t rows, cols;

static void open_three(void)
{
    n = l1 ? 1000 : elements;
    a = reals(n, 1.0, 0.01);
    b = reals(n, 0.5, 0.02);
    c = reals(n, 2.0, 0.01);
}
static void open_singles(void)
{
    n = l1 ? 2000 : elements;
    x = floats(n, 0.5f, 0.01f);
    y = floats(n, 1.0f, 0.02f);
    z = floats(n, 0.0f, 0.0f);
}
static void open_text(void)
{
    n = l1 ? 10000 : elements;
    p = get_apart((size_t)n + 4096);
    q = get_apart((size_t)n + 4096);
    for (int64_t i = 0; i < n; i++)
        p[i] = (uint8_t)(48 + next_random() % 70);
    for (int64_t i = 0; i < 256; i++) {
        steps[i] = (uint32_t)next_random();
        shades[i] = (uint8_t)(i / 2);
    }
}
static void open_words(void)
{
    n = l1 ? 2000 : elements;
    words = get((size_t)n * 8 + 4096);
    for (int64_t i = 0; i < n; i++)
        words[i] = next_random();
}

/* ---- images ---- */

static NOINLINE void blur(void)
{
    for (int64_t i = 1; i < n - 1; i++)
        q[i] = (uint8_t)((p[i - 1] + 2 * p[i] + p[i + 1] + 2) >> 2);
}
static void open_image(void)
{
    cols = 500;
    rows = l1 ? 6 : elements;
    per = (double)(rows - 2) * (double)(cols - 2);
    x = floats(rows * cols, 0.5f, 0.01f);
    y = floats(rows * cols, 0.0f, 0.0f);
}
static NOINLINE void edges(void)
{
    for (int64_t r = 1; r < rows - 1; r++)
        for (int64_t i = 1; i < cols - 1; i++) {
            const float *v = x + r * cols + i;
            const float dx = v[1] - v[-1] + 0.5f * (v[1 - cols] - v[-1 - cols]);
            const float dy = v[cols] - v[-cols] + 0.5f * (v[cols + 1] - v[1 - cols]);
            y[r * cols + i] = fabsf(dx) + fabsf(dy);
        }
}
static NOINLINE void levels(void)
{
    for (int64_t i = 0; i < n; i++)
        q[i] = shades[p[i]];
}
/* half of the pixels are bright: at random, or in turns */
static void open_pixels(void)
{
    n = 1 << 22;
    p = get((size_t)n);
    for (int64_t i = 0; i < n; i++)
        p[i] = (sorted ? i & 1 : next_random() & 1) ? 200 : 50;
}
static NOINLINE void split(void)
{
    uint64_t bright = 0, dark = 0;
    for (int64_t i = 0; i < n; i++) {
        if (p[i] > 127) {
            bright += p[i];
            HOLD_NUMBER(bright);
        } else {
            dark += 255u - p[i];
            HOLD_NUMBER(dark);
        }
    }
    sink = (double)(bright ^ dark);
}

/* ---- hashes ---- */

static NOINLINE void mix(void)
{
    uint64_t h = 7;
    for (int64_t i = 0; i < n; i++) {
        h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    sink = (double)h;
}
static NOINLINE void crc(void)
{
    uint32_t r = 1;
    for (int64_t i = 0; i < n; i++)
        r = steps[(r ^ p[i]) & 255] ^ (r >> 8);
    sink = r;
}
static void open_buckets(void)
{
    elements = 1 << 20;
    open_words();
    m = l1 ? 10 : 23; /* bits of a bucket's number */
    cells = get((size_t)4 << m);
}
static NOINLINE void buckets(void)
{
    const int64_t shift = 64 - m;
    for (int64_t i = 0; i < n; i++)
        cells[words[i] * 0x9e3779b97f4a7c15u >> shift]++;
}

/* ---- parsers ---- */

/* one in four ends a number: at random, or in turns */
static void open_digits(void)
{
    n = 1 << 22;
    p = get((size_t)n);
    for (int64_t i = 0; i < n; i++)
        p[i] = (sorted ? i % 4 == 3 : next_random() % 4 == 0) ? ' ' : (uint8_t)(48 + i % 10);
}
static NOINLINE void numbers(void)
{
    uint64_t v = 0, s = 0;
    for (int64_t i = 0; i < n; i++) {
        if (p[i] < 48) {
            s += v;
            v = 0;
            HOLD_NUMBER(s);
        } else {
            v = v * 10 + p[i] - 48;
            HOLD_NUMBER(v);
        }
    }
    sink = (double)s;
}
static NOINLINE void count_lines(void)
{
    __m128i s = _mm_setzero_si128();
    const __m128i end = _mm_set1_epi8('\n');
    for (int64_t i = 0; i + 15 < n; i += 16)
        s = _mm_sub_epi8(s, _mm_cmpeq_epi8(_mm_load_si128((const __m128i *)(words + i / 8)), end));
    sink = (double)_mm_cvtsi128_si64(s);
}
static void open_lines(void)
{
    elements /= 8;
    open_words();
    n *= 8;
}
/* a byte that is not there */
static NOINLINE void find(void)
{
    const __m128i what = _mm_set1_epi8(1);
    const uint8_t *at = p;
    for (; at + 16 <= p + n; at += 16)
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)at), what)))
            break;
    sink = (double)(at - p);
}

/* ---- sparse rows ---- */

static void open_csr(void)
{
    cols = 16;
    rows = l1 ? 80 : elements;
    m = l1 ? 600 : 3 << 20;
    n = rows * cols;
    a = reals(n, 1.0, 0.01);
    b = reals(m, 1.0, 0.01);
    c = reals(rows, 0.0, 0.0);
    ix = get((size_t)(n + AHEAD) * 4);
    for (int64_t i = 0; i < n + AHEAD; i++)
        ix[i] = (uint32_t)(next_random() % (uint64_t)m);
}
static NOINLINE void csr(void)
{
    for (int64_t r = 0; r < rows; r++) {
        double s = 0;
        for (int64_t k = r * cols; k < (r + 1) * cols; k++)
            s += a[k] * b[ix[k]];
        c[r] = s;
    }
}
static NOINLINE void coordinates(void)
{
    for (int64_t k = 0; k < n; k++)
        b[ix[k]] += a[k] * 0.5;
}
static NOINLINE void coordinates_pf(void)
{
    for (int64_t k = 0; k < n; k++) {
        __builtin_prefetch(&b[ix[k + AHEAD]], 1);
        b[ix[k]] += a[k] * 0.5;
    }
}

/* ---- particles ---- */

struct particle {
    double at[3], speed[3];
};
static void open_particles(void)
{
    n = l1 ? 400 : elements;
    a = reals(n * 6, 0.1, 0.01);
}
static NOINLINE void push(void)
{
    struct particle *s = (struct particle *)a;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            s[i].at[k] += 0.01 * s[i].speed[k];
}
static void open_neighbours(void)
{
    n = l1 ? 1000 : elements;
    m = l1 ? 1000 : 20000;
    b = reals(m, 0.5, 0.1);
    ix = get((size_t)n * 4 + 4096);
    for (int64_t i = 0; i < n; i++)
        ix[i] = (uint32_t)(next_random() % (uint64_t)m);
}
#define FORCE(name, inverse)                                     \
    static NOINLINE void name(void)                              \
    {                                                            \
        double s = 0;                                            \
        for (int64_t i = 0; i < n; i++) {                        \
            const double d = b[ix[i]] - 0.1, r = inverse(d * d); \
            s += r * r * (r - 0.5);                              \
            HOLD(s);                                             \
        }                                                        \
        sink = s;                                                \
    }
#define QUOTIENT(v) 1.0 / (v)
#define PRODUCT(v)  1.5 * (v)
FORCE(force, QUOTIENT)
FORCE(force_cheap, PRODUCT)

/* ---- dynamic programming ---- */

static void open_rows(void)
{
    n = l1 ? 2400 : elements;
    k1 = (int32_t *)floats(n + 64, 0.0f, 0.0f);
    k2 = (int32_t *)floats(n + 64, 0.0f, 0.0f);
    for (int64_t i = 0; i < n; i++)
        k1[i] = (int32_t)(next_random() % 1000);
}
static NOINLINE void knapsack(void)
{
    for (int64_t i = 37; i < n; i++) {
        const int32_t with = k1[i - 37] + 11;
        k2[i] = k1[i] > with ? k1[i] : with;
    }
}
static NOINLINE void warp(void)
{
    int32_t left = 9;
    for (int64_t i = 1; i < n; i++) {
        int32_t least = k1[i] < k1[i - 1] ? k1[i] : k1[i - 1];
        least = left < least ? left : least;
        left = k2[i] = least + (int32_t)(i & 3);
    }
}
static NOINLINE void shortest(void)
{
    for (int64_t i = 0; i < n; i++) {
        const float way = x[i] + 0.25f;
        y[i] = way < y[i] ? way : y[i];
    }
}

/* ---- networks that sort, transforms ---- */

static NOINLINE void exchange(void)
{
    const int64_t half = n / 8 * 4;
    for (int64_t i = 0; i < half; i += 4) {
        const __m128 u = _mm_loadu_ps(x + i), v = _mm_loadu_ps(x + half + i);
        _mm_storeu_ps(x + i, _mm_min_ps(u, v));
        _mm_storeu_ps(x + half + i, _mm_max_ps(u, v));
    }
}
static NOINLINE void exchange_nostore(void)
{
    const int64_t half = n / 8 * 4;
    for (int64_t i = 0; i < half; i += 4) {
        const __m128 u = _mm_loadu_ps(x + i), v = _mm_loadu_ps(x + half + i);
        __m128 least = _mm_min_ps(u, v), most = _mm_max_ps(u, v);
        HOLD(least);
        HOLD(most);
    }
}
static NOINLINE void radix4(void)
{
    const int64_t e = n / 4;
    for (int64_t i = 0; i < e; i++) {
        const double r0 = a[i] + a[i + 2 * e], r1 = a[i] - a[i + 2 * e],
                     r2 = a[i + e] + a[i + 3 * e], r3 = a[i + e] - a[i + 3 * e];
        b[i] = 0.5 * (r0 + r2);
        b[i + e] = 0.5 * (r1 + r3);
        b[i + 2 * e] = 0.5 * (r0 - r2);
        b[i + 3 * e] = 0.5 * (r1 - r3);
    }
}
static NOINLINE void haar(void)
{
    for (int64_t i = 0; i < n / 2; i++) {
        c[i] = 0.5 * (a[2 * i] + a[2 * i + 1]);
        b[i] = 0.5 * (a[2 * i] - a[2 * i + 1]);
    }
}

/* ---- statistics ---- */

static NOINLINE void variance(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += (a[i] - 1.2) * (a[i] - 1.2);
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void variance4(void)
{
    double s[4] = {0};
    for (int64_t i = 0; i + 3 < n; i += 4) {
        SIDE_BY_SIDE (j, 4) {
            s[j] += (a[i + j] - 1.2) * (a[i + j] - 1.2);
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3];
}
#define MAP(name, value)                  \
    static NOINLINE void name(void)       \
    {                                     \
        for (int64_t i = 0; i < n; i++) { \
            c[i] = value;                 \
            KEEP(c);                      \
        }                                 \
    }
MAP(normalize, a[i] / (b[i] + 1.0))
MAP(normalize_cheap, a[i] * (b[i] + 1.0))
MAP(correlation, a[i] / __builtin_sqrt(b[i] * b[i] + 1.0))
MAP(correlation_cheap, a[i] * ((b[i] * b[i] + 1.0) * (b[i] * b[i] + 1.0)))

/* ---- copies ---- */

static void open_aligned(void)
{
    n = elements;
    z = get((size_t)n * 4);
}

static NOINLINE void fill(void)
{
    for (int64_t i = 0; i + 3 < n; i += 4)
        _mm_store_ps(z + i, _mm_set1_ps(1.5f));
}
static NOINLINE void fill_nt(void)
{
    for (int64_t i = 0; i + 3 < n; i += 4)
        _mm_stream_ps(z + i, _mm_set1_ps(1.5f));
    _mm_sfence();
}

/* ---- with vectors of 32 and of 64 bytes ---- */

static void open_matrix(void)
{
    cols = 1024;
    rows = l1 ? 4 : elements;
    per = (double)rows * (double)cols;
    x = get((size_t)(rows * cols) * 4 + 4096);
    y = get((size_t)cols * 4 + 4096);
    z = floats(rows, 0.0f, 0.0f);
    for (int64_t i = 0; i < rows * cols; i++)
        x[i] = 0.5f;
}
#ifdef __AVX2__
#define VECTOR_ROW(name, chains)                                                     \
    static NOINLINE void name(void)                                                  \
    {                                                                                \
        for (int64_t r = 0; r < rows; r++) {                                         \
            /* goes on from the row before, as short rows would overlap */           \
            const __m256 from = _mm256_set1_ps(r ? z[r - 1] * 1e-3f : 0.0f);         \
            __m256 s[4] = {from, from, from, from};                                  \
            for (int64_t i = 0; i < cols; i += 8 * (chains)) {                       \
                SIDE_BY_SIDE (j, chains)                                             \
                    s[j] = _mm256_fmadd_ps(_mm256_load_ps(x + r * cols + i + 8 * j), \
                                           _mm256_load_ps(y + i + 8 * j), s[j]);     \
            }                                                                        \
            z[r] = _mm256_cvtss_f32(s[0] + s[1] + s[2] + s[3]);                      \
        }                                                                            \
    }
VECTOR_ROW(matvec, 1)
VECTOR_ROW(matvec4, 4)
/* a logistic function */
static NOINLINE void logistic(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        _mm256_storeu_ps(z + i, v / (1.0f + (v * v)));
    }
}
static NOINLINE void logistic_cheap(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        _mm256_storeu_ps(z + i, v * (1.0f + (v * v)));
    }
}
static NOINLINE void saxpy(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_loadu_ps(y + i) + 0.3f * _mm256_loadu_ps(x + i));
}
static NOINLINE void saxpy_nostore(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        __m256 v = _mm256_loadu_ps(y + i) + 0.3f * _mm256_loadu_ps(x + i);
        HOLD(v);
    }
}
static NOINLINE void smooth_step(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i), w = v * v;
        _mm256_storeu_ps(z + i, w * v * (v * (v * 6.0f - 15.0f) + 10.0f) + w * 0.1f);
    }
}
static NOINLINE void smooth_step_free(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        HOLD(v);
        _mm256_storeu_ps(z + i, v);
    }
}
#endif
#ifdef __AVX512F__
static NOINLINE void above(void)
{
    int64_t s = 0;
    for (int64_t i = 0; i + 15 < n; i += 16)
        s += __builtin_popcount(
            _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), _mm512_set1_ps(0.7f), _CMP_GT_OQ));
    sink = (double)s;
}
static NOINLINE void roots(void)
{
    for (int64_t i = 0; i + 15 < n; i += 16)
        _mm512_storeu_ps(z + i, _mm512_sqrt_ps(_mm512_loadu_ps(x + i)) * _mm512_loadu_ps(y + i));
}
static NOINLINE void roots_cheap(void)
{
    for (int64_t i = 0; i + 15 < n; i += 16) {
        const __m512 v = _mm512_loadu_ps(x + i);
        _mm512_storeu_ps(z + i, (v * v) * _mm512_loadu_ps(y + i));
    }
}
/* in L1 as long as fits: the end of a sum takes as long as ten iterations */
static void open_norm(void)
{
    n = l1 ? 6400 : elements;
    x = floats(n, 0.5f, 0.01f);
}
static NOINLINE void norm(void)
{
    __m512 s = _mm512_set1_ps((float)sink * 1e-9f);
    for (int64_t i = 0; i + 15 < n; i += 16) {
        const __m512 v = _mm512_loadu_ps(x + i);
        s = _mm512_fmadd_ps(v, v, s);
    }
    sink = (double)_mm512_reduce_add_ps(s);
}
static NOINLINE void norm4(void)
{
    const __m512 from = _mm512_set1_ps((float)sink * 1e-9f);
    __m512 s[4] = {from, from, from, from};
    for (int64_t i = 0; i + 63 < n; i += 64) {
        SIDE_BY_SIDE (j, 4) {
            const __m512 v = _mm512_loadu_ps(x + i + 16 * j);
            s[j] = _mm512_fmadd_ps(v, v, s[j]);
        }
    }
    sink = (double)_mm512_reduce_add_ps(s[0] + s[1] + s[2] + s[3]);
}
#endif

/* ---- two threads ---- */

static void open_two(void)
{
    open_three();
    per = 2000.0 * (double)n;
}
static void run_two(void *(*of)(void *))
{
    pthread_t other;
    pthread_create(&other, NULL, of, a);
    of(NULL);
    pthread_join(other, NULL);
}
#define HALF(name, value)                                   \
    static void *half_##name(void *second)                  \
    {                                                       \
        const int64_t from = second ? n / 2 : 0;            \
        for (int r = 0; r < 2000; r++)                      \
            for (int64_t i = from; i < from + n / 2; i++) { \
                a[i] = value;                               \
                KEEP(a);                                    \
            }                                               \
        return NULL;                                        \
    }                                                       \
    static NOINLINE void name(void)                         \
    {                                                       \
        run_two(half_##name);                               \
    }
HALF(two_roots, __builtin_sqrt(b[i]) + c[i])
HALF(two_roots_cheap, b[i] * b[i] + c[i])

/* ---- in C++ and Fortran ---- */

#define FOREIGN(name)                                 \
    void name(int64_t, double *, double *, double *); \
    static NOINLINE void of_##name(void)              \
    {                                                 \
        name(n, a, b, c);                             \
    }
FOREIGN(task_complex)
FOREIGN(task_sum)
FOREIGN(task_sum4)
FOREIGN(task_directions)
FOREIGN(task_directions_cheap)
FOREIGN(task_polynomial)
FOREIGN(task_smooth)
FOREIGN(task_thomas)
FOREIGN(task_thomas_cheap)
FOREIGN(task_strided)
FOREIGN(task_matmul)

static NOINLINE void strided_pf(void)
{
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&a[8 * (i + lines) + 2]);
        b[i] = b[i] * 0.5 + a[8 * i + 2];
    }
}
static void open_strided(void)
{
    n = l1 ? 300 : elements;
    a = reals(n * 8, 1.0, 0.01);
    b = reals(n, 1.0, 0.01);
}
static void open_matmul(void)
{
    n = l1 ? 8 : elements; /* columns */
    per = (double)n * 256;
    a = reals(256 * 8, 1.0, 0.01);
    b = reals(n * 256, 1.0, 0.0);
    c = reals(256, 0.0, 0.0);
}

#define L1        "data_in_l1", 0
#define HUGE      "huge_pages", 0
#define CORES     "all_cores", 0
#define KNOWN     "branches_known", 0
#define CHEAP(f)  "divisions_cheap", f
#define CHAINS(f) "chains_broken", f
static const struct twin twins[] = {
#ifndef __OPTIMIZE__
    {"blur_l2", 200000, open_text, blur, {{L1}}},
    {"normalize_l1", 1000, open_three, normalize, {{CHEAP(normalize_cheap)}}},
    {"coordinates", 100000, open_csr, coordinates, {{L1}, {HUGE}}},
    {"haar_dram", 6 << 20, open_three, haar, {{L1}, {HUGE}}},
    {"numbers", 0, open_digits, numbers, {{KNOWN}}},
    {"sum_l1", 1000, open_three, of_task_sum, {{CHAINS(of_task_sum4)}}},
#elif defined __AVX512F__
    {"above_dram", 24 << 20, open_singles, above, {{L1}, {HUGE}, {CORES}}},
    {"roots_l2", 60000, open_singles, roots, {{CHEAP(roots_cheap)}, {L1}}},
    {"roots_l3", 700000, open_singles, roots, {{CHEAP(roots_cheap)}}},
    {"norm_l1", 4096, open_singles, norm, {{CHAINS(norm4)}}},
    {"norm_l3", 1 << 20, open_norm, norm, {{CHAINS(norm4)}, {L1}}},
    {"edges_l3", 1500, open_image, edges, {{L1}}},
    {"knapsack_l2", 60000, open_rows, knapsack, {{L1}}},
    {"radix4_l2", 24000, open_three, radix4, {{L1}}},
    {"smooth_l3", 500000, open_three, of_task_smooth, {{L1}}},
    {"complex_dram", 4 << 20, open_three, of_task_complex, {{L1}, {HUGE}}},
    {"matmul_l3", 1500, open_matmul, of_task_matmul, {{L1}}},
#elif defined __AVX2__
    {"blur_l2", 300000, open_text, blur, {{L1}}},
    {"blur_dram", 48 << 20, open_text, blur, {{L1}, {HUGE}, {CORES}}},
    {"edges_dram", 20000, open_image, edges, {{L1}, {HUGE}}},
    {"mix_l3", 1 << 20, open_words, mix, {{L1}}},
    {"csr_dram", 200000, open_csr, csr, {{L1}, {HUGE}}},
    {"push_l2", 12000, open_particles, push, {{L1}}},
    {"shortest_l3", 1 << 20, open_singles, shortest, {{L1}}},
    {"haar_l2", 24000, open_three, haar, {{L1}}},
    {"matvec_l1", 4, open_matrix, matvec, {{CHAINS(matvec4)}}},
    {"matvec_l3", 2000, open_matrix, matvec, {{CHAINS(matvec4)}, {L1}}},
    {"logistic_l1", 2000, open_singles, logistic, {{CHEAP(logistic_cheap)}}},
    {"logistic_l3", 700000, open_singles, logistic, {{CHEAP(logistic_cheap)}}},
    {"saxpy_l2", 60000, open_singles, saxpy, {{"without_stores", saxpy_nostore}, {L1}}},
    {"saxpy_dram",
     12 << 20,
     open_singles,
     saxpy,
     {{"without_stores", saxpy_nostore}, {L1}, {HUGE}, {CORES}}},
    {"smooth_step_l1", 2000, open_singles, smooth_step, {{"without_arithmetic", smooth_step_free}}},
    {"smooth_step_l3",
     700000,
     open_singles,
     smooth_step,
     {{"without_arithmetic", smooth_step_free}, {L1}}},
    {"directions_l2",
     30000,
     open_three,
     of_task_directions,
     {{CHEAP(of_task_directions_cheap)}, {L1}}},
    {"polynomial_l3", 400000, open_three, of_task_polynomial, {{L1}}},
    {"thomas_l1", 1000, open_three, of_task_thomas, {{CHEAP(of_task_thomas_cheap)}}},
    {"strided_dram",
     1 << 20,
     open_strided,
     of_task_strided,
     {{L1}, {HUGE}, {"prefetch", strided_pf}}},
#else
    {"blur_dram", 48 << 20, open_text, blur, {{L1}, {HUGE}, {CORES}}},
    {"levels_l3", 4 << 20, open_text, levels, {{L1}}},
    {"split", 0, open_pixels, split, {{KNOWN}}},
    {"crc_l2", 300000, open_text, crc, {{L1}, {CORES}}},
    {"buckets", 0, open_buckets, buckets, {{L1}, {HUGE}}},
    {"numbers", 0, open_digits, numbers, {{KNOWN}}},
    {"lines_l3", 6 << 20, open_lines, count_lines, {{L1}}},
    {"lines_dram", 96 << 20, open_lines, count_lines, {{L1}, {HUGE}, {CORES}}},
    {"find_dram", 64 << 20, open_text, find, {{HUGE}, {CORES}}},
    {"csr_dram", 200000, open_csr, csr, {{L1}, {HUGE}}},
    {"coordinates",
     100000,
     open_csr,
     coordinates,
     {{L1}, {HUGE}, {"prefetch_indirect", coordinates_pf}}},
    {"push_dram", 2 << 20, open_particles, push, {{L1}, {HUGE}}},
    {"force_l2", 30000, open_neighbours, force, {{CHEAP(force_cheap)}, {L1}}},
    {"knapsack_l3", 1 << 20, open_rows, knapsack, {{L1}}},
    {"warp_l2", 60000, open_rows, warp, {{L1}}},
    {"exchange_l3", 1000000, open_singles, exchange, {{"without_stores", exchange_nostore}, {L1}}},
    {"radix4_l2", 24000, open_three, radix4, {{L1}}},
    {"variance_l1", 1000, open_three, variance, {{CHAINS(variance4)}}},
    {"variance_dram", 8 << 20, open_three, variance, {{CHAINS(variance4)}, {L1}}},
    {"normalize_l2", 20000, open_three, normalize, {{CHEAP(normalize_cheap)}}},
    {"correlation_l1", 1000, open_three, correlation, {{CHEAP(correlation_cheap)}}},
    {"correlation_dram", 5 << 20, open_three, correlation, {{CHEAP(correlation_cheap)}, {HUGE}}},
    {"fill_dram", 16 << 20, open_aligned, fill, {{"streaming_stores", fill_nt}, {HUGE}}},
    {"two_roots", 1600, open_two, two_roots, {{CHEAP(two_roots_cheap)}}},
    {"sum_l1", 1000, open_three, of_task_sum, {{CHAINS(of_task_sum4)}}},
    {"thomas_l2", 20000, open_three, of_task_thomas, {{CHEAP(of_task_thomas_cheap)}, {L1}}},
    {"smooth_dram", 6 << 20, open_three, of_task_smooth, {{L1}, {HUGE}}},
    {"strided_dram",
     1 << 20,
     open_strided,
     of_task_strided,
     {{L1}, {HUGE}, {"prefetch", strided_pf}}},
    {"matmul_l3", 1500, open_matmul, of_task_matmul, {{L1}}},
#endif
};

int main(int argc, char **argv)
{
    return run_twins(argc, argv, twins, sizeof twins / sizeof *twins);
}
