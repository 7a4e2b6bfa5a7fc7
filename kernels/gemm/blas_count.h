/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a BLAS library executes: its code is not ours, so a small product is stepped. */
#ifndef CARM_KERNELS_GEMM_BLAS_COUNT_H
#define CARM_KERNELS_GEMM_BLAS_COUNT_H

#include "harness/count/step/single.h"
#include "kernels/gemm/blas.h"

/* Large enough that libraries leave their paths for small matrices (OpenBLAS takes one up to 100 x 100
 * x 100), small enough to be stepped in some 10 s. */
enum { CARM_BLAS_COUNT_N = 128 };

/* Steps one product of n x n x n in the calling thread; the library's number of threads is 1 after it.
 * returns 0, -CARM_ENOTSUP (the trap flag does not work here), -CARM_ENOMEM */
int carm_blas_count(const struct carm_blas *blas, size_t n, struct carm_step_counts *counts,
                    struct carm_err *err);

#endif
