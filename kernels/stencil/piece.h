/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sweep over a piece of the grid, for each ISA. */
#pragma once

#include "harness/machine/cpu.h"

struct carm_stencil_piece {
    const double *in; /* the first point of the first line of the first plane */
    double *out;      /* the same; lines 64-byte aligned where stores are non-temporal */
    ptrdiff_t n;      /* points of a line */
    ptrdiff_t lines, planes;
    ptrdiff_t pitch, plane; /* doubles from line to line, from plane to plane; of both grids */
    double alpha, beta;
};

typedef void carm_stencil_fn(const struct carm_stencil_piece *p);

struct carm_stencil_kernel {
    carm_stencil_fn *stored, *streamed; /* non-temporal: past the caches */
    enum carm_isa isa;
    unsigned lanes;
};

/* The scalar kernel, written plainly; its `streamed` is NULL. */
extern const struct carm_stencil_kernel carm_stencil_scalar;
/* Vector kernels add in the order of the scalar kernel; with FMA from AVX2 on. */
extern const struct carm_stencil_kernel carm_stencil_sse, carm_stencil_avx, carm_stencil_avx2,
    carm_stencil_avx512;

/* The kernel with the widest ISA of cpu. */
const struct carm_stencil_kernel *carm_stencil_kernel_find(const struct carm_cpu *cpu);
