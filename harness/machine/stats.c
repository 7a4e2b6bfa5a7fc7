/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/stats.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

/* The q-quantile (0..1) of sorted values, linear between neighbours. */
static double quantile(const double *sorted, size_t n, double q)
{
    return gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
}

double carm_stats_median(double *values, size_t n)
{
    gsl_sort(values, 1, n);
    return gsl_stats_median_from_sorted_data(values, 1, n);
}

void carm_stats_describe(double *values, size_t n, struct carm_stats *out)
{
    out->n = n;
    out->median = carm_stats_median(values, n);
    double half = 1.96 * sqrt((double)n) / 2.0;
    double lo = floor((double)n / 2.0 - half);
    double hi = ceil((double)n / 2.0 + half);
    if (n < 6 || lo < 0.0 || hi > (double)(n - 1)) {
        lo = 0.0;
        hi = (double)(n - 1);
    }
    out->ci_lo = values[(size_t)lo];
    out->ci_hi = values[(size_t)hi];
    out->min = values[0];
    out->p5 = quantile(values, n, 0.05);
    out->p95 = quantile(values, n, 0.95);
    out->max = values[n - 1];
}
