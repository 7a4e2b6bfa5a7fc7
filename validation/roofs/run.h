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
    int paired; /* threads that shared cores though the topology has a core for each (carm_paired_is); 0 = none */
};

/* Assembles, recounts and measures everything in the configuration, with the host's observer.
 * host     with its turn to measure (carm_host_enter)
 * counter  compares the codes with their construction
 * before   the model that the build continues (carm_build_inherits), or NULL. Its rounds count, except a quick model's
 *          in a full build. Parts that the build does not measure move to the new model (carm_model_inherit)
 * model    out: to be released with carm_model_free; NULL on failure
 * returns 0; -CARM_EIO (the budget ended before a roof had a figure); -CARM_EINTR, -CARM_ENOMEM, -CARM_ENOTSUP, or as
 * carm_image_open and carm_code_counter_try */
int carm_build_run(const struct carm_build_config *config, const struct carm_host *host,
                   const struct carm_code_counter *counter, struct carm_model *before,
                   struct carm_model **model, struct carm_build_done *done, struct carm_err *err);

/* Whether a build with this configuration continues a model: the model is of this machine, has the same mix, and
 * contains rounds. */
bool carm_build_inherits(const struct carm_build_config *config, const struct carm_host *host,
                         const struct carm_model *before);

/* A preview of a build, without measurements. */
struct carm_build_outlook {
    double seconds, most_seconds; /* estimate for a quiet machine; budget */
    size_t reps;                  /* behind every point */
    size_t roofs;                 /* of all numbers of threads, where every level has a plateau */
    struct carm_scaling_plan scaling; /* of --scaling; n 0 = not asked for */
};

void carm_build_foresee(const struct carm_build_config *config, const struct carm_host *host,
                        struct carm_build_outlook *out);
