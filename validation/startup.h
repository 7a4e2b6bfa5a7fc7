/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rate of a roof's code free of start-up cost: T = t0 + work / rate over sizes of one run, as
 * F(phi) and B(beta) approach it in Ilic et al. 2014, figure 3. */
#ifndef CARM_VALIDATION_STARTUP_H
#define CARM_VALIDATION_STARTUP_H

#include "harness/measure.h"
#include "models/validation.h"

/* Runs code A or B on sizes from a sixteenth of target_seconds to twice that and fits; fills rate,
 * rate_se, t0 and t0_se, or leaves them 0 where the times cannot tell.
 * set_bytes  working set of one thread, touched before; 0 for code B
 * returns 0 or -CARM_ENOMEM */
int carm_validation_startup(struct carm_team *team, const struct carm_code *code,
                            uint64_t set_bytes, double target_seconds, size_t reps,
                            struct carm_validation_roof *roof, struct carm_err *err);

#endif
