/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case of the stencil, for its own files and its tests. */
#ifndef CARM_KERNELS_STENCIL_CASE_H
#define CARM_KERNELS_STENCIL_CASE_H

#include <pthread.h>

#include "kernels/stencil/sweep.h"
#include "kernels/stencil/piece.h"

struct carm_stencil {
    struct carm_dwarf_case base; /* first */
    const struct carm_stencil_kernel *kernel;
    bool optimised, streamed;
    int threads;
    uint32_t n, sweeps;
    uint32_t block;         /* lines of y that are swept through all planes together */
    ptrdiff_t pitch, plane; /* doubles from a line, from a plane to the next */
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

/* Once the largest value has decayed to this, rounding shows: the next run begins anew. */
#define CARM_STENCIL_DECAY 1e-3

int carm_stencil_check(struct carm_dwarf_case *c, struct carm_team *team, double *error,
                       char by[96], struct carm_err *err);
int carm_stencil_count(struct carm_dwarf_case *c, struct carm_dwarf_work *work,
                       struct carm_err *err);
void carm_stencil_trace(const struct carm_dwarf_case *c, carm_dwarf_access *access, void *context);

/* carm_stencil_count with another limit than its own: points of a sweep up to which the whole sweep is
 * stepped; of a larger one a few lines are. */
int carm_stencil_count_some(const struct carm_stencil *s, uint64_t points,
                            struct carm_dwarf_work *work, struct carm_err *err);

#endif
