/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points read from another tool's file: the columns of points.csv as numbers, in memory. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* A point. Unknown numbers are negative, unknown texts NULL while it is read and "" afterwards. */
struct carm_import_row {
    const char *name;
    double flops, bytes, dram_bytes, seconds, calls, share;
    double threads; /* whole; 0 = unknown afterwards */
    double bytes_low, bytes_high;
    const char *isa, *precision; /* in lower case afterwards */
    const char *counted_by, *host, *note;
    const double *counts; /* counts of instructions, indexed by carm_import_count_of; NULL =
                           * unknown */
    size_t line;          /* of the file */
};

/* The points of a file, in the order in which they were added. */
struct carm_import_rows;

/* returns 0 or -CARM_ENOMEM; *out is NULL then */
int carm_import_rows_open(struct carm_import_rows **out, struct carm_err *err);
void carm_import_rows_close(struct carm_import_rows *rows); /* NULL allowed */

/* Adds a copy of a row. returns 0 or -CARM_ENOMEM */
int carm_import_rows_add(struct carm_import_rows *rows, const struct carm_import_row *row,
                         struct carm_err *err);

size_t carm_import_rows_count(const struct carm_import_rows *rows);
/* The texts and counts are borrowed. */
void carm_import_rows_get(const struct carm_import_rows *rows, size_t i,
                          struct carm_import_row *row);

/* The index of a column of points.csv among the counts of a row; -1 = not a count. */
int carm_import_count_of(const char *column);
