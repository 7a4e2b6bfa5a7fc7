/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops with their twins, of shapes that the other files leave out: columns of matrices with and without conflicts, hash
 * tables with probes, lists in the order of memory, stencils in three dimensions, short rows, stores that the next load
 * cannot take. Compile with -O2 or for AVX2, and -fno-math-errno -fno-tree-loop-distribute-patterns. */
#include "twin.h"

#include <immintrin.h>

static float *x, *y, *z;
static uint64_t *words;
static uint8_t *pixels;
static int64_t rows, cols, pitch;

static void open_floats(void)
{
    n = l1 ? 1600 : elements;
    x = get((size_t)n * 4 + 4096);
    y = get((size_t)n * 4 + 4096);
    z = get((size_t)n * 4 + 4096);
    for (int64_t i = 0; i < n; i++) {
        x[i] = 0.25f + (float)(i % 29);
        y[i] = 1.5f;
        z[i] = 0.0f;
    }
}
static void open_reals(void)
{
    n = l1 ? 1200 : elements;
    a = get((size_t)n * 8 + 4096);
    b = get((size_t)n * 8 + 4096);
    c = get((size_t)n * 8 + 4096);
    for (int64_t i = 0; i < n; i++) {
        a[i] = 0.5;
        b[i] = 1.0 + (double)(i % 31);
        c[i] = 3.0;
    }
}

/* ---- columns ---- */

static void open_columns(int64_t r, int64_t p)
{
    rows = l1 ? 40 : r;
    pitch = l1 ? 8 : p;
    cols = 8;
    n = rows * cols;
    a = get((size_t)(rows * pitch) * 8 + 4096);
    b = get((size_t)rows * 8 + 4096);
    for (int64_t i = 0; i < rows * pitch; i++)
        a[i] = 1.0;
    for (int64_t i = 0; i < rows; i++)
        b[i] = 0.5;
}
static void columns_apart(void)
{
    open_columns(20000, 1032);
}
static void columns_conflict(void)
{
    open_columns(96, 512);
}
static NOINLINE void across(void)
{
    for (int64_t k = 0; k < cols; k++) {
        double s = sink - sink, t = s; /* the chain goes on: short ones would overlap */
        for (int64_t r = 0; r + 1 < rows; r += 2) {
            s += a[r * pitch + k] * b[r];
            t += a[(r + 1) * pitch + k] * b[r + 1];
        }
        sink = s + t;
    }
}

/* ---- tables ---- */

static void open_picks(void)
{
    n = l1 ? 1200 : 3 << 20;
    m = l1 ? 1200 : 20 << 20;
    x = get((size_t)m * 4);
    y = get((size_t)n * 4 + 4096);
    ix = get((size_t)n * 4 + 4096);
    for (int64_t i = 0; i < m; i++)
        x[i] = 0.5f;
    for (int64_t i = 0; i < n; i++)
        ix[i] = (uint32_t)(next_random() % (uint64_t)m);
}
static NOINLINE void pick(void)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = 2.0f * x[ix[i]];
}
static NOINLINE void pick_pf(void)
{
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&x[ix[i + AHEAD]]);
        y[i] = 2.0f * x[ix[i]];
    }
}
/* open addressing: half of the places are taken, keys are looked for that are there */
static void open_probes(void)
{
    m = l1 ? 1 << 10 : 1 << 23;
    n = l1 ? 1 << 9 : 1 << 20;
    words = get((size_t)m * 8);
    c = get((size_t)n * 8 + 4096);
    uint64_t *keys = (uint64_t *)c;
    for (int64_t i = 0; i < m / 2; i++) {
        const uint64_t key = next_random() | 1;
        uint64_t at = key * 0x9e3779b97f4a7c15u >> 8 & (uint64_t)(m - 1);
        while (words[at])
            at = (at + 1) & (uint64_t)(m - 1);
        words[at] = key;
        keys[next_random() % (uint64_t)n] = key;
    }
    for (int64_t i = 0; i < n; i++)
        keys[i] = keys[i] ? keys[i] : keys[0] ? keys[0] : words[0] | 1;
}
static NOINLINE void probe(void)
{
    const uint64_t *keys = (const uint64_t *)c;
    uint64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = keys[i] * 0x9e3779b97f4a7c15u >> 8 & (uint64_t)(m - 1);
        while (words[at] && words[at] != keys[i])
            at = (at + 1) & (uint64_t)(m - 1);
        found += at;
    }
    sink = (double)found;
}

