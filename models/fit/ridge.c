/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fit/ridge.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "models/fit/robust.h"

/* Parameters of a fit. Sharpness enters as q = 1 / p: the height of a rounded ridge under the sharp
 * one is q log 2, so errors of q are near to normal, and q = 0 is the sharp form itself. For q < 0
 * the ridge lies above the sharp ridge, by as much as it lies below for |q|, so that an estimate is
 * regular if the true q is 0; the caller turns such a result into the sharp form. */
enum { RIDGE_BANDWIDTH, RIDGE_PEAK, RIDGE_Q, RIDGE_PARAMS };

/* The points of a fit. All arrays are [n]. */
struct data {
    size_t n;
    double *x;       /* log intensity */
    double *y;       /* log performance */
    double *cap;     /* log performance that issue allows; INFINITY = no limit */
    double *weight;  /* 1 / sigma^2, mean 1 */
    double *robust;  /* out: bisquare weight, 0 to 1 */
    double *u;       /* out: residual times sqrt(weight) */
    double *scratch; /* [2 n] */
};

/* An estimate on the log scale. */
struct state {
    double theta[RIDGE_PARAMS]; /* log bandwidth, log peak, q */
    bool free[RIDGE_PARAMS];    /* parameters that are fitted */
    double scale;               /* of u */
};

enum {
    SPLITS_MAX = 32,
    LM_ITERATIONS = 100,
    PASS_ITERATIONS = 3,
    HUBER_PASSES = 4,
    SCALE_PASSES = 10,
    PASSES = 100
};

/* Smallest scale of residuals, so that points without noise can be fitted: log performance of 1e12
 * has rounding errors of 1e-14. */
static const double rounding = 1e-10;

/* Passes end once no parameter moves by more than this share of the residuals' scale: a thousandth
 * of a standard error, or less. */
static const double settled = 1e-4;

static bool is_rounded(enum carm_ridge form)
{
    return form == CARM_RIDGE_ROUNDED || form == CARM_RIDGE_ROUNDED_ISSUE;
}

static bool has_issue(enum carm_ridge form)
{
    return form == CARM_RIDGE_ISSUE || form == CARM_RIDGE_ROUNDED_ISSUE;
}

const char *carm_ridge_name(enum carm_ridge form)
{
    static const char *const names[CARM_RIDGE_COUNT] = {
        [CARM_RIDGE_SHARP] = "sharp",
        [CARM_RIDGE_ROUNDED] = "rounded",
        [CARM_RIDGE_ISSUE] = "issue",
        [CARM_RIDGE_ROUNDED_ISSUE] = "rounded+issue",
    };
    return (unsigned)form < CARM_RIDGE_COUNT ? names[form] : "?";
}

double carm_ridge_eval(enum carm_ridge form, const struct carm_ridge_params *params,
                       double intensity, double slots)
{
    const double memory = params->bandwidth * intensity;
    const double issue = has_issue(form) && slots > 0.0 ? params->issue / slots : INFINITY;
    const double lowest = fmin(fmin(memory, params->peak), issue);
    if (!is_rounded(form) || isinf(params->p)) {
        return lowest;
    }
    /* relative to the longest time, so that no power overflows */
    const double sum = pow(lowest / memory, params->p) + pow(lowest / params->peak, params->p) +
                       pow(lowest / issue, params->p);
    return lowest * pow(sum, -1.0 / params->p);
}

/* Log performance of point i, and its derivative by each parameter (NULL allowed). */
static double log_performance(const struct data *d, const double *theta, size_t i,
                              double derivative[RIDGE_PARAMS])
{
    /* each roof alone */
    const double term[] = {theta[RIDGE_BANDWIDTH] + d->x[i], theta[RIDGE_PEAK], d->cap[i]};
    enum { TERMS = sizeof term / sizeof *term };
    size_t lowest = 0;
    for (size_t j = 1; j < TERMS; j++) {
        lowest = term[j] < term[lowest] ? j : lowest;
    }
    const double width = fabs(theta[RIDGE_Q]);
    double part[TERMS] = {0.0}; /* (T / Tlongest)^p */
    double sum = 0.0;
    double moment = 0.0;
    for (size_t j = 0; j < TERMS; j++) {
        const double distance = j == lowest ? 0.0 : (term[j] - term[lowest]) / width;
        /* two roofs that meet exactly: 0 / 0 in the sharp form counts as a distance */
        part[j] = j == lowest ? 1.0 : (distance >= 0.0 ? exp(-distance) : 0.0);
        sum += part[j];
        moment += part[j] > 0.0 ? part[j] * distance : 0.0;
    }
    const double log_sum = log(sum);
    if (derivative) {
        const double sign = theta[RIDGE_Q] < 0.0 ? -1.0 : 1.0;
        for (size_t j = 0; j < RIDGE_Q; j++) {
            const double own = j == lowest ? 1.0 : 0.0;
            derivative[j] = own + sign * (part[j] / sum - own);
        }
        derivative[RIDGE_Q] = -log_sum - moment / sum;
    }
    return term[lowest] - theta[RIDGE_Q] * log_sum;
}

