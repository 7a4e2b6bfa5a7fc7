/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>

#include "kernels/gemm/study.h"

/* Most seconds of the repetitions of one step, and of all variants, about: six steps take less than 60 s, the
 * variants together less than 5 minutes. */
static const double step_seconds = 3.5;
static const double variants_seconds = 200.0;
static const double variant_seconds = 1.2; /* most seconds of one variant */
static const double count_seconds = 17.0;  /* stepping a library's products */
/* touches of lines in one point's simulation: they take a second, and a tenth of a second */
static const double step_touches = 2e8, variant_touches = 2e7;
static const double touches_a_second = 2e8;

/* A study while it measures. */
struct run {
    struct carm_gemm_study *study;
    const char *path;
    struct carm_team *team;
    struct carm_gemm gemm;
    struct carm_gemm_reference reference;
    struct carm_observer *observer;
    struct carm_dram *dram; /* NULL: DRAM bytes are simulated */
};

/* Limits for repetitions of at most `seconds`, or the rest of the budget. */
static struct carm_run_limits limits_of(const struct run *run, double seconds)
{
    return (struct carm_run_limits){fmin(seconds, carm_study_left(&run->study->base)),
                                    run->observer, run->dram};
}

static void take_result(struct carm_gemm_point *p, const struct carm_gemm_result *r, size_t n)
{
    p->known = true;
    p->seconds = r->times.seconds;
    p->fastest = r->times.fastest;
    p->slowest = r->times.slowest;
    p->reps = r->times.reps;
    p->rows = r->rows < n ? r->rows : n; /* without padding */
    p->disturbed = r->times.disturbed;
    p->error = r->error;
}

static int finish(struct run *run, struct carm_gemm_point *p, struct carm_err *err)
{
    carm_gemm_point_place(run->study, p);
    return carm_gemm_rows_append(run->study, p, run->path, err);
}

/* Fills in the members of a point that are known before its measurement; resumed points must have equal
 * ones. */
static void describe(const struct carm_gemm_study *study, const struct carm_gemm_plan *plan,
                     struct carm_gemm_point *p)
{
    carm_gemm_point_name(p->name, study->n, plan->name);
    snprintf(p->what, sizeof p->what, "%s", plan->what);
    carm_gemm_blocks_text(p->blocks, sizeof p->blocks, plan, study->n);
    snprintf(p->isa, sizeof p->isa, "%s", carm_isa_name(plan->kernel->isa));
    p->access = plan->access;
}

/* DRAM bytes, counted with the times or simulated. */
static int find_traffic(struct run *run, const struct carm_gemm_plan *plan, double touches,
                        const struct carm_gemm_result *r, struct carm_gemm_point *p,
                        struct carm_err *err)
{
    const struct carm_gemm_study *study = run->study;
    struct carm_gemm_traffic traffic = {r->times.dram_bytes, r->times.dram_bytes,
                                        r->times.dram_bytes};
    int rc = 0;
    p->dram_by = CARM_COUNTED_PMU;
    if (!(traffic.bytes > 0.0) && study->hierarchy.nlevels) {
        p->dram_by = CARM_COUNTED_SIMULATED;
        rc = carm_gemm_traffic(plan, &run->gemm, &study->hierarchy, study->base.threads, r->rows,
                               touches, &traffic, err);
    }
    p->dram_bytes = traffic.bytes;
    p->dram_low = traffic.low;
    p->dram_high = traffic.high;
    return rc;
}

static int measure_plan(struct run *run, const struct carm_gemm_plan *plan, double seconds,
                        double touches, struct carm_gemm_point *p, struct carm_err *err)
{
    const struct carm_gemm_study *study = run->study;
    struct carm_gemm_result r;
    if (run->reference.nrows == 0) {
        carm_observer_step(run->observer, "a product to compare with, by plain loops");
        const int rc =
            carm_gemm_reference_plain(&run->reference, &run->gemm, study->base.threads, err);
        if (rc) {
            return rc;
        }
    }
    int rc = carm_gemm_measure(plan, &run->gemm, run->team, &run->reference,
                               limits_of(run, seconds), &r, err);
    if (rc) {
        return rc;
    }
    take_result(p, &r, study->n);
    p->flops = r.account.flops;
    p->bytes = r.account.load_bytes + r.account.store_bytes;
    p->bytes_by = CARM_COUNTED_CONSTRUCTED;
    rc = find_traffic(run, plan, touches, &r, p, err);
    return rc ? rc : finish(run, p, err);
}

