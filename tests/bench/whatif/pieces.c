/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of applications with their twins: filters, complex numbers, dynamic programming, molecular dynamics, images, sums with
 * corrections, several loops in each step of time; in C, C++ (pieces.cc) and Fortran (pieces.f90). Compile with -O2, or -O3 for
 * AVX2 or AVX-512, and -fno-math-errno -fno-tree-loop-distribute-patterns. */
#include "twin.h"

#include <immintrin.h>
#include <pthread.h>

#define KERNEL(name) void name(int64_t, double *, double *, double *)
KERNEL(cxx_unit);
KERNEL(cxx_unit_cheap);
KERNEL(cxx_phase);
KERNEL(cxx_words);
KERNEL(cxx_shapes);
void cxx_make_shapes(int64_t);
void *get_room(size_t);
void *get_room(size_t bytes)
{
    return get(bytes);
}
KERNEL(f_sweep);
KERNEL(f_sweep_cheap);
KERNEL(f_moments);
KERNEL(f_moments4);
void f_upwind(int64_t, int64_t, double *, double *, double *);
void f_columns(int64_t, int64_t, double *, double *, double *);
#define CALL(name)                       \
    static NOINLINE void of_##name(void) \
    {                                    \
        name(n, a, b, c);                \
    }
CALL(cxx_unit)
CALL(cxx_unit_cheap)
CALL(cxx_phase)
CALL(cxx_words)
CALL(cxx_shapes)
CALL(f_sweep)
CALL(f_sweep_cheap)
CALL(f_moments)
CALL(f_moments4)

static float *x, *y, *z;
static uint8_t *from, *to;
static int64_t rows, cols;

static void open_reals(void)
{
    make_streams(1000);
    x = (float *)a;
    y = (float *)b;
    z = (float *)c;
    for (int64_t i = 0; i < 2 * n; i++) {
        x[i] = 0.1f * (float)(i % 10);
        y[i] = 0.3f + 0.1f * (float)(i % 7);
        z[i] = 0.7f;
    }
}
static void open_numbers(void)
{
    make_streams(1000);
    for (int64_t i = 0; i < n; i++)
        a[i] = 0.5 + 0.01 * (double)(i % 37);
}

/* ---- streams ---- */

