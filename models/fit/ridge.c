/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fit/ridge.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "models/fit/robust.h"

enum {
    SPLITS_MAX = 32,
    LM_ITERATIONS = 100,
    PASS_ITERATIONS = 3,
    HUBER_PASSES = 4,
    SCALE_PASSES = 10,
    PASSES = 100
};

const double carm_ridge_rounding = 1e-10;

/* Passes end once no parameter moves by more than this share of the residuals' scale: a thousandth
 * of a standard error, or less. */
static const double settled = 1e-4;

bool carm_ridge_is_rounded(enum carm_ridge form)
{
    return form == CARM_RIDGE_ROUNDED || form == CARM_RIDGE_ROUNDED_ISSUE;
}

bool carm_ridge_has_issue(enum carm_ridge form)
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
    const double issue =
        carm_ridge_has_issue(form) && slots > 0.0 ? params->issue / slots : INFINITY;
    const double lowest = fmin(fmin(memory, params->peak), issue);
    if (!carm_ridge_is_rounded(form) || isinf(params->p)) {
        return lowest;
    }
    /* relative to the longest time, so that no power overflows */
    const double sum = pow(lowest / memory, params->p) + pow(lowest / params->peak, params->p) +
                       pow(lowest / issue, params->p);
    return lowest * pow(sum, -1.0 / params->p);
}

double carm_ridge_log(const struct carm_ridge_data *d, const double *theta, size_t i,
                      double derivative[CARM_RIDGE_PARAMS])
{
    /* each roof alone */
    const double term[] = {theta[CARM_RIDGE_BANDWIDTH] + d->x[i], theta[CARM_RIDGE_PEAK],
                           d->cap[i]};
    enum { TERMS = sizeof term / sizeof *term };
    size_t lowest = 0;
    for (size_t j = 1; j < TERMS; j++) {
        lowest = term[j] < term[lowest] ? j : lowest;
    }
    const double width = fabs(theta[CARM_RIDGE_Q]);
    double part[TERMS] = {0.0}; /* (T / Tlongest)^p */
    double sum = 0.0;
    double moment = 0.0;
    for (size_t j = 0; j < TERMS; j++) {
        const double distance = j == lowest ? 0.0 : (term[j] - term[lowest]) / width;
        /* two roofs that meet exactly share nothing in the sharp form: 0 / 0 counts as apart */
        part[j] = j == lowest ? 1.0 : (distance >= 0.0 ? exp(-distance) : 0.0);
        sum += part[j];
        moment += part[j] > 0.0 ? part[j] * distance : 0.0;
    }
    const double log_sum = log(sum);
    if (derivative) {
        const double sign = theta[CARM_RIDGE_Q] < 0.0 ? -1.0 : 1.0;
        for (size_t j = 0; j < CARM_RIDGE_Q; j++) {
            const double own = j == lowest ? 1.0 : 0.0;
            derivative[j] = own + sign * (part[j] / sum - own);
        }
        derivative[CARM_RIDGE_Q] = -log_sum - moment / sum;
    }
    return term[lowest] - theta[CARM_RIDGE_Q] * log_sum;
}

int carm_ridge_data_open(struct carm_ridge_data *d, enum carm_ridge form,
                         const struct carm_ridge_point *points, size_t n, double issue,
                         struct carm_err *err)
{
    enum { ARRAYS = 8 };
    double *numbers = calloc(ARRAYS * n, sizeof *numbers);
    *d = (struct carm_ridge_data){.n = n, .x = numbers};
    if (!numbers) {
        return carm_fail(err, CARM_ENOMEM, "no memory to fit %zu points", n);
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
        const bool limited = carm_ridge_has_issue(form) && p->slots > 0.0;
        const double ratio = smallest / p->sigma; /* first, so that no square overflows */
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

void carm_ridge_data_close(struct carm_ridge_data *d)
{
    free(d->x);
    *d = (struct carm_ridge_data){0};
}

void carm_ridge_residuals(const struct carm_ridge_data *d, const double *theta)
{
    for (size_t i = 0; i < d->n; i++) {
        d->u[i] = sqrt(d->weight[i]) * (carm_ridge_log(d, theta, i, NULL) - d->y[i]);
    }
}

static double quantile_of(double *values, size_t n, double share)
{
    gsl_sort(values, 1, n);
    return gsl_stats_quantile_from_sorted_data(values, 1, n, share);
}

void carm_ridge_weigh(const struct carm_ridge_data *d, const struct carm_ridge_state *s)
{
    carm_ridge_residuals(d, s->theta);
    for (size_t i = 0; i < d->n; i++) {
        d->robust[i] = carm_robust_weight(d->u[i] / s->scale);
    }
}

/* The least sum of absolute residuals: neither an outlier nor a local minimum misleads it. The upper
 * quantile is for sides most of whose points are bound by issue. */
int carm_ridge_start(const struct carm_ridge_data *d, double theta[CARM_RIDGE_PARAMS],
                     struct carm_err *err)
{
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
            const double trial[CARM_RIDGE_PARAMS] = {
                [CARM_RIDGE_BANDWIDTH] = quantile_of(d->scratch, split, shares[j / SHARES]),
                [CARM_RIDGE_PEAK] =
                    quantile_of(d->scratch + split, d->n - split, shares[j % SHARES]),
            };
            double sum = 0.0;
            carm_ridge_residuals(d, trial);
            for (size_t i = 0; i < d->n; i++) {
                sum += fabs(d->u[i]);
            }
            if (sum < least) {
                least = sum;
                theta[CARM_RIDGE_BANDWIDTH] = trial[CARM_RIDGE_BANDWIDTH];
                theta[CARM_RIDGE_PEAK] = trial[CARM_RIDGE_PEAK];
            }
        }
    }
    free(order);
    return 0;
}

