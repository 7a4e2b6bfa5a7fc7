/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which variants of the matrix multiplication are measured: the steps of the cache-aware paper's
 * figure 9, and many more for its figure 10. */
#ifndef CARM_KERNELS_GEMM_PLAN_H
#define CARM_KERNELS_GEMM_PLAN_H

#include "kernels/gemm/product.h"

enum {
    CARM_GEMM_VERSIONS = 5, /* basic, transposed, blocked for L3, L2, L1 */
    CARM_GEMM_VARIANTS_MAX = 1000,
};

/* What a thread has of each cache level to itself, byte; 0 = there is no such level. */
struct carm_gemm_caches {
    double l1, l2, l3;
};

/* The kernels of a study: one for B as it is, one for all the rest. */
struct carm_gemm_kernels {
    const struct carm_gemm_kernel *strided, *vector;
};

/* Version 1 to 5 of figure 9.
 * 1 basic; 2 B transposed first; 3 blocked so that a block of A and one of B's transpose fill three
 * quarters of L3; 4 within these, a block of B's transpose and three rows of A three quarters of L2;
 * 5 within these, cut along k so that two tiles' columns of B and three rows of A fill three
 * quarters of L1, both matrices packed.
 * returns 0 or -CARM_ENOTSUP (no such cache level known: says so) */
int carm_gemm_version(struct carm_gemm_plan *plan, int version, size_t n,
                      const struct carm_gemm_kernels *kernels,
                      const struct carm_gemm_caches *caches, struct carm_err *err);

/* Figure 10: variants of access, levels, loop orders and block sizes, the same for every run.
 * plans  [count] out
 * count  at most CARM_GEMM_VARIANTS_MAX
 * returns how many there are, at most count */
size_t carm_gemm_variants(struct carm_gemm_plan *plans, size_t count, size_t n,
                          const struct carm_gemm_kernels *kernels,
                          const struct carm_gemm_caches *caches);

/* "L3 114 x 114 x 2304 kji, L2 ..." or "-": block sizes m x n x k for people. returns dst */
char *carm_gemm_blocks_text(char *dst, size_t size, const struct carm_gemm_plan *plan, size_t n);

/* ---- bytes between last-level cache and memory ---------------------------------------------------- */

/* An estimate by working sets, for the original model where no counter counts them. Walks the loops
 * from the innermost block outwards. A matrix comes from memory once for each iteration of a loop,
 * except that it stays in the cache
 * - from one iteration to the next where the loop does not move it and all that an iteration touches
 *   fits the capacity, and
 * - altogether where all that the whole loop touches fits.
 * C is read and written back (a line that is stored to is read first), A and B are read. Transposing
 * and packing read their source once, and read and write back their destination once. Threads that
 * share the last-level cache walk through B together, so it comes once for all of them; A and C are
 * their own.
 * llc_bytes  of last-level cache for one thread
 * sharers    threads that share one, at least 1
 * returns bytes of the whole problem, all threads; of a slab, its rows' share */
double carm_gemm_dram_bytes(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                            double llc_bytes, int sharers, int threads, size_t rows);

/* The least that any program moves: A and B read, C read and written back, each once. */
double carm_gemm_compulsory_bytes(size_t n);

#endif
