/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm against likwid-bench in one run: the same working sets, threads and mixes, interleaved pairs of
 * short runs, medians and quartiles of the pairs' ratios, and the fastest run of each. A pair counts if carm's
 * half had its cores for itself; of the other half nobody knows. Prints; never decides.
 * usage: likwid MODEL.json [PAIRS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/measure.h"
#include "harness/search.h"
#include "models/model.h"

enum { PAIRS_MAX = 99, REPS = 1024 };

static const double run_seconds = 0.05; /* a shared core changes hands in less than that */
static const double set_most = 1 << 28; /* from memory as well as from the model's larger sets */

static const struct {
    const char *ldst, *kernel; /* likwid's kernel of the same mix */
} kernels[] = {{"1:0", "load"},  {"0:1", "store"},     {"1:1", "copy"},        {"2:1", "stream"},
               {"3:1", "triad"}, {"update", "update"}, {"2:1update", "daxpy"}, {"nt", "store_mem"}};

struct bench {
    const struct carm_model *model;
    struct carm_topo *topo;
    struct carm_clock clock;
    int pairs;
};

static const char *suffix(const char *isa)
{
    return strcmp(isa, "avx512") == 0    ? "_avx512"
           : strncmp(isa, "avx", 3) == 0 ? "_avx"
           : strcmp(isa, "sse") == 0     ? "_sse"
                                         : "";
}

/* Runs likwid-bench for some 50 ms. rate: what carm found, for the number of iterations.
 * returns byte/s or flop/s, 0 where likwid-bench has no such kernel or failed */
static double run_likwid(const struct bench *b, const char *kernel, const char *isa,
                         double set_bytes, int threads, double rate, const char *want)
{
    char command[512];
    char line[512];
    double value = 0.0;
    const int smt = b->topo->pus / b->topo->cores;
    double iterations = fmax(10.0, run_seconds * rate / set_bytes);
    (void)snprintf(command, sizeof command,
                   "likwid-bench -t %s%s%s -i %.0f -W N:%.0fB:%d:1:%d 2>/dev/null", kernel,
                   suffix(isa),
                   strcmp(kernel, "peakflops") == 0 && strncmp(isa, "avx", 3) == 0 ? "_fma" : "",
                   iterations, set_bytes, threads, threads <= b->topo->cores ? smt : 1);
    FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c): a fixed command with numbers */
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, want, strlen(want)) == 0) {
            value = strtod(line + strlen(want), NULL) * 1e6;
        }
    }
    if (f) {
        (void)pclose(f);
    }
    return value;
}

static void print_row(const char *what, const char *level, double set_bytes, int threads,
                      double *ours, double *theirs, int n)
{
    double ratios[PAIRS_MAX];
    for (int i = 0; i < n; i++) {
        ratios[i] = ours[i] / theirs[i];
    }
    const double mine = carm_stats_median(ours, (size_t)n); /* sorts */
    const double other = carm_stats_median(theirs, (size_t)n);
    const double ratio = carm_stats_median(ratios, (size_t)n);
    const double fastest = ours[n - 1] / theirs[n - 1];
    (void)printf("%2d  %-5s %-10s %10.0f KiB %9.2f %9.2f   %5.3f  (%.3f .. %.3f, %2d)   %5.3f%s\n",
                 threads, level, what, set_bytes / 1024.0, mine / 1e9, other / 1e9, ratio,
                 ratios[n / 4], ratios[n * 3 / 4], n, fastest,
                 fmax(ratio, fastest) < 0.98 ? "  below" : "");
    (void)fflush(stdout);
}

