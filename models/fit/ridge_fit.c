/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>

#include "models/fit/fit.h"
#include "models/fit/ridge.h"
#include "models/fit/robust.h"

enum { POINTS_MIN = 6, ROOT_STEPS = 40 };

/* Log bandwidth or peak of a roof so high that it takes no part. */
static const double no_roof = 1e4;
/* A form with both roofs must fit better than one with either left out at this level, or that roof
 * is a guess: once in 1000 sets of points that do not reach it. */
static const double roof_level = 0.999;
/* A rounding that lowers the deviance by less than this is none: the parameter has lost hold of the
 * points. */
static const double no_rounding = 1e-6;

static int check(enum carm_ridge form, const struct carm_ridge_point *points, size_t n,
                 double issue, struct carm_err *err)
{
    if ((unsigned)form >= CARM_RIDGE_COUNT) {
        return carm_fail(err, CARM_EINVAL, "no form of a roofline has number %d", (int)form);
    }
    if (n < POINTS_MIN) {
        return carm_fail(err, CARM_EINVAL, "%zu points are too few to fit a roofline: measure %d",
                         n, POINTS_MIN);
    }
    if (!(issue > 0.0)) {
        return carm_fail(err, CARM_EINVAL, "an issue rate of %g slots/s: it must be above zero",
                         issue);
    }
    for (size_t i = 0; i < n; i++) {
        const struct carm_ridge_point *p = &points[i];
        const double positive[] = {p->intensity, p->performance, p->sigma};
        static const char *const names[] = {"intensity", "performance", "sigma"};
        for (size_t j = 0; j < sizeof positive / sizeof *positive; j++) {
            if (!isfinite(positive[j]) || positive[j] <= 0.0) {
                return carm_fail(err, CARM_EINVAL,
                                 "%s of point %zu is %g: it must be finite and above zero",
                                 names[j], i, positive[j]);
            }
        }
        if (carm_ridge_has_issue(form) && (!isfinite(p->slots) || p->slots < 0.0)) {
            return carm_fail(err, CARM_EINVAL,
                             "issue slots of point %zu are %g: they must be finite and not "
                             "negative",
                             i, p->slots);
        }
    }
    return 0;
}

/* What the residuals at an estimate say about its errors. */
struct spread {
    size_t n;          /* points with weight: outliers count neither as points nor as knowledge */
    size_t k;          /* free parameters */
    double sigma;      /* s of s^2 (X'X)^-1 */
    double squares;    /* sum of robust weight times u^2 */
    double per_square; /* what one degree of freedom adds to squares */
    double t;          /* quantile of Student's t for 95% */
};

static double squares_of(const struct carm_ridge_data *d)
{
    double sum = 0.0;
    for (size_t i = 0; i < d->n; i++) {
        sum += d->robust[i] * d->u[i] * d->u[i];
    }
    return sum;
}

static int spread_of(const struct carm_ridge_data *d, const struct carm_ridge_state *s,
                     struct spread *out, struct carm_err *err)
{
    *out = (struct spread){.squares = squares_of(d)};
    double weights = 0.0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->robust[i] > 0.0) {
            d->scratch[out->n++] = d->u[i];
            weights += d->robust[i];
        }
    }
    for (size_t j = 0; j < CARM_RIDGE_PARAMS; j++) {
        out->k += s->free[j] ? 1 : 0;
    }
    if (out->n <= out->k) {
        return carm_fail(err, CARM_EINVAL,
                         "only %zu of %zu points agree with any roofline: repeat the measurement",
                         out->n, d->n);
    }
    out->sigma = carm_robust_sigma(d->scratch, out->n, out->k, s->scale);
    const double visible = fmax(out->sigma, carm_ridge_rounding);
    out->per_square = visible * visible * weights / (double)out->n;
    out->t = gsl_cdf_tdist_Pinv(0.975, (double)(out->n - out->k));
    return 0;
}

