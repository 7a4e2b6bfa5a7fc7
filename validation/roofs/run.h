/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A build: everything between its checked options and the written file. */
#pragma once

#include "harness/place/host.h"
#include "models/model.h"
#include "validation/roofs/build.h"
#include "validation/roofs/scaling.h"
#include "validation/count.h"

/* Figures on a finished build. */
struct carm_build_done {
    double seconds;
    size_t reps;    /* planned behind every point: fewer than asked for where the budget is short */
    size_t missing; /* roofs without a figure when the budget ended */
    int paired; /* threads that shared cores though the topology has one for each (carm_team_is_paired); 0 = none */
};

/* Assembles, recounts and measures everything in the configuration, with the host's observer.
 * host     with its turn to measure (carm_host_enter)
 * counter  compares the codes with their construction
 * before   a model that the build goes on with (carm_build_inherits), or NULL. Its rounds are continued, but not those of a
 *          quick model by a full build. What the build does not measure moves to the new model (carm_model_inherit)
 * model    out: to be released with carm_model_free; NULL on failure
 * returns 0; -CARM_EIO (the budget ended before a roof had a figure); -CARM_EINTR, -CARM_ENOMEM, -CARM_ENOTSUP, or as carm_image_open and
 * carm_code_counter_try */
int carm_build_run(const struct carm_build_config *config, const struct carm_host *host,
                   const struct carm_code_counter *counter, struct carm_model *before,
                   struct carm_model **model, struct carm_build_done *done, struct carm_err *err);

/* Whether a build with this configuration goes on with a model: the model is of this machine, has the same mix, and
 * rounds. */
bool carm_build_inherits(const struct carm_build_config *config, const struct carm_host *host,
                         const struct carm_model *before);

/* What a build would do, without measuring anything. */
struct carm_build_outlook {
    double seconds, most_seconds; /* on a quiet machine, by estimate; and its budget */
    size_t reps;                  /* behind every point */
    size_t roofs;                 /* of all numbers of threads, where every level has a plateau */
    struct carm_scaling_plan scaling; /* of --scaling; n 0 = not asked for */
};

void carm_build_foresee(const struct carm_build_config *config, const struct carm_host *host,
                        struct carm_build_outlook *out);
