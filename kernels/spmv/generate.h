/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sparse matrix like those of finite elements: nodes with some unknowns each give dense blocks, in a band. Equal
 * seeds give equal matrices on every machine. */
#pragma once

#include "kernels/spmv/csr.h"

struct carm_matrix_spec {
    uint64_t bytes; /* of the matrix in CSR, about: several times the last cache */
    uint64_t rows;  /* takes precedence over bytes; rounded up to whole blocks */
    uint64_t seed;
    unsigned per_row; /* blocks; 0 = 27 */
    unsigned block;   /* unknowns of a node: 1 .. 8, 0 = 4 */
};

/* a  out, closed by the caller; untouched on error
 * returns 0, -CARM_EINVAL, -CARM_ENOMEM */
int carm_matrix_generate(const struct carm_matrix_spec *spec, struct carm_csr *a,
                         struct carm_err *err);