static int measure_versions(struct run *run, struct carm_err *err)
{
    struct carm_gemm_study *study = run->study;
    const double whole = step_seconds + step_touches / touches_a_second;
    int rc = 0;
    for (int i = 0; i < CARM_GEMM_VERSIONS && !rc; i++) {
        struct carm_gemm_point *p = &study->steps[i];
        struct carm_gemm_plan plan;
        struct carm_err why;
        if (p->known) {
            continue;
        }
        if (!carm_study_has_time(&study->base, whole, study->left_out[i],
                                 sizeof study->left_out[i])) {
            continue;
        }
        if (carm_gemm_version(&plan, i + 1, study->n, &study->kernels, &study->caches, &why)) {
            snprintf(study->left_out[i], sizeof study->left_out[i], "%.255s", why.text);
            continue;
        }
        describe(study, &plan, p);
        carm_observer_step(run->observer, "step %d: %s", i + 1, p->what);
        const double begun = carm_seconds_now();
        rc = measure_plan(run, &plan, step_seconds, step_touches, p, err);
        carm_study_spent(&study->base, begun, whole);
        carm_observer_advance(run->observer, step_seconds);
    }
    return rc;
}

static int measure_variants(struct run *run, struct carm_err *err)
{
    struct carm_gemm_study *study = run->study;
    const double each =
        fmin(variant_seconds, variants_seconds / fmax(1.0, (double)study->nvariants));
    const double whole = each + variant_touches / touches_a_second;
    int rc = 0;
    for (size_t i = 0; i < study->nvariants && !rc; i++) {
        struct carm_gemm_point *p = &study->variants[i];
        char late[sizeof CARM_STUDY_LATE];
        if (p->known) {
            continue;
        }
        if (!carm_study_has_time(&study->base, whole, late, sizeof late)) {
            study->late = study->nvariants - i;
            break;
        }
        describe(study, &study->plans[i], p);
        carm_observer_step(run->observer, "variant %zu of %zu: %s", i + 1, study->nvariants,
                           p->blocks);
        const double begun = carm_seconds_now();
        rc = measure_plan(run, &study->plans[i], each, variant_touches, p, err);
        carm_study_spent(&study->base, begun, whole);
        carm_observer_advance(run->observer, each);
    }
    return rc;
}

/* Takes the widest vectors that do a hundredth or more of the library's flops. */
static void take_isa(struct carm_gemm_point *p, const struct carm_step_counts *s, double flops)
{
    static const char *const widths[CARM_WIDTH_COUNT] = {"scalar", "sse", "avx2", "avx512"};
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        if ((double)s->flops[0][w] > 0.01 * flops) {
            snprintf(p->isa, sizeof p->isa, "%s", widths[w]);
        }
    }
}

/* Counts a library's bytes by stepping, or by stepping parts if the whole would take too long. */
static int count_library(struct run *run, const struct carm_blas *blas, struct carm_gemm_point *p,
                         struct carm_err *err)
{
    struct carm_step_counts s;
    struct carm_err why;
    const size_t n = run->study->n;
    const bool whole = n <= CARM_BLAS_COUNT_N;
    const size_t depth = whole ? n : CARM_BLAS_PART_DEPTH;
    double bytes[CARM_BLAS_PARTS] = {0.0};
    if (!carm_study_has_time(&run->study->base, count_seconds, why.text, sizeof why.text)) {
        snprintf(p->detail, sizeof p->detail, "bytes unavailable: %.60s", why.text);
        return 0;
    }
    for (int i = 0; i < (whole ? 1 : CARM_BLAS_PARTS); i++) {
        const size_t m = whole ? n : carm_blas_parts[i];
        if (carm_observer_stopped(run->observer)) {
            p->known = false;
            return carm_observer_check(run->observer, err);
        }
        carm_observer_step(run->observer, "stepping a small product of %s", blas->name);
        if (carm_blas_count(blas, m, depth, &s, &why)) {
            snprintf(p->detail, sizeof p->detail, "bytes unavailable: %.60s", why.text);
            return 0;
        }
        bytes[i] = (double)(s.load_bytes + s.store_bytes);
        take_isa(p, &s, 2.0 * (double)m * (double)m * (double)depth);
    }
    p->bytes = whole ? bytes[0] : carm_blas_scale(carm_blas_parts, bytes, n);
    p->bytes_by = CARM_COUNTED_STEPPED;
    if (whole) {
        snprintf(p->detail, sizeof p->detail, "bytes of a stepped %zu x %zu product", n, n);
    } else {
        snprintf(p->detail, sizeof p->detail, "bytes by two stepped products, %zu deep", depth);
    }
    return 0;
}

