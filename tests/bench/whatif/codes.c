/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops of numerical codes with their twins: lattice gases, particles in cells, sparse rows, passes of a Fourier transform,
 * waves, filters, images, k-means, elimination. With codes.cc and codes.f90. Compile with -O2, for AVX2 or for AVX-512, and
 * -fno-math-errno -fno-tree-loop-distribute-patterns. */
#include "twin.h"

#include <immintrin.h>
#include <stdlib.h>

static double *f[5], *g[5];
static float *x, *y, *z;
static uint8_t *bytes;
static uint32_t *second;
static int64_t rows, cols;

static void open_three(void)
{
    n = l1 ? 1000 : elements;
    a = reals(n, 1.0, 0.01);
    b = reals(n, 0.5, 0.02);
    c = reals(n, 2.0, 0.0);
}
static void open_singles(void)
{
    n = l1 ? 2048 : elements;
    x = floats(n, 0.5f, 0.01f);
    y = floats(n, 1.0f, 0.02f);
    z = floats(n, 0.0f, 0.0f);
}

/* ---- fields ---- */

static void open_gas(void)
{
    n = l1 ? 300 : elements;
    for (int k = 0; k < 5; k++) {
        f[k] = reals(n, 0.2, 0.001 * k);
        g[k] = reals(n, 0.0, 0.0);
    }
}
#define GAS(name, over, put)                                                     \
    static NOINLINE void name(void)                                              \
    {                                                                            \
        const double *p0 = f[0], *p1 = f[1], *p2 = f[2], *p3 = f[3], *p4 = f[4]; \
        double *q0 = g[0], *q1 = g[1], *q2 = g[2], *q3 = g[3], *q4 = g[4];       \
        for (int64_t i = 0; i < n; i++) {                                        \
            const double r = p0[i] + p1[i] + p2[i] + p3[i] + p4[i];              \
            const double s = (p1[i] - p3[i]) over r, t = (p2[i] - p4[i]) over r; \
            put(q0[i], p0[i] - 0.6 * (p0[i] - r * (0.3 - s * s - t * t)));       \
            put(q1[i], p1[i] - 0.6 * (p1[i] - r * (0.1 + 0.5 * s)));             \
            put(q2[i], p2[i] - 0.6 * (p2[i] - r * (0.1 + 0.5 * t)));             \
            put(q3[i], p3[i] - 0.6 * (p3[i] - r * (0.1 - 0.5 * s)));             \
            put(q4[i], p4[i] - 0.6 * (p4[i] - r * (0.1 - 0.5 * t)));             \
        }                                                                        \
    }
#define TO_MEMORY(place, value) place = value
#define TO_REGISTER(place, value) \
    {                             \
        double kept = value;      \
        HOLD(kept);               \
        (void)place;              \
    }
GAS(gas, /, TO_MEMORY)
GAS(gas_cheap, *, TO_MEMORY)
GAS(gas_nostore, /, TO_REGISTER)

/* a wave in two dimensions, of fourth order */
static void open_wave(void)
{
    cols = l1 ? 100 : 2000;
    rows = l1 ? 9 : 1200;
    n = rows * cols;
    per = (double)(rows - 4) * (double)(cols - 4);
    a = reals(n, 1.0, 0.01);
    b = reals(n, 1.0, 0.01);
    c = reals(n, 0.0, 0.0);
}
#define WAVE(name, put)                                                                            \
    static NOINLINE void name(void)                                                                \
    {                                                                                              \
        for (int64_t r = 2; r < rows - 2; r++) {                                                   \
            const double *p = a + r * cols, *before = b + r * cols;                                \
            double *to = c + r * cols;                                                             \
            for (int64_t k = 2; k < cols - 2; k++)                                                 \
                put(to[k], 2.0 * p[k] - before[k] +                                                \
                               0.01 * (16.0 * (p[k - 1] + p[k + 1] + p[k - cols] + p[k + cols]) -  \
                                       (p[k - 2] + p[k + 2] + p[k - 2 * cols] + p[k + 2 * cols]) - \
                                       60.0 * p[k]));                                              \
        }                                                                                          \
    }