/* Covariance of the free parameters over sigma^2; false if the points do not determine them. */
static bool covariance_of(const struct carm_ridge_data *d, const struct carm_ridge_state *s,
                          double cov[CARM_RIDGE_PARAMS][CARM_RIDGE_PARAMS])
{
    double normal[CARM_RIDGE_PARAMS * CARM_RIDGE_PARAMS] = {0.0};
    size_t at[CARM_RIDGE_PARAMS] = {0};
    size_t k = 0;
    for (size_t j = 0; j < CARM_RIDGE_PARAMS; j++) {
        if (s->free[j]) {
            at[k++] = j;
        }
    }
    for (size_t i = 0; i < d->n; i++) {
        double derivative[CARM_RIDGE_PARAMS];
        carm_ridge_log(d, s->theta, i, derivative);
        for (size_t row = 0; d->robust[i] > 0.0 && row < k; row++) {
            for (size_t column = 0; column < k; column++) {
                normal[row * k + column] +=
                    d->weight[i] * derivative[at[row]] * derivative[at[column]];
            }
        }
    }
    gsl_matrix_view m = gsl_matrix_view_array(normal, k, k);
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    const bool regular = gsl_linalg_cholesky_decomp1(&m.matrix) == GSL_SUCCESS &&
                         gsl_linalg_cholesky_invert(&m.matrix) == GSL_SUCCESS;
    gsl_set_error_handler(handler);
    for (size_t row = 0; regular && row < k; row++) {
        for (size_t column = 0; column < k; column++) {
            cov[at[row]][at[column]] = normal[row * k + column];
        }
    }
    return regular;
}

/* Weighted squares of the best fit with theta[held] at a value, robust weights staying as they are;
 * s is left at that fit. A negative value says that memory ran out. */
static double squares_with(const struct carm_ridge_data *d, struct carm_ridge_state *s, size_t held,
                           double value, struct carm_err *err)
{
    s->theta[held] = value;
    s->free[held] = false;
    if (carm_ridge_solve(d, s, err)) {
        return -1.0;
    }
    carm_ridge_residuals(d, s->theta);
    return squares_of(d);
}

/* Whether the points tell a roof: two of them lie on its side of the ridge, and leaving it out fits
 * worse by more than noise does. */
static int check_roof(enum carm_ridge form, const struct carm_ridge_data *d,
                      const struct carm_ridge_state *s, const struct spread *spread, size_t roof,
                      struct carm_err *err)
{
    double sum2 = 0.0;
    double sum4 = 0.0;
    for (size_t i = 0; i < d->n; i++) {
        double derivative[CARM_RIDGE_PARAMS];
        carm_ridge_log(d, s->theta, i, derivative);
        const double hold = d->robust[i] > 0.0 ? derivative[roof] * derivative[roof] : 0.0;
        sum2 += hold;
        sum4 += hold * hold;
    }
    struct carm_ridge_state without = *s;
    /* without issue, one roof alone has no ridge to be rounded */
    without.free[CARM_RIDGE_Q] = s->free[CARM_RIDGE_Q] && carm_ridge_has_issue(form);
    const size_t fewer = s->free[CARM_RIDGE_Q] && !without.free[CARM_RIDGE_Q] ? 2 : 1;
    const double squares = squares_with(d, &without, roof, no_roof, err);
    carm_ridge_residuals(d, s->theta);
    if (squares < 0.0) {
        return -CARM_ENOMEM;
    }
    const double limit =
        (double)fewer * spread->per_square *
        gsl_cdf_fdist_Pinv(roof_level, (double)fewer, (double)(spread->n - spread->k));
    /* (sum h^2)^2 / sum h^4: the number of points that hold the roof, were they to hold it alike */
    if (sum2 * sum2 >= 2.0 * sum4 && sum4 > 0.0 && squares - spread->squares > limit) {
        return 0;
    }
    const char *others = carm_ridge_has_issue(form) ? "or issue binds " : "binds ";
    if (roof == CARM_RIDGE_BANDWIDTH) {
        return carm_fail(err, CARM_EINVAL,
                         "bandwidth cannot be told: the peak %stoo many of the points; add points "
                         "of lower intensity",
                         others);
    }
    return carm_fail(err, CARM_EINVAL,
                     "peak cannot be told: bandwidth %stoo many of the points; add points of "
                     "higher intensity",
                     others);
}

/* q between from, which fits best, and to, where the squares have risen by t^2 degrees of freedom;
 * to itself if they have not risen so far there. Their root rises almost linearly. NAN: no memory. */