/* Copies n > 0 points of checked values; returns 0 or -CARM_ENOMEM. close accepts zeros. */
static int data_open(struct data *d, enum carm_ridge form, const struct carm_ridge_point *points,
                     size_t n, double issue, struct carm_err *err)
{
    enum { ARRAYS = 8 };
    double *numbers = calloc(ARRAYS * n, sizeof *numbers);
    *d = (struct data){.n = n, .x = numbers};
    if (!numbers) {
        (void)carm_fail(err, CARM_ENOMEM, "no memory to fit %zu points", n);
        return -CARM_ENOMEM;
    }
    d->y = numbers + n;
    d->cap = numbers + 2 * n;
    d->weight = numbers + 3 * n;
    d->robust = numbers + 4 * n;
    d->u = numbers + 5 * n;
    d->scratch = numbers + 6 * n; /* 2 n */
    double smallest = INFINITY;
    for (size_t i = 0; i < n; i++) {
        smallest = fmin(smallest, points[i].sigma);
    }
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        const struct carm_ridge_point *p = &points[i];
        const bool limited = has_issue(form) && p->slots > 0.0;
        const double ratio = smallest / p->sigma; /* divided first, so that no square overflows */
        d->x[i] = log(p->intensity);
        d->y[i] = log(p->performance);
        d->cap[i] = limited ? log(issue) - log(p->slots) : INFINITY;
        d->weight[i] = ratio * ratio;
        d->robust[i] = 1.0;
        sum += d->weight[i];
    }
    for (size_t i = 0; i < n; i++) {
        d->weight[i] *= (double)n / sum;
    }
    return 0;
}

static void data_close(struct data *d)
{
    free(d->x);
    *d = (struct data){0};
}

/* Fills d->u. */
static void fill_residuals(const struct data *d, const double *theta)
{
    for (size_t i = 0; i < d->n; i++) {
        d->u[i] = sqrt(d->weight[i]) * (log_performance(d, theta, i, NULL) - d->y[i]);
    }
}

static double quantile_of(double *values, size_t n, double share)
{
    gsl_sort(values, 1, n);
    return gsl_stats_quantile_from_sorted_data(values, 1, n, share);
}

/* Fills d->u and d->robust for an estimate and its scale. */
static void weigh(const struct data *d, const struct state *s)
{
    fill_residuals(d, s->theta);
    for (size_t i = 0; i < d->n; i++) {
        d->robust[i] = carm_robust_weight(d->u[i] / s->scale);
    }
}

/* The least sum of absolute residuals: not sensitive to outliers and local minima. The upper quantile is for sides most
 * of whose points are bound by issue. */
/* Starting values of theta for a robust fit of d's form, q = 0: tries each split of the points by
 * intensity into a memory side and a compute side, with a quantile of P / I and of P as the roofs.
 * Overwrites d->u. returns 0 or -CARM_ENOMEM */
static int find_start(const struct data *d, double theta[RIDGE_PARAMS], struct carm_err *err)
{
    /* quantiles taken as roofs: the median, and a high one for points below their roof */
    static const double shares[] = {0.5, 0.9};
    enum { SHARES = sizeof shares / sizeof *shares };
    size_t *order = calloc(d->n, sizeof *order);
    if (!order) {
        return carm_fail(err, CARM_ENOMEM, "no memory to fit %zu points", d->n);
    }
    gsl_sort_index(order, d->x, 1, d->n);
    double least = INFINITY;
    const size_t step = (d->n + SPLITS_MAX - 1) / SPLITS_MAX;
    for (size_t split = 1; split < d->n; split += step) {
        for (size_t i = 0; i < d->n; i++) {
            const size_t at = order[i];
            d->scratch[i] = i < split ? d->y[at] - d->x[at] : d->y[at];
        }
        for (size_t j = 0; j < (size_t)SHARES * SHARES; j++) {
            const double trial[RIDGE_PARAMS] = {
                [RIDGE_BANDWIDTH] = quantile_of(d->scratch, split, shares[j / SHARES]),
                [RIDGE_PEAK] = quantile_of(d->scratch + split, d->n - split, shares[j % SHARES]),
            };
            double sum = 0.0;
            fill_residuals(d, trial);
            for (size_t i = 0; i < d->n; i++) {
                sum += fabs(d->u[i]);
            }
            if (sum < least) {
                least = sum;
                theta[RIDGE_BANDWIDTH] = trial[RIDGE_BANDWIDTH];
                theta[RIDGE_PEAK] = trial[RIDGE_PEAK];
            }
        }
    }
    free(order);
    return 0;
}