WAVE(wave, TO_MEMORY)
#ifdef __AVX2__
static NOINLINE void wave_nostore(void)
{
    for (int64_t r = 2; r < rows - 2; r++) {
        const double *p = a + r * cols, *before = b + r * cols;
        for (int64_t k = 2; k + 4 <= cols - 2; k += 4) {
#define AT(d) _mm256_loadu_pd(p + k + (d))
            __m256d v = 2.0 * AT(0) - _mm256_loadu_pd(before + k) +
                        0.01 * (16.0 * (AT(-1) + AT(1) + AT(-cols) + AT(cols)) -
                                (AT(-2) + AT(2) + AT(-2 * cols) + AT(2 * cols)) - 60.0 * AT(0));
            HOLD(v);
        }
    }
}
#endif
/* sums of columns, by rows */
static void open_sums(void)
{
    cols = 500;
    rows = l1 ? 3 : elements / 500;
    n = rows * cols;
    a = reals(n, 1.0, 0.01);
    b = reals(cols, 0.0, 0.0);
}
static NOINLINE void column_sums(void)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < cols; k++)
            b[k] += a[r * cols + k];
}

/* ---- tables ---- */

enum { WIDTH = 8 };
static void open_ell(void)
{
    rows = l1 ? 128 : 200000;
    m = l1 ? 1024 : 8 << 20;
    n = rows * WIDTH;
    a = reals(n, 1.0, 0.01);
    b = reals(m, 1.0, 0.01);
    c = reals(rows, 0.0, 0.0);
    ix = get((size_t)n * 4 + 4096);
    for (int64_t i = 0; i < n; i++)
        ix[i] = (uint32_t)(next_random() % (uint64_t)m);
}
static NOINLINE void ell(void)
{
    for (int64_t r = 0; r < rows; r++) {
        double s = 0;
        for (int64_t k = 0; k < WIDTH; k++)
            s += a[k * rows + r] * b[ix[k * rows + r]];
        c[r] = s;
    }
}
/* particles in cells */
static void open_cells(void)
{
    n = l1 ? 800 : 1 << 20;
    m = l1 ? 800 : 6 << 20;
    a = reals(n + AHEAD, 0.0, 0.0);
    b = reals(n, 0.0, 0.0);
    c = reals(m + 1, 1e-9, 0.0);
    for (int64_t i = 0; i < n + AHEAD; i++)
        a[i] = (double)(next_random() % (uint64_t)(m * 16)) / 16.0;
}
static NOINLINE void cells(void)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t cell = (int64_t)a[i];
        const double part = a[i] - (double)cell;
        b[i] += (1.0 - part) * c[cell] + part * c[cell + 1];
    }
}
static NOINLINE void cells_pf(void)
{
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&c[(int64_t)a[i + AHEAD]]);
        const int64_t cell = (int64_t)a[i];
        const double part = a[i] - (double)cell;
        b[i] += (1.0 - part) * c[cell] + part * c[cell + 1];
    }
}
/* an index of an index */
static void open_twice(void)
{
    make_table(1 << 20, 4 << 20);
    second = get((size_t)m * 4);
    for (int64_t i = 0; i < m; i++)
        second[i] = (uint32_t)(next_random() % (uint64_t)m);
}
static NOINLINE void twice(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += a[second[ix[i]]];
    sink = s;
}
/* pointers to records in random order */
struct record {
    double value[6];
};
static struct record **records;
static void open_records(void)
{
    n = l1 ? 400 : 1 << 20;
    struct record *room = get((size_t)n * sizeof *room);
    uint32_t *order = shuffled((size_t)n);
    records = get((size_t)(n + AHEAD) * 8);
    for (int64_t i = 0; i < n + AHEAD; i++)
        records[i] = &room[order[i % n]];
    free(order);
}
static NOINLINE void of_records(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += records[i]->value[2];
    sink = s;
}
static NOINLINE void of_records_pf(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&records[i + AHEAD]->value[2]);
        s += records[i]->value[2];
    }
    sink = s;
}
static void open_depths(void)
{
    m = l1 ? 256 : 65536;
    n = l1 ? 2000 : 100000;
    ix = get((size_t)m * 4);
    bytes = get((size_t)n * 2);
    for (int64_t i = 0; i < n; i++)
        ((uint16_t *)bytes)[i] = (uint16_t)(next_random() % (uint64_t)m);
}
static NOINLINE void depths(void)
{
    const uint16_t *p = (const uint16_t *)bytes;
    for (int64_t i = 0; i < n; i++)
        ix[p[i]]++;
}

/* ---- signals ---- */