static double profile_end(const struct carm_ridge_data *d, const struct carm_ridge_state *best,
                          const struct spread *spread, double from, double to, struct carm_err *err)
{
    double inner = from;
    double inner_rise = -spread->t;
    double outer = to;
    double outer_rise = 0.0;
    double q = to;
    int side = 0;
    for (int step = 0; step < ROOT_STEPS; step++) {
        struct carm_ridge_state s = *best;
        const double squares = squares_with(d, &s, CARM_RIDGE_Q, q, err);
        if (squares < 0.0) {
            return NAN;
        }
        const double rise =
            sqrt(fmax(squares - spread->squares, 0.0) / spread->per_square) - spread->t;
        if (step == 0 && rise <= 0.0) {
            return to;
        }
        if (fabs(rise) < 1e-3) {
            break;
        }
        /* regula falsi; an end that stays twice counts half (Illinois) */
        if (rise > 0.0) {
            outer = q;
            outer_rise = rise;
            inner_rise *= side > 0 ? 0.5 : 1.0;
            side = 1;
        } else {
            inner = q;
            inner_rise = rise;
            outer_rise *= side < 0 ? 0.5 : 1.0;
            side = -1;
        }
        q = (inner * outer_rise - outer * inner_rise) / (outer_rise - inner_rise);
    }
    return q;
}

/* The fit itself: the best of several starts, brought back into 0 <= q <= 1. */
static int fit(enum carm_ridge form, const struct carm_ridge_data *d, struct carm_ridge_state *best,
               struct carm_err *err)
{
    static const double sharpness[] = {0.1, 0.35, 0.8};
    enum { STARTS = sizeof sharpness / sizeof *sharpness };
    const bool rounded = carm_ridge_is_rounded(form);
    struct carm_ridge_state start = {.free = {true, true, rounded}};
    int rc = carm_ridge_start(d, start.theta, err);
    double least = INFINITY;
    for (size_t i = 0; rc == 0 && i < (rounded ? (size_t)STARTS : 1); i++) {
        struct carm_ridge_state s = start;
        s.theta[CARM_RIDGE_Q] = rounded ? sharpness[i] : 0.0;
        rc = carm_ridge_solve_robust(d, &s, err);
        const double deviance = carm_robust_deviance(d->u, d->n, carm_ridge_rounding);
        if (rc == 0 && (i == 0 || deviance < least)) {
            least = deviance;
            *best = s;
        }
    }
    if (rc || !rounded) {
        return rc;
    }
    /* The bounds are fitted from the start too: an estimate outside of them may have roofs far off,
     * and the sharp one is then the very fit of the sharp form. */
    start.free[CARM_RIDGE_Q] = false;
    struct carm_ridge_state sharp = start;
    rc = carm_ridge_solve_robust(d, &sharp, err);
    if (rc) {
        return rc;
    }
    if (best->theta[CARM_RIDGE_Q] <= 0.0 ||
        carm_robust_deviance(d->u, d->n, carm_ridge_rounding) <= least + no_rounding) {
        *best = sharp;
    } else if (best->theta[CARM_RIDGE_Q] > 1.0) {
        *best = start;
        best->theta[CARM_RIDGE_Q] = 1.0;
        rc = carm_ridge_solve_robust(d, best, err);
    }
    carm_ridge_weigh(d, best);
    return rc;
}

static struct carm_estimate of_log(double value, double se, double t)
{
    const double v = exp(value);
    return (struct carm_estimate){v, v * se, exp(value - t * se), exp(value + t * se)};
}

static int estimate_p(const struct carm_ridge_data *d, const struct carm_ridge_state *s,
                      const struct spread *spread, struct carm_estimate *p, struct carm_err *err)
{
    const double q = s->theta[CARM_RIDGE_Q];
    const double q_hi = profile_end(d, s, spread, q, 1.0, err);
    const double q_lo = q > 0.0 ? profile_end(d, s, spread, q, 0.0, err) : 0.0;
    carm_ridge_residuals(d, s->theta);
    if (isnan(q_hi) || isnan(q_lo)) {
        return -CARM_ENOMEM;
    }
    double se = INFINITY;
    struct carm_ridge_state all = *s;
    all.free[CARM_RIDGE_Q] = true;
    double cov[CARM_RIDGE_PARAMS][CARM_RIDGE_PARAMS];
    if (q > 0.0 && covariance_of(d, &all, cov)) {
        se = spread->sigma * sqrt(cov[CARM_RIDGE_Q][CARM_RIDGE_Q]);
    }
    /* 1 / 0 = INFINITY is meant: sharp */
    *p = (struct carm_estimate){1.0 / q, q > 0.0 ? se / (q * q) : INFINITY, 1.0 / q_hi, 1.0 / q_lo};
    return 0;
}