static NOINLINE void fir(void)
{
    static const float h[8] = {0.1f, 0.2f, 0.3f, 0.4f, -0.1f, -0.2f, -0.3f, -0.4f};
    for (int64_t i = 0; i + 8 < n; i++) {
        float s = 0;
        for (int k = 0; k < 8; k++)
            s += h[k] * y[i + k];
        z[i] = s;
    }
}
static NOINLINE void cmul(void)
{
    for (int64_t i = 0; i < n; i++) {
        const float re = x[2 * i] * y[2 * i] - x[2 * i + 1] * y[2 * i + 1];
        z[2 * i + 1] = x[2 * i] * y[2 * i + 1] + x[2 * i + 1] * y[2 * i];
        z[2 * i] = re;
    }
}
#ifdef __AVX512F__
typedef __m512i bits;
#define STREAM_BITS _mm512_stream_si512
#elif defined __AVX2__
typedef __m256i bits;
#define STREAM_BITS _mm256_stream_si256
#else
typedef __m128i bits;
#define STREAM_BITS _mm_stream_si128
#endif
static NOINLINE void parity(void)
{
    bits *p = (bits *)a;
    const bits *q = (const bits *)b, *r = (const bits *)c;
    for (int64_t i = 0; i < n * 8 / (int64_t)sizeof *p; i++)
        p[i] = q[i] ^ r[i];
}
static NOINLINE void parity_nt(void)
{
    bits *p = (bits *)a;
    const bits *q = (const bits *)b, *r = (const bits *)c;
    for (int64_t i = 0; i < n * 8 / (int64_t)sizeof *p; i++)
        STREAM_BITS(p + i, q[i] ^ r[i]);
    _mm_sfence();
}
static NOINLINE void parity_nostore(void)
{
    const bits *q = (const bits *)b, *r = (const bits *)c;
    for (int64_t i = 0; i < n * 8 / (int64_t)sizeof *q; i++) {
        bits v = q[i] ^ r[i];
        HOLD(v);
    }
}
static NOINLINE void taylor(void)
{
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i];
        z[i] = 1.0f +
               v * (1.0f +
                    v * (0.5f + v * (0.1667f + v * (0.04167f + v * (0.00833f + v * 0.00139f)))));
    }
}
static NOINLINE void taylor_free(void)
{
    for (int64_t i = 0; i < n; i++)
        z[i] = x[i];
}
static NOINLINE void backwards(void)
{
    for (int64_t i = n - 1; i >= 0; i--)
        a[i] = b[i] * 1.5;
}
static NOINLINE void split(void)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = z[2 * i];
        y[i] = z[2 * i + 1];
    }
}
static NOINLINE void direction(void)
{
    for (int64_t i = 0; i < n; i++)
        z[i] = x[i] / __builtin_sqrtf(x[i] * x[i] + y[i] * y[i]);
}
static NOINLINE void direction_cheap(void)
{
    for (int64_t i = 0; i < n; i++) {
        const float d = x[i] * x[i] + y[i] * y[i];
        z[i] = x[i] * (d * d);
    }
}
static NOINLINE void kahan(void)
{
    double s = 0, e = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = b[i] - e, t = s + v;
        e = (t - s) - v;
        s = t;
    }
    sink = s + e;
}
static NOINLINE void kahan4(void)
{
    double s[4] = {0}, e[4] = {0};
    for (int64_t i = 0; i + 3 < n; i += 4) {
        SIDE_BY_SIDE (j, 4) {
            const double v = b[i + j] - e[j], t = s[j] + v;
            e[j] = (t - s[j]) - v;
            s[j] = t;
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3] + e[0] + e[1] + e[2] + e[3];
}
#ifdef __AVX512F__
static NOINLINE void keep_some(void)
{
    float *p = z;
    for (int64_t i = 0; i + 15 < n; i += 16) {
        const __m512 v = _mm512_load_ps(y + i);
        const __mmask16 some = _mm512_cmp_ps_mask(v, _mm512_set1_ps(0.55f), _CMP_GT_OQ);
        _mm512_mask_compressstoreu_ps(p, some, v);
        p += __builtin_popcount(some);
    }
    sink = (double)(p - z);
}
#endif

/* ---- structures and tables ---- */

static void open_fields(void)
{
    n = l1 ? 400 : elements;
    a = get((size_t)n * 64 + 4096);
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)a)[8 * i + 3] = i;
}
static NOINLINE void fields(void)
{
    const int64_t *p = (const int64_t *)a + 3;
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++)
        s += p[8 * i];
    sink = (double)s;
}
static NOINLINE void fields_pf(void)
{
    const int64_t *p = (const int64_t *)a + 3;
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&p[8 * (i + lines)]);
        s += p[8 * i];
    }
    sink = (double)s;
}
static void open_tables(void)
{
    make_table(3 << 20, 8 << 20);
    b = get((size_t)m * 8);
    c = get((size_t)n * 8);
}
static NOINLINE void two_tables(void)
{
    for (int64_t i = 0; i < n; i++)
        c[i] = a[ix[i]] * b[ix[i]];
}
static NOINLINE void two_tables_pf(void)
{
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&a[ix[i + AHEAD]]);
        __builtin_prefetch(&b[ix[i + AHEAD]]);
        c[i] = a[ix[i]] * b[ix[i]];
    }
}
static NOINLINE void scatter(void)
{
    for (int64_t i = 0; i < n; i++)
        a[ix[i]] = c[i];
}
static NOINLINE void scatter_pf(void)
{
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&a[ix[i + AHEAD]], 1);
        a[ix[i]] = c[i];
    }
}
static void open_sorted(void)
{
    m = 1 << 23;
    n = 200000;
    a = get((size_t)m * 8);
    b = get((size_t)n * 8);
    for (int64_t i = 0; i < m; i++)
        a[i] = (double)i;
    for (int64_t i = 0; i < n; i++)
        b[i] = (double)(next_random() % (uint64_t)m);
}
/* without a branch */
static NOINLINE void bisect(void)
{
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *p = a;
        for (int64_t half = m / 2; half > 0; half /= 2) {
            const int64_t step = p[half] <= b[i] ? half : 0;
            p += step;
            KEEP(p);
        }
        s += p - a;
    }
    sink = (double)s;
}
/* the next state comes from a table in L2 */
static void open_states(void)
{
    n = 4 << 20;
    from = get((size_t)n);
    ix = get((size_t)(l1 ? 8 : 512) * 256 * 4);
    for (int64_t i = 0; i < n; i++)
        from[i] = (uint8_t)(next_random() % (l1 ? 8 : 256));
    for (int64_t i = 0; i < (l1 ? 8 : 512) * 256; i++)
        ix[i] = (uint32_t)(next_random() % (l1 ? 8 : 512));
}
static NOINLINE void states(void)
{
    uint32_t s = 0;
    for (int64_t i = 0; i < n; i++)
        s = ix[s * 256 + from[i]];
    sink = s;
}
static double **row_at;
static void open_row_pointers(void)
{
    rows = l1 ? 24 : 300000;
    cols = 64;
    n = rows * cols;
    a = get((size_t)n * 8);
    row_at = get((size_t)rows * sizeof *row_at);
    uint32_t *order = shuffled((size_t)rows);
    for (int64_t r = 0; r < rows; r++)
        row_at[r] = a + cols * order[r];
    free(order);
}
static NOINLINE void row_pointers(void)
{
    double s = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < cols; k++) {
            s += row_at[r][k];
            HOLD(s);
        }
    sink = s;
}

