/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates free of start-up cost: lines fitted to times over work (GSL). */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* An estimate with its standard error and its 95% confidence interval, all in one unit. */
struct carm_estimate {
    double value, se, lo, hi;
};

/* T = t0 + work / rate. */
struct carm_fit_line {
    size_t n;
    struct carm_estimate rate; /* work's unit per second */
    struct carm_estimate t0;   /* seconds; may be negative within its interval */
    double rrmse;              /* of the fitted T against the measured, over the measured */
};

/* Robust (bisquare) regression with errors assumed proportional to T, so that small sizes count as
 * much as large ones. The rate is that of the work without start-up cost, which F(phi) and B(beta)
 * approach in Ilic et al. 2014, figure 3.
 * work     [n] bytes or flops, > 0, at least two different values
 * seconds  [n] > 0. Residuals are scaled by fitted times: scaling by measured times would bias the
 *          rate by their scatter. The rate's interval is the inverted interval of seconds per work.
 * returns 0; -CARM_EINVAL (n < 4, a value that is not finite and positive, all work alike, or times
 * that do not grow with work beyond their scatter); -CARM_ENOMEM. out untouched on error */
int carm_fit_line(const double *work, const double *seconds, size_t n, struct carm_fit_line *out,
                  struct carm_err *err);
