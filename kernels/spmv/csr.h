/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sparse matrix, compressed by rows: 8-byte values, 4-byte indices. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/machine/buffer.h"

struct carm_csr {
    uint32_t rows, columns; /* 1 .. CARM_CSR_INDEX_MAX */
    uint32_t nonzeros;
    uint32_t *start;  /* [rows + 1] */
    uint32_t *column; /* [nonzeros] ascending within a row, each once */
    double *value;    /* [nonzeros] */
    struct carm_buffer memory;
};

/* Indices are signed 32-bit numbers in vector code, and blocks are padded by up to 8. */
#define CARM_CSR_INDEX_MAX    ((uint64_t)INT32_MAX - 16)
#define CARM_CSR_NONZEROS_MAX ((uint64_t)UINT32_MAX - 16)

/* Bytes of the three arrays. */
double carm_csr_bytes(double rows, double nonzeros);

/* Takes address space; its pages are zero, and are taken when first written.
 * what  names the matrix in messages: a file, a generator
 * returns 0, -CARM_EINVAL (too many rows, columns or nonzeros), -CARM_ENOMEM (also when the matrix
 * would not fit into the available memory) */
int carm_csr_open(struct carm_csr *a, const char *what, uint64_t rows, uint64_t columns,
                  uint64_t nonzeros, struct carm_err *err);
void carm_csr_close(struct carm_csr *a); /* a zeroed one is allowed */

/* Sorts every row by column and sums elements of the same column. */
void carm_csr_tidy(struct carm_csr *a);
