/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judgement of a fleet. */
#pragma once

#include "models/fleet/fleet.h"

/* Sorts the rows into nodes and groups, and judges them. To be called once.
 * returns 0 or -CARM_ENOMEM */
int carm_fleet_judge(struct carm_fleet *fleet, const struct carm_fleet_options *options,
                     struct carm_err *err);

/* Adjusted p values of one node's tests, by carm_fleet_bh within its families and within its roofs,
 * doubled if the node has both. The smallest is the node's p.
 * scratch  [3 * ncolumns]
 * order    [ncolumns]
 * adjusted [ncolumns] out; NaN = not judged */
void carm_fleet_adjust(const struct carm_fleet_table *table, size_t node, double *scratch,
                       size_t *order, double *adjusted);
