/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops with their twins, each of a kind that predictions were wrong for, or refused, when it was tried first: chains through
 * memory, accesses across two lines, loops that are entered in their middle, AVX-512, branches with twins whose data are
 * a pattern, threads that live shortly. Compile with -O2 or for AVX-512, and -fno-math-errno
 * -fno-tree-loop-distribute-patterns. */
#include "twin.h"

#include <immintrin.h>
#include <pthread.h>

#ifdef __AVX512F__
#define VECTOR __m512
#define ALL_OF _mm512_set1_ps
#define LOAD   _mm512_load_ps
#define STORE  _mm512_store_ps
#define STREAM _mm512_stream_ps
#else
#define VECTOR __m128
#define ALL_OF _mm_set1_ps
#define LOAD   _mm_load_ps
#define STORE  _mm_store_ps
#define STREAM _mm_stream_ps
#endif
enum { WIDE = sizeof(VECTOR) / sizeof(float) };

static float *u, *v;
static int32_t *keys;
static int64_t step;

static void open_singles(void)
{
    n = l1 ? 2400 : elements;
    u = get((size_t)n * 4 + 4096);
    v = get((size_t)n * 4 + 4096);
    for (int64_t i = 0; i < n; i++) {
        u[i] = 1.0f + 1e-3f * (float)(i % 100);
        v[i] = 0.5f;
    }
}
static void open_doubles(void)
{
    make_streams(1200);
}
static void doubles_dram(void)
{
    open_doubles();
    for (int64_t i = 0; i < n; i++)
        b[i] = i % 5 ? 1.0 : 0.0;
}

/* ---- streams ---- */

static NOINLINE void copy(void)
{
    for (int64_t i = 0; i + WIDE <= n; i += WIDE)
        STORE(v + i, LOAD(u + i) * ALL_OF(1.1f));
}
static NOINLINE void copy_nt(void)
{
    for (int64_t i = 0; i + WIDE <= n; i += WIDE)
        STREAM(v + i, LOAD(u + i) * ALL_OF(1.1f));
    _mm_sfence();
}
static NOINLINE void copy_nostore(void)
{
    for (int64_t i = 0; i + WIDE <= n; i += WIDE) {
        VECTOR x = LOAD(u + i) * ALL_OF(1.1f);
        HOLD(x);
    }
}
/* compilers enter it in its middle */
static NOINLINE void update(void)
{
    for (int64_t i = 0; i + WIDE <= n; i += WIDE)
        STORE(u + i, LOAD(u + i) * ALL_OF(1.1f) * ALL_OF(0.9f));
}
/* accesses across two lines */
static NOINLINE void filter5(void)
{
    for (int64_t i = 2; i < n - 2; i++)
        v[i] = 0.1f * (u[i - 2] + u[i - 1] + u[i] + u[i + 1] + u[i + 2]);
}

/* ---- chains ---- */