/* ---- lists ---- */

struct bead {
    double weight;
    struct bead *next;
    double rest;
};
static struct bead *beads;
static void open_beads(void)
{
    n = l1 ? 800 : 4 << 20;
    beads = get((size_t)n * sizeof *beads);
    for (int64_t i = 0; i < n; i++)
        beads[i] = (struct bead){1.0, i + 1 < n ? &beads[i + 1] : NULL, 0.0};
}
static NOINLINE void follow(void)
{
    double s = 0;
    for (const struct bead *p = beads; p; p = p->next)
        s += p->weight;
    sink = s;
}

/* ---- sums, divisions, roots ---- */

static NOINLINE void largest_distance(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = fabs(b[i] - c[i]);
        s += d;
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void largest_distance4(void)
{
    double s = 0, t = 0, p = 0, q = 0;
    for (int64_t i = 0; i + 3 < n; i += 4) {
        s += fabs(b[i] - c[i]);
        HOLD(s);
        t += fabs(b[i + 1] - c[i + 1]);
        HOLD(t);
        p += fabs(b[i + 2] - c[i + 2]);
        HOLD(p);
        q += fabs(b[i + 3] - c[i + 3]);
        HOLD(q);
    }
    sink = s + t + p + q;
}
#ifdef __AVX2__
static NOINLINE void squares(void)
{
    __m256 s = _mm256_set1_ps((float)(sink - sink)); /* as in across */
    for (int64_t i = 0; i + 7 < n; i += 8) {
        const __m256 v = _mm256_load_ps(x + i);
        s = _mm256_fmadd_ps(v, v, s);
    }
    sink = (double)_mm256_cvtss_f32(s);
}
static NOINLINE void squares4(void)
{
    __m256 s[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                   _mm256_setzero_ps()};
    for (int64_t i = 0; i + 31 < n; i += 32)
        for (int k = 0; k < 4; k++) {
            const __m256 v = _mm256_load_ps(x + i + 8 * k);
            s[k] = _mm256_fmadd_ps(v, v, s[k]);
        }
    sink = (double)_mm256_cvtss_f32(s[0] + s[1] + s[2] + s[3]);
}
#endif
static NOINLINE void inverse(void)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = 1.0 / (b[i] + 0.5);
        KEEP(a);
    }
}
static NOINLINE void inverse_cheap(void)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = 0.3 * (b[i] + 0.5);
        KEEP(a);
    }
}
static NOINLINE void lengths(void)
{
    for (int64_t i = 0; i < n; i++)
        z[i] = sqrtf(x[i] * x[i] + y[i] * y[i]);
}
static NOINLINE void lengths_cheap(void)
{
    for (int64_t i = 0; i < n; i++) {
        const float d = x[i] * x[i] + y[i] * y[i];
        z[i] = d * d;
    }
}

/* ---- streams, stencils ---- */

