/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads points.csv.
 *
 * The first line names the columns, in any order; unknown columns are ignored. name, flops (or operations, for
 * work that is not counted in flops), seconds and one of bytes and dram_bytes are needed. An empty field is an
 * unknown value. A repeated header (concatenated files) is ignored, too. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "models/place/change.h"
#include "models/place/points.h"

struct carm_points;

/* How files of points are read. All zero: points.csv, or another tool's file by its content. */
struct carm_points_how {
    const char *format; /* a word of CARM_IMPORT_WORDS; NULL = by content */
    const char *work;   /* file with the flops and bytes of points that have none, by name; NULL =
                         * none */
    bool runs;          /* a row for each repetition of a benchmark; false: one row with the median
                         * time */
};

/* Opens the file and reads its header. Files of other tools (models/import/import.h) become rows in
 * memory.
 * path  "-" is standard input
 * how   borrowed for the call; NULL = all zero
 * returns 0; -CARM_EIO; -CARM_ENOMEM; -CARM_EFORMAT (names file, line and column); -CARM_EINVAL (no such
 * format, or a file of roofs); *out is NULL then */
int carm_points_open(const char *path, const struct carm_points_how *how, struct carm_points **out,
                     struct carm_err *err);

/* The next point. Memory does not grow with the file.
 * returns 1; 0 at the end; -CARM_EIO; -CARM_EFORMAT (names file, line, column and the allowed
 * values) */
int carm_points_next(struct carm_points *points, struct carm_point *point, struct carm_err *err);

void carm_points_close(struct carm_points *points); /* NULL allowed */

/* Opens two files of points and compares them: models/place/change.h.
 * returns 0; as carm_points_open, carm_points_next and carm_changes_read */
int carm_points_compare(const char *before, const char *after, const struct carm_points_how *how,
                        const struct carm_model *model, double noise, const char *only,
                        struct carm_changes **out, struct carm_err *err);
