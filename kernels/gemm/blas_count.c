/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/blas_count.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t budget = 100000000; /* instructions: far above what such a product takes */

int carm_blas_count(const struct carm_blas *blas, size_t n, struct carm_step_counts *counts,
                    struct carm_err *err)
{
    bool complete = false;
    memset(counts, 0, sizeof *counts);
    int rc = carm_step_check(err);
    if (rc) {
        return rc;
    }
    double *x = calloc(3 * n * n, sizeof *x);
    if (!x) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to count a library's product");
    }
    double *a = x;
    double *b = x + n * n;
    double *c = x + 2 * n * n;
    for (size_t i = 0; i < 2 * n * n; i++) {
        x[i] = 1.0;
    }
    if (blas->set_threads) {
        blas->set_threads(1);
    }
    /* the first call sets the library up */
    carm_blas_dgemm(blas, n, n, n, a, n, b, n, c, n);
    rc = carm_step_begin(budget, err);
    if (!rc) {
        carm_blas_dgemm(blas, n, n, n, a, n, b, n, c, n);
        rc = carm_step_end(counts, &complete, err);
    }
    if (!rc && !complete) {
        rc = carm_fail(err, CARM_ENOTSUP, "%s runs longer than a small product should", blas->name);
    }
    free(x);
    return rc;
}
