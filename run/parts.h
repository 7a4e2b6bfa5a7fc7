/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a program that has run: a row of points.csv for each loop or function. */
#ifndef CARM_RUN_PARTS_H
#define CARM_RUN_PARTS_H

#include "harness/profile/profile.h"
#include "run/count.h"

/* Too few samples or none, and why the parts of a program would say nothing: a sentence; "" = they do.
 * returns dst */
char *carm_parts_missing(char *dst, size_t size, const struct carm_run *run);

/* The profile of a run: of its samples, its blocks, or both.
 * places  [nplaces] of its blocks; each gets its row
 * returns 0 or -CARM_ENOMEM */
int carm_parts_open(struct carm_profile *profile, const struct carm_run *run,
                    enum carm_profile_by by, double min_share, struct carm_profile_place *places,
                    size_t nplaces, struct carm_err *err);

/* One part as a row of points.csv. */
void carm_parts_row(const struct carm_run *run, const struct carm_profile *profile,
                    const struct carm_profile_row *part, struct carm_row *row);

#endif
