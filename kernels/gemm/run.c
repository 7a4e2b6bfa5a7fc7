/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PROBE_TILES =
        2, /* rows of tiles of each thread from which the time of a slow variant is estimated */
    PROBE_SHARE = 16, /* for a fast variant, this part of all rows: blocks need enough rows */
};

/* Share of a run's time that a thread may spend without a processor before the run counts as disturbed. Chosen by
 * hand. */
static const double lost_most = 0.03;

struct stamps {
    uint64_t begin, arranged, end;
    double lost; /* share of the time that the thread had no processor */
    char apart[64 - 3 * sizeof(uint64_t) - sizeof(double)]; /* a cache line for each thread */
};

struct job {
    const struct carm_gemm_plan *plan;
    const struct carm_gemm *g;
    size_t rows;
    struct stamps *stamps; /* [threads] */
};

static double cpu_seconds(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void multiply_job(struct carm_worker *w, void *arg)
{
    const struct job *j = arg;
    struct stamps *s = &j->stamps[w->index];
    const int threads = w->team->n;
    uint32_t cpu = 0;
    size_t first = 0;
    size_t count = 0;
    carm_gemm_rows(j->g, w->index, threads, j->rows, &first, &count);
    /* read before the start line, where waiting threads keep their processors: not a part of the timed stretch */
    const double cpu_before = cpu_seconds();
    const uint64_t before = carm_clock_now();
    carm_team_line_wait(w->team, 0);
    s->begin = carm_clock_start();
    if (j->plan->access != CARM_GEMM_STRIDED) {
        carm_gemm_arrange(j->plan, j->g, w->index, threads);
        carm_team_line_wait(w->team, 1);
    }
    s->arranged = carm_clock_stop(&cpu);
    carm_gemm_multiply(j->plan, j->g, first, count);
    s->end = carm_clock_stop(&cpu);
    const double wall = (double)(s->end - before) / w->team->clock->tsc_hz;
    s->lost = 1.0 - (cpu_seconds() - cpu_before) / wall;
}

struct times {
    double arrange, multiply; /* seconds */
    bool disturbed;
};

static struct times run_once(struct carm_team *team, struct job *j)
{
    const double tsc_hz = team->clock->tsc_hz;
    struct times t = {0.0, 0.0, false};
    carm_team_line_reset(team);
    carm_team_run(team, multiply_job, j);
    uint64_t begin = UINT64_MAX;
    uint64_t arranged = 0;
    uint64_t end = 0;
    double longest = 0.0;
    for (int i = 0; i < team->n; i++) {
        const struct stamps *s = &j->stamps[i];
        begin = s->begin < begin ? s->begin : begin;
        arranged = s->arranged > arranged ? s->arranged : arranged;
        end = s->end > end ? s->end : end;
        longest = fmax(longest, (double)(s->end - s->begin));
        t.disturbed = t.disturbed || s->lost > lost_most;
        if (!team->clock
                 ->synchronous) { /* times by each thread's own clock: the longest of each part */
            t.arrange = fmax(t.arrange, (double)(s->arranged - s->begin) / tsc_hz);
        }
    }
    if (team->clock->synchronous) {
        t.arrange = (double)(arranged - begin) / tsc_hz;
        longest = (double)(end - begin);
    }
    t.multiply = longest / tsc_hz - t.arrange;
    return t;
}

/* Overwrites C: the previous variant's result must not pass for this variant's. */
static void spoil(struct carm_gemm *g)
{
    memset(g->c.start, 0xff, g->m * g->c_stride); /* NaN */
}

/* Chooses rows and repetitions that fit the time, from a run on a few rows. */
static void choose(const struct carm_gemm *g, const struct times *probe, size_t probed,
                   double limit, size_t *rows, int *reps)
{
    const double each = probe->multiply / (double)probed;
    const double all = probe->arrange + each * (double)g->m;
    *rows = g->m;
    *reps = (int)fmin(CARM_REPEAT_MAX, fmax(1.0, limit / all));
    if (all > limit) {
        const double most = fmax((limit - probe->arrange) / each, (double)probed);
        *rows = (size_t)fmin(most, (double)g->m);
    }
}

/* The slab's share of the arranging, which is done for all rows. */
static double share_of_rows(const struct carm_gemm *g, size_t rows)
{
    return (double)rows / (double)g->m;
}

static size_t rows_computed(const struct carm_gemm *g, int threads, size_t rows)
{
    size_t sum = 0;
    for (int t = 0; t < threads; t++) {
        size_t first = 0;
        size_t count = 0;
        carm_gemm_rows(g, t, threads, rows, &first, &count);
        sum += count;
    }
    return sum;
}

static void count(const struct carm_gemm_plan *plan, const struct carm_gemm *g, int threads,
                  struct carm_gemm_result *out)
{
    struct carm_gemm_account arrange = {0};
    const double share = share_of_rows(g, out->rows);
    memset(&out->account, 0, sizeof out->account);
    carm_gemm_account(plan, g, threads, out->rows, &arrange, &out->account);
    out->account.flops += share * arrange.flops;
    out->account.loads += share * arrange.loads;
    out->account.stores += share * arrange.stores;
    out->account.load_bytes += share * arrange.load_bytes;
    out->account.store_bytes += share * arrange.store_bytes;
}

int carm_gemm_measure(const struct carm_gemm_plan *plan, struct carm_gemm *g,
                      struct carm_team *team, const struct carm_gemm_reference *reference,
                      struct carm_run_limits limits, struct carm_gemm_result *out,
                      struct carm_err *err)
{
    double seconds[CARM_REPEAT_MAX];
    int reps = 1;
    struct carm_traffic_count traffic = {.dram = limits.dram};
    struct job j = {.plan = plan, .g = g};
    memset(out, 0, sizeof *out);
    j.stamps = aligned_alloc(64, (size_t)team->n * sizeof *j.stamps);
    if (!j.stamps) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %d threads", team->n);
    }
    const size_t few = (size_t)team->n * PROBE_TILES * CARM_GEMM_ROWS;
    j.rows =
        plan->access == CARM_GEMM_STRIDED || g->m / PROBE_SHARE < few ? few : g->m / PROBE_SHARE;
    j.rows = rows_computed(g, team->n, j.rows);
    /* twice: the first run has cold page tables and a slow clock */
    struct times t = run_once(team, &j);
    t = run_once(team, &j);
    choose(g, &t, j.rows, limits.seconds, &j.rows, &reps);
    j.rows = rows_computed(g, team->n, j.rows);
    out->rows = j.rows;
    spoil(g);
    int done = 0;
    int disturbed = 0;
    double spent = 0.0;
    while (done < reps && !carm_run_stopped(limits)) {
        carm_traffic_count_begin(&traffic);
        t = run_once(team, &j);
        carm_traffic_count_end(&traffic, done);
        seconds[done] = t.arrange * share_of_rows(g, j.rows) + t.multiply;
        disturbed += t.disturbed ? 1 : 0;
        spent += t.arrange + t.multiply;
        done++;
        if (spent >= limits.seconds) { /* the runs are slower than the probe */
            reps = done;
        }
    }
    free(j.stamps);
    if (done < reps) {
        return carm_fail(err, CARM_EINTR, "interrupted");
    }
    carm_run_describe(seconds, reps, &out->times);
    out->times.disturbed = carm_run_disturbed(disturbed, reps);
    if (j.rows >= g->m || plan->access == CARM_GEMM_STRIDED) {
        out->times.dram_bytes = carm_traffic_count_median(&traffic, reps);
    }
    count(plan, g, team->n, out);
    return carm_gemm_check(g, reference, team->n, plan->name, out, err);
}

