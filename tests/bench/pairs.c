/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/search.h"
#include "validation/roofs/levels.h"

enum {
    ROWS_MAX = 256,
    REPS = 256,
    REPS_OTHER = 1024, /* against a run of 50 ms: a shared cache takes milliseconds to settle */
    PAIRS = 4,       /* of a row in a round; of another program, which takes longer, half as many */
    ROUNDS_LEAST = 6 /* least and most of so many values hold the median with 97% */
};

/* A roof is beaten by what is more than this above it. */
static const double tolerance = 1.02;
static const double set_most = 1 << 28;   /* from memory as well as from the model's larger sets */
static const double visit_seconds = 0.25; /* of a row in a round, where cores are shared */

static double now(const struct carm_clock *clock)
{
    return (double)carm_clock_now() / clock->tsc_hz;
}

void bench_row_memory(struct bench_row *row, const struct carm_model *model,
                      const struct carm_roofs *roofs, const struct carm_memory_roof *roof,
                      const struct carm_topo *topo)
{
    size_t level = 0;
    while (level + 1 < model->nlevels && strcmp(model->levels[level].level, roof->level) != 0) {
        level++;
    }
    row->what = roof->ldst;
    row->isa = roofs->isa;
    row->level = roof->level;
    row->code = roof->code;
    row->set_bytes = (uint64_t)fmin((double)roof->working_set_bytes, set_most);
    row->target = carm_level_target(level, model->nlevels);
    row->threads = roofs->threads;
    row->alone = carm_build_is_private(topo, level, roofs->threads);
}

void bench_row_compute(struct bench_row *row, const struct carm_roofs *roofs,
                       const struct carm_compute_roof *roof)
{
    row->what = roof->op;
    row->isa = roofs->isa;
    row->level = "";
    row->code = roof->code;
    row->target = CARM_TARGET_CORE;
    row->threads = roofs->threads;
    row->alone = true;
}

/* 95% interval of the median of the rounds' ratios. Between two rounds all other rows ran, on other pages. */
static struct carm_stats describe(const struct bench_row *row)
{
    double ratios[BENCH_ROUNDS_MAX];
    struct carm_stats s;
    memcpy(ratios, row->ratios, row->n * sizeof *ratios);
    carm_stats_describe(ratios, row->n, &s);
    return s;
}

/* Nothing more is to be learnt: the roof holds. A beaten roof is measured until the end, so that it is not the
 * moment of a look that beats it. */
static bool holds(const struct bench_row *row)
{
    return row->n >= ROUNDS_LEAST && describe(row).ci_hi < tolerance;
}

static void print_row(const struct bench_row *row)
{
    double roofs[BENCH_ROUNDS_MAX];
    (void)printf("%2d %-7s %-5s %-12s %-10s %8.0f KiB", row->threads, row->isa, row->level,
                 row->name, row->what, (double)row->set_bytes / 1024.0);
    if (row->n == 0) {
        (void)printf("  no sound pair%s\n", row->other ? ", or no such kernel" : "");
        return;
    }
    const struct carm_stats s = describe(row);
    memcpy(roofs, row->roofs, row->n * sizeof *roofs);
    (void)printf(" %8.2f  %5.3f  %5.3f to %5.3f %4zu  %5.3f  ",
                 carm_stats_median(roofs, row->n) / 1e9, s.median, s.ci_lo, s.ci_hi, row->n,
                 row->best / row->best_roof);
    if (holds(row)) {
        (void)printf("holds\n");
    } else if (row->n < ROUNDS_LEAST) {
        (void)printf("undecided: %d rounds at least\n", ROUNDS_LEAST);
    } else if (s.ci_lo > tolerance) {
        (void)printf("BEATEN\n");
    } else { /* intervals shrink with the square root of the rounds */
        const double part = 0.5 * (s.ci_hi - s.ci_lo) / fmax(fabs(s.median - tolerance), 1e-3);
        (void)printf("undecided: some %.0f rounds\n",
                     ceil((double)row->n * fmax(part * part, 1.1)));
    }
}

/* The rate; 0 = a core was shared. */
static double measure(struct carm_team *team, const struct carm_code *code,
                      const struct carm_shape *shape, size_t reps, bool memory)
{
    struct carm_measurement m;
    carm_measure_run(team, code, shape, reps, &m);
    return m.own_share > 0.0 ? carm_measure_rate(&m, memory ? m.bytes : m.flops) : 0.0;
}

/* The pairs of a row in a round; every second pair in the other order, so that what one code leaves
 * in the caches favours neither. */
