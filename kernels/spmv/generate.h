/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse matrices of known structure, the same for the same seed on every machine. */
#pragma once

#include "kernels/spmv/csr.h"

enum carm_matrix_kind {
    CARM_MATRIX_FEM,    /* nodes of `block` unknowns each, so dense blocks, in a band */
    CARM_MATRIX_GRID7,  /* 6 on the diagonal, -1 for the 6 neighbours in a cube of points */
    CARM_MATRIX_GRID27, /* 26 on the diagonal, -1 for the 26 neighbours */
    CARM_MATRIX_RANDOM, /* every row as long, columns anywhere */
    CARM_MATRIX_POWER,  /* columns anywhere, few rows long: P(length > k) ~ k^-1.5 */
    CARM_MATRIX_KINDS
};

struct carm_matrix_spec {
    enum carm_matrix_kind kind;
    uint64_t
        bytes;     /* of the matrix in CSR, about (grids: at least): several times the last cache */
    uint64_t rows; /* takes precedence over bytes; about (grids: the next cube; fem: blocks) */
    uint64_t seed;
    unsigned per_row; /* fem: blocks; random: nonzeros; power: at least; 0 = 27, 16, 3 */
    unsigned block;   /* fem: 1 .. 8, 0 = 4 */
};

/* "fem", "grid7", "grid27", "random", "power" */
const char *carm_matrix_kind_name(enum carm_matrix_kind kind);

/* a  out, closed by the caller; untouched on error
 * returns 0, -CARM_EINVAL, -CARM_ENOMEM */
int carm_matrix_generate(const struct carm_matrix_spec *spec, struct carm_csr *a,
                         struct carm_err *err);

/* Points along an edge of the cube that a grid of so many rows is. */
uint32_t carm_matrix_edge(uint64_t rows);

/* Element i of an eigenvector of a grid's matrix (sine products, not the same along each axis), and
 * its eigenvalue: from the tridiagonal matrix (1 1 1), whose eigenvalues are 1 + 2 cos(k pi/(m+1)).
 * axis  out: [3][edge], whose products over x, y, z are the vector, x fastest */
double carm_matrix_grid_eigen(enum carm_matrix_kind kind, uint32_t edge, double *axis);
