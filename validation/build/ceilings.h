/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measurements of `carm build --ceilings`: after the roofs of the set that they belong to.
 * source: Williams et al. 2009, appendix A.1.2 to A.1.4, A.2 */
#ifndef CARM_VALIDATION_BUILD_CEILINGS_H
#define CARM_VALIDATION_BUILD_CEILINGS_H

#include "validation/build/levels.h"
#include "validation/build/run.h"
#include "harness/measure.h"

struct carm_build_ceilings {
    const struct carm_build *build;
    const struct carm_build_levels *levels; /* of the set's threads */
    struct carm_budget *budget;             /* for disturbed points, shared with the roofs */
    struct carm_roofs *roofs;               /* the ceilings go here */
    const struct carm_code *dot;            /* the best streaming read; NULL = not known yet */
};

/* Measures the ceilings that the set's own team can run.
 * returns 0, -CARM_EINTR or -CARM_ENOMEM */
int carm_build_ceilings_here(struct carm_build_ceilings *c, struct carm_team *team,
                             struct carm_err *err);

/* Measures those that need teams of their own: fewer threads, or memory on one node. The set's team
 * should be closed, so that its memory is free again. errors as above and those of carm_team_open */
int carm_build_ceilings_apart(struct carm_build_ceilings *c, struct carm_err *err);

/* Roughly how long both take. */
double carm_build_ceilings_seconds(const struct carm_build *build, int threads);

#endif
