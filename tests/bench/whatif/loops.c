/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops, and those of a programmer who changed them.
 * Compile with -O2 -ftree-vectorize -march=x86-64-v3 -fno-math-errno -fno-tree-loop-distribute-patterns. */
#include "twin.h"

#include <immintrin.h>

static void open_streams(void)
{
    make_streams(768);
}

static NOINLINE void triad(void)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}
static NOINLINE void triad_nt(void)
{
    for (int64_t i = 0; i < n; i += 4)
        _mm256_stream_pd(a + i,
                         _mm256_add_pd(_mm256_load_pd(b + i),
                                       _mm256_mul_pd(_mm256_set1_pd(3.0), _mm256_load_pd(c + i))));
    _mm_sfence();
}
static NOINLINE void triad_nostore(void)
{
    for (int64_t i = 0; i < n; i += 4) {
        __m256d v = _mm256_add_pd(_mm256_load_pd(b + i),
                                  _mm256_mul_pd(_mm256_set1_pd(3.0), _mm256_load_pd(c + i)));
        __asm__ volatile("" ::"x"(v));
    }
}
static NOINLINE void triad_noarith(void)
{
    for (int64_t i = 0; i < n; i += 4) {
        __m256d v = _mm256_load_pd(b + i), w = _mm256_load_pd(c + i);
        __asm__ volatile("" ::"x"(v), "x"(w));
        _mm256_store_pd(a + i, v);
    }
}
static NOINLINE void triad_pf(void)
{
    for (int64_t i = 0; i < n; i += 8) {
        __builtin_prefetch(b + i + 8 * lines);
        __builtin_prefetch(c + i + 8 * lines);
        for (int64_t k = i; k < i + 8; k++)
            a[k] = b[k] + 3.0 * c[k];
    }
}
static NOINLINE void copy(void)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = b[i] * 1.5;
    }
}
static NOINLINE void copy_nt(void)
{
    for (int64_t i = 0; i < n; i += 4)
        _mm256_stream_pd(a + i, _mm256_mul_pd(_mm256_set1_pd(1.5), _mm256_load_pd(b + i)));
    _mm_sfence();
}
static NOINLINE void fill(void)
{
    const __m256d v = _mm256_set1_pd(2.0);
    for (int64_t i = 0; i < n; i += 4) {
        _mm256_store_pd(a + i, v);
        KEEP(a);
    }
}
static NOINLINE void fill_nt(void)
{
    const __m256d v = _mm256_set1_pd(2.0);
    for (int64_t i = 0; i < n; i += 4) {
        _mm256_stream_pd(a + i, v);
        KEEP(a);
    }
    _mm_sfence();
}
static NOINLINE void stencil(void)
{
    for (int64_t i = 1; i < n - 1; i++)
        a[i] = 0.3 * (b[i - 1] + b[i] + b[i + 1]);
}

static NOINLINE void dot(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += b[i] * c[i];
    sink = s;
}
static NOINLINE void dot4(void)
{
    double s[4] = {0};
    for (int64_t i = 0; i + 3 < n; i += 4) {
        SIDE_BY_SIDE (j, 4) {
            s[j] += b[i + j] * c[i + j];
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3];
}
static NOINLINE void largest(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s = b[i] > s ? b[i] : s;
    sink = s;
}
static NOINLINE void largest4(void)
{
    double s[4] = {0};
    for (int64_t i = 0; i + 3 < n; i += 4) {
        SIDE_BY_SIDE (j, 4) {
            s[j] = b[i + j] > s[j] ? b[i + j] : s[j];
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3];
}
/* a recurrence over all elements, and eight of them side by side */
static NOINLINE void horner(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s = s * 0.99 + b[i];
    sink = s;
}
static NOINLINE void horner8(void)
{
    double s[8] = {0};
    for (int64_t i = 0; i + 7 < n; i += 8) {
        SIDE_BY_SIDE (j, 8) {
            s[j] = s[j] * 0.99 + b[i + j];
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

static NOINLINE void divide(void)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = 1.5 / b[i];
}
static NOINLINE void multiply(void)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = 1.5 * b[i];
}
static NOINLINE void root(void)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = sqrt(b[i]) + c[i];
}
static NOINLINE void square(void)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = b[i] * b[i] + c[i];
}
static NOINLINE void body(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = b[i] - 0.3, y = c[i] - 0.7, d = x * x + y * y + 0.01;
        s += x / (d * sqrt(d));
    }
    sink = s;
}
static NOINLINE void body_cheap(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = b[i] - 0.3, y = c[i] - 0.7, d = x * x + y * y + 0.01;
        s += x * (d * (d * d));
    }
    sink = s;
}

