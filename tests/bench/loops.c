/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm's roofs against loops of an afternoon: C at -O3 -march=native. Both
 * run in carm's harness on the same pages, in turn; only rounds with cores of their own count. Prints; never
 * decides.
 * usage: loops MODEL.json [PAIRS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/measure.h"
#include "harness/search.h"
#include "models/model.h"

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

struct bench {
    struct carm_topo *topo;
    struct carm_clock clock;
    int pairs;
};

/* One side: a code on a working set, and the rates that count. */
struct side {
    const struct carm_code *code;
    struct carm_shape shape;
    double rate; /* of the latest pair; 0 = the core was shared */
};

static void measure(struct carm_team *team, struct side *s)
{
    struct carm_measurement m;
    carm_measure_run(team, s->code, &s->shape, REPS, &m);
    s->rate = m.own_share > 0.0 ? carm_measure_rate(&m, m.bytes) : 0.0;
}

static int bench_loop(const struct bench *b, size_t loop, const struct carm_memory_roof *roof,
                      double target, struct carm_err *err)
{
    struct carm_code_spec specs[2] = {{.kind = CARM_KIND_EMPTY, .units = 1}};
    const struct carm_code theirs = code_of(loop);
    struct side sides[2] = {{.code = &theirs}};
    const uint64_t set = roof->working_set_bytes;
    struct carm_image *image = NULL;
    struct carm_team *team = NULL;
    double ratios[PAIRS_MAX];
    double ours[PAIRS_MAX];
    int found = 0;
    int rc = carm_code_parse(roof->code, &specs[1], err);
    rc = rc ? rc : carm_image_open(&image, specs, 2, err);
    rc =
        rc ? rc : carm_team_open(&team, b->topo, &b->clock, 1, set + ((size_t)24 << 20), REPS, err);
    if (rc) {
        goto out;
    }
    team->patience_seconds = 4e-3;
    carm_measure_watch(team, 0.1);
    carm_measure_calibrate(team, &image->codes[0]);
    if (set <= (uint64_t)1 << 20) {
        carm_measure_place(team, &image->codes[1], set, 8);
    }
    sides[1].code = &image->codes[1];
    for (size_t i = 0; i < 2; i++) {
        carm_measure_shape(team, sides[i].code, set, target, &sides[i].shape);
    }
    for (int i = 0; i < b->pairs; i++) {
        measure(team, &sides[1]);
        measure(team, &sides[0]);
        if (sides[0].rate > 0.0 && sides[1].rate > 0.0) {
            ours[found] = sides[1].rate;
            ratios[found++] = sides[0].rate / sides[1].rate;
        }
    }
    if (found) {
        const double ratio = carm_stats_median(ratios, (size_t)found); /* sorts */
        (void)printf("%-5s %-12s %-10s %10.0f KiB %9.2f   %5.3f  (%.3f .. %.3f, %d)%s\n",
                     roof->level, loops[loop].name, loops[loop].ldst, (double)set / 1024.0,
                     carm_stats_median(ours, (size_t)found) / 1e9, ratio, ratios[found / 4],
                     ratios[found * 3 / 4], found, ratio > 1.02 ? "  above" : "");
    } else {
        (void)printf("%-5s %-12s no pair in which the core was not shared\n", roof->level,
                     loops[loop].name);
    }
    (void)fflush(stdout);
out:
    carm_team_close(team);
    carm_image_close(image);
    return rc;
}

static int bench_level(const struct bench *b, const struct carm_roofs *r, const char *level,
                       double target, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < LOOPS && !rc; i++) {
        const struct carm_memory_roof *roof = carm_roofs_find_memory(r, level, loops[i].ldst);
        rc = roof ? bench_loop(b, i, roof, target, err) : 0;
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
            "C loops at -O3 against carm's codes, one thread: the codes' GB/s, and medians of the "
            "pairs' ratios\nlevel loop         mix        working set      carm   ratio  "
            "(quartiles, pairs)\n");
    }
    for (size_t i = 0; !rc && i < model->nlevels; i++) {
        if (model->roofs[0].threads == 1) {
            rc = bench_level(&b, &model->roofs[0], model->levels[i].level,
                             carm_level_target(i, model->nlevels), &err);
        }
    }
    if (rc) {
        (void)fprintf(stderr, "loops: %s\n", err.text);
    }
    carm_topo_close(b.topo);
    carm_model_free(model);
    return rc ? 1 : 0;
}
