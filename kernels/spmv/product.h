/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse matrix times vector, y = A x.
 * plain      CSR: 8-byte values, 4-byte indices, scalar, one row after another; each thread as many rows
 * optimised  dense blocks of r x c (explicit zeros included) with one index of 2 or 4 bytes each, SIMD,
 *            software prefetch; each thread as many blocks
 * In both every thread writes its part of the arrays first, which so lie in its node's memory.
 *
 * Operations are 2 for each nonzero of A, explicit zeros left out (core_flops has them). Compulsory
 * bytes are those of the matrix as it is stored, x once, and y twice: a line that is stored to is read
 * first.
 * source: Williams, Waterman, Patterson 2009, 6.3.1 and table 3; Vuduc, Demmel, Yelick 2005, OSKI, for
 * the choice of blocks from a sample */
#ifndef CARM_KERNELS_SPMV_PRODUCT_H
#define CARM_KERNELS_SPMV_PRODUCT_H

#include "kernels/context.h"
#include "kernels/spmv/matrix_gen.h"

#define CARM_SPMV_TUNE UINT32_MAX /* prefetch_bytes: try some, keep the fastest */

struct carm_spmv_params {
    const char *file;               /* Matrix Market; NULL: made by generator */
    struct carm_matrix_spec matrix; /* where file is NULL */
    bool optimised;
    /* Register blocks of the optimised version; 0 x 0: those that take the fewest bytes. */
    unsigned block_rows, block_columns;
    uint32_t prefetch_bytes;    /* ahead in the values; 0 = none; optimised version only */
    const struct carm_cpu *cpu; /* the widest ISA of its is taken; borrowed while opening */
    struct carm_team *team;     /* runs use as many threads; borrowed while opening */
};

/* Both versions, for tables: "SpMV" "plain" and "optimised". */
extern const struct carm_dwarf_ops carm_spmv_plain, carm_spmv_optimised;

/* out  closed with (*out)->ops->close
 * returns 0; -CARM_EINVAL (no such block; nothing but zeros); -CARM_ENOMEM; of a file, also -CARM_EIO,
 * -CARM_EFORMAT, -CARM_ENOTSUP */
int carm_spmv_open(struct carm_dwarf_case **out, const struct carm_spmv_params *p,
                   struct carm_err *err);

#endif
