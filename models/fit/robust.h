/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Robust regression: scale, weights, errors and likelihood of residuals, for the fits beside it.
 * Residuals are divided by their points' sigma, so that all have the same spread. */
#pragma once

#include <stddef.h>

/* Residual over scale from which on a point has no weight in Tukey's bisquare: 9 median absolute
 * deviations. With normal errors, GSL's default of 4.685 costs 5% of the efficiency and gives too narrow intervals in
 * small samples (94.5% instead of 95%); this limit costs 1.5%. Outliers of timings are far larger.
 * source: Mosteller and Tukey 1977, "Data analysis and regression", chapter 10 */
extern const double carm_robust_limit;

/* Scale of residuals from their median absolute deviation around zero, consistent for normal errors.
 * A fit makes k residuals small: the k smallest are left out.
 * u  [n]   residuals
 * k        parameters, < n
 * scratch  [n] */
double carm_robust_scale(const double *u, size_t n, size_t k, double *scratch);

/* Bisquare weight, 0 to 1, at z = residual over scale. */
double carm_robust_weight(double z);

/* s for which s^2 (X'X)^-1 is the covariance of bisquare estimates, from the n points that have
 * weight. source: Huber 1981, "Robust statistics", equation 7.6.5 with the correction 7.6.6 */
double carm_robust_sigma(const double *u, size_t n, size_t k, double scale);

/* -2 log likelihood of residuals under Student's t with 4 degrees of freedom, their scale at its
 * maximum; without the terms that depend on n alone. Heavy tails make it robust. It compares models
 * with different residuals, for which a sum over each model's own weights would be no common
 * measure.
 * floor  smallest scale, so that residuals of zero give a finite value
 * source: Lange, Little and Taylor 1989, "Robust statistical modeling using the t distribution" */
double carm_robust_deviance(const double *u, size_t n, double floor);
