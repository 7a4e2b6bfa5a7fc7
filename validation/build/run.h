/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measurements of a build, from the curve to the roofs. */
#ifndef CARM_VALIDATION_BUILD_RUN_H
#define CARM_VALIDATION_BUILD_RUN_H

#include "validation/build/config.h"
#include "validation/build/plan.h"
#include "base/observer.h"
#include "harness/clock.h"
#include "models/model.h"

struct carm_build {
    const struct carm_build_config *config;
    const struct carm_build_plan *plan;
    const struct carm_cpu *cpu;
    const struct carm_topo *topo;
    const struct carm_clock *clock;
    struct carm_observer *observer;
    double retry_seconds; /* for measuring disturbed points again */
};

/* Measures all that the configuration asks for into an empty model's levels, roofs and curves, and
 * machine.page_bytes.
 * returns 0, -CARM_EINTR, -CARM_ENOMEM, -CARM_ENOTSUP */
int carm_build_run(const struct carm_build *build, struct carm_model *model, struct carm_err *err);

/* Seconds that carm_build_run will take, roughly: for the progress line. */
double carm_build_estimate(const struct carm_build *build);

#endif
