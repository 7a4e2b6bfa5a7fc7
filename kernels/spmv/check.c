/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/spmv/product.h"

enum {
    ROWS_MAX = 20000, /* rows of a reference */
    ROUNDINGS = 16,   /* roundings of sums of vectors, beside one for each nonzero */
};

static double hashed(uint32_t i)
{
    uint64_t z = (i + 1U) * 0x9e3779b97f4a7c15U; /* source: SplitMix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (double)(z >> 11) * 0x1p-52 - 1.0;
}

void carm_spmv_fill_x(double *x, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        x[i] = hashed(i);
    }
}

struct row_sum {
    long double value, magnitude;
};

static struct row_sum sum_row(const struct carm_csr *a, const double *x, uint32_t row)
{
    struct row_sum s = {0.0L, 0.0L};
    for (uint32_t k = a->start[row]; k < a->start[row + 1]; k++) {
        const long double product = (long double)a->value[k] * x[a->column[k]];
        s.value += product;
        s.magnitude += fabsl(product);
    }
    return s;
}

/* Computes the sums over all rows, and stores the rows that are compared. */
static void walk(struct carm_spmv_reference *to, const struct carm_csr *a, const double *x)
{
    struct row_sum all = {0.0L, 0.0L};
    uint32_t next = 0;
    for (uint32_t row = 0; row < a->rows; row++) {
        const struct row_sum s = sum_row(a, x, row);
        const uint32_t length = a->start[row + 1] - a->start[row];
        all.value += s.value;
        all.magnitude += s.magnitude;
        to->longest = length > to->longest ? length : to->longest;
        if (next < to->n && row == (uint64_t)next * a->rows / to->n) {
            to->row[next] = row;
            to->value[next] = (double)s.value;
            to->magnitude[next] = (double)s.magnitude;
            to->largest = fmax(to->largest, fabs((double)s.value));
            next++;
        }
    }
    to->sum = (double)all.value;
    to->sum_magnitude = (double)all.magnitude;
}

int carm_spmv_reference_make(struct carm_spmv_reference *reference, const struct carm_csr *a,
                             const double *x, struct carm_err *err)
{
    memset(reference, 0, sizeof *reference);
    reference->n = a->rows < ROWS_MAX ? a->rows : ROWS_MAX;
    reference->row = calloc(reference->n, sizeof *reference->row);
    reference->value = calloc(reference->n, sizeof *reference->value);
    reference->magnitude = calloc(reference->n, sizeof *reference->magnitude);
    if (!reference->row || !reference->value || !reference->magnitude) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a reference of %u rows",
                         reference->n);
    }
    walk(reference, a, x);
    snprintf(reference->by, sizeof reference->by,
             "CSR in long double, %u of %u rows and the sum of all", reference->n, a->rows);
    return 0;
}

void carm_spmv_reference_free(struct carm_spmv_reference *reference)
{
    free(reference->row);
    free(reference->value);
    free(reference->magnitude);
    memset(reference, 0, sizeof *reference);
}

int carm_spmv_check(struct carm_dwarf_case *c, struct carm_team *team, double *error, char by[96],
                    struct carm_err *err)
{
    const struct carm_spmv *s = (const struct carm_spmv *)c;
    const struct carm_spmv_reference *r = &s->reference;
    /* at most one rounding for each nonzero of the longest row, times a margin of two */
    const double unit = 2.0 * DBL_EPSILON * ((double)r->longest + ROUNDINGS);
    const double scale = r->largest > 0.0 ? r->largest : 1.0;
    long double sum = 0.0L;
    (void)team;
    snprintf(by, 96, "%s", r->by);
    *error = 0.0;
    for (uint32_t i = 0; i < r->n; i++) {
        const double difference = fabs(s->y[r->row[i]] - r->value[i]);
        *error = fmax(*error, difference / scale);
        /* !(<=) also refuses a NaN */
        if (!(difference <= unit * r->magnitude[i] + DBL_MIN)) {
            return carm_fail(err, CARM_EFORMAT,
                             "%s SpMV is wrong: row %u is %.17g, and %.17g by %s", c->version,
                             r->row[i], s->y[r->row[i]], r->value[i], r->by);
        }
    }
    for (uint32_t row = 0; row < s->rows; row++) {
        sum += s->y[row];
    }
    if (!(fabsl(sum - r->sum) <= unit * r->sum_magnitude + DBL_MIN)) {
        return carm_fail(err, CARM_EFORMAT,
                         "%s SpMV is wrong: its rows add up to %.17g, and should to %.17g",
                         c->version, (double)sum, r->sum);
    }
    return 0;
}