/* ---- matrices and images ---- */

static void open_matrix(int64_t r, int64_t k)
{
    rows = r;
    cols = k;
    n = rows * cols;
    x = get((size_t)n * 4 + 4096);
    y = get((size_t)n * 4 + 4096);
    z = get((size_t)cols * 4 + 4096);
    for (int64_t i = 0; i < n; i++)
        x[i] = 0.5f + (float)(i % 9);
}
static void open_long_rows(void)
{
    open_matrix(l1 ? 4 : 6000, l1 ? 1500 : 4096);
}
static void open_ways(void)
{
    open_matrix(l1 ? 3 : 48, 1500);
}
static void open_image(void)
{
    open_matrix(l1 ? 4 : 3000, l1 ? 800 : 4096);
    per = (double)(rows - 2) * (double)(cols - 2);
}
static NOINLINE void gemv(void)
{
    for (int64_t r = 0; r < rows; r++) {
        float s = 0;
        for (int64_t k = 0; k < cols; k++)
            s += x[r * cols + k] * z[k];
        y[r] = s;
    }
}
static NOINLINE void gemv4(void)
{
    for (int64_t r = 0; r < rows; r++) {
        float s[4] = {0};
        for (int64_t k = 0; k + 3 < cols; k += 4) {
            SIDE_BY_SIDE (j, 4) {
                s[j] += x[r * cols + k + j] * z[k + j];
                HOLD(s[j]);
            }
        }
        y[r] = s[0] + s[1] + s[2] + s[3];
    }
}
/* the shortest ways by one more place */
static NOINLINE void min_plus(void)
{
    for (int64_t r = 0; r < rows; r++) {
        const float d = z[r];
        for (int64_t k = 0; k < cols; k++) {
            const float way = d + x[r * cols + k];
            y[k] = way < y[k] ? way : y[k];
        }
        KEEP(y);
    }
}
static NOINLINE void blur(void)
{
    for (int64_t r = 1; r < rows - 1; r++) {
        const float *p = x + r * cols;
        for (int64_t k = 1; k < cols - 1; k++)
            y[r * cols + k] =
                0.2f * p[k] +
                0.1f * (p[k - 1] + p[k + 1] + p[k - cols] + p[k + cols] + p[k - cols - 1] +
                        p[k - cols + 1] + p[k + cols - 1] + p[k + cols + 1]);
    }
}
static void open_life(void)
{
    rows = l1 ? 6 : 1000;
    cols = 2048;
    n = rows * cols;
    per = (double)(rows - 2) * (double)(cols - 2);
    from = get((size_t)n + 4096);
    to = get((size_t)n + 4096);
    for (int64_t i = 0; i < n; i++)
        from[i] = next_random() & 1;
}
static NOINLINE void life(void)
{
    for (int64_t r = 1; r < rows - 1; r++) {
        const uint8_t *p = from + r * cols;
        for (int64_t k = 1; k < cols - 1; k++) {
            const uint8_t s =
                (uint8_t)(p[k - 1] + p[k + 1] + p[k - cols] + p[k + cols] + p[k - cols - 1] +
                          p[k - cols + 1] + p[k + cols - 1] + p[k + cols + 1]);
            to[r * cols + k] = (uint8_t)((s == 3) | ((s == 2) & p[k]));
        }
    }
}

