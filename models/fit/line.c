/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fit/line.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "models/fit/robust.h"

enum { POINTS_MIN = 4, COEFFICIENTS = 2, PASSES = 30, ROBUST_ITERATIONS = 200 };

/* Residuals are relative: below this they are rounding, and there is no noise to estimate. */
static const double rounding = 1e-10;
/* Points this many times beyond the residual at which the bisquare's weight reaches zero are left
 * out of the rows altogether. GSL starts from ordinary least squares, which a point of ten times the time would bias,
 * and blends that start's scale into its sigma. Nearer outliers stay in: they may be noise, and a hard cut there would
 * make the intervals too narrow. */
static const double far_out = 1.5;
/* Passes end once the coefficients move by less than this share of the times. Chosen by hand. */
static const double settled = 1e-9;

/* Works and times divided by their largest, so that the rows are of order one in any unit. */
struct line {
    size_t n;
    double *work, *seconds;
    double *fitted; /* times by the fit: errors are relative to them */
    double *scratch;
    bool *kept;
    double t0, slope; /* fitted = t0 + slope work */
    double sigma2[COEFFICIENTS];
    size_t rows;   /* number of points in the last regression */
    bool one_size; /* without outliers, all points would do the same work */
};

static int check(const double *work, const double *seconds, size_t n, struct carm_err *err)
{
    if (n < POINTS_MIN) {
        return carm_fail(err, CARM_EINVAL, "%zu points are too few to fit a line: measure %d", n,
                         POINTS_MIN);
    }
    bool alike = true;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(work[i]) || work[i] <= 0.0) {
            return carm_fail(err, CARM_EINVAL, "work[%zu] is %g: it must be finite and above zero",
                             i, work[i]);
        }
        if (!isfinite(seconds[i]) || seconds[i] <= 0.0) {
            return carm_fail(err, CARM_EINVAL,
                             "seconds[%zu] is %g: it must be finite and above zero", i, seconds[i]);
        }
        alike = alike && work[i] == work[0];
    }
    if (alike) {
        return carm_fail(err, CARM_EINVAL,
                         "all %zu points do the same work: measure at least two sizes", n);
    }
    return 0;
}

/* One regression of the kept points' seconds / fitted on 1 / fitted and work / fitted. */
static int solve(struct line *l, const gsl_multifit_robust_type *type)
{
    gsl_matrix *x = gsl_matrix_alloc(l->rows, COEFFICIENTS);
    gsl_vector *y = gsl_vector_alloc(l->rows);
    gsl_vector *c = gsl_vector_alloc(COEFFICIENTS);
    gsl_matrix *cov = gsl_matrix_alloc(COEFFICIENTS, COEFFICIENTS);
    gsl_multifit_robust_workspace *w = gsl_multifit_robust_alloc(type, l->rows, COEFFICIENTS);
    int status = GSL_SUCCESS;
    if (!x || !y || !c || !cov || !w) {
        status = GSL_ENOMEM;
        goto out;
    }
    size_t row = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->kept[i]) {
            gsl_matrix_set(x, row, 0, 1.0 / l->fitted[i]);
            gsl_matrix_set(x, row, 1, l->work[i] / l->fitted[i]);
            gsl_vector_set(y, row, l->seconds[i] / l->fitted[i]);
            row++;
        }
    }
    gsl_multifit_robust_maxiter(ROBUST_ITERATIONS, w);
    if (type == gsl_multifit_robust_bisquare) {
        gsl_multifit_robust_tune(carm_robust_limit, w);
    }
    status = gsl_multifit_robust(x, y, c, cov, w);
    if (status == GSL_SUCCESS) {
        l->t0 = gsl_vector_get(c, 0);
        l->slope = gsl_vector_get(c, 1);
        l->sigma2[0] = gsl_matrix_get(cov, 0, 0);
        l->sigma2[1] = gsl_matrix_get(cov, 1, 1);
    }
out:
    gsl_multifit_robust_free(w);
    gsl_matrix_free(cov);
    gsl_vector_free(c);
    gsl_vector_free(y);
    gsl_matrix_free(x);
    return status;
}

/* Chooses the points of the next pass, and returns the largest residual among them. */
static double select_points(struct line *l)
{
    double *r = l->scratch;
    for (size_t i = 0; i < l->n; i++) {
        r[i] = l->seconds[i] / l->fitted[i] - 1.0;
    }
    const double scale = carm_robust_scale(r, l->n, COEFFICIENTS, r + l->n);
    const double limit = fmax(far_out * carm_robust_limit * scale, rounding);
    double largest = 0.0;
    double work_lo = INFINITY, work_hi = 0.0;
    l->rows = 0;
    for (size_t i = 0; i < l->n; i++) {
        l->kept[i] = fabs(r[i]) <= limit;
        if (l->kept[i]) {
            l->rows++;
            largest = fmax(largest, fabs(r[i]));
            work_lo = fmin(work_lo, l->work[i]);
            work_hi = fmax(work_hi, l->work[i]);
        }
    }
    l->one_size = work_lo == work_hi;
    if (l->rows < POINTS_MIN || l->one_size) {
        /* too few points to tell which is the outlier */
        for (size_t i = 0; i < l->n; i++) {
            l->kept[i] = true;
            largest = fmax(largest, fabs(r[i]));
        }
        l->rows = l->n;
    }
    return largest;
}

