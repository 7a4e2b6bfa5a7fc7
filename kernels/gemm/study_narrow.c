/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The study in int8 and bf16: one step, a library's product, and the load of its instructions on
 * the core's units. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
#include "kernels/gemm/narrow.h"
#include "kernels/gemm/study.h"
#include "models/theory.h"

static const double run_seconds = 3.5;    /* of the repetitions, about */
static const double count_seconds = 15.0; /* for stepping parts of the product */

/* Whether a CPU has vectors or tiles of a precision; dot: with dot products. */
static bool cpu_has(const struct carm_cpu *cpu, enum carm_precision precision, bool dot)
{
    for (int isa = 0; isa < CARM_ISA_COUNT; isa++) {
        if (dot ? carm_cpu_has_op(cpu, (enum carm_isa)isa, precision, CARM_DOT)
                : carm_cpu_has_precision(cpu, (enum carm_isa)isa, precision)) {
            return true;
        }
    }
    return false;
}

/* Tries whether the library can multiply matrices of 8 x 8. */
static int try_library(const struct carm_onednn *lib, enum carm_precision precision,
                       struct carm_err *err)
{
    enum { SIDE = 8 };
    const double a[SIDE * SIDE] = {0};
    double c[SIDE * SIDE];
    return carm_onednn_multiply(lib, precision, SIDE, SIDE, SIDE, a, a, c, err);
}

static int refuse_cpu(const struct carm_onednn *lib, enum carm_precision precision, bool does,
                      const struct carm_err *why, struct carm_err *err)
{
    return carm_fail(err, CARM_ENOTSUP,
                     "this CPU has no %s instructions, so there is no roof to place a product "
                     "under; %.200s%s",
                     carm_precision_name(precision), does ? lib->name : why->text,
                     does ? " makes it by other ones" : "");
}

static int find_core(struct carm_gemm_narrow *narrow, const struct carm_cpu *cpu,
                     struct carm_err *err)
{
    const char *text = carm_asset_data_microarchitectures;
    struct carm_theory_table *table = NULL;
    const int rc =
        carm_theory_open(text, strlen(text), "data/microarchitectures.json", &table, err);
    const struct carm_microarchitecture *m =
        rc ? NULL
           : carm_theory_find_cpu(table, cpu->vendor, cpu->family, cpu->model,
                                  carm_cpu_guest_bytes(cpu));
    if (m) {
        snprintf(narrow->core, sizeof narrow->core, "%s", m->name);
        narrow->issue = m->issue;
        for (unsigned i = 0; i < CARM_GEMM_WIDTHS; i++) {
            narrow->multiplies[i] = carm_theory_rate(m, 16u << i, 1, "int16", "mul");
        }
    }
    carm_theory_close(table);
    return rc;
}

int carm_gemm_narrow_plan(struct carm_gemm_study *study, const struct carm_cpu *cpu,
                          struct carm_err *err)
{
    struct carm_gemm_narrow *narrow = &study->narrow;
    const char *precision = carm_precision_name(study->precision);
    struct carm_onednn lib;
    struct carm_err why;
    int rc = carm_onednn_open(&lib, err);
    if (rc) {
        return rc;
    }
    const int refused = try_library(&lib, study->precision, &why);
    if (!cpu_has(cpu, study->precision, false)) {
        return refuse_cpu(&lib, study->precision, !refused, &why, err);
    }
    if (refused) {
        return carm_fail(err, CARM_ENOTSUP, "%s", why.text);
    }
    if (strcmp(study->base.roofs->precision, precision) != 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no %s roofs; `carm build --precision dp,%s` measures them",
                         precision, precision);
    }
    snprintf(narrow->library, sizeof narrow->library, "%s", lib.name);
    snprintf(narrow->library_isa, sizeof narrow->library_isa, "%s", lib.isa);
    narrow->has_dot = cpu_has(cpu, study->precision, true);
    return find_core(narrow, cpu, err);
}

