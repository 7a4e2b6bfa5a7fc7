/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm's roofs against loops of an afternoon: C at -O3 -march=native, and chains of FMAs and additions as
 * newer benchmarks have them. Both run in carm's harness on the same pages, in turn; only pairs with cores
 * of their own count. Prints; never decides.
 * usage: loops MODEL.json [SECONDS] */
#include <stdio.h>
#include <string.h>

#include "tests/bench/pairs.h"

enum { DOUBLES = 64, ARRAYS = 4 };

/* One pass: each array has n doubles. */
typedef double loop_fn(double *const *a, size_t n);

static volatile double sink;

static double sum(double *const *a, size_t n)
{
    double s = 0.0;
    for (size_t i = 0; i < n; i++) {
        s += a[0][i];
    }
    return s;
}

static double dot(double *const *a, size_t n)
{
    const double *restrict x = a[0];
    const double *restrict y = a[1];
    double s = 0.0;
    for (size_t i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

static double sum_of_four(double *const *a, size_t n)
{
    double s = 0.0;
    for (size_t i = 0; i < n; i++) {
        s += a[0][i] + a[1][i] + a[2][i] + a[3][i];
    }
    return s;
}

static double fill(double *const *a, size_t n)
{
    double *restrict x = a[0];
    for (size_t i = 0; i < n; i++) {
        x[i] = 1.25;
    }
    return 0.0;
}

static double copy(double *const *a, size_t n) /* the compiler calls memcpy */
{
    double *restrict x = a[1];
    const double *restrict y = a[0];
    for (size_t i = 0; i < n; i++) {
        x[i] = y[i];
    }
    return 0.0;
}

static double scale(double *const *a, size_t n)
{
    double *restrict x = a[1];
    const double *restrict y = a[0];
    for (size_t i = 0; i < n; i++) {
        x[i] = 0.5 * y[i];
    }
    return 0.0;
}

static double triad(double *const *a, size_t n)
{
    double *restrict x = a[2];
    const double *restrict y = a[0];
    const double *restrict z = a[1];
    for (size_t i = 0; i < n; i++) {
        x[i] = y[i] + 0.5 * z[i];
    }
    return 0.0;
}

static double schoenauer(double *const *a, size_t n)
{
    double *restrict x = a[3];
    const double *restrict y = a[0];
    const double *restrict z = a[1];
    const double *restrict w = a[2];
    for (size_t i = 0; i < n; i++) {
        x[i] = y[i] + z[i] * w[i];
    }
    return 0.0;
}

static double negate(double *const *a, size_t n)
{
    double *restrict x = a[0];
    for (size_t i = 0; i < n; i++) {
        x[i] = -x[i];
    }
    return 0.0;
}

static double axpy(double *const *a, size_t n)
{
    double *restrict x = a[0];
    const double *restrict y = a[1];
    for (size_t i = 0; i < n; i++) {
        x[i] += 0x1p-60 * y[i];
    }
    return 0.0;
}

static const struct loop {
    const char *name, *ldst;
    unsigned arrays, loads, stores;
    loop_fn *run;
} loops[] = {
    {"sum", "1:0", 1, 1, 0, sum},
    {"dot", "1:0", 2, 2, 0, dot},
    {"sum of four", "1:0", 4, 4, 0, sum_of_four},
    {"fill", "0:1", 1, 0, 1, fill},
    {"copy", "1:1", 2, 1, 1, copy},
    {"scale", "1:1", 2, 1, 1, scale},
    {"triad", "2:1", 3, 2, 1, triad},
    {"schoenauer", "3:1", 4, 3, 1, schoenauer},
    {"negate", "update", 1, 1, 1, negate},
    {"axpy", "2:1update", 2, 2, 1, axpy},
};
enum { LOOPS = sizeof loops / sizeof *loops };

/* As a test code is called (asm/image.h). */
static void call(const struct loop *l, void *window, uint64_t iterations, uint64_t passes,
                 uint64_t extra)
{
    double *arrays[ARRAYS];
    for (unsigned k = 0; k < ARRAYS; k++) {
        arrays[k] = (double *)(void *)((char *)window + (k < l->arrays ? k : 0) * extra);
    }
    for (uint64_t p = 0; p < passes; p++) {
        sink = l->run(arrays, iterations * DOUBLES);
        __asm__ volatile("" ::: "memory");
    }
}

#define RUN(i)                                                                              \
    static void run_##i(void *window, uint64_t iterations, uint64_t passes, uint64_t extra) \
    {                                                                                       \
        call(&loops[i], window, iterations, passes, extra);                                 \
    }                                                                                       \
    static carm_code_fn run_##i
RUN(0);
RUN(1);
RUN(2);
RUN(3);
RUN(4);
RUN(5);
RUN(6);
RUN(7);
RUN(8);
RUN(9);
static carm_code_fn *const runs[LOOPS] = {run_0, run_1, run_2, run_3, run_4,
                                          run_5, run_6, run_7, run_8, run_9};

static struct carm_code code_of(size_t i)
{
    const struct loop *l = &loops[i];
    const uint64_t bytes = DOUBLES * sizeof(double);
    struct carm_code c = {
        .spec = {.kind = CARM_KIND_A,
                 .isa = CARM_SSE, /* whatever the compiler took */
                 .mix = {.loads = l->loads, .stores = l->stores},
                 .units = DOUBLES,
                 .streams = l->arrays},
        .account = {.load_bytes = l->loads * bytes,
                    .store_bytes = l->stores * bytes,
                    .stride_bytes = bytes,
                    .instructions = DOUBLES},
        .run = runs[i],
    };
    (void)snprintf(c.name, sizeof c.name, "%s", l->name);
    return c;
}

/* Chains of FMAs, and of FMAs and additions on chains of their own: fma FMAs, then adds additions. */
#if defined __AVX512F__
enum { LANES = 8 };
#elif defined __FMA__
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));

