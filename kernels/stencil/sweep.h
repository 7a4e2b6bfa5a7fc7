/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heat equation on a cube of n^3 points, explicit, out of place: each point becomes
 * alpha x itself + beta x (the sum of its 6 neighbours): 6 additions and 2 multiplications. Points
 * outside are ghosts that stay 0.
 * plain      triple loop, scalar
 * optimised  SIMD; lines of y in blocks, so that three planes of a block stay in a cache; non-temporal
 *            stores where the grids do not fit into the last cache; rows and planes padded against
 *            conflict misses
 * In both, threads share out the planes (z) and write theirs first.
 *
 * Compulsory bytes of a point: 8 read and 8 written, and 8 more for the line that a store reads first
 * unless it is non-temporal: 0.33 or 0.5 flop/byte.
 * source: Williams, Waterman, Patterson 2009, 6.3.3 and tables 2 and 3 */
#ifndef CARM_KERNELS_STENCIL_SWEEP_H
#define CARM_KERNELS_STENCIL_SWEEP_H

#include "kernels/context.h"

enum { CARM_STENCIL_N = 256, CARM_STENCIL_FLOPS = 8 };

struct carm_stencil_params {
    uint32_t n;      /* points along an edge, 0 = CARM_STENCIL_N */
    uint32_t sweeps; /* of a run, 0 = 1 */
    bool optimised;
    bool write_allocate; /* plain stores, whatever the size; optimised version only */
    /* What a thread has of each cache level to itself, byte; 0 = there is no such level, or unknown. */
    double l1_bytes, l2_bytes, llc_bytes;
    const struct carm_cpu *cpu; /* the widest ISA of its is taken; borrowed while opening */
    struct carm_team *team;     /* runs use as many threads; borrowed while opening */
};

/* Both versions, for tables: "Stencil" "plain" and "optimised". */
extern const struct carm_dwarf_ops carm_stencil_plain, carm_stencil_optimised;

/* out  closed with (*out)->ops->close
 * returns 0, -CARM_EINVAL (n too large), -CARM_ENOMEM */
int carm_stencil_open(struct carm_dwarf_case **out, const struct carm_stencil_params *p,
                      struct carm_err *err);

#endif
