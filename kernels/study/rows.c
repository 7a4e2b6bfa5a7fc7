/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/study/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/count/row.h"
#include "base/outfile.h"

static bool is_empty(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 || st.st_size == 0;
}

int carm_study_rows_check(const char *path, bool resume, struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point p;
    struct stat st;
    const bool there = stat(path, &st) == 0;
    int rc = carm_outfile_folders(path, err);
    rc = rc ? rc : carm_row_check(path, err);
    if (!rc && !resume && !is_empty(path)) {
        rc = carm_points_open(path, &points, err);
        const int found = rc ? 0 : carm_points_next(points, &p, err);
        carm_points_close(points);
        if (found) {
            rc = carm_fail(err, CARM_EIO,
                           "%.300s has points already: --resume goes on with them, or name another "
                           "file with --output",
                           path);
        }
    }
    if (!there) {
        (void)remove(path); /* a study that is refused later leaves nothing behind */
    }
    return rc;
}

int carm_study_rows_read(const char *path,
                         void (*take)(void *context, const struct carm_point *row), void *context,
                         struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point row;
    if (is_empty(path)) {
        return 0;
    }
    int rc = carm_points_open(path, &points, err);
    int found = 0;
    while (!rc && (found = carm_points_next(points, &row, err)) > 0) {
        if ((row.flops > 0.0 || row.operations > 0.0) && row.seconds > 0.0) {
            take(context, &row);
        }
    }
    carm_points_close(points);
    return rc ? rc : found;
}

bool carm_study_rows_number(const char **at, const char *text, double *value)
{
    const size_t len = strlen(text);
    char *end = NULL;
    if (strncmp(*at, text, len) != 0) {
        return false;
    }
    *value = strtod(*at + len, &end);
    const bool found = end != *at + len && isfinite(*value);
    *at = end;
    return found;
}