#ifdef __FMA__
#define PEAK(name, fma, adds)                                                            \
    static void name(void *window, uint64_t iterations, uint64_t passes, uint64_t extra) \
    {                                                                                    \
        const vector factor = (vector){0} + 0x1.23456p-40;                               \
        vector sums[(fma) + (adds)];                                                     \
        (void)window;                                                                    \
        (void)extra;                                                                     \
        _Pragma("GCC unroll 16") for (int k = 0; k < (fma) + (adds); k++)                \
        {                                                                                \
            sums[k] = factor + (1.0 + 0.01 * k);                                         \
        }                                                                                \
        for (uint64_t i = 0; i < iterations * passes; i++) {                             \
            _Pragma("GCC unroll 16") for (int k = 0; k < (fma) || k < (adds); k++)       \
            {                                                                            \
                if (k < (fma)) {                                                         \
                    __asm__("vfmadd231pd %1, %1, %0" : "+x"(sums[k]) : "x"(factor));     \
                }                                                                        \
                if (k < (adds)) {                                                        \
                    __asm__("vaddpd %1, %0, %0" : "+x"(sums[(fma) + k]) : "x"(factor));  \
                }                                                                        \
            }                                                                            \
        }                                                                                \
        _Pragma("GCC unroll 16") for (int k = 0; k < (fma) + (adds); k++)                \
        {                                                                                \
            __asm__ volatile("" ::"x"(sums[k]));                                         \
        }                                                                                \
    }                                                                                    \
    static carm_code_fn name
PEAK(fma_12, 12, 0);
PEAK(fma_add_7, 7, 7);
PEAK(fma_add_6, 6, 6);
PEAK(fma_2_add, 8, 4);
static const struct peak {
    const char *name, *op;
    unsigned fmas, adds;
    carm_code_fn *run;
} peaks[] = {{"12 FMA", "fma", 12, 0, fma_12},
             {"7 FMA 7 add", "fma+add", 7, 7, fma_add_7},
             {"6 FMA 6 add", "fma+add", 6, 6, fma_add_6},
             {"8 FMA 4 add", "fma+add", 8, 4, fma_2_add}};
enum { PEAKS = sizeof peaks / sizeof *peaks };
#else
static const struct peak {
    const char *name, *op;
    unsigned fmas, adds;
    carm_code_fn *run;
} peaks[1];
enum { PEAKS = 0 };
#endif

static struct carm_code code_of_peak(const struct peak *p)
{
    struct carm_code c = {
        .spec = {.kind = CARM_KIND_B, .fps = p->fmas + p->adds, .chains = p->fmas + p->adds},
        .account = {.fp_instructions = p->fmas + p->adds,
                    .flops = (uint64_t)LANES * (2 * p->fmas + p->adds),
                    .instructions = p->fmas + p->adds + 2},
        .run = p->run,
    };
    (void)snprintf(c.name, sizeof c.name, "%s", p->name);
    return c;
}

static size_t find(const struct carm_model *model, const struct carm_topo *topo,
                   struct bench_row *rows, size_t max)
{
    size_t n = 0;
    for (size_t r = 0; r < model->nroofs; r++) {
        const struct carm_roofs *roofs = &model->roofs[r];
        if (strcmp(roofs->isa, model->roofs[0].isa) != 0 || strcmp(roofs->precision, "dp") != 0) {
            continue; /* the widest */
        }
        for (size_t i = 0; i < model->nlevels * LOOPS && n < max; i++) {
            const struct carm_memory_roof *roof = carm_roofs_find_memory(
                roofs, model->levels[i / LOOPS].level, loops[i % LOOPS].ldst);
            if (roof) {
                struct bench_row *row = &rows[n++];
                bench_row_memory(row, model, roofs, roof, topo);
                row->theirs = code_of(i % LOOPS);
                row->name = loops[i % LOOPS].name;
            }
        }
        for (size_t i = 0; i < PEAKS * roofs->ncompute && n < max; i++) {
            const struct carm_compute_roof *roof = &roofs->compute[i % roofs->ncompute];
            const struct peak *p = &peaks[i / roofs->ncompute];
            if (strstr(roof->op, p->op) && carm_op_is_mixture(roof->op) == (p->adds > 0)) {
                struct bench_row *row = &rows[n++];
                bench_row_compute(row, roofs, roof);
                row->theirs = code_of_peak(p);
                row->name = p->name;
            }
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "C loops at -O3 against carm's codes", find);
}
