/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measurements of a validation: test code C over the grid of intensities on every level, and
 * codes A and B beside it. */
#pragma once

#include "base/observer.h"
#include "harness/machine/clock.h"
#include "harness/machine/team.h"
#include "models/model.h"
#include "validation/validate/config.h"
#include "validation/validate/plan.h"

/* A validation at work; all borrowed. */
struct carm_validate {
    const struct carm_validate_config *config;
    const struct carm_validate_plan *plan;
    const struct carm_topo *topo;
    const struct carm_clock *clock;
    struct carm_observer *observer;
    struct carm_model *model; /* points and roofs are added */
    uint64_t until;           /* TSC at which the budget ends */
    double left;              /* sum of the weights (weight_of) of all sets' levels that are not
                               * measured yet */
    size_t missing;           /* out: points that the budget left without a figure */
    double issue; /* out: slots/s of all threads of the team, the highest so far; 0 = not
                   * measured */
};

/* Opens a team with buffers large enough for every set of the model with this number of threads.
 * returns as carm_team_open, or -CARM_EINTR */
int carm_validate_open_team(struct carm_validate *run, int threads, struct carm_team **team,
                            struct carm_err *err);

/* Measures one set of roofs with one target of the plan (of the same ISA and precision), and adds
 * its points and roofs to the model; older points of the same set and level are dropped, and all
 * scores and fits of the set.
 * returns 0, -CARM_ENOMEM or -CARM_EINTR */
int carm_validate_measure(struct carm_validate *run, struct carm_team *team, size_t roofs,
                          size_t target, struct carm_err *err);

/* Estimate of the seconds of one set. weights: the weights of its levels are added */
double carm_validate_seconds(const struct carm_validate *run, size_t roofs, double *weights);