struct product {
    const struct carm_blas *blas;
    struct carm_gemm *g;
};

static int multiply_by_library(void *context, int rep, struct carm_err *err)
{
    const struct product *p = context;
    struct carm_gemm *g = p->g;
    (void)err;
    if (rep < 0) {
        spoil(g);
    }
    carm_blas_dgemm(p->blas, g->n, g->n, g->n, g->a.start, g->k, g->b.start, g->columns, g->c.start,
                    g->columns);
    return 0;
}

int carm_gemm_measure_library(const struct carm_blas *blas, struct carm_gemm *g,
                              const struct carm_team *team, struct carm_gemm_reference *reference,
                              struct carm_run_limits limits, struct carm_gemm_result *out,
                              struct carm_err *err)
{
    struct product product = {blas, g};
    memset(out, 0, sizeof *out);
    out->rows = g->m;
    if (blas->set_threads) {
        blas->set_threads(team->n);
    }
    const int rc =
        carm_repeat(team->clock, team->n, limits, multiply_by_library, &product, &out->times, err);
    if (rc) {
        return rc;
    }
    if (reference->nrows == 0) {
        return carm_gemm_reference_adopt(reference, g, blas->name, err);
    }
    return carm_gemm_check(g, reference, 1, blas->name, out, err);
}

enum { PLAIN_ROWS = 64 }; /* rows of a reference from plain loops */

static const double plain_flops =
    1e9; /* of a reference from plain loops, at most about; chosen by hand */

double carm_gemm_tolerance(size_t n)
{
    /* the error of a sum of n rounded products is at most n x 2^-53 of the sum of their absolute values,
     * some n / 4, with a largest element of some 1.5 sqrt(n): far above real errors */
    return 0x1p-53 * (double)n * (sqrt((double)n) + 8.0);
}