static void open_pass(void)
{
    n = l1 ? 512 : elements;
    a = reals(n, 1.0, 0.01);
    b = reals(n, 1.0, 0.01);
    c = reals(n, 0.6, 0.0);
}
/* a pass of a Fourier transform */
static NOINLINE void butterflies(void)
{
    const int64_t half = n / 2;
    for (int64_t k = 0; k < half; k++) {
        const double p = c[k] * a[k + half] - c[k + half] * b[k + half],
                     q = c[k] * b[k + half] + c[k + half] * a[k + half];
        a[k + half] = 0.5 * (a[k] - p);
        b[k + half] = 0.5 * (b[k] - q);
        a[k] = 0.5 * (a[k] + p);
        b[k] = 0.5 * (b[k] + q);
    }
}
static NOINLINE void biquad(void)
{
    double p = 0, q = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = b[i] - 0.2 * p - 0.1 * q;
        a[i] = 0.3 * v + 0.4 * p + 0.3 * q;
        q = p;
        p = v;
    }
}
static NOINLINE void biquad_nostore(void)
{
    double p = 0, q = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = b[i] - 0.2 * p - 0.1 * q;
        double out = 0.3 * v + 0.4 * p + 0.3 * q;
        HOLD(out);
        q = p;
        p = v;
    }
}
/* correlation with the other one backwards */
static NOINLINE void reversed(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += a[i] * b[n - 1 - i];
    sink = s;
}
static NOINLINE void reversed4(void)
{
    double s[4] = {0};
    for (int64_t i = 0; i + 3 < n; i += 4) {
        SIDE_BY_SIDE (j, 4) {
            s[j] += a[i + j] * b[n - 1 - i - j];
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3];
}
/* dots of bytes */
static void open_weights(void)
{
    n = l1 ? 8192 : elements;
    bytes = get((size_t)n * 2 + 4096);
    memset(bytes, 3, (size_t)n * 2);
    per = (double)n / 8;
}
static NOINLINE void dots(void)
{
    __m128i s = _mm_setzero_si128();
    const int8_t *p = (const int8_t *)bytes;
    for (int64_t i = 0; i < n; i += 8) {
        const __m128i v = _mm_loadl_epi64((const __m128i *)(p + i)),
                      w = _mm_loadl_epi64((const __m128i *)(p + n + i));
        s = _mm_add_epi32(s, _mm_madd_epi16(_mm_unpacklo_epi8(v, _mm_setzero_si128()),
                                            _mm_unpacklo_epi8(w, _mm_setzero_si128())));
    }
    sink = (double)_mm_cvtsi128_si32(s);
}

/* ---- arithmetic ---- */

static NOINLINE void spread(void)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = (b[i] - c[i]) / (c[i] * __builtin_sqrt(b[i]));
        KEEP(a);
    }
}
static NOINLINE void spread_cheap(void)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = (b[i] - c[i]) * (c[i] * (b[i] * b[i]));
        KEEP(a);
    }
}
#ifdef __AVX2__
/* exp by a polynomial */
static NOINLINE void polynomial(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        const __m256 t = _mm256_load_ps(x + i), s = t * t;
        _mm256_store_ps(z + i, ((1.0f + t) + s * (0.5f + 0.166f * t)) +
                                   s * s * ((0.0416f + 0.0083f * t) + s * (0.0014f + 0.0002f * t)));
    }
}
static NOINLINE void polynomial_free(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        __m256 t = _mm256_load_ps(x + i);
        HOLD(t);
        _mm256_store_ps(z + i, t);
    }
}
static NOINLINE void inverse_roots(void)
{
    for (int64_t i = 0; i + 3 < n; i += 4) {
        const __m256d u = _mm256_load_pd(a + i), v = _mm256_load_pd(b + i);
        _mm256_store_pd(c + i, 1.0 / _mm256_sqrt_pd(u * u + v * v));
    }
}
static NOINLINE void inverse_roots_cheap(void)
{
    for (int64_t i = 0; i + 3 < n; i += 4) {
        const __m256d u = _mm256_load_pd(a + i), v = _mm256_load_pd(b + i), s = u * u + v * v;
        _mm256_store_pd(c + i, 1.5 * (s * s));
    }
}
static NOINLINE void bits(void)
{
    const uint64_t *p = (const uint64_t *)a, *q = (const uint64_t *)b;
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++)
        s += __builtin_popcountll(p[i] & q[i]);
    sink = (double)s;
}
#endif
#ifdef __AVX512F__
static NOINLINE void waxpby(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8)
        _mm512_store_pd(a + i, 0.4 * _mm512_load_pd(b + i) + 0.6 * _mm512_load_pd(c + i));
}
static NOINLINE void waxpby_nt(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8)
        _mm512_stream_pd(a + i, 0.4 * _mm512_load_pd(b + i) + 0.6 * _mm512_load_pd(c + i));
    _mm_sfence();
}
static NOINLINE void waxpby_nostore(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        __m512d v = 0.4 * _mm512_load_pd(b + i) + 0.6 * _mm512_load_pd(c + i);
        HOLD(v);
    }
}
/* goes on from the call before, as calls of few iterations would overlap */
static NOINLINE void largest(void)
{
    __m512d s = _mm512_set1_pd(sink);
    for (int64_t i = 0; i + 7 < n; i += 8)
        s = _mm512_max_pd(s, _mm512_abs_pd(_mm512_load_pd(a + i) - _mm512_load_pd(b + i)));
    sink = _mm512_reduce_max_pd(s);
}
static NOINLINE void largest4(void)
{
    const __m512d from = _mm512_set1_pd(sink);
    __m512d s[4] = {from, from, from, from};
    for (int64_t i = 0; i + 31 < n; i += 32) {
        SIDE_BY_SIDE (j, 4)
            s[j] = _mm512_max_pd(
                s[j], _mm512_abs_pd(_mm512_load_pd(a + i + 8 * j) - _mm512_load_pd(b + i + 8 * j)));
    }
    sink =
        _mm512_reduce_max_pd(_mm512_max_pd(_mm512_max_pd(s[0], s[1]), _mm512_max_pd(s[2], s[3])));
}
static NOINLINE void quotients(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8)
        _mm512_store_pd(a + i, (_mm512_load_pd(b + i) + 1.0) / _mm512_load_pd(c + i));
}
static NOINLINE void quotients_cheap(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8)
        _mm512_store_pd(a + i, (_mm512_load_pd(b + i) + 1.0) * _mm512_load_pd(c + i));
}
static void open_wide_table(void)
{
    make_table(1 << 20, 8 << 20);
}
static NOINLINE void wide_gather(void)
{
    __m512d s = _mm512_setzero_pd();
    for (int64_t i = 0; i + 7 < n; i += 8)
        s += _mm512_i32gather_pd(_mm256_loadu_si256((const __m256i *)(ix + i)), a, 8);
    sink = _mm512_reduce_add_pd(s);
}
#endif