static void open_table(void)
{
    make_table(4 << 20, 32 << 20);
}
static NOINLINE void gather(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += a[ix[i]];
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void gather_pf(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&a[ix[i + AHEAD]]);
        s += a[ix[i]];
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void histogram(void)
{
    int64_t *h = (int64_t *)a;
    for (int64_t i = 0; i < n; i++)
        h[ix[i]]++;
}
static NOINLINE void histogram_pf(void)
{
    int64_t *h = (int64_t *)a;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&h[ix[i + AHEAD]]);
        h[ix[i]]++;
    }
}
static void open_chase(void)
{
    n = 1 << 20;
    m = 32 << 20;
    a = get((size_t)m * 8);
    const int64_t lines = m / 8;
    uint32_t *order = shuffled((size_t)lines);
    for (int64_t i = 0; i < lines; i++)
        ((int64_t *)a)[8 * (int64_t)order[i]] = 8 * (int64_t)order[(i + 1) % lines];
    free(order);
}
static int64_t at;
static NOINLINE void chase(void)
{
    const int64_t *next = (const int64_t *)a;
    int64_t p = at;
    for (int64_t i = 0; i < n; i++)
        p = next[p];
    at = p;
}
static void open_columns(void)
{
    n = l1 ? 1024 : 4096;
    m = l1 ? 2 : 4096;
    a = get((size_t)(n * m) * 8);
    b = get((size_t)m * 8);
    per = (double)n * (double)m;
}
static NOINLINE void columns(void)
{
    for (int64_t k = 0; k < m; k++) {
        double s = 0;
        for (int64_t i = 0; i < n; i++) {
            s += a[i * m + k];
            HOLD(s);
        }
        b[k] = s;
    }
}
static NOINLINE void columns_pf(void)
{
    for (int64_t k = 0; k < m; k++) {
        double s = 0;
        for (int64_t i = 0; i < n; i++) {
            __builtin_prefetch(&a[(i + lines) * m + k]);
            s += a[i * m + k];
            HOLD(s);
        }
        b[k] = s;
    }
}
static void open_rows(void)
{
    make_table(8 << 20, 16 << 20);
    b = get((size_t)n * 8 + 64);
}
static NOINLINE void spmv(void)
{
    for (int64_t r = 0; r + 31 < n; r += 32) {
        double s = 0;
        for (int64_t i = r; i < r + 32; i++) {
            s += b[i] * a[ix[i]];
            HOLD(s);
        }
        sink = s;
    }
}
static NOINLINE void spmv_pf(void)
{
    for (int64_t r = 0; r + 31 < n; r += 32) {
        double s = 0;
        for (int64_t i = r; i < r + 32; i++) {
            __builtin_prefetch(&a[ix[i + AHEAD]]);
            s += b[i] * a[ix[i]];
            HOLD(s);
        }
        sink = s;
    }
}

static void open_coins(void)
{
    n = 1 << 20; /* fewer are learnt by heart */
    ix = get((size_t)n * 4);
    for (int64_t i = 0; i < n; i++) {
        ix[i] = (uint32_t)(next_random() & 0xff);
    }
    if (sorted)
        sort_indices();
}
static NOINLINE void coins(void)
{
    int64_t s = 0, t = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ix[i] < 128) {
            s += ix[i];
            KEEP(0);
        } else {
            t ^= ix[i];
            KEEP(1);
        }
    }
    sink = (double)(s + t);
}
/* iterations until a root is exact */
static NOINLINE void newton(void)
{
    for (int64_t i = 0; i < n; i++) {
        double x = b[i], y = 1.0;
        while (fabs(y * y - x) > 1e-12 * x)
            y = 0.5 * (y + x / y);
        a[i] = y;
    }
}

static const struct twin loops[] = {
    {"triad_dram",
     8 << 20,
     open_streams,
     triad,
     {{"huge_pages"},
      {"streaming_stores", triad_nt},
      {"prefetch", triad_pf},
      {"without_stores", triad_nostore},
      {"without_arithmetic", triad_noarith},
      {"data_in_l1"}}},
    {"triad_l2",
     16 << 10,
     open_streams,
     triad,
     {{"prefetch", triad_pf}, {"data_in_l1"}, {"streaming_stores", triad_nt}}},
    {"scale_dram",
     8 << 20,
     open_streams,
     copy,
     {{"huge_pages"}, {"streaming_stores", copy_nt}, {"data_in_l1"}}},
    {"fill_dram",
     8 << 20,
     open_streams,
     fill,
     {{"huge_pages"}, {"streaming_stores", fill_nt}, {"data_in_l1"}}},
    {"stencil_dram", 8 << 20, open_streams, stencil, {{"huge_pages"}, {"data_in_l1"}}},
    {"dot_dram",
     8 << 20,
     open_streams,
     dot,
     {{"huge_pages"}, {"chains_broken", dot4}, {"data_in_l1"}}},
    {"dot_l1", 1000, open_streams, dot, {{"chains_broken", dot4}}},
    {"max_l1", 1000, open_streams, largest, {{"chains_broken", largest4}}},
    {"max_l2", 16 << 10, open_streams, largest, {{"chains_broken", largest4}}},
    {"horner_l1", 1000, open_streams, horner, {{"chains_broken", horner8}}},
    {"divide_l1", 1000, open_streams, divide, {{"divisions_cheap", multiply}}},
    {"divide_dram", 8 << 20, open_streams, divide, {{"divisions_cheap", multiply}, {"huge_pages"}}},
    {"root_l1", 1000, open_streams, root, {{"divisions_cheap", square}}},
    {"body_l1", 1000, open_streams, body, {{"divisions_cheap", body_cheap}}},
    {"body_dram", 8 << 20, open_streams, body, {{"divisions_cheap", body_cheap}, {"huge_pages"}}},
    {"gather",
     0,
     open_table,
     gather,
     {{"huge_pages"}, {"prefetch_indirect", gather_pf}, {"data_in_l1"}}},
    {"histogram",
     0,
     open_table,
     histogram,
     {{"huge_pages"}, {"prefetch_indirect", histogram_pf}, {"data_in_l1"}}},
    {"chase", 0, open_chase, chase, {{"huge_pages"}}},
    {"columns",
     0,
     open_columns,
     columns,
     {{"huge_pages"}, {"prefetch", columns_pf}, {"data_in_l1"}}},
    {"spmv", 0, open_rows, spmv, {{"huge_pages"}, {"prefetch_indirect", spmv_pf}, {"data_in_l1"}}},
    {"coins", 0, open_coins, coins, {{"branches_known"}}},
    {"newton", 1000, open_streams, newton},
};

int main(int argc, char **argv)
{
    return run_twins(argc, argv, loops, sizeof loops / sizeof *loops);
}
