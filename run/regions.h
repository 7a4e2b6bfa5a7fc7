/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regions of a program that runs twice: the first run gives their times, the second one their counts. */
#pragma once

#include "base/err.h"

struct carm_regions {
    int times, counts; /* files in memory with the rows of each run */
};

/* returns 0 or -CARM_EIO */
int carm_regions_open(struct carm_regions *regions, struct carm_err *err);
void carm_regions_close(struct carm_regions *regions);

/* Sets the environment for the first run. returns 0 or -CARM_ENOMEM */
int carm_regions_first(const struct carm_regions *regions, struct carm_err *err);
int carm_regions_again(const struct carm_regions *regions, struct carm_err *err);

/* Appends the rows of the second run to a points file. A row gets its time from the first run's row
 * that corresponds to it beyond doubt. returns as carm_row_append */
int carm_regions_take(const struct carm_regions *regions, const char *path, struct carm_err *err);
