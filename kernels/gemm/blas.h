/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tuned BLAS libraries of this machine, loaded at run time: nothing links them. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "harness/count/step/trap.h"

struct carm_blas {
    char name[32];    /* "OpenBLAS" */
    char detail[128]; /* the library's own version and kernel; "" when it reports none */
    void *handle;
    /* NULL = the library has no such call. Calls that take an int read the lower half of the
     * register. */
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

/* ---- the library's instructions: its code is not ours, so small products are stepped --------- */

/* Products up to CARM_BLAS_COUNT_N are stepped whole, in some 10 s. Of larger products two parts are stepped. The
 * parts are at least as deep as the blocks of libraries, and so large that libraries do not take their paths for
 * small matrices (OpenBLAS has one up to 100 x 100 x 100). */
enum { CARM_BLAS_COUNT_N = 128, CARM_BLAS_PARTS = 2, CARM_BLAS_PART_DEPTH = 1024 };

/* Rows and columns of the parts: multiples of all kernels' tiles (4 x 8, 8 x 6, 16 x 2; 24 x 8 for the
 * larger part). */
extern const size_t carm_blas_parts[CARM_BLAS_PARTS];

/* Bytes (or instructions, ...) of a product of n x n x n, from those of its parts: the kernel's are
 * proportional to m n k, packing's to (m + n) k.
 * rows   [CARM_BLAS_PARTS] and columns of the parts
 * bytes  [CARM_BLAS_PARTS] of the parts
 * returns 0.0 if the bytes do not fit this form */
double carm_blas_scale(const size_t *rows, const double *bytes, size_t n);

/* Steps one product, C of m x m, in the calling thread; the library's number of threads is 1 after it.
 * returns 0, -CARM_ENOTSUP (the trap flag does not work here), -CARM_ENOMEM */
int carm_blas_count(const struct carm_blas *blas, size_t m, size_t depth,
                    struct carm_step_counts *counts, struct carm_err *err);

/* Steps a product of any library in the calling thread, after one that sets the library up.
 * returns 0, or -CARM_ENOTSUP */
int carm_blas_step(const char *name, void (*multiply)(void *product), void *product,
                   struct carm_step_counts *counts, struct carm_err *err);
