/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marked code (include/carm_count.h) as rows of points.csv: the counts of one iteration. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "harness/count/row.h"
#include "harness/translate/sum.h"

/* A row for each name, in order of first calls. Its note says how the iteration was counted: exactly, or why not.
 *   several numbers of iterations  by difference of the two largest; exact where the third largest gives the same
 *   one number, several calls      the second call; exact where all later ones equal it, else their mean
 *   one call                       the call's counts divided by its iterations
 * marks  [n]
 * rows   out: [*nrows], to be freed
 * returns 0 or -CARM_ENOMEM */
int carm_marks_rows(const struct carm_mark *marks, size_t n, struct carm_row **rows, size_t *nrows,
                    struct carm_err *err);
