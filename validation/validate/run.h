/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A validation: everything between its checked options and the written file. */
#pragma once

#include "harness/place/host.h"
#include "models/model.h"
#include "validation/count.h"
#include "validation/validate/config.h"

/* Figures on a finished validation. */
struct carm_validate_done {
    double seconds;
    size_t missing; /* points without a figure when the budget ended */
};

/* Measures and scores every set of the configuration, with the host's observer.
 * host     with its turn to measure (carm_host_enter)
 * path     of the model's file, for messages
 * counter  compares the codes with their construction
 * model    points, roofs, scores and fits are added, and replace older ones of the same sets
 * done     out
 * returns 0; -CARM_EIO (the budget ended before a point had a figure); -CARM_EINTR, -CARM_ENOMEM, or as
 * carm_validate_plan_open and carm_code_counter_try */
int carm_validate_run(const struct carm_validate_config *config, const struct carm_host *host,
                      const char *path, const struct carm_code_counter *counter,
                      struct carm_model *model, struct carm_validate_done *done,
                      struct carm_err *err);

/* The set of measurements i of the configuration. */
struct carm_validation_set carm_validate_set(const struct carm_validate_config *config,
                                             const struct carm_model *model, size_t i);