/* Arguments of GSL's callbacks: the free parameters are the elements of its vector, in order. */
struct problem {
    const struct data *d;
    const struct state *s;
};

static void unpack(const struct problem *p, const gsl_vector *v, double theta[RIDGE_PARAMS])
{
    size_t column = 0;
    for (size_t j = 0; j < RIDGE_PARAMS; j++) {
        theta[j] = p->s->free[j] ? gsl_vector_get(v, column++) : p->s->theta[j];
    }
}

static int residual_of(const gsl_vector *v, void *context, gsl_vector *f)
{
    const struct problem *p = context;
    double theta[RIDGE_PARAMS];
    unpack(p, v, theta);
    for (size_t i = 0; i < p->d->n; i++) {
        gsl_vector_set(f, i, log_performance(p->d, theta, i, NULL) - p->d->y[i]);
    }
    return GSL_SUCCESS;
}

static int jacobian_of(const gsl_vector *v, void *context, gsl_matrix *jacobian)
{
    const struct problem *p = context;
    double theta[RIDGE_PARAMS];
    unpack(p, v, theta);
    for (size_t i = 0; i < p->d->n; i++) {
        double derivative[RIDGE_PARAMS];
        log_performance(p->d, theta, i, derivative);
        size_t column = 0;
        for (size_t j = 0; j < RIDGE_PARAMS; j++) {
            if (p->s->free[j]) {
                gsl_matrix_set(jacobian, i, column++, derivative[j]);
            }
        }
    }
    return GSL_SUCCESS;
}

/* One least squares fit with weights weight[i] * robust[i], by Levenberg-Marquardt from s->theta.
 * returns 0 or -CARM_ENOMEM */
static int solve(const struct data *d, struct state *s, size_t iterations, struct carm_err *err)
{
    const size_t k = (size_t)s->free[0] + (size_t)s->free[1] + (size_t)s->free[2];
    struct problem problem = {d, s};
    gsl_multifit_nlinear_fdf fdf = {
        .f = residual_of, .df = jacobian_of, .n = d->n, .p = k, .params = &problem};
    const gsl_multifit_nlinear_parameters params = gsl_multifit_nlinear_default_parameters();
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_multifit_nlinear_workspace *w =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &params, d->n, k);
    gsl_vector *weight = gsl_vector_alloc(d->n);
    int rc = 0;
    if (!w || !weight) {
        rc = carm_fail(err, CARM_ENOMEM, "no memory to fit %zu points", d->n);
        goto out;
    }
    double start[RIDGE_PARAMS];
    size_t column = 0;
    for (size_t j = 0; j < RIDGE_PARAMS; j++) {
        if (s->free[j]) {
            start[column++] = s->theta[j];
        }
    }
    for (size_t i = 0; i < d->n; i++) {
        gsl_vector_set(weight, i, d->weight[i] * d->robust[i]);
    }
    gsl_vector_view first = gsl_vector_view_array(start, k);
    gsl_multifit_nlinear_winit(&first.vector, weight, &fdf, w);
    /* Its status is ignored: "no progress" and "too many iterations" both leave the best
     * parameters so far, a step from there on is less than the noise, and the caller judges the
     * result by its residuals. */
    int why = 0;
    gsl_multifit_nlinear_driver(iterations, 1e-9, 1e-12, 0.0, NULL, NULL, &why, w);
    unpack(&problem, gsl_multifit_nlinear_position(w), s->theta);
out:
    gsl_vector_free(weight);
    gsl_multifit_nlinear_free(w);
    gsl_set_error_handler(handler);
    return rc;
}

