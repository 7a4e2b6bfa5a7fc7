/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps in a series of values, one for each commit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct carm_history_step {
    size_t at; /* the first value after it */
    double before,
        after; /* of exact values: both values; of scattered values: the medians up to the neighbouring steps */
};

/* Steps of an exact value: each change by more than a share of the value before.
 * values  [n] NaN = missing, passed over
 * out     [n]
 * returns how many are in out */
size_t carm_history_changes(const double *values, size_t n, double share,
                            struct carm_history_step *out);

/* Steps of a value that scatters. Tests the stretch of values whose ranks differ most from the rest, first among
 * stretches from the beginning, then among all. Its probability is that of a random order of the same values (a
 * permutation test). The stretch and the parts beside it are then tested in the same way, also if it begins and ends by
 * less than a step. In series of more than 300 values only
 * stretches from the beginning are tested. The probability of a false step in a series is at most `alarm`, for any
 * distribution of independent values. So short series show no steps: for 0.001, eight values on each side are needed.
 * values  [n] > 0; NaN = missing, passed over
 * share   a step is at least so large
 * alarm   0.0001 .. 0.1
 * out     [n]
 * nout    out: how many
 * returns 0 or -CARM_ENOMEM
 * source: Pettitt 1979 (ranks), Olshen et al. 2004 (stretches, circular binary segmentation) */
int carm_history_steps(const double *values, size_t n, double share, double alarm,
                       struct carm_history_step *out, size_t *nout, struct carm_err *err);