static NOINLINE void blend(void)
{
    const __m128 p = _mm_set1_ps(0.7f), q = _mm_set1_ps(0.3f);
    for (int64_t i = 0; i + 3 < n; i += 4)
        _mm_store_ps(z + i, p * _mm_load_ps(x + i) + q * _mm_load_ps(y + i));
}
static NOINLINE void blend_nt(void)
{
    const __m128 p = _mm_set1_ps(0.7f), q = _mm_set1_ps(0.3f);
    for (int64_t i = 0; i + 3 < n; i += 4)
        _mm_stream_ps(z + i, p * _mm_load_ps(x + i) + q * _mm_load_ps(y + i));
    _mm_sfence();
}
static NOINLINE void blend_nostore(void)
{
    const __m128 p = _mm_set1_ps(0.7f), q = _mm_set1_ps(0.3f);
    for (int64_t i = 0; i + 3 < n; i += 4) {
        __m128 v = p * _mm_load_ps(x + i) + q * _mm_load_ps(y + i);
        HOLD(v);
    }
}
enum { EDGE = 160 };
static int64_t edge; /* of planes and rows; a row is as long in L1 */
static void open_box(void)
{
    edge = l1 ? 3 : EDGE;
    n = (edge - 2) * (edge - 2) * (EDGE - 2);
    a = get((size_t)(edge * edge * EDGE) * 8 + 4096);
    b = (double *)get((size_t)(edge * edge * EDGE) * 8 + 8192) + 256;
    for (int64_t i = 0; i < edge * edge * EDGE; i++)
        a[i] = 1.0;
}
static NOINLINE void heat(void)
{
    const int64_t e = EDGE, ee = edge * e;
    for (int64_t i = 1; i < edge - 1; i++)
        for (int64_t k = 1; k < edge - 1; k++) {
            const double *p = a + i * ee + k * e;
            double *to = b + i * ee + k * e;
            for (int64_t j = 1; j < e - 1; j++)
                to[j] = 0.4 * p[j] +
                        0.1 * (p[j - 1] + p[j + 1] + p[j - e] + p[j + e] + p[j - ee] + p[j + ee]);
        }
}
static void open_short_rows(void)
{
    cols = 12;
    rows = l1 ? 200 : 1 << 20;
    n = rows * cols;
    a = get((size_t)n * 8 + 4096);
    b = get(4096);
    c = get((size_t)rows * 8 + 4096);
    for (int64_t i = 0; i < n; i++)
        a[i] = 1.0;
}
static NOINLINE void short_rows(void)
{
    for (int64_t r = 0; r < rows; r++) {
        double s = 0;
        for (int64_t k = 0; k < cols; k++) {
            s += a[r * cols + k] * b[k];
            HOLD(s);
        }
        c[r] = s;
    }
}
static void open_hops(void)
{
    n = l1 ? 400 : 24000;
    pitch = l1 ? 64 : 4096 + 64;
    pixels = get((size_t)(n * pitch) + 4096 * 66);
    for (int64_t i = 0; i < n * pitch; i += 64)
        pixels[i] = (uint8_t)i;
}
static NOINLINE void hops(void)
{
    uint64_t s = 0;
    const uint8_t *p = pixels;
    for (int64_t i = 0; i < n; i++, p += pitch)
        s += *p;
    sink = (double)s;
}
static NOINLINE void hops_pf(void)
{
    uint64_t s = 0;
    const uint8_t *p = pixels;
    for (int64_t i = 0; i < n; i++, p += pitch) {
        __builtin_prefetch(p + lines * 64);
        s += *p;
    }
    sink = (double)s;
}
static void open_pixels(void)
{
    n = l1 ? 2000 : 20 << 20;
    pixels = get((size_t)n * 3 + 4096);
    x = get((size_t)n * 4 + 4096);
    memset(pixels, 77, (size_t)n * 3);
}
static NOINLINE void grey(void)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = 0.3f * pixels[3 * i] + 0.6f * pixels[3 * i + 1] + 0.1f * pixels[3 * i + 2];
}

/* ---- branches, forwarding ---- */

