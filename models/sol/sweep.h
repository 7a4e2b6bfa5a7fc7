/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What-if studies: figures of an architecture set by hand, or swept over a range. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/sol/estimate.h"

enum { CARM_SOL_KEY_MAX = 48, CARM_SOL_STEPS_MAX = 10000 };

struct carm_sol_sweep {
    char key[CARM_SOL_KEY_MAX];
    double from, to;
    size_t steps; /* number of values, with both ends */
    bool log;     /* at equal ratios */
};

/* Sets "KEY=VALUE[,KEY=VALUE...]". returns 0 or -CARM_EINVAL */
int carm_sol_set(struct carm_sol_arch *arch, const char *list, struct carm_err *err);

/* Reads "KEY=FROM:TO[:STEPS][:log]". returns 0 or -CARM_EINVAL (with the syntax) */
int carm_sol_sweep_parse(const char *text, struct carm_sol_sweep *sweep, struct carm_err *err);

/* Estimates the view's graph at each value of the range, in order.
 * row  receives each result; view: the estimates at this value, until row returns
 * returns 0, or as carm_sol_arch_set and carm_sol_estimate */
typedef void carm_sol_sweep_row(void *context, size_t i, double value,
                                const struct carm_sol_view *view);
int carm_sol_sweep_run(const struct carm_sol_sweep *sweep, const struct carm_sol_view *view,
                       carm_sol_sweep_row *row, void *context, struct carm_err *err);
