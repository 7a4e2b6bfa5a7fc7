/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transpose phase of a 3-D FFT: a cube of complex doubles is turned, out of place, so that its next
 * axis becomes the contiguous one. in[z][y][x] goes to out[x][z][y]; three turns are none.
 *
 * The metric is the exchange: a point of 16 bytes read and 16 written, 1/32 exchange/byte.
 * source: Williams, Waterman, Patterson 2009, section 7 and figure 5 (there on Cell, whose transfers
 * by DMA fill no cache line before it is written) */
#ifndef CARM_KERNELS_TRANSPOSE_EXCHANGE_H
#define CARM_KERNELS_TRANSPOSE_EXCHANGE_H

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

/* Compulsory bytes of an exchange: 32, and 16 more where a line is read before it is stored to. */
double carm_transpose_point_bytes(bool nontemporal);

#endif
