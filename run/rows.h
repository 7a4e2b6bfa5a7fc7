/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of points.csv of a program that has run: of its parts, or of the whole, for each free run. */
#ifndef CARM_RUN_ROWS_H
#define CARM_RUN_ROWS_H

#include <limits.h>

#include "harness/profile/profile.h"
#include "run/count.h"
#include "run/levels.h"

/* Opens the profile of a run, and gives each of its rows its bytes of the levels.
 * levels  NULL = not simulated
 * returns 0 or -CARM_ENOMEM */
int carm_run_rows_open(struct carm_profile *profile, const struct carm_run *run,
                       enum carm_profile_by by, double min_share, struct carm_run_levels *levels,
                       struct carm_err *err);

/* Appends to a points file the rows of the parts, or of the whole program where the profile has no row. Of
 * several free runs each has its rows, with its own times, if it has enough samples.
 * by  as for carm_run_rows_open
 * returns 0, -CARM_ENOMEM, or as carm_row_append */
int carm_run_rows_append(const char *path, const struct carm_run *run, enum carm_profile_by by,
                         const struct carm_profile *profile, const struct carm_run_levels *levels,
                         struct carm_err *err);

/* Leaves the rows to the regions of the program: libcarm reads from the environment where its rows go and how it
 * counts, and carm counts nothing. With translation carm counts the regions: run->regions is set.
 * budget  of stepping, instructions; NULL = libcarm's own
 * full    out: the absolute path
 * returns 0, -CARM_EIO, -CARM_EINVAL, -CARM_ENOMEM */
int carm_run_rows_by_regions(struct carm_run *run, const char *path, const char *budget,
                             char full[PATH_MAX], struct carm_err *err);

/* The number of rows of a points file, without its header; 0 where it cannot be read. */
long carm_run_rows_count(const char *path);

#endif