/* Repeats solve with bisquare weights until it settles; fills d->robust, d->u, s->scale.
 * returns 0 or -CARM_ENOMEM */
static int solve_robust(const struct data *d, struct state *s, struct carm_err *err)
{
    const size_t k = (size_t)s->free[0] + (size_t)s->free[1] + (size_t)s->free[2];
    for (int pass = 0; pass < PASSES; pass++) {
        fill_residuals(d, s->theta);
        /* A scale that always follows the residuals may make the passes cycle. With a fixed scale, each pass lowers the
         * same sum. */
        if (pass < SCALE_PASSES) {
            s->scale = fmax(carm_robust_scale(d->u, d->n, k, d->scratch), rounding);
        }
        for (size_t i = 0; i < d->n; i++) {
            const double z = d->u[i] / s->scale;
            /* The first passes use absolute residuals, whose sum has no local minimum in which the
             * bisquare would stay. */
            d->robust[i] = pass < HUBER_PASSES ? 1.0 / fmax(1.0, fabs(z)) : carm_robust_weight(z);
        }
        const struct state before = *s;
        /* the next pass continues from this result */
        const int rc = solve(d, s, PASS_ITERATIONS, err);
        if (rc) {
            return rc;
        }
        double moved = 0.0;
        for (size_t j = 0; j < RIDGE_PARAMS; j++) {
            moved = fmax(moved, fabs(s->theta[j] - before.theta[j]));
        }
        if (pass >= HUBER_PASSES && moved <= settled * s->scale) {
            break;
        }
    }
    weigh(d, s);
    return 0;
}

/* ---- a fit and its errors ---- */

enum { POINTS_MIN = 6, ROOT_STEPS = 40 };

/* Log bandwidth or peak of a roof that is too high to matter. */
static const double no_roof = 1e4;
/* Level of the test that a form with both roofs fits better than without one of them. If not, that
 * roof is not determined. A roof that no point reaches passes in one of 1000 sets of points. */
static const double roof_level = 0.999;
/* A rounding that lowers the deviance by less than this counts as no rounding: the points do not
 * determine the parameter. */
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
        if (has_issue(form) && (!isfinite(p->slots) || p->slots < 0.0)) {
            return carm_fail(err, CARM_EINVAL,
                             "issue slots of point %zu are %g: they must be finite and not "
                             "negative",
                             i, p->slots);
        }
    }
    return 0;
}

/* Error estimates from the residuals at an estimate. */
struct spread {
    size_t n;          /* points with weight: outliers do not count */
    size_t k;          /* free parameters */
    double sigma;      /* s of s^2 (X'X)^-1 */
    double squares;    /* sum of robust weight times u^2 */
    double per_square; /* increase of the squares for one degree of freedom */
    double t;          /* quantile of Student's t for 95% */
};

static double squares_of(const struct data *d)
{
    double sum = 0.0;
    for (size_t i = 0; i < d->n; i++) {
        sum += d->robust[i] * d->u[i] * d->u[i];
    }
    return sum;
}

static int spread_of(const struct data *d, const struct state *s, struct spread *out,
                     struct carm_err *err)
{
    *out = (struct spread){.squares = squares_of(d)};
    double weights = 0.0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->robust[i] > 0.0) {
            d->scratch[out->n++] = d->u[i];
            weights += d->robust[i];
        }
    }
    for (size_t j = 0; j < RIDGE_PARAMS; j++) {
        out->k += s->free[j] ? 1 : 0;
    }
    if (out->n <= out->k) {
        return carm_fail(err, CARM_EINVAL,
                         "only %zu of %zu points agree with any roofline: repeat the measurement",
                         out->n, d->n);
    }
    out->sigma = carm_robust_sigma(d->scratch, out->n, out->k, s->scale);
    const double visible = fmax(out->sigma, rounding);
    out->per_square = visible * visible * weights / (double)out->n;
    out->t = gsl_cdf_tdist_Pinv(0.975, (double)(out->n - out->k));
    return 0;
}

