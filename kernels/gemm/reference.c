/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm/run.h"

enum { PLAIN_ROWS = 64 }; /* of a reference from plain loops */

static const double plain_flops = 1e9; /* that such a reference may cost, roughly */

/* ---- checking ------------------------------------------------------------------------------------- */

double carm_gemm_tolerance(size_t n)
{
    /* a sum of n rounded products is off by at most n x 2^-53 of the sum of their absolute values,
     * which is some n / 4 where the largest element is some 1.5 sqrt(n): far above what is seen */
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

/* The largest difference over the reference's largest element; infinite when it is no number, or
 * when nothing could be compared. */
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

/* ---- references ------------------------------------------------------------------------------------ */

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
    (void)snprintf(ref->by, sizeof ref->by, "%s", by);
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
    (void)snprintf(ref->by, sizeof ref->by, "plain loops, %zu rows", ref->nrows);
    find_largest(ref, g->n);
    return 0;
}

void carm_gemm_reference_free(struct carm_gemm_reference *ref)
{
    free(ref->rows);
    free(ref->values);
    memset(ref, 0, sizeof *ref);
}
