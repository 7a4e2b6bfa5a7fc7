/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The points of `carm report`, placed as `carm place --json` places them. */
#ifndef CARM_PLOTS_PAGE_REPORT_PLACES_H
#define CARM_PLOTS_PAGE_REPORT_PLACES_H

#include <stdio.h>

#include "models/model.h"

/* Writes the JSON array of all points of the files; [] for none.
 * paths  [n]; - is standard input
 * returns 0, -CARM_EINVAL (files without points), -CARM_ENOMEM, or as carm_points_open and
 * carm_points_next do */
int carm_report_places(FILE *out, const struct carm_model *model, size_t n, char **paths,
                       struct carm_err *err);

#endif
