/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transpose phase of a 3-D FFT: a cube of complex doubles is turned, out of place, so that its next
 * axis becomes the contiguous one. in[z][y][x] goes to out[x][z][y]; three turns restore the cube.
 *
 * The metric is the exchange: a point of 16 bytes read and 16 written, 1/32 exchange/byte.
 * source: Williams, Waterman, Patterson 2009, section 7 and figure 5 (there on Cell, whose transfers
 * by DMA fill no cache line before it is written) */
#pragma once

#include "harness/machine/buffer.h"
#include "kernels/context.h"

enum { CARM_TRANSPOSE_N_MAX = 2048 };

enum carm_transpose_version { CARM_TRANSPOSE_PLAIN, CARM_TRANSPOSE_OPTIMISED };

struct carm_transpose_params {
    size_t n; /* points along each axis, any number >= 1 */
    enum carm_transpose_version version;
    const struct carm_cpu *cpu; /* optimised: the widest ISA that it has */
    struct carm_team *team;     /* touches the memory first */
};

/* returns 0, -CARM_EINVAL (n), -CARM_ENOMEM (refused before it is taken) */
int carm_transpose_open(struct carm_dwarf_case **out, const struct carm_transpose_params *p,
                        struct carm_err *err);

/* ---- inside ----------------------------------------------------------------------------------- */

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

/* The version with the widest ISA of this CPU. */
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
