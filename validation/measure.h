/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measurements of a validation: test code C over the grid of intensities on every level, and
 * codes A and B beside it. */
#ifndef CARM_VALIDATION_MEASURE_H
#define CARM_VALIDATION_MEASURE_H

#include "harness/clock.h"
#include "harness/team.h"
#include "models/model.h"
#include "validation/plan.h"

/* What a validation needs; all borrowed. */
struct carm_validation_run {
    struct carm_model *model; /* points and roofs are added */
    const struct carm_validation_plan *plan;
    const struct carm_topo *topo;
    const struct carm_clock *clock;
    size_t reps;
    double retry_seconds; /* for measuring disturbed points again, each set */
    bool (*wants_level)(void *context, const char *level);
    /* Called before each step: says what comes and how many estimated seconds went by since the last
     * call. Anything but 0 stops the run and is returned. */
    int (*step)(void *context, const char *what, double seconds, struct carm_err *err);
    void *context;
    double issue; /* out: slots/s of all threads of the team, the most so far; 0 = not measured */
};

/* Whether a set can be validated on these levels: it has a roof of the model's mix for each level
 * that is resolved and wanted, and at least one.
 * returns 0 or -CARM_EFORMAT, with the place in the model and the remedy */
int carm_validation_check(const struct carm_validation_run *run, size_t roofs,
                          struct carm_err *err);

/* Opens a team large enough for every set of the model with so many threads.
 * returns as carm_team_open, or -CARM_EINTR from step */
int carm_validation_team(struct carm_validation_run *run, int threads, struct carm_team **team,
                         struct carm_err *err);

/* Measures one set of roofs with one target of the plan (of the same ISA and precision), and adds
 * its points and roofs to the model; those of the same set and level that were there are dropped, and
 * all scores and fits of the set.
 * returns 0, -CARM_ENOMEM, or what step returned */
int carm_validation_measure(struct carm_validation_run *run, struct carm_team *team, size_t roofs,
                            size_t target, struct carm_err *err);

/* Seconds that one set takes, roughly. */
double carm_validation_seconds(const struct carm_validation_run *run, size_t roofs);

#endif
