/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrix products in int8 and bf16 by a library: matrices, timing, checking, stepping. */
#pragma once

#include <stddef.h>

#include "harness/machine/buffer.h"
#include "harness/count/step/trap.h"
#include "harness/machine/team.h"
#include "kernels/gemm/onednn.h"
#include "kernels/repeat.h"

/* C = A x B, square and contiguous. INT8: A of 0 .. 127, B of -127 .. 127, so that two products fit the 16 bits
 * in which instructions without VNNI add them; C of 32 bits. BF16: A and B of n/128 with |n| <= 127, which are
 * exact; C in single precision. */
struct carm_narrow {
    enum carm_precision precision;
    size_t n;
    struct carm_buffer a, b, c;
};

double carm_narrow_bytes(enum carm_precision precision, size_t n); /* of the three matrices */

/* returns 0, or -CARM_ENOMEM (names the bytes) */
int carm_narrow_open(struct carm_narrow *g, enum carm_precision precision, size_t n,
                     struct carm_team *team, struct carm_err *err);
void carm_narrow_close(struct carm_narrow *g); /* a zeroed one is allowed */

/* Runs the product once to warm up, which is when the library writes its code, then as often as the time allows.
 * returns 0; -CARM_EINTR; -CARM_ENOTSUP (the library has no such product here) */
int carm_narrow_measure(const struct carm_onednn *lib, struct carm_narrow *g,
                        const struct carm_team *team, struct carm_run_limits limits,
                        struct carm_run_times *out, struct carm_err *err);

/* Compares C with plain loops, for large matrices some rows: exactly, or, for sums in single precision, within the
 * error of rounding.
 * error  out: largest difference over the largest element
 * by     out: "plain loops, 64 rows"
 * returns 0 or -CARM_EFORMAT (wrong result) */
int carm_narrow_check(const struct carm_narrow *g, const char *library, double *error, char by[64],
                      struct carm_err *err);

/* Rows and columns of the parts that carm_blas_scale takes: multiples of the tiles of oneDNN's kernels, 24 x 4
 * (AVX2) and 48 x 8 (AVX-512). */
extern const size_t carm_narrow_parts[];

/* Steps one product, C of m x m; the library's number of threads is 1 after it.
 * returns 0, -CARM_ENOTSUP (the trap flag does not work here, no such product), -CARM_ENOMEM */
int carm_narrow_count(const struct carm_onednn *lib, enum carm_precision precision, size_t m,
                      size_t depth, struct carm_step_counts *counts, struct carm_err *err);
