/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The micro-kernels of the matrix multiplication study (kernels/gemm/micro.asm) and their
 * accounts.
 *
 * C = A x B (or C += A x B) over one block, in tiles of 3 rows x 4 columns. A is row-major with
 * k contiguous; B is row-major (strided kernels) or its transpose (all others). Double
 * precision. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asm/code.h"
#include "base/err.h"
#include "harness/machine/cpu.h"

enum { CARM_GEMM_ROWS = 3, CARM_GEMM_COLUMNS = 4, CARM_GEMM_STEP = 8 /* of k, of any kernel */ };

/* The arguments of a kernel; it leaves `outer` at 0. The layout is that of
 * kernels/gemm/micro.asm. */
struct carm_gemm_tiles {
    const double *a, *b;         /* first tile; rows of A 64-byte aligned */
    double *c;                   /* 32-byte aligned */
    uint64_t a_stride, c_stride; /* bytes from row to row */
    uint64_t b_stride;      /* bytes from row to row of the transpose, or of B (strided kernels) */
    uint64_t k;             /* multiple of CARM_GEMM_STEP, > 0 */
    uint64_t rows, columns; /* tiles, > 0 */
    bool
        columns_outer; /* for each column of tiles all rows of tiles; else for each row all columns */
    bool accumulate;   /* C += */
};

/* The account of a piece of code. */
struct carm_gemm_account {
    double flops;
    double loads, stores; /* accesses */
    double load_bytes, store_bytes;
};

struct carm_gemm_kernel {
    const char *name; /* "avx512_fma" */
    enum carm_isa isa;
    bool fma, strided;
    int lanes;          /* of a vector */
    int loads_per_step; /* vectors */
    void (*run)(void *frame);
};

/* All kernels, ended by a NULL name. */
extern const struct carm_gemm_kernel carm_gemm_kernels[];

/* The kernel of an ISA, or its strided scalar companion (the same operations, one at a time).
 * isa  by definition, CARM_AVX has no kernel with FMA; other ISAs use FMA if the CPU has it
 * returns NULL if this CPU cannot run such a kernel */
const struct carm_gemm_kernel *carm_gemm_kernel_find(const struct carm_cpu *cpu, enum carm_isa isa,
                                                     bool strided);

void carm_gemm_tiles_run(const struct carm_gemm_kernel *kernel, const struct carm_gemm_tiles *t);

/* Adds the account of carm_gemm_tiles_run inside the kernel, from its first to its last
 * instruction (its return included): exact, by the loops of kernels/gemm/micro.asm. */
void carm_gemm_tiles_account(const struct carm_gemm_kernel *kernel, const struct carm_gemm_tiles *t,
                             struct carm_gemm_account *account);

/* dst[c][r] = src[r][c]. Strides in bytes; rows a multiple of 2, columns of 4; 16-byte moves. */
void carm_gemm_transposed(const double *src, size_t src_stride, double *dst, size_t dst_stride,
                          size_t rows, size_t columns);
/* dst[r][c] = src[r][c]; columns a multiple of 8. */
void carm_gemm_copied(const double *src, size_t src_stride, double *dst, size_t dst_stride,
                      size_t rows, size_t columns);
/* Add the accounts of carm_gemm_transposed and carm_gemm_copied. */
void carm_gemm_transposed_account(size_t rows, size_t columns, struct carm_gemm_account *account);
void carm_gemm_copied_account(size_t rows, size_t columns, struct carm_gemm_account *account);
