/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tuned BLAS libraries of this machine, loaded at run time: nothing links them. */
#ifndef CARM_KERNELS_GEMM_BLAS_H
#define CARM_KERNELS_GEMM_BLAS_H

#include <stddef.h>

#include "base/err.h"
#include "harness/count/step/trap.h"

struct carm_blas {
    char name[32];    /* "OpenBLAS" */
    char detail[128]; /* what it says of itself: version, kernel; "" when nothing */
    void *handle;
    /* NULL = it has no such call. Those that take an int read the lower half of the register. */
    void (*set_threads)(long n);
    void *dgemm; /* Fortran's dgemm_ */
};

enum { CARM_BLAS_KINDS = 3 };

/* Loads the i-th kind of library that this build knows (OpenBLAS, BLIS, MKL).
 * returns 0 or -CARM_ENOTSUP (not installed: says how to get it) */
int carm_blas_open(struct carm_blas *blas, int i, struct carm_err *err);
void carm_blas_close(struct carm_blas *blas); /* a zeroed one is allowed */

const char *carm_blas_kind(int i); /* "OpenBLAS", ... */

/* C = A x B, row-major, C m x n, A m x k, B k x n; strides in elements. */
void carm_blas_dgemm(const struct carm_blas *blas, size_t m, size_t n, size_t k, const double *a,
                     size_t a_stride, const double *b, size_t b_stride, double *c, size_t c_stride);

/* ---- what it executes: its code is not ours, so a small product is stepped ------------------------ */

/* Large enough that libraries leave their paths for small matrices (OpenBLAS takes one up to 100 x 100
 * x 100), small enough to be stepped in some 10 s. */
enum { CARM_BLAS_COUNT_N = 128 };

/* Steps one product of n x n x n in the calling thread; the library's number of threads is 1 after it.
 * returns 0, -CARM_ENOTSUP (the trap flag does not work here), -CARM_ENOMEM */
int carm_blas_count(const struct carm_blas *blas, size_t n, struct carm_step_counts *counts,
                    struct carm_err *err);

#endif
