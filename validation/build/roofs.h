/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofs of a build with one number of threads, and F(phi). */
#ifndef CARM_VALIDATION_BUILD_ROOFS_H
#define CARM_VALIDATION_BUILD_ROOFS_H

#include "validation/build/build.h"

/* Measures all roofs of one ISA and precision and adds them to the model, which has the levels; looks at
 * all of them once more when they are done.
 * fastest  out: the compute code for F(phi); left as it is when there is none
 * returns 0, -CARM_EINTR or -CARM_ENOMEM */
int carm_build_measure_roofs(struct carm_build_set *s, enum carm_isa isa,
                             enum carm_precision precision, struct carm_model *model,
                             const struct carm_code **fastest, struct carm_err *err);

/* F(phi): test code B from one pass of its loop to as many as fill a repetition. errors as above */
int carm_build_measure_flops(struct carm_build_set *s, const struct carm_code *code,
                             struct carm_model *model, struct carm_err *err);

/* Roughly how long the roofs of all ISAs and precisions take with one number of threads. */
double carm_build_roofs_seconds(const struct carm_build *build);

/* What a second look says of a roof.
 * rate, again  the roof's rate and that of a short run of the same code later, in one unit
 * shared       the level is shared with others: its rate may go either way
 * returns whether the roof is to be measured again (a burst of neighbours, longer than its own
 * repetitions, slowed it: they only slow what a core has for itself); *doubtful means that it moved
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
