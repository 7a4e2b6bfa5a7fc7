/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/fit/ridge.h"
#include "models/fit/score.h"
#include "models/validation.h"
#include "validation/score_set.h"

/* What a form cannot describe weighs in beside the spread of a median, which is a hundredth of a
 * percent on a quiet machine: without it a few points would decide alone. */
static const double model_sigma = 0.01;

/* The points of one set and level. returns how many */
static size_t collect(const struct carm_model *model, const struct carm_validation_set *set,
                      const char *level, struct carm_ridge_point *points)
{
    size_t n = 0;
    for (size_t i = 0; i < model->nvalidation_points; i++) {
        const struct carm_validation_point *p = &model->validation_points[i];
        if (carm_validation_set_equal(&p->set, set) && strcmp(p->level, level) == 0) {
            const double performance = p->flops / p->seconds;
            /* a 95% interval is 2 x 1.96 standard errors wide */
            const double sigma = (p->ci95.hi - p->ci95.lo) / (3.92 * performance);
            points[n++] = (struct carm_ridge_point){.intensity = p->flops / p->bytes,
                                                    .performance = performance,
                                                    .sigma = hypot(sigma, model_sigma),
                                                    .slots = p->slots / p->flops};
        }
    }
    return n;
}

/* Fits one form.
 * predicted, measured  [n] scratch
 * returns 0, -CARM_ENOMEM, or -CARM_EINVAL where the points cannot tell it */
static int fit_form(enum carm_ridge form, const struct carm_ridge_point *points, size_t n,
                    double issue, double *predicted, double *measured,
                    struct carm_validation_fit *out, struct carm_err *err)
{
    struct carm_ridge_fit fit = {.n = 0};
    struct carm_score score = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        measured[i] = points[i].performance;
    }
    int rc = carm_ridge_fit(form, points, n, issue, &fit, err);
    rc = rc ? rc : carm_ridge_cross_validate(form, points, n, issue, predicted, err);
    rc = rc ? rc : carm_score_eval(measured, predicted, n, &score, err);
    if (rc) {
        return rc;
    }
    (void)snprintf(out->form, sizeof out->form, "%s", carm_ridge_name(form));
    out->n = (int)n;
    out->bandwidth = fit.bandwidth.value;
    out->bandwidth_se = fit.bandwidth.se;
    out->peak = fit.peak.value;
    out->peak_se = fit.peak.se;
    out->correlation = fit.correlation;
    /* a ridge too narrow for any point to lie in it has a p but no error of it */
    const bool told = isfinite(fit.p.value) && isfinite(fit.p.se);
    out->p = told ? fit.p.value : 0.0;
    out->p_se = told ? fit.p.se : 0.0;
    out->issue = isfinite(fit.at.issue) ? issue : 0.0;
    out->aicc = fit.aicc;
    out->cv_rrmse = score.rrmse;
    out->cv_fitness = score.fitness;
    return 0;
}

static int fit_level(struct carm_model *model, const struct carm_validation_set *set,
                     const char *level, double issue, struct carm_ridge_point *points,
                     double *scratch, struct carm_err *err)
{
    struct carm_validation_fit fits[CARM_RIDGE_COUNT];
    struct carm_err why;
    size_t nfits = 0;
    size_t best = 0;
    const size_t n = collect(model, set, level, points);
    for (int form = 0; form < CARM_RIDGE_COUNT && n > 0; form++) {
        const bool wants_issue = form == CARM_RIDGE_ISSUE || form == CARM_RIDGE_ROUNDED_ISSUE;
        if (wants_issue && !(issue > 0.0)) {
            continue;
        }
        struct carm_validation_fit *f = &fits[nfits];
        *f = (struct carm_validation_fit){.set = *set};
        (void)snprintf(f->level, sizeof f->level, "%s", level);
        int rc = fit_form((enum carm_ridge)form, points, n, wants_issue ? issue : INFINITY, scratch,
                          scratch + n, f, &why);
        if (rc == -CARM_ENOMEM) {
            return carm_fail(err, CARM_ENOMEM, "%s", why.text);
        }
        if (rc == 0) {
            best = f->aicc < fits[best].aicc ? nfits : best;
            nfits++;
        }
    }
    int rc = 0;
    for (size_t i = 0; i < nfits && !rc; i++) {
        fits[i].chosen = i == best;
        rc = carm_validation_add_fit(model, &fits[i], err);
    }
    return rc;
}

int carm_validation_fit_levels(struct carm_model *model, const struct carm_validation_set *set,
                               double issue, struct carm_err *err)
{
    const size_t room = model->nvalidation_points + 1;
    struct carm_ridge_point *points = calloc(room, sizeof *points);
    double *scratch = calloc(2 * room, sizeof *scratch);
    int rc = 0;
    if (!points || !scratch) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the fits");
        goto out;
    }
    for (size_t l = 0; l < model->nlevels && !rc; l++) {
        rc = fit_level(model, set, model->levels[l].level, issue, points, scratch, err);
    }
out:
    free(points);
    free(scratch);
    return rc;
}