static void visit(struct bench_row *row, struct carm_team *team, const struct carm_code *ours)
{
    const uint64_t set = row->set_bytes / (uint64_t)row->threads;
    const bool memory = row->set_bytes > 0;
    struct carm_shape shapes[2];
    double ratios[PAIRS];
    double roofs[PAIRS];
    const size_t wanted = row->other ? 1 : PAIRS;
    const size_t reps = row->other ? REPS_OTHER : REPS;
    size_t n = 0;
    for (int i = 0; i < team->n; i++) {
        team->workers[i].place = 0;
    }
    if (memory && set <= (uint64_t)1 << 20) {
        carm_measure_place(team, ours, set, 8);
    }
    carm_measure_shape(team, ours, set, row->target, &shapes[0]);
    if (!row->other) {
        carm_measure_shape(team, &row->theirs, set, row->target, &shapes[1]);
    }
    carm_team_separate(team, row->alone);
    const double until = now(team->clock) + visit_seconds;
    for (size_t i = 0; n < wanted && (i < wanted || now(team->clock) < until); i++) {
        double theirs = 0.0;
        const bool first = i % 2 && !row->other;
        if (first) {
            theirs = measure(team, &row->theirs, &shapes[1], reps, memory);
        }
        if (row->other) {
            (void)measure(team, ours, &shapes[0], reps,
                          memory); /* the other program had the caches */
        }
        const double roof = measure(team, ours, &shapes[0], reps, memory);
        if (!(roof > 0.0)) {
            continue;
        }
        if (row->other) {
            theirs = row->other(row, team->topo, roof);
        } else if (!first) {
            theirs = measure(team, &row->theirs, &shapes[1], reps, memory);
        }
        if (theirs > 0.0) {
            ratios[n] = theirs / roof;
            roofs[n++] = roof;
            row->best = fmax(row->best, theirs);
            row->best_roof = fmax(row->best_roof, roof);
        }
    }
    carm_team_separate(team, false);
    if (n) {
        row->ratios[row->n] = carm_stats_median(ratios, n);
        row->roofs[row->n++] = carm_stats_median(roofs, n);
    }
}

/* A visit to each row of so many threads that is not decided, on pages of this round's own. */
static int visit_all(struct bench_row *rows, size_t n, int threads, const struct carm_image *image,
                     const struct carm_topo *topo, const struct carm_clock *clock, double until,
                     struct carm_err *err)
{
    struct carm_team *team = NULL;
    uint64_t most = 0;
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].threads == threads && !holds(&rows[i])) {
            most = rows[i].set_bytes > most ? rows[i].set_bytes : most;
            left++;
        }
    }
    if (!left) {
        return 0;
    }
    int rc = carm_team_open(&team, topo, clock, threads,
                            most / (uint64_t)threads + ((size_t)24 << 20), REPS_OTHER, err);
    if (rc) {
        return rc;
    }
    team->patience_seconds = 4e-3;
    carm_measure_watch(team, 0.1);
    carm_measure_calibrate(team, &image->codes[0]);
    for (size_t i = 0; i < n && now(clock) < until; i++) {
        if (rows[i].threads == threads && !holds(&rows[i])) {
            visit(&rows[i], team, &image->codes[i + 1]);
        }
    }
    carm_team_close(team);
    return 0;
}

static size_t count_left(const struct bench_row *rows, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        left += !holds(&rows[i]);
    }
    return left;
}

int bench_rows(struct bench_row *rows, size_t n, const struct carm_topo *topo,
               const struct carm_clock *clock, double seconds, struct carm_err *err)
{
    struct carm_code_spec specs[ROWS_MAX + 1] = {{.kind = CARM_KIND_EMPTY, .units = 1}};
    struct carm_image *image = NULL;
    const double until = now(clock) + seconds;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = carm_code_parse(rows[i].code, &specs[i + 1], err);
    }
    rc = rc ? rc : carm_image_open(&image, specs, n + 1, err);
    for (int round = 0; round < BENCH_ROUNDS_MAX && !rc && count_left(rows, n); round++) {
        int most = 0;
        for (size_t i = 0; i < n; i++) {
            most = rows[i].threads > most ? rows[i].threads : most;
        }
        for (int threads = 1; threads <= most && !rc; threads++) {
            rc = visit_all(rows, n, threads, image, topo, clock, until, err);
        }
        (void)fprintf(stderr, "round %d: %zu of %zu rows to decide, %.0f s left\n", round + 1,
                      count_left(rows, n), n, fmax(until - now(clock), 0.0));
        if (now(clock) >= until) {
            break;
        }
    }
    for (size_t i = 0; i < n && !rc; i++) {
        print_row(&rows[i]);
    }
    carm_image_close(image);
    return rc;
}

int bench_main(int argc, char **argv, const char *title, bench_find_fn *find)
{
    const double seconds = argc > 2 ? atof(argv[2]) : 360.0; /* NOLINT(cert-err34-c) */
    struct bench_row *rows = calloc(ROWS_MAX, sizeof *rows);
    struct carm_model *model = NULL;
    struct carm_topo *topo = NULL;
    struct carm_clock clock;
    struct carm_err err = {""};
    if (argc < 2 || !(seconds > 0.0) || !rows) {
        (void)fprintf(stderr, "usage: %s MODEL.json [SECONDS]\n", argv[0]);
        free(rows);
        return 2;
    }
    int rc = carm_model_read(argv[1], &model, &err);
    rc = rc ? rc : carm_topo_open(&topo, NULL, NULL, &err);
    rc = rc ? rc : carm_clock_open(&clock, &err);
    if (!rc) {
        const size_t n = find(model, topo, rows, ROWS_MAX);
        (void)printf(
            "%s\n"
            "roof: carm's code, GB/s or Gflop/s. ratio: opponent over roof, median of the rounds with its 95%% "
            "interval.\n"
            "fastest: the ratio of the fastest runs. A roof is beaten where the interval is above %.2f, and "
            "holds where it is below.\n"
            "th isa     level opponent     roof       working set     roof  ratio        interval "
            "rounds fastest\n",
            title, tolerance);
        (void)fflush(stdout);
        rc = bench_rows(rows, n, topo, &clock, seconds, &err);
    }
    if (rc) {
        (void)fprintf(stderr, "%s: %s\n", argv[0], err.text);
    }
    carm_topo_close(topo);
    carm_model_free(model);
    free(rows);
    return rc ? 1 : 0;
}
