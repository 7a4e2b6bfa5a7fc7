/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forms of a roofline on the log scale, and their fit by robust least squares: what
 * carm_ridge_fit (models/fit/fit.h) is made of. */
#ifndef CARM_MODELS_FIT_RIDGE_H
#define CARM_MODELS_FIT_RIDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/fit/fit.h"

/* Parameters of a fit. Sharpness enters as q = 1 / p: the height of a rounded ridge under the sharp
 * one is q log 2, so errors of q are near to normal, and q = 0 is the sharp form itself. Below zero
 * the ridge stands above the sharp one by as much as |q| puts it below, which keeps an estimate
 * regular whose truth is 0; the caller turns such a result into the sharp form. */
enum { CARM_RIDGE_BANDWIDTH, CARM_RIDGE_PEAK, CARM_RIDGE_Q, CARM_RIDGE_PARAMS };

/* Points as a fit needs them. All arrays are [n]. */
struct carm_ridge_data {
    size_t n;
    double *x;       /* log intensity */
    double *y;       /* log performance */
    double *cap;     /* log performance that issue allows, INFINITY where it sets no limit */
    double *weight;  /* 1 / sigma^2, mean 1 */
    double *robust;  /* out: bisquare weight, 0 to 1 */
    double *u;       /* out: residual times sqrt(weight) */
    double *scratch; /* [2 n] */
};

/* An estimate on the log scale. */
struct carm_ridge_state {
    double theta[CARM_RIDGE_PARAMS]; /* log bandwidth, log peak, q */
    bool free[CARM_RIDGE_PARAMS];    /* which of them to fit */
    double scale;                    /* of u */
};

/* Smallest scale of residuals, so that points without noise can be fitted: log performance of 1e12
 * has rounding errors of 1e-14. */
extern const double carm_ridge_rounding;

bool carm_ridge_is_rounded(enum carm_ridge form);
bool carm_ridge_has_issue(enum carm_ridge form);

/* Takes over n > 0 points of checked values; returns 0 or -CARM_ENOMEM. close accepts zeros. */
int carm_ridge_data_open(struct carm_ridge_data *d, enum carm_ridge form,
                         const struct carm_ridge_point *points, size_t n, double issue,
                         struct carm_err *err);
void carm_ridge_data_close(struct carm_ridge_data *d);

/* Log performance of point i, and its derivative by each parameter (NULL allowed). */
double carm_ridge_log(const struct carm_ridge_data *d, const double *theta, size_t i,
                      double derivative[CARM_RIDGE_PARAMS]);

/* Fills d->u. */
void carm_ridge_residuals(const struct carm_ridge_data *d, const double *theta);

/* Fills d->u and d->robust for an estimate and its scale. */
void carm_ridge_weigh(const struct carm_ridge_data *d, const struct carm_ridge_state *s);

/* Starting values of theta for a robust fit of d's form, q = 0: tries each split of the points by
 * intensity into a memory side and a compute side, with a quantile of P / I and of P as the roofs.
 * Overwrites d->u. returns 0 or -CARM_ENOMEM */
int carm_ridge_start(const struct carm_ridge_data *d, double theta[CARM_RIDGE_PARAMS],
                     struct carm_err *err);

/* One weighted least squares fit with weights weight robust, by Levenberg-Marquardt from s->theta.
 * returns 0 or -CARM_ENOMEM */
int carm_ridge_solve(const struct carm_ridge_data *d, struct carm_ridge_state *s,
                     struct carm_err *err);

/* Repeats carm_ridge_solve with bisquare weights until it settles; fills d->robust, d->u, s->scale.
 * returns 0 or -CARM_ENOMEM */
int carm_ridge_solve_robust(const struct carm_ridge_data *d, struct carm_ridge_state *s,
                            struct carm_err *err);

#endif
