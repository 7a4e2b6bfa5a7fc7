/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fit/robust.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

const double carm_robust_limit = 6.07;

/* 1 / the upper quartile of the standard normal distribution */
static const double normal_mad = 1.4826022185056018;
/* degrees of freedom of the likelihood's t: the value that Lange et al. use where none is known */
static const double nu = 4.0;

/* Lower limit of the mean of psi'. psi' is negative where psi falls; with half of the points there,
 * the limit keeps the mean positive and the error large. Normal errors give 0.85. */
static const double slope_min = 0.1;

double carm_robust_scale(const double *u, size_t n, size_t k, double *scratch)
{
    for (size_t i = 0; i < n; i++) {
        scratch[i] = fabs(u[i]);
    }
    gsl_sort(scratch, 1, n);
    return normal_mad * gsl_stats_median_from_sorted_data(scratch + k, 1, n - k);
}

double carm_robust_weight(double z)
{
    const double a = z / carm_robust_limit;
    const double b = 1.0 - a * a;
    return b > 0.0 ? b * b : 0.0;
}

double carm_robust_sigma(const double *u, size_t n, size_t k, double scale)
{
    double psi2 = 0.0;  /* sum of psi^2, psi = z weight(z) */
    double slope = 0.0; /* mean of psi' */
    double slope2 = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double z = u[i] / scale;
        const double a = z / carm_robust_limit;
        const double b = 1.0 - a * a;
        const double psi = z * carm_robust_weight(z);
        const double d = b > 0.0 ? b * (b - 4.0 * a * a) : 0.0;
        psi2 += psi * psi;
        slope += d;
        slope2 += d * d;
    }
    const double count = (double)n;
    slope = fmax(slope / count, slope_min);
    const double variance = fmax(slope2 / count - slope * slope, 0.0);
    const double correction = 1.0 + (double)k / count * variance / (slope * slope);
    return correction * scale * sqrt(psi2 / (count - (double)k)) / slope;
}

double carm_robust_deviance(const double *u, size_t n, double floor)
{
    /* The maximum's condition, sum (nu + 1) u^2 / (nu s^2 + u^2) = n, falls in s: halve the interval
     * on log s. */
    double largest = floor;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(u[i]));
    }
    double lo = log(floor);
    double hi = log(largest) + 1.0;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (lo + hi);
        const double s2 = exp(2.0 * middle);
        double sum = 0.0;
        for (size_t j = 0; j < n; j++) {
            const double u2 = u[j] * u[j];
            sum += (nu + 1.0) * u2 / (nu * s2 + u2);
        }
        if (sum > (double)n) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    const double log_s = 0.5 * (lo + hi);
    const double s2 = exp(2.0 * log_s);
    double tails = 0.0;
    for (size_t j = 0; j < n; j++) {
        tails += log1p(u[j] * u[j] / (nu * s2));
    }
    return 2.0 * (double)n * log_s + (nu + 1.0) * tails;
}
