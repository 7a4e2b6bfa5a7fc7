/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The points file of a study that can be stopped and goes on. */
#ifndef CARM_KERNELS_STUDY_ROWS_H
#define CARM_KERNELS_STUDY_ROWS_H

#include <stdbool.h>

#include "base/err.h"
#include "models/place/points.h"

/* Whether the file may take rows: 0; -CARM_EIO (cannot be written, or it has points and resume is
 * false); -CARM_EFORMAT (a file of another kind). */
int carm_study_rows_check(const char *path, bool resume, struct carm_err *err);

/* Hands every measured point of a file to take; one that is not there, or empty, has none.
 * returns 0, or as carm_points_open and carm_points_next */
int carm_study_rows_read(const char *path,
                         void (*take)(void *context, const struct carm_point *row), void *context,
                         struct carm_err *err);

/* Reads the number that follows a text in a note, and moves on.
 * at     in and out
 * returns false where either lacks */
bool carm_study_rows_number(const char **at, const char *text, double *value);

#endif
