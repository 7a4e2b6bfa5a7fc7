/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The points of a validation as CSV: the columns of points.csv first, so that tools for application
 * points can read the file. */
#pragma once

#include "models/model.h"

/* Writes all points of the model beside path and renames.
 * returns 0, -CARM_EIO or -CARM_ENOMEM */
int carm_validate_write_csv(const struct carm_model *model, const char *path, struct carm_err *err);

/* The default name of the file of points: MODEL.json -> MODEL.points.csv.
 * returns 0 or -CARM_EIO (too long) */
int carm_validate_csv_path(const char *model_path, char *path, size_t size, struct carm_err *err);
