/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fit/score.h"

#include <math.h>

static int check(const char *name, const double *values, size_t n, struct carm_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]) || values[i] <= 0.0) {
            return carm_fail(err, CARM_EINVAL,
                             "%s[%zu] is %g: a score needs finite performance above zero", name, i,
                             values[i]);
        }
    }
    return 0;
}

int carm_score_eval(const double *measured, const double *model, size_t n, struct carm_score *out,
                    struct carm_err *err)
{
    if (n == 0) {
        return carm_fail(err, CARM_EINVAL, "no points to score: measure at least one");
    }
    int rc = check("measured", measured, n, err);
    if (rc == 0) {
        rc = check("model", model, n, err);
    }
    if (rc) {
        return rc;
    }
    double over_measured = 0.0;
    double over_model = 0.0;
    double largest = -1.0;
    struct carm_score s = {.n = n};
    for (size_t i = 0; i < n; i++) {
        const double by_measured = 1.0 - model[i] / measured[i];
        const double by_model = measured[i] / model[i] - 1.0;
        over_measured += by_measured * by_measured;
        over_model += by_model * by_model;
        if (fabs(by_measured) > largest) {
            largest = fabs(by_measured);
            s.worst = i;
            s.worst_error = by_model;
        }
    }
    s.rrmse = sqrt(over_measured / (double)n);
    s.rrmse_model = sqrt(over_model / (double)n);
    s.fitness = 100.0 / (1.0 + s.rrmse);
    *out = s;
    return 0;
}
