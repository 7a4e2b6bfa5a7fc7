/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes between the last cache and memory of a variant of the matrix multiplication, for the original
 * model where no counter counts them: the lines that its kernels touch go through simulated caches. */
#pragma once

#include "kernels/gemm/product.h"
#include "models/caches/config.h"

struct carm_gemm_traffic {
    double bytes, low, high; /* 95% confidence interval, where sets of the caches are sampled */
};

/* The caches are empty at first, and lines that are dirty at the end are written back. Threads take turns tile by
 * tile. For a slab, arranging counts by the slab's share of the rows.
 * g        with its matrices; their contents are not touched
 * caches   of all cores; thread i is on core i
 * rows     of C that are computed
 * touches  most touches of lines to simulate, one second for some 300 million; further rows are extrapolated
 * returns 0, -CARM_EINVAL (impossible caches), -CARM_ENOMEM */
int carm_gemm_traffic(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                      const struct carm_hierarchy_config *caches, int threads, size_t rows,
                      double touches, struct carm_gemm_traffic *out, struct carm_err *err);

/* The least bytes that any program moves: A and B read, C read and written back, each once. */
double carm_gemm_compulsory_bytes(size_t n);
