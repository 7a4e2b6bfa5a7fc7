/* SPDX-License-Identifier: MIT */
/* Sums of counts of executed instructions, and counts as quantities of a row. */
#pragma once

#include "harness/count/quantities.h"
#include "harness/count/step/instruction.h"

/* a += factor x b, for samples; counts are rounded to whole ones. */
void carm_step_counts_add(struct carm_step_counts *a, const struct carm_step_counts *b,
                          double factor);

/* a -= b modulo 2^64, exactly */
void carm_step_counts_subtract(struct carm_step_counts *a, const struct carm_step_counts *b);

/* Converts counts to quantities, counted by `stepped`. share: of the calls that were stepped, 0 .. 1 */
void carm_step_counts_to_counts(const struct carm_step_counts *s, double share,
                                struct carm_counts *out);
