/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet report: a fleet as one interactive page. */
#ifndef CARM_CLI_FLEET_REPORT_H
#define CARM_CLI_FLEET_REPORT_H

#include "base/err.h"
#include "cli/fleet/words.h"

/* Reads, judges and writes the page to words->output (fleet.html without one).
 * returns 0; -CARM_EINVAL (misuse); -CARM_EIO; -CARM_EFORMAT (no model and no failed row, or a broken file
 * under --strict, after the page was written); -CARM_ENOTSUP (a build without d3); -CARM_ENOMEM */
int carm_fleet_report(const struct carm_fleet_words *words, struct carm_err *err);

#endif