/* ---- steps of time, each of several loops ---- */

static void open_steps(void)
{
    open_numbers();
    per = (double)n * 1000.0;
}
static NOINLINE void springs(void)
{
    for (int t = 0; t < 1000; t++) {
        for (int64_t i = 1; i < n; i++)
            c[i] = a[i] - a[i - 1];
        for (int64_t i = 1; i < n; i++)
            b[i] = c[i] / (2.0 + a[i]);
        for (int64_t i = 1; i < n; i++)
            a[i] = a[i] * 0.999 + 1e-3 * b[i] + 1e-3;
        KEEP(a);
    }
}
static NOINLINE void springs_cheap(void)
{
    for (int t = 0; t < 1000; t++) {
        for (int64_t i = 1; i < n; i++)
            c[i] = a[i] - a[i - 1];
        for (int64_t i = 1; i < n; i++)
            b[i] = c[i] * (2.0 + a[i]);
        for (int64_t i = 1; i < n; i++)
            a[i] = a[i] * 0.999 + 1e-3 * b[i] + 1e-3;
        KEEP(a);
    }
}
static NOINLINE void springs_nostore(void)
{
    for (int t = 0; t < 1000; t++) {
        for (int64_t i = 1; i < n; i++) {
            double v = a[i] - a[i - 1];
            HOLD(v);
        }
        for (int64_t i = 1; i < n; i++) {
            double v = c[i] / (2.0 + a[i]);
            HOLD(v);
        }
        for (int64_t i = 1; i < n; i++) {
            double v = a[i] * 0.999 + 1e-3 * b[i] + 1e-3;
            HOLD(v);
        }
        KEEP(a);
    }
}
/* forces of neighbours in lists */
enum { NEIGHBOURS = 40 };
static void open_atoms(void)
{
    m = l1 ? 64 : 1 << 21;
    rows = l1 ? 16 : 20000;
    n = rows * NEIGHBOURS;
    a = get((size_t)m * 32);
    b = get((size_t)rows * 8);
    ix = get((size_t)(n + AHEAD) * 4);
    for (int64_t i = 0; i < 4 * m; i++)
        a[i] = 1e-3 * (double)(next_random() % 1000);
    for (int64_t i = 0; i < n + AHEAD; i++)
        ix[i] = (uint32_t)(next_random() % (uint64_t)m);
}
static inline double force(int64_t i, uint32_t k, double d)
{
    const double u = a[4 * k] - a[4 * i], v = a[4 * k + 1] - a[4 * i + 1],
                 w = a[4 * k + 2] - a[4 * i + 2];
    return d + u * u + v * v + w * w;
}
static NOINLINE void atoms(void)
{
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t k = 0; k < NEIGHBOURS; k++) {
            const double r = 1.0 / force(i, ix[i * NEIGHBOURS + k], 0.1), q = r * r * r;
            s += q * (q - 0.5) * r;
        }
        b[i] = s;
    }
}
static NOINLINE void atoms_cheap(void)
{
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t k = 0; k < NEIGHBOURS; k++) {
            const double r = 1.5 * force(i, ix[i * NEIGHBOURS + k], 0.1), q = r * r * r;
            s += q * (q - 0.5) * r;
        }
        b[i] = s;
    }
}
static NOINLINE void atoms_pf(void)
{
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t k = 0; k < NEIGHBOURS; k++) {
            __builtin_prefetch(&a[4 * (int64_t)ix[i * NEIGHBOURS + k + AHEAD]]);
            const double r = 1.0 / force(i, ix[i * NEIGHBOURS + k], 0.1), q = r * r * r;
            s += q * (q - 0.5) * r;
        }
        b[i] = s;
    }
}

