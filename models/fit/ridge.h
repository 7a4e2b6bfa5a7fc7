/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rooflines fitted to measured points (GSL). */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "models/fit/line.h"

/* Forms of a roofline, as the time of one flop at intensity I (s/flop):
 *   Tmem = 1 / (bandwidth I)   Tfp = 1 / peak   Tissue = slots per flop / issue width */
enum carm_ridge {
    CARM_RIDGE_SHARP,         /* max(Tmem, Tfp): Ilic et al. 2014, equation 3 */
    CARM_RIDGE_ROUNDED,       /* (Tmem^p + Tfp^p)^(1/p) */
    CARM_RIDGE_ISSUE,         /* max(Tmem, Tfp, Tissue) */
    CARM_RIDGE_ROUNDED_ISSUE, /* (Tmem^p + Tfp^p + Tissue^p)^(1/p) */
    CARM_RIDGE_COUNT
};

const char *carm_ridge_name(
    enum carm_ridge form); /* "sharp", "rounded", "issue", "rounded+issue" */

struct carm_ridge_point {
    double intensity;   /* flop/byte, > 0 */
    double performance; /* flop/s, > 0 */
    double sigma;       /* relative standard error of performance, > 0; only ratios matter */
    double slots; /* issue slots (fused instructions) for one flop, >= 0; used by the forms with
                         * issue */
};

struct carm_ridge_params {
    double bandwidth; /* byte/s */
    double peak;      /* flop/s */
    double p;         /* sharpness, >= 1; INFINITY where the form is not rounded */
    double issue; /* slots/s of all threads, measured by a code of its own; INFINITY = no limit */
};

/* flop/s that a form attains at a point's intensity and slots. */
double carm_ridge_eval(enum carm_ridge form, const struct carm_ridge_params *params,
                       double intensity, double slots);

/* Sharpness is fitted as q = 1 / p, 0 <= q <= 1. Its interval is where the weighted squares stay
 * within Student's t of their minimum (a profile), so hi = INFINITY says that a sharp ridge is not
 * ruled out; value = se = INFINITY says that the sharp form fits no worse; bandwidth, peak and
 * their errors are then the sharp form's. aicc = -2 log L + 2 k + 2 k (k + 1) / (n - k - 1), L the
 * likelihood of all n residuals, outliers too, under Student's t with 4 degrees of freedom, the
 * same for every form (a constant that depends on n alone is left out); k counts bandwidth, peak,
 * the residuals' scale, and p in rounded forms even where it is INFINITY. */
struct carm_ridge_fit {
    enum carm_ridge form;
    size_t n;
    struct carm_estimate bandwidth, peak;
    struct carm_estimate p;      /* rounded forms; value INFINITY where the data show no rounding */
    double correlation;          /* of log bandwidth and log peak */
    double aicc;                 /* Akaike's criterion, corrected for small n; compare forms fitted
                                  * to the same points */
    double issue;                /* as given */
    struct carm_ridge_params at; /* the values above, for carm_ridge_eval */
};

/* Weighted non-linear least squares (Levenberg-Marquardt) of log performance over log intensity with
 * weights 1 / sigma^2, made robust by bisquare reweighting. Standard errors from the covariance
 * scaled by the residuals' variance; intervals by Student's t, on the logarithm.
 * issue  slots/s, fixed during the fit; > 0, INFINITY = no issue limit. A roof counts as determined
 *        if two points or more hold it and the points without it fit worse by an F test at 99.9%.
 *        Points without bisquare weight count neither in this test nor in the errors.
 * returns 0; -CARM_EINVAL (fewer than 6 points, values out of range, or all on one side of the ridge:
 * the message says that bandwidth or peak cannot be estimated); -CARM_ENOMEM. out untouched on error */
int carm_ridge_fit(enum carm_ridge form, const struct carm_ridge_point *points, size_t n,
                   double issue, struct carm_ridge_fit *out, struct carm_err *err);

/* Predictions of each point by a fit without it: points with an even index are predicted by a
 * fit to points with an odd index, and the other way round.
 * predicted  [n] out, flop/s; untouched on error
 * returns as carm_ridge_fit; -CARM_EINVAL also for fewer than 12 points */
int carm_ridge_cross_validate(enum carm_ridge form, const struct carm_ridge_point *points, size_t n,
                              double issue, double *predicted, struct carm_err *err);