static void open_marks(void)
{
    n = 6 << 20; /* the ways of 60000 are learned */
    x = get((size_t)n * 4 + 4096);
    for (int64_t i = 0; i < n; i++)
        x[i] = sorted ? (i > n / 3 ? 0.9f : 0.1f) : next_random() % 3 ? 0.9f : 0.1f;
}
static NOINLINE void clip(void)
{
    int64_t high = 0, low = 7;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] > 0.5f) {
            high += low ^ i;
            KEEP(&high);
        } else {
            low += 3 * i;
            KEEP(&low);
        }
    }
    sink = (double)(high + low);
}
static NOINLINE void prefix(void)
{
    for (int64_t i = 1; i < n; i++) {
        b[i] += b[i - 1];
        KEEP(b);
    }
}
/* a load of eight bytes that two stores of four have just written waits until they are in L1 */
static NOINLINE void halves(void)
{
    uint32_t pair[16] __attribute__((aligned(64))) = {0};
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t *from = (const uint32_t *)&b[i];
        double whole;
        pair[0] = from[0];
        pair[1] = from[1];
        KEEP(pair);
        memcpy(&whole, pair, 8);
        a[i] = whole + 1.0;
    }
    sink = s;
}

static const struct twin twins[] = {
    {"across_dram", 0, columns_apart, across, {{"data_in_l1", 0}, {"huge_pages", 0}}},
    {"across_conflict", 0, columns_conflict, across, {{"data_in_l1", 0}}},
    {"pick",
     0,
     open_picks,
     pick,
     {{"data_in_l1", 0}, {"huge_pages", 0}, {"prefetch_indirect", pick_pf}, {"all_cores", 0}}},
    {"probe", 0, open_probes, probe, {{"huge_pages", 0}, {"data_in_l1", 0}}},
    {"follow", 0, open_beads, follow, {{"huge_pages", 0}, {"data_in_l1", 0}}},
    {"distance_l1", 1100, open_reals, largest_distance, {{"chains_broken", largest_distance4}}},
    {"distance_l3", 300000, open_reals, largest_distance, {{"chains_broken", largest_distance4}}},
#ifdef __AVX2__
    {"squares_l1", 4000, open_floats, squares, {{"chains_broken", squares4}}},
    {"squares_l2", 60000, open_floats, squares, {{"chains_broken", squares4}, {"data_in_l1", 0}}},
#endif
    {"inverse_l2", 20000, open_reals, inverse, {{"divisions_cheap", inverse_cheap}}},
    {"inverse_dram", 5 << 20, open_reals, inverse, {{"divisions_cheap", inverse_cheap}}},
    {"lengths_l1", 1600, open_floats, lengths, {{"divisions_cheap", lengths_cheap}}},
    {"lengths_l3", 600000, open_floats, lengths, {{"divisions_cheap", lengths_cheap}}},
    {"blend_dram",
     12 << 20,
     open_floats,
     blend,
     {{"streaming_stores", blend_nt},
      {"without_stores", blend_nostore},
      {"data_in_l1", 0},
      {"huge_pages", 0},
      {"all_cores", 0}}},
    {"blend_l2", 40000, open_floats, blend, {{"without_stores", blend_nostore}, {"data_in_l1", 0}}},
    {"heat", 0, open_box, heat, {{"data_in_l1", 0}, {"huge_pages", 0}, {"all_cores", 0}}},
    {"short_rows", 0, open_short_rows, short_rows, {{"data_in_l1", 0}, {"huge_pages", 0}}},
    {"hops", 0, open_hops, hops, {{"huge_pages", 0}, {"data_in_l1", 0}, {"prefetch", hops_pf}}},
    {"grey", 0, open_pixels, grey, {{"data_in_l1", 0}, {"huge_pages", 0}, {"all_cores", 0}}},
    {"clip", 0, open_marks, clip, {{"branches_known", 0}}},
    {"prefix_l1", 1000, open_reals, prefix, {{"data_in_l1", 0}}},
    {"prefix_dram", 8 << 20, open_reals, prefix, {{"data_in_l1", 0}, {"huge_pages", 0}}},
    {"halves_l1", 1000, open_reals, halves, {{"data_in_l1", 0}}},
    {"halves_l3", 500000, open_reals, halves, {{"data_in_l1", 0}}},
};

int main(int argc, char **argv)
{
    return run_twins(argc, argv, twins, sizeof twins / sizeof *twins);
}
