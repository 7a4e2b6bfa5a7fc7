/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operational intensity of test code C: what a specification has, and how to reach a given one. */
#ifndef CARM_ASM_INTENSITY_H
#define CARM_ASM_INTENSITY_H

#include "asm/code.h"

/* Operational intensity of a specification in flop/byte as an exact rational in lowest terms. */
void carm_code_intensity(const struct carm_code_spec *spec, uint64_t *flops, uint64_t *bytes);

/* Sets units, fps and chains of a kind-C specification (other fields given) so that its intensity
 * comes nearest to ai (flop/byte, 2^-12 < ai < 2^10), exactly where a loop of up to
 * 4096 instructions can.
 * returns 0 or -CARM_EINVAL */
int carm_code_set_intensity(struct carm_code_spec *spec, double ai, struct carm_err *err);

/* The same with the shortest loop whose intensity is within tolerance (relative) of ai, so that it
 * can be unrolled to the length that runs best; the nearest one where none is within. */
int carm_code_near_intensity(struct carm_code_spec *spec, double ai, double tolerance,
                             struct carm_err *err);

#endif
