/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placed points as a page's data: for few points an object for each; for many points arrays of figures, and objects for
 * the longest-running points only. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "models/place/placed.h"

/* An object takes 900 bytes, a point's figures 70: a page of 100 000 points takes 10 MB instead of
 * 88. */
enum { CARM_REPORT_OBJECTS = 2000, CARM_REPORT_LONGEST = 500, CARM_REPORT_POINTS = 100000 };

struct carm_report_points; /* the points of a page, in the order of the files */

/* returns NULL when out of memory */
struct carm_report_points *carm_report_points_open(void);
void carm_report_points_close(struct carm_report_points *points); /* NULL allowed */

/* Takes a point.
 * file  the index of its file
 * returns 0; -CARM_ENOMEM; -CARM_EINVAL beyond CARM_REPORT_POINTS */
int carm_report_points_add(struct carm_report_points *points, const struct carm_placed *placed,
                           size_t file, struct carm_err *err);

size_t carm_report_points_count(const struct carm_report_points *points);

/* Writes ,"places": [...], an object or null for each point; of many points also ,"many": {...}, with arrays of one
 * element a point: name, set (index in sets, -1 = not placed), performance, seconds, and for each model intensity,
 * share, left, bound (index in bounds, -1 = not placed), without the arrays of a roofline model on which no point is
 * placed; over lists the points above their roofs.
 * returns 0 or -CARM_ENOMEM */
int carm_report_points_put(FILE *out, struct carm_report_points *points, struct carm_err *err);