enum quantity { BYTES, INSTRUCTIONS, VECTORS, OPERATIONS, DOTS, OF_8, OF_16, QUANTITIES };

/* Takes the stepped counts by quantity, and operations by width of their vectors.
 * returns all operations, also those without a width: tiles, bf16 */
static double take(const struct carm_step_counts *s, bool integers, double q[QUANTITIES],
                   double widths[CARM_GEMM_WIDTHS])
{
    q[BYTES] = (double)(s->load_bytes + s->store_bytes);
    q[INSTRUCTIONS] = (double)s->instructions;
    q[VECTORS] = (double)(integers ? s->int_instructions : s->fp_instructions);
    q[OPERATIONS] = 0.0;
    for (int i = 0; i < CARM_ELEMENT_COUNT && integers; i++) {
        q[OPERATIONS] += (double)s->int_elements[i];
    }
    double all = integers ? q[OPERATIONS] : (double)s->flops_other;
    q[DOTS] = (double)s->int_dots;
    q[OF_8] = (double)s->int_elements[0];
    q[OF_16] = (double)s->int_elements[1];
    for (int w = 0; w < CARM_GEMM_WIDTHS; w++) {
        widths[w] = (double)(integers ? s->int_widths[w] : s->flops[1][w + 1]);
        all += integers ? 0.0 : widths[w];
    }
    return all;
}

/* Index of the vector width with nearly all operations; -1 = several, none, tiles. */
static int only_width(const double widths[CARM_GEMM_WIDTHS], double all)
{
    for (int w = 0; w < CARM_GEMM_WIDTHS; w++) {
        if (all > 0.0 && widths[w] >= 0.99 * all) {
            return w;
        }
    }
    return -1;
}

/* Number of multiplying instructions, if all operations on 8 and 16 bits are those of vpmaddubsw and vpmaddwd: two
 * products and a sum for each two elements. */
static double products_of(const double q[QUANTITIES], unsigned vector_bytes)
{
    const bool all = fabs(q[OF_8] + q[OF_16] - q[DOTS]) <= 0.01 * q[DOTS];
    return all ? (q[OF_8] / (3.0 / 2.0) + q[OF_16] / (3.0 / 4.0)) / vector_bytes : 0.0;
}

static int count(struct carm_gemm_study *study, const struct carm_onednn *lib,
                 struct carm_observer *observer, struct carm_err *err)
{
    static const char *const isas[CARM_GEMM_WIDTHS] = {"sse", "avx2", "avx512"};
    struct carm_gemm_narrow *narrow = &study->narrow;
    struct carm_gemm_point *p = &study->steps[CARM_GEMM_LIBRARY];
    const bool whole = study->n <= CARM_BLAS_COUNT_N;
    const size_t depth = whole ? study->n : CARM_BLAS_PART_DEPTH;
    double parts[CARM_BLAS_PARTS][QUANTITIES];
    double q[QUANTITIES], widths[CARM_GEMM_WIDTHS] = {0.0};
    double all = 0.0; /* operations of the last part, like widths */
    struct carm_step_counts s;
    struct carm_err why;
    for (int i = 0; i < (whole ? 1 : CARM_BLAS_PARTS); i++) {
        const size_t m = whole ? study->n : carm_narrow_parts[i];
        const int rc = carm_observer_check(observer, err);
        if (rc) {
            p->known = false;
            return rc;
        }
        carm_observer_step(observer, "stepping a small product of %s", lib->name);
        if (carm_narrow_count(lib, study->precision, m, depth, &s, &why)) {
            snprintf(p->detail, sizeof p->detail, "bytes unavailable: %.60s", why.text);
            return 0;
        }
        if (s.unknown) {
            snprintf(p->detail, sizeof p->detail, "bytes unavailable: %.40s is not counted",
                     s.unknown_text);
            return 0;
        }
        all = take(&s, carm_precisions[study->precision].integer, parts[i], widths);
    }
    for (int i = 0; i < QUANTITIES; i++) {
        const double of_parts[CARM_BLAS_PARTS] = {parts[0][i], parts[1][i]};
        q[i] = whole ? parts[0][i] : carm_blas_scale(carm_narrow_parts, of_parts, study->n);
    }
    narrow->counted = true;
    narrow->instructions = q[INSTRUCTIONS];
    narrow->vectors = q[VECTORS];
    narrow->operations = q[OPERATIONS];
    narrow->width = only_width(widths, all);
    if (narrow->width >= 0) {
        snprintf(p->isa, sizeof p->isa, "%s", isas[narrow->width]);
        narrow->products = narrow->has_dot ? 0.0 : products_of(q, 16u << narrow->width);
    }
    p->bytes = q[BYTES];
    p->bytes_by = CARM_COUNTED_STEPPED;
    if (whole) {
        snprintf(p->detail, sizeof p->detail, "bytes of a stepped %zu x %zu product", study->n,
                 study->n);
    } else {
        snprintf(p->detail, sizeof p->detail, "bytes by two stepped products, %zu deep", depth);
    }
    return 0;
}