int carm_ridge_fit(enum carm_ridge form, const struct carm_ridge_point *points, size_t n,
                   double issue, struct carm_ridge_fit *out, struct carm_err *err)
{
    int rc = check(form, points, n, issue, err);
    if (rc) {
        return rc;
    }
    struct carm_ridge_data d = {0};
    struct carm_ridge_state s;
    struct spread spread;
    rc = carm_ridge_data_open(&d, form, points, n, issue, err);
    if (rc == 0) {
        rc = fit(form, &d, &s, err);
    }
    if (rc == 0) {
        rc = spread_of(&d, &s, &spread, err);
    }
    if (rc == 0) {
        rc = check_roof(form, &d, &s, &spread, CARM_RIDGE_BANDWIDTH, err);
    }
    if (rc == 0) {
        rc = check_roof(form, &d, &s, &spread, CARM_RIDGE_PEAK, err);
    }
    struct carm_estimate p = {INFINITY, 0.0, INFINITY, INFINITY};
    if (rc == 0 && carm_ridge_is_rounded(form)) {
        rc = estimate_p(&d, &s, &spread, &p, err);
    }
    double cov[CARM_RIDGE_PARAMS][CARM_RIDGE_PARAMS];
    bool regular = rc == 0 && covariance_of(&d, &s, cov);
    if (rc == 0 && !regular && s.free[CARM_RIDGE_Q]) {
        /* a ridge too narrow for any point to lie in it */
        s.free[CARM_RIDGE_Q] = false;
        regular = covariance_of(&d, &s, cov);
    }
    if (rc == 0 && !regular) {
        rc = carm_fail(err, CARM_EINVAL,
                       "the %zu points do not tell the two roofs apart: spread their intensities",
                       n);
    }
    if (rc) {
        goto out;
    }
    enum { B = CARM_RIDGE_BANDWIDTH, F = CARM_RIDGE_PEAK };
    /* the scale of the residuals is a parameter too */
    const double k = carm_ridge_is_rounded(form) ? 4.0 : 3.0;
    *out = (struct carm_ridge_fit){
        .form = form,
        .n = n,
        .bandwidth = of_log(s.theta[B], spread.sigma * sqrt(cov[B][B]), spread.t),
        .peak = of_log(s.theta[F], spread.sigma * sqrt(cov[F][F]), spread.t),
        .p = p,
        .correlation = cov[B][F] / sqrt(cov[B][B] * cov[F][F]),
        .aicc = carm_robust_deviance(d.u, n, carm_ridge_rounding) + 2.0 * k +
                2.0 * k * (k + 1.0) / ((double)n - k - 1.0),
        .issue = issue,
    };
    out->at = (struct carm_ridge_params){out->bandwidth.value, out->peak.value, p.value, issue};
out:
    carm_ridge_data_close(&d);
    return rc;
}

int carm_ridge_cross_validate(enum carm_ridge form, const struct carm_ridge_point *points, size_t n,
                              double issue, double *predicted, struct carm_err *err)
{
    if (n < 2 * (size_t)POINTS_MIN) {
        return carm_fail(err, CARM_EINVAL,
                         "cross validation fits each half of the points: measure %d, not %zu",
                         2 * POINTS_MIN, n);
    }
    struct carm_ridge_fit fits[2];
    struct carm_ridge_point *half = calloc(n - n / 2, sizeof *half);
    if (!half) {
        return carm_fail(err, CARM_ENOMEM, "no memory to fit %zu points", n);
    }
    int rc = 0;
    for (size_t parity = 0; rc == 0 && parity < 2; parity++) {
        size_t count = 0;
        for (size_t i = parity; i < n; i += 2) {
            half[count++] = points[i];
        }
        rc = carm_ridge_fit(form, half, count, issue, &fits[parity], err);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        predicted[i] =
            carm_ridge_eval(form, &fits[1 - i % 2].at, points[i].intensity, points[i].slots);
    }
    free(half);
    return rc;
}
