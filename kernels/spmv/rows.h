/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The multiplication of a range of rows, for each ISA and shape of blocks. */
#pragma once

#include "harness/machine/cpu.h"
#include "kernels/spmv/block.h"

/* y = A x for rows [first, end) of blocks. x and y are padded with zeros to whole blocks. */
typedef void carm_spmv_rows_fn(const struct carm_bcsr *a, const double *restrict x,
                               double *restrict y, uint32_t first, uint32_t end);

/* The same for single rows in CSR, scalar. */
void carm_spmv_rows_csr(const struct carm_csr *a, const double *restrict x, double *restrict y,
                        uint32_t first, uint32_t end);

/* How a kernel loads, for the trace. */
struct carm_spmv_kernel {
    carm_spmv_rows_fn *run;
    enum carm_isa isa;
    unsigned lanes; /* of the widest vector */
};

/* The kernel of the widest ISA of cpu for b's shape and index width.
 * returns false where there is none */
bool carm_spmv_kernel_find(const struct carm_cpu *cpu, const struct carm_bcsr *b,
                           struct carm_spmv_kernel *kernel);
