/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps in a series of values, one for each commit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct carm_history_step {
    size_t at; /* the first value after it */
    double before,
        after; /* of counts the values; of scattered values the medians of both sides, up to the next step */
};

/* Steps of a value that is exact: each change by more than a share of the value before.
 * values  [n] NaN = missing, passed over
 * out     [n]
 * returns how many are in out */
size_t carm_history_changes(const double *values, size_t n, double share,
                            struct carm_history_step *out);

/* Steps of a value that scatters. Of all stretches from the begin, then of all, the one whose ranks differ most from the
 * rest is tried; its chance is that of a random order of the same values (a permutation test); then the parts are tried
 * in the same way. Series of more than 300 values have stretches from the begin only.
 * A series without a step has one found with a probability of at most `alarm`, whatever its distribution is, as long as
 * the values do not depend on one another. So few values have no steps: for 0.001, there must be eight on each side.
 * values  [n] > 0; NaN = missing, passed over
 * share   a step is at least so large
 * alarm   0.0001 .. 0.1
 * out     [n]
 * nout    out: how many
 * returns 0 or -CARM_ENOMEM
 * source: Pettitt 1979 (ranks), Olshen et al. 2004 (stretches, circular binary segmentation) */
int carm_history_steps(const double *values, size_t n, double share, double alarm,
                       struct carm_history_step *out, size_t *nout, struct carm_err *err);
