/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heat equation on a cube of n^3 points, explicit, out of place: each point becomes
 * alpha x itself + beta x (the sum of its 6 neighbours): 6 additions and 2 multiplications. Points
 * outside are ghosts that stay 0.
 * plain      triple loop, scalar
 * optimised  SIMD; lines of y in blocks, so that three planes of a block stay in a cache; non-temporal
 *            stores where the grids do not fit into the last cache; rows and planes padded against
 *            conflict misses
 * In both, each thread has a range of planes (z), and touches their memory first.
 *
 * Compulsory bytes of a point: 8 read and 8 written, and 8 more for the line that a store reads first
 * unless it is non-temporal: 0.33 or 0.5 flop/byte.
 * source: Williams, Waterman, Patterson 2009, 6.3.3 and tables 2 and 3 */
#pragma once

#include <pthread.h>

#include "kernels/context.h"
#include "kernels/stencil/piece.h"

enum { CARM_STENCIL_N = 256, CARM_STENCIL_FLOPS = 8 };

struct carm_stencil_params {
    uint32_t n;      /* points along an edge, 0 = CARM_STENCIL_N */
    uint32_t sweeps; /* of a run, 0 = 1 */
    bool optimised;
    bool write_allocate; /* plain stores, whatever the size; optimised version only */
    /* The bytes that a thread has of each cache level to itself; 0 = there is no such level, or
     * unknown. */
    double l1_bytes, l2_bytes, llc_bytes;
    const struct carm_cpu *cpu; /* its widest ISA is used; borrowed while opening */
    struct carm_team *team;     /* runs use as many threads; borrowed while opening */
};

/* out  closed with (*out)->ops->close
 * returns 0, -CARM_EINVAL (n too large), -CARM_ENOMEM */
int carm_stencil_open(struct carm_dwarf_case **out, const struct carm_stencil_params *p,
                      struct carm_err *err);

/* ---- inside ----------------------------------------------------------------------------------- */

struct carm_stencil {
    struct carm_dwarf_case base; /* first */
    const struct carm_stencil_kernel *kernel;
    bool optimised, streamed;
    int threads;
    uint32_t n, sweeps;
    uint32_t block;         /* lines of y that are swept through all planes together */
    ptrdiff_t pitch, plane; /* doubles from line to line, from plane to plane */
    struct carm_buffer memory;
    double *grid[2];           /* point 0, 0, 0; ghosts before and behind */
    int now;                   /* the grid that the last sweep wrote */
    uint64_t steps;            /* sweeps since the grid was set */
    double factor;             /* by which every point shrinks in a sweep */
    double *axis;              /* [3][n]: the grid at the beginning is their product */
    pthread_barrier_t barrier; /* of threads between the sweeps of a run */
};

/* A block of lines of a thread's planes. */
struct carm_stencil_range {
    uint32_t z, z_end, y, y_end;
};

/* The planes of thread t. */
struct carm_stencil_range carm_stencil_share(const struct carm_stencil *s, int t);

/* One sweep over a range. */
void carm_stencil_sweep(const struct carm_stencil *s, const double *from, double *to,
                        const struct carm_stencil_range *range);

/* alpha + 6 beta = 1: no point grows, whatever rounding adds */
#define CARM_STENCIL_ALPHA 0.4
#define CARM_STENCIL_BETA  0.1

/* When the largest value has decayed to this, rounding errors become visible: the next run begins with new values. */
#define CARM_STENCIL_DECAY 1e-3

int carm_stencil_check(struct carm_dwarf_case *c, struct carm_team *team, double *error,
                       char by[96], struct carm_err *err);
int carm_stencil_count(struct carm_dwarf_case *c, struct carm_dwarf_work *work,
                       struct carm_err *err);
void carm_stencil_trace(const struct carm_dwarf_case *c, carm_dwarf_access *access, void *context);

/* carm_stencil_count with a given limit of points: a sweep up to the limit is stepped whole, a larger one
 * for a few lines. */
int carm_stencil_count_some(const struct carm_stencil *s, uint64_t points,
                            struct carm_dwarf_work *work, struct carm_err *err);
