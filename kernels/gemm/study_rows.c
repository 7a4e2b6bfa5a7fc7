/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The study's points, and their rows of points.csv. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/gemm/study.h"

void carm_gemm_point_name(char dst[64], size_t n, const char *plan)
{
    snprintf(dst, 64, "gemm-%zu-%.40s", n, plan);
}

void carm_gemm_point_place(const struct carm_gemm_study *study, struct carm_gemm_point *p)
{
    struct carm_err ignored;
    p->has_aware =
        p->bytes > 0.0 && carm_place_cache_aware(study->base.model, study->base.roofs, p->flops,
                                                 p->bytes, p->seconds, &p->aware, &ignored) == 0;
    p->has_original = p->dram_bytes > 0.0 &&
                      carm_place_original(study->base.model, study->base.roofs, p->flops,
                                          p->dram_bytes, p->seconds, &p->original, &ignored) == 0;
}

/* Reads the part of a row's note after `what` and the blocks. */
static bool take_numbers(const char *at, struct carm_gemm_point *p)
{
    double rows = 0.0, all = 0.0, reps = 0.0;
    const bool found = carm_study_note_number(&at, "", &rows) &&
                       carm_study_note_number(&at, " of ", &all) &&
                       carm_study_note_number(&at, " rows; ", &p->fastest) &&
                       carm_study_note_number(&at, " to ", &p->slowest) &&
                       carm_study_note_number(&at, " s in ", &reps) &&
                       carm_study_note_number(&at, " runs; error ", &p->error);
    if (!found || !(rows >= 1.0 && rows <= all && all <= CARM_GEMM_N_MAX) ||
        !(reps >= 1.0 && reps <= CARM_REPEAT_MAX) ||
        !(p->fastest > 0.0 && p->fastest <= p->slowest)) {
        return false;
    }
    p->rows = (size_t)rows;
    p->reps = (int)reps;
    p->disturbed = strstr(at, "; disturbed") != NULL;
    return true;
}

static double or_exact(double bound, double value)
{
    return fmax(0.0, carm_point_knows(bound) ? bound : value);
}

/* Takes a row as point p of this study when both have the same variant. In the row's note, numbers follow the
 * text `what` and the word blocks. */
static bool take(const struct carm_gemm_study *study, const struct carm_point *row,
                 const struct carm_gemm_plan *plan, const char *what, struct carm_gemm_point *p)
{
    const enum carm_counted dram_by = strstr(row->note, "; DRAM bytes counted") ? CARM_COUNTED_PMU
                                      : strstr(row->note, "; DRAM bytes simulated")
                                          ? CARM_COUNTED_SIMULATED
                                          : CARM_COUNTED_CONSTRUCTED;
    char blocks[sizeof p->blocks] = "-";
    char begin[sizeof p->what + sizeof blocks + 16];
    if (plan) {
        carm_gemm_blocks_text(blocks, sizeof blocks, plan, study->n);
    }
    snprintf(begin, sizeof begin, "%s; blocks %s; ", what, blocks);
    const size_t len = strlen(begin);
    if (p->known || row->threads != study->base.threads || strncmp(row->note, begin, len) != 0 ||
        (plan && strcmp(row->isa, carm_isa_name(plan->kernel->isa)) != 0) ||
        (plan && dram_by == CARM_COUNTED_CONSTRUCTED)) { /* estimated by an earlier version */
        return false;
    }
    memset(p, 0, sizeof *p);
    if (!take_numbers(row->note + len, p)) {
        memset(p, 0, sizeof *p);
        return false;
    }
    p->known = p->kept = true;
    p->flops = row->flops;
    p->seconds = row->seconds;
    p->dram_bytes = fmax(0.0, row->dram_bytes);
    p->dram_low = or_exact(row->level_low[2], row->dram_bytes);
    p->dram_high = or_exact(row->level_high[2], row->dram_bytes);
    p->dram_by = dram_by;
    p->bytes = fmax(0.0, row->bytes);
    p->bytes_by = plan ? CARM_COUNTED_CONSTRUCTED : CARM_COUNTED_STEPPED;
    if (plan) {
        p->access = plan->access;
    }
    snprintf(p->blocks, sizeof p->blocks, "%s", blocks);
    snprintf(p->name, sizeof p->name, "%.63s", row->name);
    snprintf(p->what, sizeof p->what, "%s", what);
    snprintf(p->isa, sizeof p->isa, "%.15s", row->isa);
    if (!plan) {
        const char *last = strstr(row->note, "; bytes ");
        snprintf(p->detail, sizeof p->detail, "%s", last ? last + 2 : "");
    }
    carm_gemm_point_place(study, p);
    return true;
}

