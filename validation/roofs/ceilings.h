/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measurements of `carm build --ceilings`: after the roofs of the set that they belong to.
 * source: Williams et al. 2009, appendix A.1.2 to A.1.4, A.2 */
#ifndef CARM_VALIDATION_ROOFS_CEILINGS_H
#define CARM_VALIDATION_ROOFS_CEILINGS_H

#include "validation/roofs/build.h"

/* Measures all ceilings that are asked for and adds them to the set's roofs; closes the set's team, so
 * that smaller teams have its memory.
 * returns 0, -CARM_EINTR, -CARM_ENOMEM or as carm_team_open */
int carm_build_measure_ceilings(struct carm_build_set *s, struct carm_roofs *roofs,
                                struct carm_err *err);

/* Roughly how long they take. */
double carm_build_ceilings_seconds(const struct carm_build *build, int threads);

#endif
