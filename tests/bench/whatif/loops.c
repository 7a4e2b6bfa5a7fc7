/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops, and those of a programmer who changed them.
 * Compile with -O2 -ftree-vectorize -march=x86-64-v3 -fno-math-errno -fno-tree-loop-distribute-patterns. */
#include "twin.h"

#include <immintrin.h>

static void open_streams(void)
{
    n = l1 ? 768 : elements;
    a = get((size_t)n * 8 + 64);
    b = get((size_t)n * 8 + 64);
    c = get((size_t)n * 8 + 64);
    for (int64_t i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 1.0 + 1e-3 * (double)(i % 100);
        c[i] = 2.0;
    }
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
    double s = 0, t = 0, u = 0, v = 0;
    for (int64_t i = 0; i + 3 < n; i += 4) {
        s += b[i] * c[i];
        HOLD(s);
        t += b[i + 1] * c[i + 1];
        HOLD(t);
        u += b[i + 2] * c[i + 2];
        HOLD(u);
        v += b[i + 3] * c[i + 3];
        HOLD(v);
    }
    sink = s + t + u + v;
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
    double s = 0, t = 0, u = 0, v = 0;
    for (int64_t i = 0; i + 3 < n; i += 4) {
        s = b[i] > s ? b[i] : s;
        HOLD(s);
        t = b[i + 1] > t ? b[i + 1] : t;
        HOLD(t);
        u = b[i + 2] > u ? b[i + 2] : u;
        HOLD(u);
        v = b[i + 3] > v ? b[i + 3] : v;
        HOLD(v);
    }
    sink = s + t + u + v;
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
    double s = 0, t = 0, u = 0, v = 0, w = 0, x = 0, y = 0, z = 0;
    const double *p = b;
    for (int64_t i = 0; i + 7 < n; i += 8, p += 8) {
        s = s * 0.99 + p[0];
        HOLD(s);
        t = t * 0.99 + p[1];
        HOLD(t);
        u = u * 0.99 + p[2];
        HOLD(u);
        v = v * 0.99 + p[3];
        HOLD(v);
        w = w * 0.99 + p[4];
        HOLD(w);
        x = x * 0.99 + p[5];
        HOLD(x);
        y = y * 0.99 + p[6];
        HOLD(y);
        z = z * 0.99 + p[7];
        HOLD(z);
    }
    sink = s + t + u + v + w + x + y + z;
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
    n = l1 ? 1024 : 4 << 20;
    m = l1 ? 1024 : 32 << 20;
    ix = get((size_t)(n + AHEAD) * 4);
    a = get((size_t)m * 8);
    for (int64_t i = 0; i < n + AHEAD; i++)
        ix[i] = (uint32_t)(rnd() % (uint64_t)m);
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
    ix = get((size_t)m / 8 * 4);
    a = get((size_t)m * 8);
    const uint32_t lines = (uint32_t)(m / 8);
    for (uint32_t i = 0; i < lines; i++)
        ix[i] = i;
    for (uint32_t i = lines - 1; i > 0; i--) {
        const uint32_t k = (uint32_t)(rnd() % i), t = ix[i];
        ix[i] = ix[k];
        ix[k] = t;
    }
    for (uint32_t i = 0; i < lines; i++)
        ((int64_t *)a)[8 * (int64_t)i] = 8 * (int64_t)ix[i];
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
    n = l1 ? 1024 : 8 << 20;
    m = l1 ? 1024 : 16 << 20;
    ix = get((size_t)(n + AHEAD) * 4);
    a = get((size_t)m * 8);
    b = get((size_t)n * 8 + 64);
    for (int64_t i = 0; i < n + AHEAD; i++)
        ix[i] = (uint32_t)(rnd() % (uint64_t)m);
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
        ix[i] = (uint32_t)(rnd() & 0xff);
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
     {{"huge_pages", 0},
      {"streaming_stores", triad_nt},
      {"prefetch", triad_pf},
      {"without_stores", triad_nostore},
      {"without_arithmetic", triad_noarith},
      {"data_in_l1", 0}}},
    {"triad_l2",
     16 << 10,
     open_streams,
     triad,
     {{"prefetch", triad_pf}, {"data_in_l1", 0}, {"streaming_stores", triad_nt}}},
    {"scale_dram",
     8 << 20,
     open_streams,
     copy,
     {{"huge_pages", 0}, {"streaming_stores", copy_nt}, {"data_in_l1", 0}}},
    {"fill_dram",
     8 << 20,
     open_streams,
     fill,
     {{"huge_pages", 0}, {"streaming_stores", fill_nt}, {"data_in_l1", 0}}},
    {"stencil_dram", 8 << 20, open_streams, stencil, {{"huge_pages", 0}, {"data_in_l1", 0}}},
    {"dot_dram",
     8 << 20,
     open_streams,
     dot,
     {{"huge_pages", 0}, {"chains_broken", dot4}, {"data_in_l1", 0}}},
    {"dot_l1", 1000, open_streams, dot, {{"chains_broken", dot4}}},
    {"max_l1", 1000, open_streams, largest, {{"chains_broken", largest4}}},
    {"max_l2", 16 << 10, open_streams, largest, {{"chains_broken", largest4}}},
    {"horner_l1", 1000, open_streams, horner, {{"chains_broken", horner8}}},
    {"divide_l1", 1000, open_streams, divide, {{"divisions_cheap", multiply}}},
    {"divide_dram",
     8 << 20,
     open_streams,
     divide,
     {{"divisions_cheap", multiply}, {"huge_pages", 0}}},
    {"root_l1", 1000, open_streams, root, {{"divisions_cheap", square}}},
    {"body_l1", 1000, open_streams, body, {{"divisions_cheap", body_cheap}}},
    {"body_dram",
     8 << 20,
     open_streams,
     body,
     {{"divisions_cheap", body_cheap}, {"huge_pages", 0}}},
    {"gather",
     0,
     open_table,
     gather,
     {{"huge_pages", 0}, {"prefetch_indirect", gather_pf}, {"data_in_l1", 0}}},
    {"histogram",
     0,
     open_table,
     histogram,
     {{"huge_pages", 0}, {"prefetch_indirect", histogram_pf}, {"data_in_l1", 0}}},
    {"chase", 0, open_chase, chase, {{"huge_pages", 0}}},
    {"columns",
     0,
     open_columns,
     columns,
     {{"huge_pages", 0}, {"prefetch", columns_pf}, {"data_in_l1", 0}}},
    {"spmv",
     0,
     open_rows,
     spmv,
     {{"huge_pages", 0}, {"prefetch_indirect", spmv_pf}, {"data_in_l1", 0}}},
    {"coins", 0, open_coins, coins, {{"branches_known", 0}}},
    {"newton", 1000, open_streams, newton, {{0, 0}}},
};

int main(int argc, char **argv)
{
    return run_twins(argc, argv, loops, sizeof loops / sizeof *loops);
}
