/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of kernels/transpose*.c: one plane of the cube, in[z], and who moves it. */
#ifndef CARM_KERNELS_TRANSPOSE_PLANE_H
#define CARM_KERNELS_TRANSPOSE_PLANE_H

#include "harness/buffer.h"
#include "kernels/transpose/exchange.h"

enum {
    CARM_TRANSPOSE_LINE = 4,  /* points of a cache line: rows begin on one */
    CARM_TRANSPOSE_TILE = 16, /* rows of in that a vector version reads side by side, so that it
                               * writes 4 lines in a row */
};

struct carm_transpose_point {
    double re, im;
};

struct carm_transpose {
    struct carm_dwarf_case base;
    size_t n;
    size_t pitch; /* points from row to row, a multiple of CARM_TRANSPOSE_LINE */
    int threads;
    struct carm_buffer in, out;                 /* [n][n][pitch] */
    const struct carm_transpose_vector *vector; /* NULL: plain */
};

/* Rows first .. last - 1 of plane z of in. */
struct carm_transpose_part {
    const struct carm_transpose *t;
    size_t z, first, last;
};

struct carm_transpose_vector {
    const char *isa;
    unsigned points; /* of a vector */
    /* first is a multiple of CARM_TRANSPOSE_LINE */
    void (*rows)(const struct carm_transpose_part *part);
};

/* The widest that this CPU has. */
const struct carm_transpose_vector *carm_transpose_vector_of(const struct carm_cpu *cpu);

void carm_transpose_plain_rows(const struct carm_transpose_part *part);

static inline const struct carm_transpose_point *carm_transpose_in(const struct carm_transpose *t,
                                                                   size_t z, size_t y)
{
    return (const struct carm_transpose_point *)t->in.start + (z * t->n + y) * t->pitch;
}

static inline struct carm_transpose_point *carm_transpose_out(const struct carm_transpose *t,
                                                              size_t x, size_t z)
{
    return (struct carm_transpose_point *)t->out.start + (x * t->n + z) * t->pitch;
}

/* The first thread's accesses; steps some rows. */
void carm_transpose_trace(const struct carm_dwarf_case *base, carm_dwarf_access *access,
                          void *context);
int carm_transpose_count(struct carm_dwarf_case *base, struct carm_dwarf_work *work,
                         struct carm_err *err);

static inline size_t carm_transpose_share(size_t len, int i, int n)
{
    return len * (size_t)i / (size_t)n;
}

#endif
