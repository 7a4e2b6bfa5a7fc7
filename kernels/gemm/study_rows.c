/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The points of a study in its file, and back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm/study.h"
#include "kernels/study/rows.h"
#include "harness/count/row.h"

/* ---- reading -------------------------------------------------------------------------------------- */

/* What stands in a row's note behind `what` and the blocks. */
static bool take_numbers(const char *at, struct carm_gemm_point *p)
{
    double rows = 0.0, all = 0.0, reps = 0.0;
    const bool found = carm_study_rows_number(&at, "", &rows) &&
                       carm_study_rows_number(&at, " of ", &all) &&
                       carm_study_rows_number(&at, " rows; ", &p->fastest) &&
                       carm_study_rows_number(&at, " to ", &p->slowest) &&
                       carm_study_rows_number(&at, " s in ", &reps) &&
                       carm_study_rows_number(&at, " runs; error ", &p->error);
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

/* Takes a row as point p of this study when it is the same variant; numbers follow what and blocks in
 * its note. */
static bool take(const struct carm_gemm_study *study, const struct carm_point *row,
                 const struct carm_gemm_plan *plan, const char *what, struct carm_gemm_point *p)
{
    struct carm_gemm_point new = {.known = true,
                                  .kept = true,
                                  .flops = row->flops,
                                  .seconds = row->seconds,
                                  .dram_bytes = fmax(0.0, row->dram_bytes),
                                  .bytes = fmax(0.0, row->bytes)};
    char begin[sizeof new.what + sizeof new.blocks + 16];
    (void)snprintf(new.blocks, sizeof new.blocks, "-");
    if (plan) {
        (void)carm_gemm_blocks_text(new.blocks, sizeof new.blocks, plan, study->n);
        new.access = plan->access;
    }
    (void)snprintf(begin, sizeof begin, "%s; blocks %s; ", what, new.blocks);
    const size_t len = strlen(begin);
    if (p->known || row->threads != study->threads || strncmp(row->note, begin, len) != 0 ||
        (plan && strcmp(row->isa, carm_isa_name(plan->kernel->isa)) != 0) ||
        !take_numbers(row->note + len, &new)) {
        return false;
    }
    new.dram_counted = strstr(row->note, "; DRAM bytes counted") != NULL;
    new.bytes_by = plan ? CARM_COUNTED_CONSTRUCTED : CARM_COUNTED_STEPPED;
    (void)snprintf(new.name, sizeof new.name, "%.63s", row->name);
    (void)snprintf(new.what, sizeof new.what, "%s", what);
    (void)snprintf(new.isa, sizeof new.isa, "%.15s", row->isa);
    if (!plan) {
        const char *last = strstr(row->note, "; bytes ");
        (void)snprintf(new.detail, sizeof new.detail, "%s", last ? last + 2 : "");
    }
    *p = new;
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
        (void)snprintf(own, sizeof own, "6-%s", carm_blas_kind(i));
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

static void take_row(void *context, const struct carm_point *row)
{
    struct carm_gemm_study *study = context;
    if (take_step(study, row) || take_variant(study, row)) {
        study->kept++;
    }
}

int carm_gemm_rows_read(struct carm_gemm_study *study, const char *path, struct carm_err *err)
{
    return carm_study_rows_read(path, take_row, study, err);
}

/* ---- writing -------------------------------------------------------------------------------------- */

int carm_gemm_rows_append(const struct carm_gemm_study *study, const struct carm_gemm_point *p,
                          const char *path, struct carm_err *err)
{
    if (!path) {
        return 0;
    }
    struct carm_row *row = calloc(1, sizeof *row);
    if (!row) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write a point");
    }
    (void)snprintf(row->name, sizeof row->name, "%s", p->name);
    carm_count_put(&row->counts, CARM_Q_FLOPS, p->flops, CARM_COUNTED_CONSTRUCTED);
    carm_count_put(&row->counts, CARM_Q_FLOPS_DP, p->flops, CARM_COUNTED_CONSTRUCTED);
    if (p->bytes > 0.0) {
        carm_count_put(&row->counts, CARM_Q_BYTES, p->bytes, p->bytes_by);
    }
    carm_count_put(&row->counts, CARM_Q_DRAM_BYTES, p->dram_bytes,
                   p->dram_counted ? CARM_COUNTED_PMU : CARM_COUNTED_CONSTRUCTED);
    row->seconds = p->seconds;
    row->threads = study->threads;
    row->isa = p->isa;
    row->precision = "dp";
    row->calls = 1;
    row->share = 1.0;
    (void)snprintf(row->note, sizeof row->note,
                   "%s; blocks %s; %zu of %zu rows; %.9g to %.9g s in %d runs; error %.3g%s; "
                   "DRAM bytes %s%s%s",
                   p->what, p->blocks, p->rows, study->n, p->fastest, p->slowest, p->reps, p->error,
                   p->disturbed ? "; disturbed" : "", p->dram_counted ? "counted" : "estimated",
                   *p->detail ? "; " : "", p->detail);
    const int rc = carm_row_append(path, row, 1, err);
    free(row);
    return rc;
}