/* ---- ways that data decide; the twin's are sorted, or a pattern ---- */

static void open_energies(void)
{
    n = 1 << 20;
    ix = get((size_t)n * 4);
    b = reals(n, 1.0, 0.01);
    c = reals(n, 0.0, 0.0);
    a = get((size_t)n * 8);
    for (int64_t i = 0; i < n; i++)
        ix[i] = (uint32_t)(next_random() % 1000);
    if (sorted)
        sort_indices();
    for (int64_t i = 0; i < n; i++)
        a[i] = ix[i] * 1e-3;
}
/* Of sorted energies, one line in six of c would be stored to; as it is, three in four are. */
static void open_pattern(void)
{
    open_energies();
    for (int64_t i = 0; i < n && sorted; i++)
        a[i] = i % 6 ? 0.5 : 0.1;
}
/* one in six collides */
static NOINLINE void collide(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        if (a[i] < 0.16) {
            c[i] = b[i] * b[i] - 1.0;
            KEEP(c);
        } else {
            s += b[i] * 0.5;
            HOLD(s);
        }
    }
    sink = s;
}
/* the shortest ways through a graph: mostly no shorter one */
static NOINLINE void count_above(void)
{
    int64_t s = 0, t = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t v = ix[i];
        if (v > 700) {
            s += v;
            KEEP(s);
        }
        if (v < 400) {
            t += 2 * v;
            KEEP(t);
        }
    }
    sink = (double)(s + t);
}
/* the scores of two words' alignment */
static void open_scores(void)
{
    cols = l1 ? 1000 : elements;
    n = cols;
    x = get((size_t)n * 4 + 4096);
    y = get((size_t)n * 4 + 4096);
    bytes = get((size_t)n);
    for (int64_t i = 0; i < n; i++)
        bytes[i] = next_random() & 3;
}
static NOINLINE void scores(void)
{
    int32_t *up = (int32_t *)x, *row = (int32_t *)y, left = 0;
    for (int64_t i = 1; i < n; i++) {
        int32_t s = up[i - 1] + (bytes[i] ? -1 : 2);
        s = s > up[i] - 1 ? s : up[i] - 1;
        s = s > left - 1 ? s : left - 1;
        left = row[i] = s > 0 ? s : 0;
    }
}