/* ---- branches; the twin's keys are sorted ---- */

static void open_parts(void)
{
    n = 1 << 20;
    ix = get((size_t)n * 4);
    from = get((size_t)n * 4 + 4096);
    to = get((size_t)n * 4 + 4096);
    for (int64_t i = 0; i < n; i++)
        ix[i] = (uint32_t)(next_random() % 1000);
    if (sorted)
        sort_indices();
}
static NOINLINE void parts(void)
{
    uint32_t *low = (uint32_t *)from, *high = (uint32_t *)to;
    for (int64_t i = 0; i < n; i++) {
        if (ix[i] < 400) {
            *low++ = ix[i];
            KEEP(low);
        } else {
            *high++ = ix[i];
            KEEP(high);
        }
    }
    sink = (double)(low - (uint32_t *)from);
}
static void open_words(void)
{
    n = 4 << 20;
    a = get((size_t)n);
    b = c = a;
    char *text = (char *)a;
    for (int64_t i = 0; i < n; i++)
        text[i] = sorted ? (i % 4 ? 'a' : ' ') : next_random() % 4 ? 'a' : ' ';
}

static void open_shapes(void)
{
    n = l1 ? 100 : 600000;
    a = b = c = get(4096);
    cxx_make_shapes(n);
}
/* columns one behind the other, as in Fortran */
static void open_grid(int64_t r, int64_t k)
{
    rows = r;
    cols = k;
    n = rows * cols;
    a = get((size_t)n * 8 + 4096);
    b = get((size_t)n * 8 + 4096);
    c = get((size_t)n * 8 + 4096);
    for (int64_t i = 0; i < n; i++)
        a[i] = b[i] = 0.1 * (double)(i % 11) - 0.5;
}
static void open_wind(void)
{
    open_grid(l1 ? 250 : 2000, l1 ? 4 : 2000);
    per = (double)(rows - 2) * (double)(cols - 2);
}
static void open_square(void)
{
    open_grid(240, l1 ? 10 : 240);
}
static NOINLINE void of_f_upwind(void)
{
    f_upwind(rows, cols, a, b, c);
}
static NOINLINE void of_f_columns(void)
{
    f_columns(rows, cols, a, b, c);
}

/* ---- two threads that go on for a call ---- */

static void two_open(void)
{
    open_numbers();
    rows = l1 ? 100000 : 20;
    per = (double)rows * (double)n;
}
static void *half_of(void *second)
{
    const int64_t at = second ? n / 2 : 0;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = at; i < at + n / 2; i++)
            a[i] = b[i] + 0.5 * c[i];
        KEEP(a);
    }
    return NULL;
}
static NOINLINE void two_halves(void)
{
    pthread_t other;
    pthread_create(&other, NULL, half_of, a);
    half_of(NULL);
    pthread_join(other, NULL);
}