/* Covariance of the free parameters over sigma^2, both roofs included; false if the points do not determine them. */
static bool covariance_of(const struct data *d, const struct state *s,
                          double cov[RIDGE_PARAMS][RIDGE_PARAMS])
{
    double normal[RIDGE_PARAMS * RIDGE_PARAMS] = {0.0};
    const size_t k = s->free[RIDGE_Q] ? RIDGE_PARAMS : RIDGE_Q;
    assert(s->free[RIDGE_BANDWIDTH] && s->free[RIDGE_PEAK]);
    for (size_t i = 0; i < d->n; i++) {
        double derivative[RIDGE_PARAMS];
        log_performance(d, s->theta, i, derivative);
        for (size_t row = 0; d->robust[i] > 0.0 && row < k; row++) {
            for (size_t column = 0; column < k; column++) {
                normal[row * k + column] += d->weight[i] * derivative[row] * derivative[column];
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
            cov[row][column] = normal[row * k + column];
        }
    }
    return regular;
}

/* Weighted squares of the best fit with theta[held] at a value and unchanged robust weights; s has
 * this fit afterwards.
 * returns a negative value when memory ran out */
static double squares_with(const struct data *d, struct state *s, size_t held, double value,
                           struct carm_err *err)
{
    s->theta[held] = value;
    s->free[held] = false;
    if (solve(d, s, LM_ITERATIONS, err)) {
        return -1.0;
    }
    fill_residuals(d, s->theta);
    return squares_of(d);
}

/* Whether the points determine a roof: two of them lie on its side of the ridge, and a fit
 * without the roof is worse by more than noise. */
static int check_roof(enum carm_ridge form, const struct data *d, const struct state *s,
                      const struct spread *spread, size_t roof, struct carm_err *err)
{
    double sum2 = 0.0;
    double sum4 = 0.0;
    for (size_t i = 0; i < d->n; i++) {
        double derivative[RIDGE_PARAMS];
        log_performance(d, s->theta, i, derivative);
        const double hold = d->robust[i] > 0.0 ? derivative[roof] * derivative[roof] : 0.0;
        sum2 += hold;
        sum4 += hold * hold;
    }
    struct state without = *s;
    /* without issue, a single roof has no ridge to round */
    without.free[RIDGE_Q] = s->free[RIDGE_Q] && has_issue(form);
    const size_t fewer = s->free[RIDGE_Q] && !without.free[RIDGE_Q] ? 2 : 1;
    const double squares = squares_with(d, &without, roof, no_roof, err);
    fill_residuals(d, s->theta);
    if (squares < 0.0) {
        return -CARM_ENOMEM;
    }
    const double limit =
        (double)fewer * spread->per_square *
        gsl_cdf_fdist_Pinv(roof_level, (double)fewer, (double)(spread->n - spread->k));
    /* (sum h^2)^2 / sum h^4: effective number of points that determine the roof */
    if (sum2 * sum2 >= 2.0 * sum4 && sum4 > 0.0 && squares - spread->squares > limit) {
        return 0;
    }
    const char *others = has_issue(form) ? "or issue limits " : "limits ";
    if (roof == RIDGE_BANDWIDTH) {
        return carm_fail(
            err, CARM_EINVAL,
            "bandwidth cannot be estimated: the peak %stoo many of the points; add points "
            "of lower intensity",
            others);
    }
    return carm_fail(err, CARM_EINVAL,
                     "peak cannot be estimated: bandwidth %stoo many of the points; add points of "
                     "higher intensity",
                     others);
}

/* The q between `from` (the best fit) and `to` at which the squares have risen by t^2 degrees of freedom; `to` if they
 * have not. The root of the rise is almost linear in q. NAN: no memory. */
static double profile_end(const struct data *d, const struct state *best,
                          const struct spread *spread, double from, double to, struct carm_err *err)
{
    double inner = from;
    double inner_rise = -spread->t;
    double outer = to;
    double outer_rise = 0.0;
    double q = to;
    int side = 0;
    for (int step = 0; step < ROOT_STEPS; step++) {
        struct state s = *best;
        const double squares = squares_with(d, &s, RIDGE_Q, q, err);
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
        /* regula falsi; the value at an end that stays twice is halved (Illinois) */
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
static int fit(enum carm_ridge form, const struct data *d, struct state *best, struct carm_err *err)
{
    /* starts for q, spread over its range 0 .. 1 by hand: the best of the three fits counts */
    static const double sharpness[] = {0.1, 0.35, 0.8};
    enum { STARTS = sizeof sharpness / sizeof *sharpness };
    const bool rounded = is_rounded(form);
    struct state start = {.free = {true, true, rounded}};
    int rc = find_start(d, start.theta, err);
    double least = INFINITY;
    for (size_t i = 0; rc == 0 && i < (rounded ? (size_t)STARTS : 1); i++) {
        struct state s = start;
        s.theta[RIDGE_Q] = rounded ? sharpness[i] : 0.0;
        rc = solve_robust(d, &s, err);
        const double deviance = carm_robust_deviance(d->u, d->n, rounding);
        if (rc == 0 && (i == 0 || deviance < least)) {
            least = deviance;
            *best = s;
        }
    }
    if (rc || !rounded) {
        return rc;
    }
    /* The fits at the bounds start here, too: an estimate outside of the bounds may have roofs
     * far off; at the sharp bound, the fit equals the sharp form's. */
    start.free[RIDGE_Q] = false;
    struct state sharp = start;
    rc = solve_robust(d, &sharp, err);
    if (rc) {
        return rc;
    }
    if (best->theta[RIDGE_Q] <= 0.0 ||
        carm_robust_deviance(d->u, d->n, rounding) <= least + no_rounding) {
        *best = sharp;
    } else if (best->theta[RIDGE_Q] > 1.0) {
        *best = start;
        best->theta[RIDGE_Q] = 1.0;
        rc = solve_robust(d, best, err);
    }
    weigh(d, best);
    return rc;
}

static struct carm_estimate of_log(double value, double se, double t)
{
    const double v = exp(value);
    return (struct carm_estimate){v, v * se, exp(value - t * se), exp(value + t * se)};
}

static int estimate_p(const struct data *d, const struct state *s, const struct spread *spread,
                      struct carm_estimate *p, struct carm_err *err)
{
    const double q = s->theta[RIDGE_Q];
    const double q_hi = profile_end(d, s, spread, q, 1.0, err);
    const double q_lo = q > 0.0 ? profile_end(d, s, spread, q, 0.0, err) : 0.0;
    fill_residuals(d, s->theta);
    if (isnan(q_hi) || isnan(q_lo)) {
        return -CARM_ENOMEM;
    }
    double se = INFINITY;
    struct state all = *s;
    all.free[RIDGE_Q] = true;
    double cov[RIDGE_PARAMS][RIDGE_PARAMS];
    if (q > 0.0 && covariance_of(d, &all, cov)) {
        se = spread->sigma * sqrt(cov[RIDGE_Q][RIDGE_Q]);
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
    struct data d = {0};
    struct state s;
    struct spread spread;
    rc = data_open(&d, form, points, n, issue, err);
    if (rc == 0) {
        rc = fit(form, &d, &s, err);
    }
    if (rc == 0) {
        rc = spread_of(&d, &s, &spread, err);
    }
    if (rc == 0) {
        rc = check_roof(form, &d, &s, &spread, RIDGE_BANDWIDTH, err);
    }
    if (rc == 0) {
        rc = check_roof(form, &d, &s, &spread, RIDGE_PEAK, err);
    }
    struct carm_estimate p = {INFINITY, 0.0, INFINITY, INFINITY};
    if (rc == 0 && is_rounded(form)) {
        rc = estimate_p(&d, &s, &spread, &p, err);
    }
    double cov[RIDGE_PARAMS][RIDGE_PARAMS];
    bool regular = rc == 0 && covariance_of(&d, &s, cov);
    if (rc == 0 && !regular && s.free[RIDGE_Q]) {
        /* no point lies in so narrow a ridge */
        s.free[RIDGE_Q] = false;
        regular = covariance_of(&d, &s, cov);
    }
    if (rc == 0 && !regular) {
        rc = carm_fail(err, CARM_EINVAL,
                       "the %zu points do not separate the two roofs: spread their intensities", n);
    }
    if (rc) {
        goto out;
    }
    enum { B = RIDGE_BANDWIDTH, F = RIDGE_PEAK };
    /* the scale of the residuals is a parameter too */
    const double k = is_rounded(form) ? 4.0 : 3.0;
    *out = (struct carm_ridge_fit){
        .form = form,
        .n = n,
        .bandwidth = of_log(s.theta[B], spread.sigma * sqrt(cov[B][B]), spread.t),
        .peak = of_log(s.theta[F], spread.sigma * sqrt(cov[F][F]), spread.t),
        .p = p,
        .correlation = cov[B][F] / sqrt(cov[B][B] * cov[F][F]),
        .aicc = carm_robust_deviance(d.u, n, rounding) + 2.0 * k +
                2.0 * k * (k + 1.0) / ((double)n - k - 1.0),
        .issue = issue,
    };
    out->at = (struct carm_ridge_params){out->bandwidth.value, out->peak.value, p.value, issue};
out:
    data_close(&d);
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
