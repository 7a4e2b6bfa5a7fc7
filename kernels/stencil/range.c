/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sweep over a range of the grid. */
#include "kernels/stencil/sweep.h"

struct carm_stencil_range carm_stencil_share(const struct carm_stencil *s, int t)
{
    const uint64_t n = s->n;
    const uint64_t threads = (uint64_t)s->threads;
    return (struct carm_stencil_range){.z = (uint32_t)(n * (uint64_t)t / threads),
                                       .z_end = (uint32_t)(n * ((uint64_t)t + 1) / threads),
                                       .y = 0,
                                       .y_end = s->n};
}

__attribute__((noinline)) void carm_stencil_sweep(const struct carm_stencil *s, const double *from,
                                                  double *to,
                                                  const struct carm_stencil_range *range)
{
    const ptrdiff_t first = range->z * s->plane + range->y * s->pitch;
    struct carm_stencil_piece p = {.in = from + first,
                                   .n = s->n,
                                   .lines = (ptrdiff_t)range->y_end - range->y,
                                   .planes = (ptrdiff_t)range->z_end - range->z,
                                   .pitch = s->pitch,
                                   .plane = s->plane,
                                   .alpha = CARM_STENCIL_ALPHA,
                                   .beta = CARM_STENCIL_BETA};
    p.out = to + first;
    (s->streamed ? s->kernel->streamed : s->kernel->stored)(&p);
}
