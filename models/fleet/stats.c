/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/stats.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

void carm_fleet_centre(double *v, size_t n, double *scratch, struct carm_fleet_centre *out)
{
    gsl_sort(v, 1, n);
    out->n = n;
    out->median = gsl_stats_median_from_sorted_data(v, 1, n);
    out->p5 = gsl_stats_quantile_from_sorted_data(v, 1, n, 0.05);
    out->p95 = gsl_stats_quantile_from_sorted_data(v, 1, n, 0.95);
    out->min = v[0];
    out->max = v[n - 1];
    for (size_t i = 0; i < n; i++) {
        scratch[i] = fabs(v[i] - out->median);
    }
    gsl_sort(scratch, 1, n);
    out->sigma = 1.482602218505602 * gsl_stats_median_from_sorted_data(scratch, 1, n);
}

double carm_fleet_p(double z, size_t n)
{
    const double x = fabs(z);
    const double p = n < CARM_FLEET_FEW ? 2.0 * gsl_cdf_ugaussian_Q(x)
                                        : 2.0 * gsl_cdf_tdist_Q(x, 0.41 * (double)n);
    return p < 1.0 ? p : 1.0;
}

static int by_p(const void *a, const void *b, void *arg)
{
    const double *values = arg;
    const double x = values[*(const size_t *)a];
    const double y = values[*(const size_t *)b];
    return (x > y) - (x < y);
}

size_t carm_fleet_bh(const double *p, size_t n, size_t *order, double *q)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        q[i] = NAN;
        if (!isnan(p[i])) {
            order[m++] = i;
        }
    }
    qsort_r(order, m, sizeof *order, by_p, (void *)p);
    double least = 1.0;
    for (size_t k = m; k-- > 0;) {
        const double adjusted = p[order[k]] * (double)m / (double)(k + 1);
        least = adjusted < least ? adjusted : least;
        q[order[k]] = least;
    }
    return m;
}