static bool take_step(struct carm_gemm_study *study, const struct carm_point *row)
{
    char name[64];
    char own[40];
    for (int i = 0; i < CARM_GEMM_VERSIONS; i++) {
        struct carm_gemm_plan plan;
        struct carm_err ignored;
        if (carm_gemm_version(&plan, i + 1, study->n, &study->kernels, &study->caches, &ignored)) {
            continue;
        }
        carm_gemm_point_name(name, study->n, plan.name);
        if (strcmp(name, row->name) == 0) {
            return take(study, row, &plan, plan.what, &study->steps[i]);
        }
    }
    for (int i = 0; i < CARM_BLAS_KINDS; i++) {
        snprintf(own, sizeof own, "6-%s", carm_blas_kind(i));
        carm_gemm_point_name(name, study->n, own);
        if (strcmp(name, row->name) == 0) {
            return take(study, row, NULL, carm_blas_kind(i), &study->steps[CARM_GEMM_LIBRARY + i]);
        }
    }
    return false;
}

static bool take_variant(struct carm_gemm_study *study, const struct carm_point *row)
{
    char name[64];
    for (size_t i = 0; i < study->nvariants; i++) {
        carm_gemm_point_name(name, study->n, study->plans[i].name);
        if (strcmp(name, row->name) == 0) {
            return take(study, row, &study->plans[i], study->plans[i].what, &study->variants[i]);
        }
    }
    return false;
}

void carm_gemm_take_row(struct carm_study *base, const struct carm_point *row)
{
    struct carm_gemm_study *study = (struct carm_gemm_study *)base;
    if (take_step(study, row) || take_variant(study, row)) {
        base->kept++;
    }
}

int carm_gemm_rows_append(const struct carm_gemm_study *study, const struct carm_gemm_point *p,
                          const char *path, struct carm_err *err)
{
    struct carm_row *row = carm_study_row(&study->base, p->name, err);
    if (!row) {
        return -CARM_ENOMEM;
    }
    row->precision = carm_precision_name(study->precision);
    if (carm_precisions[study->precision].integer) {
        row->operations = p->flops;
        row->metric = CARM_METRIC_INTEGERS;
    } else {
        carm_count_put(&row->counts, CARM_Q_FLOPS, p->flops, CARM_COUNTED_CONSTRUCTED);
    }
    if (study->precision == CARM_DP) {
        carm_count_put(&row->counts, CARM_Q_FLOPS_DP, p->flops, CARM_COUNTED_CONSTRUCTED);
    }
    if (p->bytes > 0.0) {
        carm_count_put(&row->counts, CARM_Q_BYTES, p->bytes, p->bytes_by);
    }
    if (p->dram_bytes > 0.0) {
        carm_count_put(&row->counts, CARM_Q_DRAM_BYTES, p->dram_bytes, p->dram_by);
        row->counts.q[CARM_Q_DRAM_BYTES].low = p->dram_low;
        row->counts.q[CARM_Q_DRAM_BYTES].high = p->dram_high;
    }
    row->seconds = p->seconds;
    row->isa = p->isa;
    snprintf(row->note, sizeof row->note,
             "%s; blocks %s; %zu of %zu rows; %.9g to %.9g s in %d runs; error %.3g%s; "
             "DRAM bytes %s%s%s",
             p->what, p->blocks, p->rows, study->n, p->fastest, p->slowest, p->reps, p->error,
             p->disturbed ? "; disturbed" : "",
             p->dram_by == CARM_COUNTED_PMU         ? "counted"
             : p->dram_by == CARM_COUNTED_SIMULATED ? "simulated"
                                                    : "at least",
             *p->detail ? "; " : "", p->detail);
    return carm_study_row_append(row, path, err);
}
