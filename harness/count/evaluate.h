/* SPDX-License-Identifier: MIT */
/* Turns readings of counters into quantities, by a recipe. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "harness/count/quantities.h"
#include "harness/count/recipe.h"

/* One event's count. enabled and running as perf_event gives them (any unit; equal when it was on a
 * counter all the time). */
struct carm_reading {
    bool present; /* false: the event could not be counted */
    double count; /* not yet scaled */
    double enabled, running;
};

/* Turns readings into quantities: scales multiplexed counts by enabled / running, sums the formulas, derives
 * flops by precision and all flops, bytes and DRAM bytes. A quantity with a missing event is
 * unavailable; one whose event never ran, too. `share` is the smallest running / enabled of its events.
 *
 * An upper bound has high = value and low = 0: the events give no lower bound.
 *
 * Bytes are accesses x width, and no event tells the width of accesses. It is taken from the widths of
 * the FP instructions: `value` has their mean, weighted by their counts; `low` has the narrowest and
 * `high` the widest that was seen at all (count above 0). The bounds hold as long as every access is
 * as wide as some FP instruction of the code: integer and pointer accesses of codes whose FP
 * instructions are all wider, or block copies in codes whose FP instructions are all narrower, fall
 * outside. Without any FP instruction, and in recipes without widths, bytes are unavailable.
 *
 * out->note says which quantities are upper bounds, and the widths.
 * readings  [recipe->nevents]
 * must      quantities that the code must have counted ([CARM_Q_COUNT], NULL = none): a zero of a
 *           required formula, or of a quantity derived from required formulas, is an error
 * returns 0 or -CARM_EFORMAT (the sentence names quantity, events and the likely cause; out is then
 * empty) */
int carm_recipe_evaluate(const struct carm_recipe *recipe, const struct carm_reading *readings,
                         const bool *must, struct carm_counts *out, struct carm_err *err);

/* Adds to the note the recipe's thread quantities without a count, if others have one. Either the library or the kernel
 * does not know the event (likwid 5.4 reads Zen 4's table on Zen 3, model 8), or the event never ran. */
void carm_recipe_note_missing(const struct carm_recipe *recipe, struct carm_counts *counts);
