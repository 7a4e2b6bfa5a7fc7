/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm compare --history: the values of points over the commits, from one file of points for each
 * commit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/file/points.h"

struct carm_compare_history {
    char *const *operands; /* a folder, or files in their order */
    size_t n;
    struct carm_points_how how;
    const char *only; /* a pattern of names, NULL = all */
    double noise;     /* a share */
    const char *page; /* FILE.html; NULL = none */
    bool json, ascii;
};

/* returns an exit code; errors go to standard error */
int carm_compare_history_run(const struct carm_compare_history *job);