static int measure_library(struct run *run, int i, struct carm_err *err)
{
    struct carm_gemm_study *study = run->study;
    struct carm_gemm_point *p = &study->steps[CARM_GEMM_LIBRARY + i];
    struct carm_gemm_result r;
    struct carm_blas blas;
    struct carm_err why;
    const double n = (double)study->n;
    if (!carm_study_has_time(&study->base, step_seconds, why.text, sizeof why.text) ||
        carm_blas_open(&blas, i, &why)) {
        snprintf(study->left_out[CARM_GEMM_LIBRARY + i], sizeof study->left_out[0], "%.255s",
                 why.text);
        return 0;
    }
    carm_observer_step(run->observer, "step 6: %s", blas.name);
    const double begun = carm_seconds_now();
    int rc = carm_gemm_measure_library(&blas, &run->gemm, run->team, &run->reference,
                                       limits_of(run, step_seconds), &r, err);
    carm_study_spent(&study->base, begun, step_seconds);
    carm_observer_advance(run->observer, step_seconds);
    if (rc ||
        p->known) { /* for a kept point, the library's product was only needed as the reference */
        carm_blas_close(&blas);
        return rc;
    }
    char plan[40];
    snprintf(plan, sizeof plan, "6-%s", blas.name);
    carm_gemm_point_name(p->name, study->n, plan);
    snprintf(p->what, sizeof p->what, "%s", blas.name);
    snprintf(p->blocks, sizeof p->blocks, "-");
    take_result(p, &r, study->n);
    p->flops = 2.0 * n * n * n;
    p->dram_by = r.times.dram_bytes > 0.0 ? CARM_COUNTED_PMU : CARM_COUNTED_CONSTRUCTED;
    p->dram_bytes =
        p->dram_by == CARM_COUNTED_PMU ? r.times.dram_bytes : carm_gemm_compulsory_bytes(study->n);
    p->dram_low = p->dram_high = p->dram_bytes;
    rc = count_library(run, &blas, p, err);
    carm_observer_advance(run->observer, count_seconds);
    carm_blas_close(&blas);
    return rc ? rc : finish(run, p, err);
}

/* Whether a point is left to measure that needs a reference product. */
static bool wants_reference(const struct carm_gemm_study *study)
{
    for (int i = 0; i < CARM_GEMM_VERSIONS; i++) {
        if (!study->steps[i].known) {
            return true;
        }
    }
    for (size_t i = 0; i < study->nvariants; i++) {
        if (!study->variants[i].known) {
            return true;
        }
    }
    return false;
}

static int measure_libraries(struct run *run, struct carm_err *err)
{
    int rc = 0;
    for (int i = 0; i < CARM_BLAS_KINDS && !rc; i++) {
        const bool known = run->study->steps[CARM_GEMM_LIBRARY + i].known;
        if (!known || (run->reference.nrows == 0 && wants_reference(run->study))) {
            rc = measure_library(run, i, err);
        }
    }
    return rc;
}

static double estimate(const struct carm_gemm_study *study)
{
    const double each =
        fmin(variant_seconds, variants_seconds / fmax(1.0, (double)study->nvariants));
    double s = count_seconds + step_seconds;
    for (int i = 0; i < CARM_GEMM_VERSIONS; i++) {
        s += study->steps[i].known ? 0.0 : step_seconds;
    }
    for (size_t i = 0; i < study->nvariants; i++) {
        s += study->variants[i].known ? 0.0 : each;
    }
    return s;
}

int carm_gemm_study_measure(struct carm_study *base, const struct carm_host *host, const char *path,
                            struct carm_err *err)
{
    struct carm_gemm_study *study = (struct carm_gemm_study *)base;
    struct run run = {.study = study, .path = path, .observer = host->observer};
    if (study->precision != CARM_DP) {
        return carm_gemm_narrow_measure(study, host, path, err);
    }
    run.dram = carm_study_open_dram(base, &host->cpu);
    int rc = carm_team_open(&run.team, host->topo, &host->clock, base->threads, 4096,
                            CARM_REPEAT_MAX, err);
    carm_study_begin(base, host, estimate(study));
    if (!rc) {
        carm_observer_step(run.observer, "filling matrices of %zu x %zu", study->n, study->n);
        rc = carm_gemm_open(&run.gemm, study->n, run.team, err);
    }
    rc = rc ? rc : measure_libraries(&run, err);
    rc = rc ? rc : measure_versions(&run, err);
    rc = rc ? rc : measure_variants(&run, err);
    rc = carm_study_measured(base, run.observer, rc);
    snprintf(study->reference, sizeof study->reference, "%s", run.reference.by);
    carm_gemm_reference_free(&run.reference);
    carm_gemm_close(&run.gemm);
    carm_team_close(run.team);
    carm_dram_close(run.dram);
    return rc;
}