/* What GSL's callbacks see: the free parameters are those of its vector, in order. */
struct problem {
    const struct carm_ridge_data *d;
    const struct carm_ridge_state *s;
};

static void unpack(const struct problem *p, const gsl_vector *v, double theta[CARM_RIDGE_PARAMS])
{
    size_t column = 0;
    for (size_t j = 0; j < CARM_RIDGE_PARAMS; j++) {
        theta[j] = p->s->free[j] ? gsl_vector_get(v, column++) : p->s->theta[j];
    }
}

static int residual_of(const gsl_vector *v, void *context, gsl_vector *f)
{
    const struct problem *p = context;
    double theta[CARM_RIDGE_PARAMS];
    unpack(p, v, theta);
    for (size_t i = 0; i < p->d->n; i++) {
        gsl_vector_set(f, i, carm_ridge_log(p->d, theta, i, NULL) - p->d->y[i]);
    }
    return GSL_SUCCESS;
}

static int jacobian_of(const gsl_vector *v, void *context, gsl_matrix *jacobian)
{
    const struct problem *p = context;
    double theta[CARM_RIDGE_PARAMS];
    unpack(p, v, theta);
    for (size_t i = 0; i < p->d->n; i++) {
        double derivative[CARM_RIDGE_PARAMS];
        carm_ridge_log(p->d, theta, i, derivative);
        size_t column = 0;
        for (size_t j = 0; j < CARM_RIDGE_PARAMS; j++) {
            if (p->s->free[j]) {
                gsl_matrix_set(jacobian, i, column++, derivative[j]);
            }
        }
    }
    return GSL_SUCCESS;
}

static int solve(const struct carm_ridge_data *d, struct carm_ridge_state *s, size_t iterations,
                 struct carm_err *err)
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
    double start[CARM_RIDGE_PARAMS];
    size_t column = 0;
    for (size_t j = 0; j < CARM_RIDGE_PARAMS; j++) {
        if (s->free[j]) {
            start[column++] = s->theta[j];
        }
    }
    for (size_t i = 0; i < d->n; i++) {
        gsl_vector_set(weight, i, d->weight[i] * d->robust[i]);
    }
    gsl_vector_view first = gsl_vector_view_array(start, k);
    gsl_multifit_nlinear_winit(&first.vector, weight, &fdf, w);
    /* Its status is not looked at: "no progress" and "too many iterations" both leave the best
     * parameters so far, a step from there on is less than the noise, and the caller judges the
     * result by its residuals. */
    int why = 0;
    (void)gsl_multifit_nlinear_driver(iterations, 1e-9, 1e-12, 0.0, NULL, NULL, &why, w);
    unpack(&problem, gsl_multifit_nlinear_position(w), s->theta);
out:
    gsl_vector_free(weight);
    gsl_multifit_nlinear_free(w);
    gsl_set_error_handler(handler);
    return rc;
}

int carm_ridge_solve(const struct carm_ridge_data *d, struct carm_ridge_state *s,
                     struct carm_err *err)
{
    return solve(d, s, LM_ITERATIONS, err);
}

int carm_ridge_solve_robust(const struct carm_ridge_data *d, struct carm_ridge_state *s,
                            struct carm_err *err)
{
    const size_t k = (size_t)s->free[0] + (size_t)s->free[1] + (size_t)s->free[2];
    for (int pass = 0; pass < PASSES; pass++) {
        carm_ridge_residuals(d, s->theta);
        /* A scale that follows the residuals for ever may make the passes go round in a circle; with
         * a scale that stays, each lowers the same sum. */
        if (pass < SCALE_PASSES) {
            s->scale = fmax(carm_robust_scale(d->u, d->n, k, d->scratch), carm_ridge_rounding);
        }
        for (size_t i = 0; i < d->n; i++) {
            const double z = d->u[i] / s->scale;
            /* At first absolute residuals count, whose sum has no false minimum for the bisquare to
             * be caught in. */
            d->robust[i] = pass < HUBER_PASSES ? 1.0 / fmax(1.0, fabs(z)) : carm_robust_weight(z);
        }
        const struct carm_ridge_state before = *s;
        /* the next pass goes on where this one stops */
        const int rc = solve(d, s, PASS_ITERATIONS, err);
        if (rc) {
            return rc;
        }
        double moved = 0.0;
        for (size_t j = 0; j < CARM_RIDGE_PARAMS; j++) {
            moved = fmax(moved, fabs(s->theta[j] - before.theta[j]));
        }
        if (pass >= HUBER_PASSES && moved <= settled * s->scale) {
            break;
        }
    }
    carm_ridge_weigh(d, s);
    return 0;
}
