/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A second look at the roofs of a set, once all of them are measured. */
#ifndef CARM_VALIDATION_BUILD_RECHECK_H
#define CARM_VALIDATION_BUILD_RECHECK_H

#include "validation/build/plan.h"
#include "harness/measure.h"
#include "models/model.h"

/* What a second look says of a roof.
 * rate, again  the roof's rate and that of a short run of the same code later, in one unit
 * shared       the level is shared with others: its rate may go either way
 * returns whether the roof is to be measured again (a burst of neighbours, longer than its own
 * repetitions, slowed it: they only slow what a core has for itself); *doubtful tells that it moved
 * by so much that one figure does not describe it */
bool carm_build_doubts(double rate, double again, bool shared, bool *doubtful);

/* Runs the code of every roof once more, shortly. Roofs of levels that a core has for itself, and
 * compute roofs, are measured again and replaced when they were too slow; roofs of shared levels that
 * have moved are marked as disturbed.
 * returns 0 or -CARM_ENOMEM */
int carm_build_recheck(const struct carm_build_plan *plan, struct carm_team *team,
                       const struct carm_model *model, struct carm_roofs *roofs, size_t reps,
                       struct carm_budget *budget, struct carm_err *err);

#endif
