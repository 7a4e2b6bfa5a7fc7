/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Order statistics of repetitions. */
#pragma once

#include <stddef.h>

struct carm_stats {
    size_t n;
    double median;
    double ci_lo, ci_hi; /* 95% confidence interval of the median, by order statistics */
    double min, p5, p95, max;
};

/* Sorts values[n] (n >= 1) in place and describes them; same unit as the values.
 * The interval's ranks are n/2 -+ 1.96 sqrt(n)/2 (binomial distribution of the number of values
 * below the median, normal approximation); for n < 6 it is the full range.
 * source: Hollander & Wolfe, Nonparametric Statistical Methods, section 3.6 */
void carm_stats_describe(double *values, size_t n, struct carm_stats *out);

/* Median of values[n], n >= 1, which it sorts. */
double carm_stats_median(double *values, size_t n);