/* Computes the line's times. A lower limit keeps a point near the root of a line with negative t0
 * from outweighing all others. */
static void predict(struct line *l)
{
    for (size_t i = 0; i < l->n; i++) {
        l->fitted[i] = fmax(l->t0 + l->slope * l->work[i], l->seconds[i] / 32.0);
    }
}

/* Scaling by measured times gives times that are too short more weight than times that are too
 * long: the line is too low by twice the noise's variance. Only the first pass does so, as slow
 * outliers have little effect then (a residual of at most 1); later passes scale by the fitted
 * times of the pass before. */
static int fit(struct line *l)
{
    for (size_t i = 0; i < l->n; i++) {
        l->fitted[i] = l->seconds[i];
        l->kept[i] = true;
    }
    l->rows = l->n;
    int status = solve(l, gsl_multifit_robust_ols);
    for (int pass = 0; pass < PASSES && status == GSL_SUCCESS; pass++) {
        const double t0 = l->t0;
        const double slope = l->slope;
        predict(l);
        const bool exact = select_points(l) <= rounding;
        /* without noise the bisquare's scale is zero; of one size it would leave out all others */
        status =
            solve(l, exact || l->one_size ? gsl_multifit_robust_ols : gsl_multifit_robust_bisquare);
        if (status == GSL_EMAXITER) {
            /* The bisquare may alternate between two minima; Huber's function has only one. */
            status = solve(l, gsl_multifit_robust_huber);
        }
        if (exact) {
            /* GSL divides by the zero scale here, too */
            l->sigma2[0] = 0.0;
            l->sigma2[1] = 0.0;
        }
        if (fabs(l->t0 - t0) <= settled * fabs(slope) && fabs(l->slope / slope - 1.0) <= settled) {
            break;
        }
    }
    return status;
}

static struct line *line_open(const double *work, const double *seconds, size_t n, double work_unit,
                              double time_unit)
{
    assert(n >= POINTS_MIN);
    struct line *l = calloc(1, sizeof *l);
    double *numbers = calloc(5 * n, sizeof *numbers);
    bool *kept = calloc(n, sizeof *kept);
    if (!l || !numbers || !kept) {
        free(l);
        free(numbers);
        free(kept);
        return NULL;
    }
    l->n = n;
    l->work = numbers;
    l->seconds = numbers + n;
    l->fitted = numbers + 2 * n;
    l->scratch = numbers + 3 * n; /* 2 n */
    l->kept = kept;
    for (size_t i = 0; i < n; i++) {
        l->work[i] = work[i] / work_unit;
        l->seconds[i] = seconds[i] / time_unit;
    }
    return l;
}

static void line_close(struct line *l)
{
    if (l) {
        free(l->kept);
        free(l->work);
        free(l);
    }
}

int carm_fit_line(const double *work, const double *seconds, size_t n, struct carm_fit_line *out,
                  struct carm_err *err)
{
    int rc = check(work, seconds, n, err);
    if (rc) {
        return rc;
    }
    double work_unit = 0.0;
    double time_unit = 0.0;
    for (size_t i = 0; i < n; i++) {
        work_unit = fmax(work_unit, work[i]);
        time_unit = fmax(time_unit, seconds[i]);
    }
    struct line *l = line_open(work, seconds, n, work_unit, time_unit);
    if (!l) {
        return carm_fail(err, CARM_ENOMEM, "no memory to fit %zu points", n);
    }
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    const int status = fit(l);
    gsl_set_error_handler(handler);
    if (status != GSL_SUCCESS) {
        rc = carm_fail(err, status == GSL_ENOMEM ? CARM_ENOMEM : CARM_EINVAL,
                       "no line fits these %zu times: %s", n, gsl_strerror(status));
        goto out;
    }
    const double t = gsl_cdf_tdist_Pinv(0.975, (double)(l->rows - COEFFICIENTS));
    const double slope_se = sqrt(l->sigma2[1]);
    const double t0_se = sqrt(l->sigma2[0]);
    if (!(l->slope - t * slope_se > 0.0)) {
        rc = carm_fail(err, CARM_EINVAL,
                       "the times do not grow with work beyond their scatter: measure larger "
                       "sizes, or repeat more");
        goto out;
    }
    const double rate = work_unit / time_unit / l->slope;
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double r = 1.0 - (l->t0 + l->slope * l->work[i]) / l->seconds[i];
        squares += r * r;
    }
    *out = (struct carm_fit_line){
        .n = n,
        /* The linear parameter is seconds per work: the ends of its interval, inverted */
        .rate = {rate, rate * slope_se / l->slope, rate * l->slope / (l->slope + t * slope_se),
                 rate * l->slope / (l->slope - t * slope_se)},
        .t0 = {time_unit * l->t0, time_unit * t0_se, time_unit * (l->t0 - t * t0_se),
               time_unit * (l->t0 + t * t0_se)},
        .rrmse = sqrt(squares / (double)n),
    };
out:
    line_close(l);
    return rc;
}