/* ---- in C++ and Fortran ---- */

#define FOREIGN(name)                                          \
    void name(int64_t, int64_t, double *, double *, double *); \
    static NOINLINE void of_##name(void)                       \
    {                                                          \
        name(n, m, a, b, c);                                   \
    }
FOREIGN(cxx_nearest)
FOREIGN(cxx_option)
FOREIGN(cxx_option_cheap)
FOREIGN(cxx_total)
FOREIGN(cxx_total4)
FOREIGN(cxx_energy)
FOREIGN(cxx_energy_pf)
FOREIGN(f_update)
FOREIGN(f_reduce)
FOREIGN(f_reduce4)
FOREIGN(f_black)
FOREIGN(f_back)
FOREIGN(f_flux)
FOREIGN(f_flux_cheap)

int64_t codes_lines(void)
{
    return lines;
}
static void open_bodies(void)
{
    open_three();
    n = l1 ? 60 : elements;
    m = 24; /* numbers of a body */
    a = reals(n * m, 1.0, 0.01);
}
static void open_points(void)
{
    n = l1 ? 500 : 1 << 20;
    b = c = reals(4096, 0.1, 0.03);
    a = get((size_t)n * 32 + 4096);
    for (int64_t i = 0; i < 4 * n; i++)
        a[i] = (double)(next_random() % 1000) * 1e-3;
}
/* inner loops are as long in L1, too: by columns, and by rows */
static void open_matrix(void)
{
    m = l1 ? 3 : 500;
    n = 500;
    per = (double)n * (double)m;
    a = reals(n * m, 1.0, 0.001);
    b = reals(n + m, 0.0, 1e-6);
    c = reals(n + m, 0.0, 1e-6);
}
static void open_rows(void)
{
    m = 500;
    n = l1 ? 4 : 500;
    per = (double)n * (double)m;
    a = reals(n * m, 1.0, 0.001);
    b = reals(n + m, 0.0, 1e-6);
    c = reals(n + m, 0.0, 1e-6);
}
static void open_places(void)
{
    n = l1 ? 100 : 1500;
    m = l1 ? 9 : 1500;
    per = (double)(n - 2) * (double)(m - 2) / 2;
    a = reals(n * m, 1.0, 0.001);
    b = reals(n * m, 0.0, 1e-6);
    c = b;
}