static void describe(const struct carm_gemm_study *study, const struct carm_run_times *times,
                     struct carm_gemm_point *p)
{
    const double n = (double)study->n;
    char plan[40];
    snprintf(plan, sizeof plan, "6-oneDNN-%s", carm_precision_name(study->precision));
    carm_gemm_point_name(p->name, study->n, plan);
    snprintf(p->what, sizeof p->what, "%s", study->narrow.library);
    snprintf(p->blocks, sizeof p->blocks, "-");
    p->known = true;
    p->flops = 2.0 * n * n * n;
    p->seconds = times->seconds;
    p->fastest = times->fastest;
    p->slowest = times->slowest;
    p->reps = times->reps;
    p->rows = study->n;
    p->disturbed = times->disturbed;
    /* the least: A and B read, C read and written back */
    p->dram_by = times->dram_bytes > 0.0 ? CARM_COUNTED_PMU : CARM_COUNTED_CONSTRUCTED;
    p->dram_bytes = p->dram_by == CARM_COUNTED_PMU
                        ? times->dram_bytes
                        : carm_narrow_bytes(study->precision, study->n) + 4.0 * n * n;
    p->dram_low = p->dram_high = p->dram_bytes;
}

static int measure(struct carm_gemm_study *study, const struct carm_onednn *lib,
                   struct carm_narrow *g, const struct carm_team *team,
                   struct carm_run_limits limits, struct carm_observer *observer,
                   struct carm_err *err)
{
    struct carm_gemm_point *p = &study->steps[CARM_GEMM_LIBRARY];
    struct carm_run_times times;
    carm_observer_step(observer, "%s", lib->name);
    int rc = carm_narrow_measure(lib, g, team, limits, &times, err);
    rc = rc ? rc : carm_narrow_check(g, lib->name, &p->error, study->reference, err);
    carm_observer_advance(observer, run_seconds);
    if (rc) {
        return rc;
    }
    describe(study, &times, p);
    char late[sizeof CARM_STUDY_LATE];
    if (carm_study_has_time(&study->base, count_seconds, late, sizeof late)) {
        rc = count(study, lib, observer, err);
    } else {
        snprintf(p->detail, sizeof p->detail, "bytes unavailable: %s", late);
    }
    carm_observer_advance(observer, count_seconds);
    return rc;
}