/* through memory: a register does not show it */
static NOINLINE void recurrence(void)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] = a[i - 1] * 0.5 + b[i];
        KEEP(a);
    }
}
static NOINLINE void continued(void)
{
    double s = 1;
    for (int64_t i = 0; i < n; i++) {
        s = c[i] / (s + b[i]);
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void continued_cheap(void)
{
    double s = 1;
    for (int64_t i = 0; i < n; i++) {
        s = c[i] * 0.3 * (s + b[i]);
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void continued4(void)
{
    double s[4] = {1, 1, 1, 1};
    for (int64_t i = 0; i + 3 < n; i += 4) {
        SIDE_BY_SIDE (j, 4) {
            s[j] = c[i + j] / (s[j] + b[i + j]);
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3];
}
struct node {
    struct node *next;
    double x[7];
};
static struct node *nodes;
static void open_nodes(int64_t count, int mixed)
{
    n = l1 ? 64 : count;
    nodes = get((size_t)n * sizeof *nodes);
    uint32_t *order = shuffled((size_t)n);
    for (int64_t i = 0; i < n && !mixed; i++)
        order[i] = (uint32_t)i;
    for (int64_t i = 0; i < n; i++)
        nodes[order[i]].next = i + 1 < n ? &nodes[order[i + 1]] : NULL;
    m = order[0];
    free(order);
}
static void nodes_l2(void)
{
    open_nodes(8000, 1);
}
static void nodes_in_order(void)
{
    open_nodes(1 << 20, 0);
}
/* a branch tests the loads that wait for each other */
static NOINLINE void walk(void)
{
    double s = 0;
    for (const struct node *p = nodes + m; p; p = p->next)
        s += p->x[0];
    sink = s;
}

/* ---- roots and divisions of the whole width ---- */

#ifdef __AVX512F__
static NOINLINE void roots(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8)
        _mm512_store_pd(a + i, _mm512_sqrt_pd(_mm512_load_pd(b + i)));
}
static NOINLINE void roots_cheap(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8)
        _mm512_store_pd(a + i, _mm512_load_pd(b + i) * _mm512_load_pd(b + i));
}
static NOINLINE void masked(void)
{
    for (int64_t i = 0; i + 7 < n; i += 8) {
        const __m512d x = _mm512_load_pd(b + i);
        const __mmask8 some = _mm512_cmp_pd_mask(x, _mm512_set1_pd(1.05), _CMP_GT_OQ);
        _mm512_mask_store_pd(a + i, some, _mm512_mask_mul_pd(x, some, x, _mm512_load_pd(c + i)));
    }
}
#endif

/* ---- strides, prefetches and streaming stores that are there ---- */

static void open_strided(int64_t each, int64_t count)
{
    step = l1 ? 1 : each;
    n = l1 ? 3000 : count;
    a = get((size_t)(n * step) * 8 + 4096);
}
static void every_second_line(void)
{
    open_strided(17, 1 << 20);
}
static void every_page(void)
{
    open_strided(512 + 8, 30000);
}
static NOINLINE void stride(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += a[i * step];
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void stride_pf(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(a + (i + lines) * step);
        s += a[i * step];
        HOLD(s);
    }
    sink = s;
}
static void open_table(void)
{
    make_table(4 << 20, 24 << 20);
    b = get((size_t)n * 8 + 64);
}
static NOINLINE void prefetched(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(a + ix[i + AHEAD]);
        s += a[ix[i]];
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void add_to(void)
{
    for (int64_t i = 0; i < n; i++)
        a[ix[i]] += b[i];
}
static NOINLINE void add_to_pf(void)
{
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(a + ix[i + AHEAD]);
        a[ix[i]] += b[i];
    }
}

/* ---- branches; the twin's keys are a pattern ---- */

static void open_keys(void)
{
    n = 200000;
    b = get((size_t)n * 8 + 4096);
    keys = get((size_t)n * 4 + 4096);
    for (int64_t i = 0; i < n; i++) {
        keys[i] = (int32_t)(sorted ? (uint64_t)(i * 371 % 10 * 100 + i % 2) : next_random() % 1000);
        b[i] = 1.0;
    }
}
static NOINLINE void thirds(void)
{
    double s = 0, t = 0;
    for (int64_t i = 0; i < n; i++) {
        if (keys[i] < 300) {
            s += b[i];
            HOLD(s);
        } else {
            t += b[i] * 2.0;
            HOLD(t);
        }
    }
    sink = s + t;
}
static NOINLINE void nested(void)
{
    double s = 0, t = 0;
    for (int64_t i = 0; i < n; i++) {
        if (keys[i] < 500) {
            s += b[i];
            HOLD(s);
            if (keys[i] & 1) {
                t -= b[i];
                HOLD(t);
            }
        }
    }
    sink = s + t;
}
/* what a branch tests stays in memory */
static NOINLINE void tested(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        if (b[i] > 0.5) {
            s += c[i];
            HOLD(s);
        }
    sink = s;
}

/* ---- two threads, of which one lives for a call ---- */

static void two_open(void)
{
    open_doubles();
    per = 2000.0 * (double)n;
}
static void run_two(void *(*f)(void *))
{
    pthread_t other;
    pthread_create(&other, NULL, f, a);
    f(NULL);
    pthread_join(other, NULL);
}
static void *quotients(void *second)
{
    const int64_t from = second ? n / 2 : 0;
    for (int r = 0; r < 2000; r++) {
        for (int64_t i = from; i < from + n / 2; i++)
            a[i] = b[i] / c[i];
        KEEP(a);
    }
    return NULL;
}
static void *products(void *second)
{
    const int64_t from = second ? n / 2 : 0;
    for (int r = 0; r < 2000; r++) {
        for (int64_t i = from; i < from + n / 2; i++)
            a[i] = b[i] * c[i];
        KEEP(a);
    }
    return NULL;
}
static NOINLINE void two(void)
{
    run_two(quotients);
}
static NOINLINE void two_cheap(void)
{
    run_two(products);
}

static const struct twin twins[] = {
    {"copy_l2",
     40000,
     open_singles,
     copy,
     {{"data_in_l1"}, {"without_stores", copy_nostore}, {"streaming_stores", copy_nt}}},
    {"copy_dram",
     16 << 20,
     open_singles,
     copy,
     {{"data_in_l1"},
      {"without_stores", copy_nostore},
      {"streaming_stores", copy_nt},
      {"huge_pages"}}},
    {"update_l3", 1 << 20, open_singles, update, {{"data_in_l1"}}},
    {"update_dram", 16 << 20, open_singles, update, {{"data_in_l1"}, {"huge_pages"}}},
    {"filter5_l2", 40000, open_singles, filter5, {{"data_in_l1"}}},
    {"filter5_l3", 1 << 20, open_singles, filter5, {{"data_in_l1"}}},
    {"copied_nt", 16 << 20, open_singles, copy_nt, {{"huge_pages"}}},
#ifdef __AVX512F__
    {"roots_l1", 800, open_doubles, roots, {{"divisions_cheap", roots_cheap}}},
    {"masked_l3", 400000, open_doubles, masked, {{"data_in_l1"}}},
#else
    {"recurrence_l1", 800, open_doubles, recurrence, {{"data_in_l1"}}},
    {"continued_l1",
     800,
     open_doubles,
     continued,
     {{"divisions_cheap", continued_cheap}, {"chains_broken", continued4}}},
    {"nodes_l2", 0, nodes_l2, walk, {{"data_in_l1"}}},
    {"nodes_in_order", 0, nodes_in_order, walk, {{"data_in_l1"}, {"huge_pages"}}},
    {"every_second_line",
     0,
     every_second_line,
     stride,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch", stride_pf}}},
    {"every_page",
     0,
     every_page,
     stride,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch", stride_pf}}},
    {"prefetched", 0, open_table, prefetched, {{"data_in_l1"}, {"huge_pages"}}},
    {"add_to",
     0,
     open_table,
     add_to,
     {{"data_in_l1"}, {"huge_pages"}, {"prefetch_indirect", add_to_pf}}},
    {"thirds", 0, open_keys, thirds, {{"branches_known"}}},
    {"nested", 0, open_keys, nested, {{"branches_known"}}},
    {"tested_dram", 6 << 20, doubles_dram, tested, {{"data_in_l1"}, {"huge_pages"}}},
    {"two_threads", 1600, two_open, two, {{"divisions_cheap", two_cheap}}},
#endif
};

int main(int argc, char **argv)
{
    return run_twins(argc, argv, twins, sizeof twins / sizeof *twins);
}
