/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other tools' files: their points as rows of points.csv, their roofs as a model. The content of
 * a file tells which tool wrote it. Quantities that a file does not hold stay unknown, with the
 * reason in the point's note. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/csv.h"
#include "base/err.h"
#include "models/import/rows.h"
#include "models/model.h"

/* The words that carm_import_find takes, for the options' tables. */
#define CARM_IMPORT_WORDS "auto|points|google-benchmark|hyperfine|perf|likwid|advisor|carm-tool"

struct carm_import_format;

/* Tells which tool wrote a file.
 * text  the beginning of the file, n bytes (carm_csv_peek)
 * returns NULL: none of these tools; points.csv or a model */
const struct carm_import_format *carm_import_detect(const char *text, size_t n);

/* Finds a format by a word of CARM_IMPORT_WORDS; points and auto give NULL.
 * returns 0 or -CARM_EINVAL with the words */
int carm_import_find(const char *word, const struct carm_import_format **out, struct carm_err *err);

/* Whether a format is of roofs, not of points. */
bool carm_import_has_roofs(const struct carm_import_format *format);

/* Reads the points of a file.
 * csv   nothing was read from it yet
 * runs  true: a row for each repetition of a benchmark; false: one row with the median time
 * *rows is to be released with carm_import_rows_close; NULL on failure.
 * returns 0, -CARM_EFORMAT (names file, place and reason), -CARM_EINVAL (a file of roofs), -CARM_EIO,
 * -CARM_ENOMEM */
int carm_import_points(const struct carm_import_format *format, struct carm_csv *csv, bool runs,
                       struct carm_import_rows **rows, struct carm_err *err);

/* The roofs of a file as a model whose roofs_of names the tool, and whose CPU is "roofs of TOOL". *out is to be
 * released with carm_model_free; NULL on failure.
 * returns 0, or errors as above */
int carm_import_roofs(const struct carm_import_format *format, struct carm_csv *csv,
                      struct carm_model **out, struct carm_err *err);
