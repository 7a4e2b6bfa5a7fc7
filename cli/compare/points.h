/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm compare of two files of points. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/file/points.h"
#include "models/place/change.h"

struct carm_compare_points {
    const char *files[2];
    const char *model; /* operand; NULL = this machine's model, if there is one */
    struct carm_points_how how;
    const char *only;  /* a pattern of names, NULL = all */
    const char *exact; /* --exact: "" or columns with their tolerances; NULL = not given */
    double noise;      /* a share */
    double threshold;  /* a share; negative = none */
    size_t top;        /* number of points in the table, those that differ first; 0 = all */
    bool json, markdown, ascii;
};

/* returns an exit code; errors go to standard error */
int carm_compare_points_run(const struct carm_compare_points *job);
