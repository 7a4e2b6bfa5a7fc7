/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense matrix multiplication C = A x B in double precision, in the variants of the study: one
 * micro-kernel under different access patterns, loop orders and block sizes.
 *
 * Matrices are row-major and square on the outside; inside, rows are padded with zeros to whole tiles
 * and k to whole vectors. The padded problem is executed and counted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/machine/buffer.h"
#include "harness/machine/team.h"
#include "kernels/gemm/tile.h"

enum { CARM_GEMM_LEVELS_MAX = 3, CARM_GEMM_N_MAX = 32768, CARM_GEMM_WHAT_MAX = 48 };

#define CARM_GEMM_ALL SIZE_MAX

/* How the kernel accesses B. */
enum carm_gemm_access {
    CARM_GEMM_STRIDED, /* not transposed: steps of k go down B's columns, one element at a time */
    CARM_GEMM_TRANSPOSED, /* transposed first: k contiguous, vectors */
    CARM_GEMM_PACKED, /* transposed, and both matrices cut along k into slices that are contiguous:
                           * a block is one piece of memory */
};

/* Loops over blocks of one level, outermost first by `order`, letters of "ijk" (rows of C, columns
 * of C, depth). Sizes are the largest of a block: each dimension is cut into even pieces. */
struct carm_gemm_level {
    char name[8];   /* cache level that the blocks are meant for */
    size_t m, n, k; /* CARM_GEMM_ALL: not cut in this dimension */
    char order[4];
};

/* One variant. */
struct carm_gemm_plan {
    char name[32];                 /* "3-L3", for rows and files */
    char what[CARM_GEMM_WHAT_MAX]; /* "blocked for L3" */
    enum carm_gemm_access access;
    const struct carm_gemm_kernel *kernel;
    struct carm_gemm_level levels[CARM_GEMM_LEVELS_MAX]; /* outermost (largest) first */
    int nlevels;
    bool columns_outer; /* order of tiles inside the innermost block */
};

/* The matrices of a study; first touched by the threads that use them. */
struct carm_gemm {
    size_t n;             /* as asked for */
    size_t m, columns, k; /* padded: rows of C, columns of C, depth */
    size_t c_stride;      /* bytes from row to row of B and C; A and B's transpose: k x 8 */
    struct carm_buffer a, b, c, bt, pa; /* bt: transpose of B, sliced when packed; pa: A sliced */
};

/* A part of the padded problem. */
struct carm_gemm_block {
    size_t i, j, k;    /* where it begins: rows, columns, depth */
    size_t ni, nj, nk; /* how much */
};

/* Makes the matrices and fills A and B with values between -1 and 1.
 * returns 0, -CARM_EINVAL (n), -CARM_ENOMEM (does not fit: says which n does) */
int carm_gemm_open(struct carm_gemm *g, size_t n, struct carm_team *team, struct carm_err *err);
void carm_gemm_close(struct carm_gemm *g); /* a zeroed one is allowed */

/* The rows of C of one thread: whole tiles, divided as evenly as possible. rows: number of computed rows;
 * below g->m, they are a slab at the beginning of each thread's part. */
void carm_gemm_rows(const struct carm_gemm *g, int thread, int threads, size_t rows, size_t *first,
                    size_t *count);

/* Calls fn for each innermost block of a thread's rows, in the order of execution. */
typedef void carm_gemm_block_fn(const struct carm_gemm_block *block, void *arg);
void carm_gemm_walk(const struct carm_gemm_plan *plan, const struct carm_gemm *g, size_t first,
                    size_t count, carm_gemm_block_fn *fn, void *arg);

/* The arguments of the plan's kernel for a block. */
struct carm_gemm_tiles carm_gemm_tiles(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                                       const struct carm_gemm_block *block);

/* A part of a matrix that is moved: begin in source and destination, rows and columns, in elements; strides
 * in bytes. */
struct carm_gemm_move {
    bool transposed; /* from b to bt; else copied from a to pa */
    size_t src, dst, src_stride, dst_stride, rows, columns;
};
enum { CARM_GEMM_MOVES_MAX = 2 };

/* The blocks that a thread moves before the multiplication for the slice along k that begins at
 * *k.
 * k      in: 0, out: the next slice; g->k = that was the last one
 * moves  [CARM_GEMM_MOVES_MAX] out
 * returns the number of moves */
size_t carm_gemm_moves(const struct carm_gemm_plan *plan, const struct carm_gemm *g, int thread,
                       int threads, size_t *k, struct carm_gemm_move *moves);

/* A thread's share of the work before the multiplication: transposing, packing. All threads must
 * have finished it before any of them multiplies. */
void carm_gemm_arrange(const struct carm_gemm_plan *plan, const struct carm_gemm *g, int thread,
                       int threads);
void carm_gemm_multiply(const struct carm_gemm_plan *plan, const struct carm_gemm *g, size_t first,
                        size_t count);

/* Accounts of both parts inside the kernels, of all threads together and with a slab of `rows`
 * rows; the few accesses of the loops around the kernels are not included. Either may be NULL. */
void carm_gemm_account(const struct carm_gemm_plan *plan, const struct carm_gemm *g, int threads,
                       size_t rows, struct carm_gemm_account *arrange,
                       struct carm_gemm_account *multiply);

/* A block size that cuts len into equal pieces of at most `most`, a multiple of unit. */
size_t carm_gemm_even(size_t len, size_t most, size_t unit);
