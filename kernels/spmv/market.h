/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reader of Matrix Market files: coordinate; real, integer or pattern (all ones); general, symmetric or
 * skew-symmetric (both triangles are stored then). Entries of one place are summed.
 * source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935 */
#pragma once

#include "kernels/spmv/csr.h"

/* Reads the file twice, a line at a time: first everything is checked and the rows' entries counted,
 * then the matrix is allocated and filled. A refusal names file, line and reason.
 * a  out, closed by the caller; untouched on error
 * returns 0, -CARM_EIO (cannot be read), -CARM_EFORMAT (not what it claims to be), -CARM_ENOTSUP (array,
 * complex, hermitian), -CARM_EINVAL (too large for 4-byte indices, or almost all of it is empty), -CARM_ENOMEM */
int carm_matrix_market_read(const char *path, struct carm_csr *a, struct carm_err *err);