static const struct twin twins[] = {
#ifdef __AVX512F__
    {"waxpby_dram",
     5 << 20,
     open_three,
     waxpby,
     {{"streaming_stores", waxpby_nt},
      {"without_stores", waxpby_nostore},
      {"data_in_l1"},
      {"huge_pages"},
      {"all_cores"}}},
    {"waxpby_l2", 16000, open_three, waxpby, {{"without_stores", waxpby_nostore}, {"data_in_l1"}}},
    {"largest_l1", 1600, open_three, largest, {{"chains_broken", largest4}}},
    {"largest_l2", 20000, open_three, largest, {{"chains_broken", largest4}, {"data_in_l1"}}},
    {"quotients_l2", 16000, open_three, quotients, {{"divisions_cheap", quotients_cheap}}},
    {"quotients_dram",
     5 << 20,
     open_three,
     quotients,
     {{"divisions_cheap", quotients_cheap}, {"huge_pages"}}},
    {"wide_gather", 0, open_wide_table, wide_gather, {{"data_in_l1"}, {"huge_pages"}}},
    {"gas_l1", 300, open_gas, gas, {{"divisions_cheap", gas_cheap}}},
    {"wave_dram", 0, open_wave, wave, {{"data_in_l1"}, {"huge_pages"}}},
    {"option_l2",
     20000,
     open_three,
     of_cxx_option,
     {{"divisions_cheap", of_cxx_option_cheap}, {"data_in_l1"}}},
#elif defined __AVX2__
    {"gas_dram",
     500000,
     open_gas,
     gas,
     {{"divisions_cheap", gas_cheap}, {"data_in_l1"}, {"huge_pages"}}},
    {"wave_dram",
     0,
     open_wave,
     wave,
     {{"data_in_l1"}, {"huge_pages"}, {"without_stores", wave_nostore}, {"all_cores"}}},
    {"ell", 0, open_ell, ell, {{"data_in_l1"}, {"huge_pages"}}},
    {"column_sums_l3", 600000, open_sums, column_sums, {{"data_in_l1"}}},
    {"butterflies_l3", 200000, open_pass, butterflies, {{"data_in_l1"}}},
    {"polynomial_l1", 3000, open_singles, polynomial, {{"without_arithmetic", polynomial_free}}},
    {"polynomial_l2",
     60000,
     open_singles,
     polynomial,
     {{"without_arithmetic", polynomial_free}, {"data_in_l1"}}},
    {"inverse_roots_l1",
     1000,
     open_three,
     inverse_roots,
     {{"divisions_cheap", inverse_roots_cheap}}},
    {"inverse_roots_l3",
     300000,
     open_three,
     inverse_roots,
     {{"divisions_cheap", inverse_roots_cheap}}},
    {"bits_dram", 6 << 20, open_three, bits, {{"data_in_l1"}, {"huge_pages"}, {"all_cores"}}},
    {"twice", 0, open_twice, twice, {{"data_in_l1"}, {"huge_pages"}}},
    {"option_l1", 1000, open_three, of_cxx_option, {{"divisions_cheap", of_cxx_option_cheap}}},
    {"total_l1", 1000, open_three, of_cxx_total, {{"chains_broken", of_cxx_total4}}},
    {"nearest", 0, open_points, of_cxx_nearest, {{"all_cores"}}},
    {"update_l3", 0, open_matrix, of_f_update, {{"data_in_l1"}}},
    {"flux_l2",
     30000,
     open_three,
     of_f_flux,
     {{"divisions_cheap", of_f_flux_cheap}, {"data_in_l1"}}},
#else
    {"gas_l2",
     8000,
     open_gas,
     gas,
     {{"divisions_cheap", gas_cheap}, {"without_stores", gas_nostore}, {"data_in_l1"}}},
    {"column_sums_dram", 8000000, open_sums, column_sums, {{"data_in_l1"}, {"huge_pages"}}},
    {"cells",
     0,
     open_cells,
     cells,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch_indirect", cells_pf}}},
    {"records",
     0,
     open_records,
     of_records,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch_indirect", of_records_pf}}},
    {"depths", 0, open_depths, depths, {{"data_in_l1"}}},
    {"butterflies_l2", 30000, open_pass, butterflies, {{"data_in_l1"}}},
    {"biquad_l3", 400000, open_three, biquad, {{"data_in_l1"}, {"without_stores", biquad_nostore}}},
    {"reversed_l1", 1000, open_three, reversed, {{"chains_broken", reversed4}}},
    {"reversed_dram",
     6 << 20,
     open_three,
     reversed,
     {{"chains_broken", reversed4}, {"data_in_l1"}, {"huge_pages"}}},
    {"dots_l3", 3000000, open_weights, dots, {{"data_in_l1"}}},
    {"spread_l1", 1000, open_three, spread, {{"divisions_cheap", spread_cheap}}},
    {"spread_dram",
     5 << 20,
     open_three,
     spread,
     {{"divisions_cheap", spread_cheap}, {"huge_pages"}}},
    {"collide", 0, open_pattern, collide, {{"branches_known"}}},
    {"above", 0, open_energies, count_above, {{"branches_known"}}},
    {"scores_l2", 60000, open_scores, scores, {{"data_in_l1"}}},
    {"energy_dram",
     400000,
     open_bodies,
     of_cxx_energy,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch", of_cxx_energy_pf}, {"all_cores"}}},
    {"reduce_l3", 0, open_rows, of_f_reduce, {{"chains_broken", of_f_reduce4}, {"data_in_l1"}}},
    {"black_dram", 0, open_places, of_f_black, {{"data_in_l1"}, {"huge_pages"}}},
    {"back_l2", 20000, open_three, of_f_back, {{"data_in_l1"}}},
#endif
};

int main(int argc, char **argv)
{
    return run_twins(argc, argv, twins, sizeof twins / sizeof *twins);
}
