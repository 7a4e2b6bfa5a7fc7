/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roofs that the model lacks for a point, measured before the point is placed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/model.h"

enum { CARM_LACKING_MAX = 4 }; /* sets measured for one command: a second each */

/* A point, as far as roofs are chosen by it; borrowed words. */
struct carm_lacking {
    const char *isa, *precision;
    int threads;
};

/* Measures the sets of roofs that the model of this machine lacks for the points, CARM_LACKING_MAX
 * at most, says so on standard error, and writes the model. Does nothing for models of other
 * machines, and where another process measures.
 * path    a file; NULL = this machine's
 * known   what was read from it; NULL = nothing yet
 * points  [n]
 * returns whether the file was written */
bool carm_lacking_measure(const char *path, const struct carm_model *known,
                          const struct carm_lacking *points, size_t n);
