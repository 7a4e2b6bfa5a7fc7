/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sparse matrix as dense blocks of r x c, whose rows and columns begin at multiples of r and c. */
#pragma once

#include "harness/machine/team.h"
#include "kernels/spmv/csr.h"

enum { CARM_BLOCK_ROWS_MAX = 8, CARM_BLOCK_COLUMNS_MAX = 4 };

struct carm_bcsr {
    uint32_t r, c;           /* of a block: r 1, 2, 3, 4, 8; c 1, 2, 3, 4 */
    uint32_t block_rows;     /* rows of blocks; the last may reach beyond the matrix */
    uint32_t blocks;         /* with a nonzero */
    const uint32_t *start;   /* [block_rows + 1] */
    const uint32_t *base;    /* [block_rows] first column of blocks, where indices are narrow */
    const uint16_t *index16; /* [blocks] columns of blocks, counted from base; or NULL */
    const uint32_t *index32; /* [blocks] columns of blocks; or NULL */
    const double *value; /* [blocks x c x r], 64-byte aligned; the rows of a column lie together */
    uint32_t prefetch_bytes;   /* ahead in value; 0 = none */
    struct carm_buffer memory; /* of all arrays */
};

/* Bytes of the arrays. */
double carm_bcsr_bytes(const struct carm_bcsr *b);

/* Whether there is code for blocks of this shape. */
bool carm_bcsr_shape(unsigned r, unsigned c);

/* The shape for which a sample of the matrix takes the fewest bytes, narrow indices considered. */
void carm_bcsr_choose(const struct carm_csr *a, unsigned *r, unsigned *c);

/* Copies a. Each thread of the team writes its own part (carm_spmv_split). Indices take 2
 * bytes where every row of blocks spans fewer than 65536 columns of blocks.
 * returns 0, -CARM_ENOMEM */
int carm_bcsr_open(struct carm_bcsr *b, const struct carm_csr *a, unsigned r, unsigned c,
                   struct carm_team *team, struct carm_err *err);
void carm_bcsr_close(struct carm_bcsr *b); /* a zeroed one is allowed */

/* The first row of thread t of n, so that all threads have about equally many entries; t == n: the end.
 * start  [rows + 1] */
uint32_t carm_spmv_split(const uint32_t *start, uint32_t rows, int t, int n);
