/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures roofs that are missing in the model for a point, before the point is placed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/model.h"

enum { CARM_LACKING_MAX = 4 }; /* most sets measured for one command: a second each */

/* The properties of a point that choose its roofs; borrowed words. */
struct carm_lacking {
    const char *isa, *precision;
    int threads;
};

/* Measures the sets of roofs that are missing in this machine's model for the points,
 * CARM_LACKING_MAX at most, says so on standard error, and writes the model. Does nothing for
 * models of other machines, and where another process measures.
 * path    a file; NULL = this machine's
 * known  the model read from path; NULL = not read yet
 * points  [n]
 * returns whether the file was written */
bool carm_lacking_measure(const char *path, const struct carm_model *known,
                          const struct carm_lacking *points, size_t n);
