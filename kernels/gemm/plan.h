/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variants of the matrix multiplication that are measured: the steps of the cache-aware paper's
 * figure 9, and many more for its figure 10. */
#pragma once

#include "kernels/gemm/product.h"

enum {
    CARM_GEMM_VERSIONS = 5, /* basic, transposed, blocked for L3, L2, L1 */
    CARM_GEMM_VARIANTS_MAX = 1000,
};

/* The bytes that a thread has of each cache level to itself; 0 = there is no such level. */
struct carm_gemm_caches {
    double l1, l2, l3;
};

/* The kernels of a study: one for B in its original layout, one for all other steps. */
struct carm_gemm_kernels {
    const struct carm_gemm_kernel *strided, *vector;
};

/* Version 1 to 5 of figure 9.
 * 1 basic
 * 2 B transposed first
 * 3 blocked: a block of A and a block of B's transpose fill three quarters of L3
 * 4 blocked inside the blocks of 3: a block of B's transpose and three rows of A fill three quarters of L2
 * 5 the blocks of 4 cut along k: two tiles' columns of B and three rows of A fill three quarters of L1; both
 *   matrices packed
 * returns 0 or -CARM_ENOTSUP (no such cache level known: says so) */
int carm_gemm_version(struct carm_gemm_plan *plan, int version, size_t n,
                      const struct carm_gemm_kernels *kernels,
                      const struct carm_gemm_caches *caches, struct carm_err *err);

/* Figure 10: variants of access, levels, loop orders and block sizes, the same for every run.
 * plans  [count] out
 * count  at most CARM_GEMM_VARIANTS_MAX
 * returns the number of variants, at most count */
size_t carm_gemm_variants(struct carm_gemm_plan *plans, size_t count, size_t n,
                          const struct carm_gemm_kernels *kernels,
                          const struct carm_gemm_caches *caches);

/* "L3 114 x 114 x 2304 kji, L2 ..." or "-": block sizes m x n x k for people. returns dst */
char *carm_gemm_blocks_text(char *dst, size_t size, const struct carm_gemm_plan *plan, size_t n);