static bool computed(const struct carm_gemm *g, int threads, size_t rows, size_t row)
{
    for (int t = 0; t < threads; t++) {
        size_t first = 0;
        size_t count = 0;
        carm_gemm_rows(g, t, threads, rows, &first, &count);
        if (row >= first && row < first + count) {
            return true;
        }
    }
    return false;
}

/* The largest difference over the reference's largest element; infinite when the difference is no number, or
 * when there was nothing to compare. */
static double error_of(const struct carm_gemm *g, const struct carm_gemm_reference *ref,
                       int threads, size_t rows)
{
    const double *c = g->c.start;
    double worst = -1.0;
    for (size_t i = 0; i < ref->nrows; i++) {
        if (!computed(g, threads, rows, ref->rows[i])) {
            continue;
        }
        for (size_t j = 0; j < g->n; j++) {
            const double d = fabs(c[ref->rows[i] * g->columns + j] - ref->values[i * g->n + j]);
            worst = isnan(d) ? INFINITY : fmax(worst, d);
        }
    }
    return worst < 0.0 ? INFINITY : worst / fmax(ref->largest, 0x1p-1000);
}

int carm_gemm_check(const struct carm_gemm *g, const struct carm_gemm_reference *ref, int threads,
                    const char *name, struct carm_gemm_result *out, struct carm_err *err)
{
    out->error = error_of(g, ref, threads, out->rows);
    if (!(out->error <= carm_gemm_tolerance(g->n))) {
        return carm_fail(
            err, CARM_EFORMAT,
            "the result of %.64s is wrong: it differs from that of %.64s by %.3g of the "
            "largest element, and rounding explains %.3g; please report this",
            name, ref->by, out->error, carm_gemm_tolerance(g->n));
    }
    return 0;
}

static int reserve(struct carm_gemm_reference *ref, size_t nrows, size_t n, struct carm_err *err)
{
    ref->rows = calloc(nrows, sizeof *ref->rows);
    ref->values = calloc(nrows * n, sizeof *ref->values);
    if (!ref->rows || !ref->values) {
        carm_gemm_reference_free(ref);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to keep a product of %zu x %zu",
                         nrows, n);
    }
    return 0;
}

static void find_largest(struct carm_gemm_reference *ref, size_t n)
{
    ref->largest = 0.0;
    for (size_t i = 0; i < ref->nrows * n; i++) {
        ref->largest = fmax(ref->largest, fabs(ref->values[i]));
    }
}

int carm_gemm_reference_adopt(struct carm_gemm_reference *ref, const struct carm_gemm *g,
                              const char *by, struct carm_err *err)
{
    const double *c = g->c.start;
    const int rc = reserve(ref, g->n, g->n, err);
    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < g->n; i++) {
        ref->rows[i] = i;
        memcpy(ref->values + i * g->n, c + i * g->columns, g->n * sizeof *c);
    }
    ref->nrows = g->n;
    snprintf(ref->by, sizeof ref->by, "%s", by);
    find_largest(ref, g->n);
    return 0;
}

static void plain_row(const struct carm_gemm *g, size_t row, double *out)
{
    const double *a = (const double *)g->a.start + row * g->k;
    const double *b = g->b.start;
    for (size_t k = 0; k < g->n; k++) {
        for (size_t j = 0; j < g->n; j++) {
            out[j] += a[k] * b[k * g->columns + j];
        }
    }
}

int carm_gemm_reference_plain(struct carm_gemm_reference *ref, const struct carm_gemm *g,
                              int threads, struct carm_err *err)
{
    const double each = 2.0 * (double)g->n * (double)g->n;
    const size_t most = (size_t)fmin(PLAIN_ROWS, fmax(plain_flops / each, 2.0)) + (size_t)threads;
    const size_t step = g->n / most + 1;
    memset(ref, 0, sizeof *ref);
    const int rc = reserve(ref, g->n < 2 * most ? g->n : 2 * most, g->n, err);
    if (rc) {
        return rc;
    }
    for (size_t row = 0; row < g->n; row++) {
        bool wanted = row % step == 0;
        for (int t = 0; t < threads && !wanted; t++) {
            size_t first = 0;
            size_t rows = 0;
            carm_gemm_rows(g, t, threads, g->m, &first, &rows);
            wanted = row == first;
        }
        if (wanted) {
            plain_row(g, row, ref->values + ref->nrows * g->n);
            ref->rows[ref->nrows++] = row;
        }
    }
    snprintf(ref->by, sizeof ref->by, "plain loops, %zu rows", ref->nrows);
    find_largest(ref, g->n);
    return 0;
}

void carm_gemm_reference_free(struct carm_gemm_reference *ref)
{
    free(ref->rows);
    free(ref->values);
    memset(ref, 0, sizeof *ref);
}
