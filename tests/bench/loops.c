/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm's roofs against loops of an afternoon: C at -O3 -march=native, and chains of FMAs and additions as
 * newer benchmarks have them. Both run in carm's harness on the same pages, in turn; only rounds with cores
 * of their own count. Prints; never decides.
 * usage: loops MODEL.json [PAIRS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/measure.h"
#include "harness/search.h"
#include "models/model.h"
#include "validation/build/levels.h"

enum { PAIRS_MAX = 99, REPS = 256, DOUBLES = 64, ARRAYS = 4 };

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

/* ---- peaks -------------------------------------------------------------------------------------- */

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

/* ---- pairs -------------------------------------------------------------------------------------- */

struct bench {
    struct carm_topo *topo;
    struct carm_clock clock;
    int pairs;
};

/* A loop, and the roof that it runs in turn with. */
struct pair {
    struct carm_code theirs;
    const char *code, *level, *what;
    uint64_t set; /* of all threads, 0 = a peak */
    double target;
    int threads;
    bool alone; /* what each thread has for itself counts for each thread by itself */
};

/* The rate; 0 = a core was shared */
static double measure(struct carm_team *team, const struct carm_code *code,
                      const struct carm_shape *shape)
{
    struct carm_measurement m;
    carm_measure_run(team, code, shape, REPS, &m);
    return m.own_share > 0.0
               ? carm_measure_rate(&m, shape->windows && m.bytes > 0.0 ? m.bytes : m.flops)
               : 0.0;
}

static void print_pair(const struct pair *p, double *ours, double *ratios, int found)
{
    (void)printf("%2d  %-5s %-12s %-10s %9.0f KiB ", p->threads, p->level, p->theirs.name, p->what,
                 (double)p->set / 1024.0);
    if (found) {
        const double ratio = carm_stats_median(ratios, (size_t)found); /* sorts */
        (void)printf("%9.2f   %5.3f  (%.3f .. %.3f, %d)%s\n",
                     carm_stats_median(ours, (size_t)found) / 1e9, ratio, ratios[found / 4],
                     ratios[found * 3 / 4], found, ratio > 1.02 ? "  above" : "");
    } else {
        (void)printf("no pair in which no core was shared\n");
    }
    (void)fflush(stdout);
}

static int bench_pair(const struct bench *b, const struct pair *p, struct carm_err *err)
{
    struct carm_code_spec specs[2] = {{.kind = CARM_KIND_EMPTY, .units = 1}};
    const uint64_t set = p->set / (uint64_t)p->threads;
    struct carm_image *image = NULL;
    struct carm_team *team = NULL;
    struct carm_shape shapes[2];
    double ratios[PAIRS_MAX];
    double ours[PAIRS_MAX];
    int found = 0;
    int rc = carm_code_parse(p->code, &specs[1], err);
    rc = rc ? rc : carm_image_open(&image, specs, 2, err);
    rc = rc ? rc
            : carm_team_open(&team, b->topo, &b->clock, p->threads, set + ((size_t)24 << 20), REPS,
                             err);
    if (rc) {
        goto out;
    }
    team->patience_seconds = 4e-3;
    carm_measure_watch(team, 0.1);
    carm_measure_calibrate(team, &image->codes[0]);
    if (set && set <= (uint64_t)1 << 20) {
        carm_measure_place(team, &image->codes[1], set, 8);
    }
    carm_measure_shape(team, &p->theirs, set, p->target, &shapes[0]);
    carm_measure_shape(team, &image->codes[1], set, p->target, &shapes[1]);
    carm_team_separate(team, p->alone);
    for (int i = 0; i < b->pairs; i++) {
        const double roof = measure(team, &image->codes[1], &shapes[1]);
        const double loop = measure(team, &p->theirs, &shapes[0]);
        if (roof > 0.0 && loop > 0.0) {
            ours[found] = roof;
            ratios[found++] = loop / roof;
        }
    }
    print_pair(p, ours, ratios, found);
out:
    carm_team_close(team);
    carm_image_close(image);
    return rc;
}

static int bench_roofs(const struct bench *b, const struct carm_model *model,
                       const struct carm_roofs *r, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < model->nlevels * LOOPS && !rc; i++) {
        const size_t level = i / LOOPS;
        const struct loop *l = &loops[i % LOOPS];
        const struct carm_memory_roof *roof =
            carm_roofs_find_memory(r, model->levels[level].level, l->ldst);
        if (roof) {
            const struct pair p = {.theirs = code_of(i % LOOPS),
                                   .code = roof->code,
                                   .level = roof->level,
                                   .what = l->ldst,
                                   .set = roof->working_set_bytes,
                                   .target = carm_level_target(level, model->nlevels),
                                   .threads = r->threads,
                                   .alone = carm_build_is_private(b->topo, level, r->threads)};
            rc = bench_pair(b, &p, err);
        }
    }
    for (size_t i = 0; i < PEAKS && !rc; i++) {
        for (size_t k = 0; k < r->ncompute && !rc; k++) {
            const struct carm_compute_roof *roof = &r->compute[k];
            if (strstr(roof->op, peaks[i].op) &&
                carm_op_is_mixture(roof->op) == (peaks[i].adds > 0)) {
                const struct pair p = {.theirs = code_of_peak(&peaks[i]),
                                       .code = roof->code,
                                       .level = "",
                                       .what = roof->op,
                                       .target = CARM_TARGET_CORE,
                                       .threads = r->threads,
                                       .alone = true};
                rc = bench_pair(b, &p, err);
            }
        }
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct bench b = {.pairs = argc > 2 ? atoi(argv[2]) : 15}; /* NOLINT(cert-err34-c) */
    struct carm_model *model = NULL;
    struct carm_err err = {""};
    if (argc < 2 || b.pairs < 1 || b.pairs > PAIRS_MAX) {
        (void)fprintf(stderr, "usage: loops MODEL.json [PAIRS]\n");
        return 2;
    }
    int rc = carm_model_read(argv[1], &model, &err);
    rc = rc ? rc : carm_topo_open(&b.topo, NULL, NULL, &err);
    rc = rc ? rc : carm_clock_open(&b.clock, &err);
    if (!rc) {
        (void)printf(
            "C loops at -O3 against carm's codes: the codes' GB/s or Gflop/s, and medians of "
            "the pairs' ratios\n"
            "th  level loop         mix       working set      carm   ratio  (quartiles, "
            "pairs)\n");
    }
    for (size_t i = 0; !rc && i < model->nroofs; i++) {
        if (strcmp(model->roofs[i].isa, model->roofs[0].isa) == 0) { /* the widest */
            rc = bench_roofs(&b, model, &model->roofs[i], &err);
        }
    }
    if (rc) {
        (void)fprintf(stderr, "loops: %s\n", err.text);
    }
    carm_topo_close(b.topo);
    carm_model_free(model);
    return rc ? 1 : 0;
}