int carm_gemm_narrow_measure(struct carm_gemm_study *study, const struct carm_host *host,
                             const char *path, struct carm_err *err)
{
    struct carm_observer *observer = host->observer;
    struct carm_gemm_point *p = &study->steps[CARM_GEMM_LIBRARY];
    struct carm_team *team = NULL;
    struct carm_narrow g = {.n = 0};
    struct carm_onednn lib;
    struct carm_dram *dram = carm_study_open_dram(&study->base, &host->cpu);
    int rc = carm_team_open(&team, host->topo, &host->clock, study->base.threads, 4096,
                            CARM_REPEAT_MAX, err);
    carm_study_begin(&study->base, host, run_seconds + count_seconds);
    rc = rc ? rc : carm_onednn_open(&lib, err);
    rc = rc ? rc : carm_narrow_open(&g, study->precision, study->n, team, err);
    if (!rc) {
        const struct carm_run_limits limits = {fmin(run_seconds, carm_study_left(&study->base)),
                                               observer, dram};
        rc = measure(study, &lib, &g, team, limits, observer, err);
    }
    if (!rc) {
        carm_gemm_point_place(study, p);
        rc = carm_gemm_rows_append(study, p, path, err);
    }
    carm_narrow_close(&g);
    carm_team_close(team);
    carm_dram_close(dram);
    return carm_study_measured(&study->base, observer, rc);
}

static int by_share(const void *a, const void *b)
{
    const double x = ((const struct carm_gemm_use *)a)->share;
    const double y = ((const struct carm_gemm_use *)b)->share;
    return (x < y) - (x > y);
}

/* Adds the use of a resource with which a core executes at most `each_cycle` of these instructions in a cycle. */
static void add_instructions(struct carm_gemm_narrow_facts *f, const struct carm_gemm_study *s,
                             const char *what, double instructions, double each_cycle)
{
    const double hz = s->base.roofs->clock_hz * s->base.threads;
    if (instructions > 0.0 && each_cycle > 0.0 && hz > 0.0) {
        struct carm_gemm_use *use = &f->uses[f->nuses++];
        use->what = what;
        use->share = instructions / (each_cycle * hz) / s->steps[CARM_GEMM_LIBRARY].seconds;
        snprintf(use->how, sizeof use->how, "%.3g instructions, at most %g a cycle (%s)",
                 instructions, each_cycle, s->narrow.core);
    }
}

static void add_bytes(struct carm_gemm_narrow_facts *f, const struct carm_gemm_study *s)
{
    const struct carm_model *m = s->base.model;
    const struct carm_gemm_point *p = &s->steps[CARM_GEMM_LIBRARY];
    const struct carm_memory_roof *roof =
        m->nlevels
            ? carm_model_best_memory(m, s->base.roofs, m->levels[0].level, m->config.ldst, NULL)
            : NULL;
    if (roof && p->bytes > 0.0) {
        struct carm_gemm_use *use = &f->uses[f->nuses++];
        use->what = "loads and stores";
        use->share = p->bytes / roof->bandwidth / p->seconds;
        snprintf(use->how, sizeof use->how, "%.3g byte at the %s roof, %.4g GB/s", p->bytes,
                 roof->level, roof->bandwidth * 1e-9);
    }
}

void carm_gemm_narrow_facts(const struct carm_gemm_study *s, struct carm_gemm_narrow_facts *f)
{
    const struct carm_gemm_narrow *narrow = &s->narrow;
    const struct carm_gemm_point *p = &s->steps[CARM_GEMM_LIBRARY];
    const struct carm_roofs *whose = s->base.roofs;
    memset(f, 0, sizeof *f);
    f->peak = carm_model_best_peak(s->base.model, s->base.roofs, &whose);
    f->peak_isa = whose->isa;
    if (!p->known || !f->peak) {
        return;
    }
    f->share = carm_gemm_performance(p) / f->peak->rate;
    f->enough = f->share >= CARM_GEMM_ENOUGH;
    f->beside = narrow->operations / p->flops;
    if (narrow->width >= 0) {
        add_instructions(f, s, "multiplications", narrow->products,
                         narrow->multiplies[narrow->width]);
    }
    add_instructions(f, s, "issue", narrow->instructions, narrow->issue);
    add_bytes(f, s);
    qsort(f->uses, f->nuses, sizeof *f->uses, by_share);
}
