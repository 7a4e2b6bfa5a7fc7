/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse matrix times vector, y = A x.
 * plain      CSR: 8-byte values, 4-byte indices, scalar, one row after another; threads have equally many rows
 * optimised  dense blocks of r x c (explicit zeros included) with one index of 2 or 4 bytes each, SIMD,
 *            software prefetch; threads have equally many blocks
 * In both every thread first writes its part of the arrays, so that the part is in the memory of its node.
 *
 * Operations are 2 for each nonzero of A, explicit zeros left out (core_flops has them). Compulsory
 * bytes are the stored matrix, x once, and y twice: a line is read before it is stored to.
 * source: Williams, Waterman, Patterson 2009, 6.3.1 and table 3; Vuduc, Demmel, Yelick 2005, OSKI, for
 * the choice of blocks from a sample */
#pragma once

#include "kernels/context.h"
#include "kernels/spmv/generate.h"
#include "kernels/spmv/rows.h"

#define CARM_SPMV_TUNE UINT32_MAX /* prefetch_bytes: try some, keep the fastest */

struct carm_spmv_params {
    const char *file;               /* Matrix Market; NULL: made by generator */
    struct carm_matrix_spec matrix; /* where file is NULL */
    bool optimised;
    /* Register blocks of the optimised version; 0 x 0: the blocks that take the fewest bytes. */
    unsigned block_rows, block_columns;
    uint32_t prefetch_bytes;    /* ahead in the values; 0 = none; optimised version only */
    const struct carm_cpu *cpu; /* its widest ISA is used; borrowed while opening */
    struct carm_team *team;     /* runs use as many threads; borrowed while opening */
};

/* out  closed with (*out)->ops->close
 * returns 0; -CARM_EINVAL (no such block; nothing but zeros); -CARM_ENOMEM; of a file, also -CARM_EIO,
 * -CARM_EFORMAT, -CARM_ENOTSUP */
int carm_spmv_open(struct carm_dwarf_case **out, const struct carm_spmv_params *p,
                   struct carm_err *err);

/* ---- inside ----------------------------------------------------------------------------------- */

/* The correct y, made from the matrix before it is converted. */
struct carm_spmv_reference {
    uint32_t n;                /* rows that are compared, evenly spread; all of a small matrix */
    uint32_t *row;             /* [n] */
    double *value;             /* [n] */
    double *magnitude;         /* [n] sum of |a x|: the error of rounding is proportional to it */
    double largest;            /* absolute value */
    double sum, sum_magnitude; /* over all rows: no row can be left out unnoticed */
    uint32_t longest;          /* nonzeros of a row */
    char by[96];
};

struct carm_spmv {
    struct carm_dwarf_case base; /* first */
    bool optimised;
    int threads;
    uint32_t rows, columns;  /* of A */
    uint32_t nonzeros;       /* explicit zeros of blocks left out */
    struct carm_csr csr;     /* plain */
    struct carm_bcsr blocks; /* optimised */
    struct carm_spmv_kernel kernel;
    struct carm_buffer vectors;
    double *x, *y;   /* padded to whole blocks; in `vectors` */
    uint32_t *split; /* [threads + 1] rows (of blocks) */
    struct carm_spmv_reference reference;
};

/* y for rows [first, end), of blocks where the version has them. */
static inline void carm_spmv_rows(const struct carm_spmv *s, uint32_t first, uint32_t end)
{
    if (s->optimised) {
        s->kernel.run(&s->blocks, s->x, s->y, first, end);
    } else {
        carm_spmv_rows_csr(&s->csr, s->x, s->y, first, end);
    }
}

/* Start of each row (of blocks), and the number of rows. */
static inline const uint32_t *carm_spmv_start(const struct carm_spmv *s, uint32_t *rows)
{
    *rows = s->optimised ? s->blocks.block_rows : s->csr.rows;
    return s->optimised ? s->blocks.start : s->csr.start;
}

/* Fills x with numbers in [-1, 1). */
void carm_spmv_fill_x(double *x, uint32_t first, uint32_t end);

/* Computes the reference in long double, by the rows of a in CSR. returns 0 or -CARM_ENOMEM */
int carm_spmv_reference_make(struct carm_spmv_reference *reference, const struct carm_csr *a,
                             const double *x, struct carm_err *err);
void carm_spmv_reference_free(struct carm_spmv_reference *reference);

int carm_spmv_check(struct carm_dwarf_case *c, struct carm_team *team, double *error, char by[96],
                    struct carm_err *err);
int carm_spmv_count(struct carm_dwarf_case *c, struct carm_dwarf_work *work, struct carm_err *err);
void carm_spmv_trace(const struct carm_dwarf_case *c, carm_dwarf_access *access, void *context);

/* carm_spmv_count with a given limit of stepped nonzeros, explicit zeros included. The counts of a larger
 * run are scaled. */
int carm_spmv_count_some(const struct carm_spmv *s, uint64_t nonzeros, struct carm_dwarf_work *work,
                         struct carm_err *err);
