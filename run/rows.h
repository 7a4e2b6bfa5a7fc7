/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of points.csv of a program that has run: of its parts or of the whole program, for
 * each free run. */
#pragma once

#include <limits.h>

#include "harness/profile/profile.h"
#include "run/count.h"
#include "run/levels.h"
#include "run/verdict.h"

/* Opens the profile of a run, and sets the bytes of the levels of each row.
 * levels  NULL = not simulated
 * returns 0 or -CARM_ENOMEM */
int carm_run_rows_open(struct carm_profile *profile, const struct carm_run *run,
                       enum carm_profile_by by, double min_share, struct carm_run_levels *levels,
                       struct carm_err *err);

/* Appends to a points file the rows of the parts, or of the whole program where the profile has no
 * row. Each of several free runs with enough samples has rows of its own, with its times.
 * by        the argument of carm_run_rows_open
 * verdicts  [profile->nrows]; NULL = none
 * returns 0, -CARM_ENOMEM, or as carm_row_append */
int carm_run_rows_append(const char *path, const struct carm_run *run, enum carm_profile_by by,
                         const struct carm_profile *profile, const struct carm_run_levels *levels,
                         const struct carm_run_verdict *verdicts, struct carm_err *err);

/* Prepares a run whose regions write the rows: libcarm reads the points file and the way of
 * counting from the environment, and carm itself counts nothing. With translation, carm counts the
 * regions: run->regions is set.
 * budget  of stepping, instructions; NULL = libcarm's own
 * full    out: the absolute path
 * returns 0, -CARM_EIO, -CARM_EINVAL, -CARM_ENOMEM */
int carm_run_rows_by_regions(struct carm_run *run, const char *path, const char *budget,
                             char full[PATH_MAX], struct carm_err *err);

/* The number of rows of a points file, without its header; 0 where it cannot be read. */
long carm_run_rows_count(const char *path);