static const struct twin twins[] = {
#ifdef __AVX512F__
    {"fir_l2", 60000, open_reals, fir, {{"data_in_l1"}}},
    {"cmul_l3", 400000, open_reals, cmul, {{"data_in_l1"}}},
    {"parity_dram",
     8 << 20,
     open_numbers,
     parity,
     {{"data_in_l1"},
      {"huge_pages"},
      {"streaming_stores", parity_nt},
      {"without_stores", parity_nostore}}},
    {"taylor_l1", 1000, open_reals, taylor, {{"without_arithmetic", taylor_free}}},
    {"direction_l1", 1000, open_reals, direction, {{"divisions_cheap", direction_cheap}}},
    {"keep_some_l3", 700000, open_reals, keep_some, {{"data_in_l1"}}},
    {"blur_dram", 0, open_image, blur, {{"data_in_l1"}, {"all_cores"}}},
#elif defined __AVX2__
    {"fir_l3", 800000, open_reals, fir, {{"data_in_l1"}}},
    {"cmul_dram", 6 << 20, open_reals, cmul, {{"data_in_l1"}, {"huge_pages"}, {"all_cores"}}},
    {"taylor_l2", 50000, open_reals, taylor, {{"without_arithmetic", taylor_free}, {"data_in_l1"}}},
    {"split_l3", 500000, open_reals, split, {{"data_in_l1"}}},
    {"min_plus_l2", 0, open_ways, min_plus, {{"data_in_l1"}}},
    {"life_l3", 0, open_life, life, {{"data_in_l1"}}},
    {"direction_l3", 500000, open_reals, direction, {{"divisions_cheap", direction_cheap}}},
    {"springs_l1", 400, open_steps, springs, {{"divisions_cheap", springs_cheap}}},
    {"springs_l2",
     16000,
     open_steps,
     springs,
     {{"data_in_l1"}, {"divisions_cheap", springs_cheap}}},
    {"row_pointers", 0, open_row_pointers, row_pointers, {{"data_in_l1"}, {"huge_pages"}}},
    {"atoms",
     0,
     open_atoms,
     atoms,
     {{"data_in_l1"}, {"huge_pages"}, {"divisions_cheap", atoms_cheap}}},
    {"two_halves", 6 << 20, two_open, two_halves, {{"data_in_l1"}, {"huge_pages"}}},
    {"cxx_phase_l2", 30000, open_reals, of_cxx_phase, {{"data_in_l1"}}},
    {"f_upwind_dram", 0, open_wind, of_f_upwind, {{"data_in_l1"}, {"huge_pages"}, {"all_cores"}}},
    {"f_columns_l2", 0, open_square, of_f_columns, {{"data_in_l1"}}},
#else
    {"backwards_dram", 8 << 20, open_numbers, backwards, {{"data_in_l1"}, {"huge_pages"}}},
    {"parity_l3",
     500000,
     open_numbers,
     parity,
     {{"data_in_l1"}, {"without_stores", parity_nostore}}},
    {"fields_l3", 150000, open_fields, fields, {{"data_in_l1"}}},
    {"fields_dram",
     3 << 20,
     open_fields,
     fields,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch", fields_pf}, {"all_cores"}}},
    {"two_tables",
     0,
     open_tables,
     two_tables,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch_indirect", two_tables_pf}}},
    {"scatter",
     0,
     open_tables,
     scatter,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch_indirect", scatter_pf}}},
    {"bisect", 0, open_sorted, bisect, {{"huge_pages"}}},
    {"states_l2", 0, open_states, states, {{"data_in_l1"}}},
    {"kahan_l1", 1000, open_numbers, kahan, {{"chains_broken", kahan4}}},
    {"gemv_dram",
     0,
     open_long_rows,
     gemv,
     {{"chains_broken", gemv4}, {"huge_pages"}, {"data_in_l1"}}},
    {"springs_l1",
     300,
     open_steps,
     springs,
     {{"divisions_cheap", springs_cheap}, {"without_stores", springs_nostore}}},
    {"atoms_pf",
     0,
     open_atoms,
     atoms,
     {{"prefetch_indirect", atoms_pf}, {"divisions_cheap", atoms_cheap}}},
    {"parts", 0, open_parts, parts, {{"branches_known"}}},
    {"cxx_words", 0, open_words, of_cxx_words, {{"branches_known"}}},
    {"cxx_shapes", 0, open_shapes, of_cxx_shapes, {{"huge_pages"}, {"data_in_l1"}}},
    {"cxx_unit_l1", 900, open_numbers, of_cxx_unit, {{"divisions_cheap", of_cxx_unit_cheap}}},
    {"f_sweep_l1", 900, open_numbers, of_f_sweep, {{"divisions_cheap", of_f_sweep_cheap}}},
    {"f_moments_l1", 1500, open_numbers, of_f_moments, {{"chains_broken", of_f_moments4}}},
#endif
};

int main(int argc, char **argv)
{
    return run_twins(argc, argv, twins, sizeof twins / sizeof *twins);
}
