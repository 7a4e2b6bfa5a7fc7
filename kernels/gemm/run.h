/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timing and checking of the matrix multiplication's variants. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernels/gemm/blas.h"
#include "kernels/gemm/product.h"
#include "kernels/repeat.h"

/* Rows of a correct product, from a library or from plain loops. */
struct carm_gemm_reference {
    size_t *rows; /* [nrows], ascending */
    size_t nrows;
    double *values; /* [nrows x n] */
    double largest; /* absolute value */
    char by[64];    /* "OpenBLAS", "plain loops, 64 rows" */
};

struct carm_gemm_result {
    struct carm_run_times times; /* last end minus first start; dram_bytes is 0 for a slab after
                                  * arranging, too, as it would contain the arranging of all rows */
    size_t rows; /* computed rows of C: fewer than all for a slab; seconds and counts
                                  * contain the slab's share of the arranging */
    struct carm_gemm_account account;
    double error; /* largest difference from the reference over its largest element */
};

/* Measures one variant, on a slab where all of C takes longer than the limit, and compares its result with the
 * reference.
 * returns 0; -CARM_EINTR; -CARM_EFORMAT (wrong result) */
int carm_gemm_measure(const struct carm_gemm_plan *plan, struct carm_gemm *g,
                      struct carm_team *team, const struct carm_gemm_reference *reference,
                      struct carm_run_limits limits, struct carm_gemm_result *out,
                      struct carm_err *err);

/* carm_gemm_measure for a library, which starts its own threads; the account stays empty. With
 * reference->nrows == 0, the library's product becomes the reference. */
int carm_gemm_measure_library(const struct carm_blas *blas, struct carm_gemm *g,
                              const struct carm_team *team, struct carm_gemm_reference *reference,
                              struct carm_run_limits limits, struct carm_gemm_result *out,
                              struct carm_err *err);

/* A reference from plain loops: some rows, the first of each thread's part among them.
 * returns 0 or -CARM_ENOMEM */
int carm_gemm_reference_plain(struct carm_gemm_reference *reference, const struct carm_gemm *g,
                              int threads, struct carm_err *err);
/* Makes all of C the reference. by: who computed it */
int carm_gemm_reference_adopt(struct carm_gemm_reference *reference, const struct carm_gemm *g,
                              const char *by, struct carm_err *err);
void carm_gemm_reference_free(struct carm_gemm_reference *reference);

/* Compares the reference's rows that were computed (out->rows of C by `threads` threads), and fills in
 * out->error. returns 0 or -CARM_EFORMAT */
int carm_gemm_check(const struct carm_gemm *g, const struct carm_gemm_reference *reference,
                    int threads, const char *name, struct carm_gemm_result *out,
                    struct carm_err *err);

/* The largest error that rounding explains, over the largest element. */
double carm_gemm_tolerance(size_t n);
