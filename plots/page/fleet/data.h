/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data of the page of carm fleet report, as one JSON object for its scripts. */
#pragma once

#include "base/err.h"
#include "models/fleet/fleet.h"

struct carm_fleet_report {
    const struct carm_fleet *fleet; /* judged */
    struct carm_fleet_options options;
    const char *title; /* NULL = the page makes one */
};

/* Makes the page's data: one JSON object, in which a group's values are arrays of whole numbers, by node and column:
 *   share, own   deviation from the median, and standard error, in 1e-5
 *   z            in 1e-2
 *   q            -100 log10 q, -1 = not judged
 *   state        a digit for each: 1 = there is a value, + 2 = disturbed, + 4 = flagged
 * *text is to be released with free
 * returns 0 or -CARM_ENOMEM */
int carm_fleet_report_data(const struct carm_fleet_report *report, char **text,
                           struct carm_err *err);
