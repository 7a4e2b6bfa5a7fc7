/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pages of `carm report`, `carm fleet report` and `carm compare --history`: plots/page/frame.html with the page.html,
 * style and scripts of the kind, and the data, in their places. */
#pragma once

#include "base/err.h"

enum carm_report_kind { CARM_REPORT_MODEL, CARM_REPORT_FLEET, CARM_REPORT_HISTORY };

/* returns 0 or -CARM_ENOTSUP: this build has no d3 (names the package and the remedy) */
int carm_report_ready(struct carm_err *err);

/* Checks the target of the page: FILE.html or "-", not the name of a file of models, rows or
 * points.
 * returns 0 or -CARM_EINVAL */
int carm_report_check_output(const char *path, struct carm_err *err);

/* Writes the page to the file at path, which is replaced in one step; "-" is standard output.
 * data  JSON: from carm_report_data or carm_fleet_report_data
 * returns 0 or -CARM_EIO */
int carm_report_write(enum carm_report_kind kind, const char *data, const char *path,
                      struct carm_err *err);
