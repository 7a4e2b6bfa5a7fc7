/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measurements of `carm build --ceilings`: after the roofs of their set.
 * source: Williams et al. 2009, appendix A.1.2 to A.1.4, A.2 */
#pragma once

#include "validation/roofs/build.h"

/* Measures all requested ceilings and adds them to the set's roofs. Closes the set's team, so that
 * smaller teams get its memory.
 * returns 0, -CARM_EINTR, -CARM_ENOMEM or as carm_team_open */
int carm_build_measure_ceilings(struct carm_build_set *s, struct carm_roofs *roofs,
                                struct carm_err *err);

/* Bytes between last cache and memory per byte that the core loads and stores. */
double carm_build_traffic_share(const struct carm_code *code);

/* Estimate of the ceilings' seconds. */
double carm_build_ceilings_seconds(const struct carm_build *build, int threads);