/* One row: a code of the model on one working set against a kernel of likwid-bench. */
static int bench_code(struct bench *b, const char *code_name, const char *level, const char *kernel,
                      double set_bytes, double target, int threads, const char *isa,
                      struct carm_err *err)
{
    struct carm_code_spec specs[2] = {{.kind = CARM_KIND_EMPTY, .units = 1}};
    struct carm_image *image = NULL;
    struct carm_team *team = NULL;
    double ours[PAIRS_MAX];
    double theirs[PAIRS_MAX];
    int n = 0;
    const bool flops = strcmp(kernel, "peakflops") == 0;
    int rc = carm_code_parse(code_name, &specs[1], err);
    rc = rc ? rc : carm_image_open(&image, specs, 2, err);
    rc = rc ? rc
            : carm_team_open(&team, b->topo, &b->clock, threads,
                             (size_t)set_bytes / (size_t)threads + ((size_t)16 << 20), REPS, err);
    if (rc) {
        goto out;
    }
    team->patience_seconds = 4e-3;
    carm_measure_watch(team, 0.1);
    carm_measure_calibrate(team, &image->codes[0]);
    struct carm_shape shape;
    if (!flops) {
        carm_measure_place(team, &image->codes[1], (uint64_t)(set_bytes / threads), 8);
    }
    carm_measure_shape(team, &image->codes[1], (uint64_t)(set_bytes / threads), target, &shape);
    for (int i = 0; i < b->pairs; i++) {
        struct carm_measurement m;
        carm_measure_run(team, &image->codes[1], &shape, REPS, &m);
        double rate = carm_measure_rate(&m, flops ? m.flops : m.bytes);
        double other = run_likwid(b, kernel, isa, flops ? 16384.0 * threads : set_bytes, threads,
                                  flops ? rate / 16 : rate, flops ? "MFlops/s:" : "MByte/s:");
        if (other > 0.0 && m.own_share > 0.0) {
            ours[n] = rate;
            theirs[n++] = other;
        }
    }
    if (n) {
        print_row(kernel, level, set_bytes, threads, ours, theirs, n);
    } else {
        (void)printf("%2d  %-5s %-10s no pair: no such kernel of likwid-bench, or shared cores\n",
                     threads, level, kernel);
    }
out:
    carm_team_close(team);
    carm_image_close(image);
    return rc;
}

/* As long windows as carm build has there. */
static double target_of(const struct bench *b, const char *level)
{
    size_t i = 0;
    while (i + 1 < b->model->nlevels && strcmp(b->model->levels[i].level, level) != 0) {
        i++;
    }
    return carm_level_target(i, b->model->nlevels);
}

static int bench_roofs(struct bench *b, const struct carm_roofs *r, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->nmemory && !rc; i++) {
        const struct carm_memory_roof *m = &r->memory[i];
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels && !rc; k++) {
            if (strcmp(m->ldst, kernels[k].ldst) == 0) {
                rc = bench_code(b, m->code, m->level, kernels[k].kernel,
                                fmin((double)m->working_set_bytes, set_most),
                                target_of(b, m->level), r->threads, r->isa, err);
            }
        }
    }
    for (size_t i = 0; i < r->ncompute && !rc; i++) {
        if (strcmp(r->compute[i].op, "fma") == 0) {
            rc = bench_code(b, r->compute[i].code, "", "peakflops", 0.0, CARM_TARGET_CORE,
                            r->threads, r->isa, err);
        }
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct bench b = {.pairs = argc > 2 ? atoi(argv[2]) : 5}; /* NOLINT(cert-err34-c) */
    struct carm_model *model = NULL;
    struct carm_err err = {""};
    if (argc < 2 || b.pairs < 1 || b.pairs > PAIRS_MAX) {
        (void)fprintf(stderr, "usage: likwid MODEL.json [PAIRS]\n");
        return 2;
    }
    int rc = carm_model_read(argv[1], &model, &err);
    rc = rc ? rc : carm_topo_open(&b.topo, NULL, NULL, &err);
    rc = rc ? rc : carm_clock_open(&b.clock, &err);
    if (!rc) {
        b.model = model;
        (void)printf(
            "carm's median and likwid-bench's mean, GB/s or Gflop/s; medians of %d pairs\n"
            "th  level kernel     working set      carm    likwid   ratio  (quartiles, pairs)   "
            "fastest\n",
            b.pairs);
        for (size_t i = 0; i < model->nroofs && !rc; i++) {
            rc = bench_roofs(&b, &model->roofs[i], &err);
        }
    }
    if (rc) {
        (void)fprintf(stderr, "likwid: %s\n", err.text);
    }
    carm_topo_close(b.topo);
    carm_model_free(model);
    return rc ? 1 : 0;
}
