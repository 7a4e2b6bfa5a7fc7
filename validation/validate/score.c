/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/validate/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm/code.h"
#include "models/fit/line.h"
#include "models/fit/ridge.h"
#include "models/roofline.h"
#include "models/validation.h"

static double find_beside(const struct carm_model *model, const struct carm_validation_set *set,
                          const char *level)
{
    for (size_t i = 0; i < model->nvalidation_roofs; i++) {
        const struct carm_validation_roof *r = &model->validation_roofs[i];
        if (carm_validation_set_equal(&r->set, set) && strcmp(r->level, level) == 0) {
            return r->beside;
        }
    }
    return 0.0;
}

double carm_predict_cache_aware(const struct carm_model *model,
                                const struct carm_validation_point *point, bool beside)
{
    const struct carm_roofs *roofs = carm_validation_find_roofs(model, &point->set);
    const struct carm_memory_roof *m =
        roofs ? carm_roofs_find_memory(roofs, point->level, model->config.ldst) : NULL;
    const struct carm_compute_roof *c =
        roofs ? carm_roofs_find_compute(roofs, point->set.op) : NULL;
    if (!m || !c) {
        return 0.0;
    }
    if (beside && point->paired > 0.0) {
        return point->paired;
    }
    const double now =
        point->beside > 0.0 ? point->beside : find_beside(model, &point->set, point->level);
    const double bandwidth = beside ? now : m->bandwidth;
    const double peak = beside ? find_beside(model, &point->set, "peak") : c->rate;
    return carm_roofline_eval(point->flops / point->bytes, bandwidth, peak);
}

double carm_predict_original(const struct carm_model *model,
                             const struct carm_validation_point *point, size_t link)
{
    const struct carm_roofs *roofs = carm_validation_find_roofs(model, &point->set);
    const struct carm_compute_roof *c =
        roofs ? carm_roofs_find_compute(roofs, point->set.op) : NULL;
    if (!c || link < 1 || link >= model->nlevels || link > point->ntraffic) {
        return 0.0;
    }
    const double bandwidth =
        carm_original_bandwidth(roofs, model->levels[link].level, link + 1 == model->nlevels, NULL);
    return bandwidth > 0.0
               ? carm_roofline_eval(point->flops / point->traffic[link - 1], bandwidth, c->rate)
               : 0.0;
}

/* carm_predict_original for memory, with another bandwidth: instead of the best stream, the
 * model's own mix of loads and stores, with write-allocates and write-backs counted. Shows the
 * difference between the models that remains when the bandwidth has the points' mix. */
static double predict_original_mix(const struct carm_model *model,
                                   const struct carm_validation_point *point)
{
    const struct carm_roofs *roofs = carm_validation_find_roofs(model, &point->set);
    const struct carm_compute_roof *c =
        roofs ? carm_roofs_find_compute(roofs, point->set.op) : NULL;
    const size_t dram = model->nlevels - 1;
    const struct carm_memory_roof *m =
        c ? carm_roofs_find_memory(roofs, model->levels[dram].level, model->config.ldst) : NULL;
    struct carm_mix mix;
    if (!m || point->ntraffic < dram || carm_mix_parse(model->config.ldst, &mix, NULL)) {
        return 0.0;
    }
    const struct carm_stream unit = {.load_bytes = mix.loads,
                                     .store_bytes = mix.stores,
                                     .update = mix.update,
                                     .nontemporal = mix.nontemporal};
    const double factor = carm_traffic_bytes(&unit, dram, dram) / (mix.loads + mix.stores);
    return carm_roofline_eval(point->flops / point->traffic[dram - 1], m->bandwidth * factor,
                              c->rate);
}

/* A model's performance for a point, flop/s. link: 0 = the cache-aware model; 1 to the last
 * level = the original model with bytes counted at this level; one more = the original model
 * with the model's own mix. */
static double predict(const struct carm_model *model, const struct carm_validation_point *p,
                      size_t link)
{
    if (link == 0) {
        return carm_predict_cache_aware(model, p, false);
    }
    return link < model->nlevels ? carm_predict_original(model, p, link)
                                 : predict_original_mix(model, p);
}

/* The bytes that the model `link` counts for a point. */
static double bytes_of(const struct carm_model *model, const struct carm_validation_point *p,
                       size_t link)
{
    const size_t last = model->nlevels - 1;
    return link == 0 ? p->bytes : p->traffic[(link < last ? link : last) - 1];
}

/* The points of a set on one level, or on all levels, and one model's predictions. */
struct sample {
    size_t n;
    double *measured, *model, *beside; /* flop/s */
    double *intensity;                 /* by the bytes that the model counts */
};

static void sample_free(struct sample *s)
{
    free(s->measured);
    free(s->model);
    free(s->beside);
    free(s->intensity);
}

static int sample_alloc(struct sample *s, size_t n, struct carm_err *err)
{
    *s = (struct sample){.measured = calloc(n + 1, sizeof(double)),
                         .model = calloc(n + 1, sizeof(double)),
                         .beside = calloc(n + 1, sizeof(double)),
                         .intensity = calloc(n + 1, sizeof(double))};
    return s->measured && s->model && s->beside && s->intensity
               ? 0
               : carm_fail(err, CARM_ENOMEM, "not enough memory to score %zu points", n);
}

/* Fills in the points. link: see predict; level NULL: all levels. Points without a roof in the
 * model are left out. */
static void sample_fill(struct sample *s, const struct carm_model *model,
                        const struct carm_validation_set *set, size_t link, const char *level)
{
    s->n = 0;
    for (size_t i = 0; i < model->nvalidation_points; i++) {
        const struct carm_validation_point *p = &model->validation_points[i];
        if (!carm_validation_set_equal(&p->set, set) || (level && strcmp(level, p->level) != 0)) {
            continue;
        }
        const double attainable = predict(model, p, link);
        if (!(attainable > 0.0)) {
            continue;
        }
        s->measured[s->n] = p->flops / p->seconds;
        s->model[s->n] = attainable;
        s->beside[s->n] = link ? 0.0 : carm_predict_cache_aware(model, p, true);
        s->intensity[s->n++] = p->flops / bytes_of(model, p, link);
    }
}

void carm_validation_model_name(const struct carm_model *model, size_t link, char *name)
{
    if (link == 0) {
        snprintf(name, CARM_NAME_MAX, "cache-aware");
    } else if (link + 1 == model->nlevels) {
        snprintf(name, CARM_NAME_MAX, "original");
    } else if (link == model->nlevels) {
        snprintf(name, CARM_NAME_MAX, "original-mix");
    } else {
        snprintf(name, CARM_NAME_MAX, "original-%.60s", model->levels[link].level);
    }
}

static int add_score(struct carm_model *model, const struct carm_validation_set *set, size_t link,
                     const char *level, struct sample *s, struct carm_err *err)
{
    struct carm_score score;
    struct carm_score beside;
    struct carm_validation v = {.set = *set};
    sample_fill(s, model, set, link, level);
    if (s->n == 0) {
        return 0;
    }
    int rc = carm_score_eval(s->measured, s->model, s->n, &score, err);
    if (rc) {
        return rc;
    }
    carm_validation_model_name(model, link, v.model);
    snprintf(v.level, sizeof v.level, "%s", level ? level : "all");
    v.n = (int)score.n;
    v.rrmse = score.rrmse;
    v.rrmse_model = score.rrmse_model;
    v.fitness = score.fitness;
    v.worst_intensity = s->intensity[score.worst];
    v.worst_error = score.worst_error;
    if (link == 0 && carm_score_eval(s->measured, s->beside, s->n, &beside, NULL) == 0) {
        v.rrmse_beside = beside.rrmse;
        v.fitness_beside = beside.fitness;
    }
    return carm_validation_add_score(model, &v, err);
}

int carm_validation_score(struct carm_model *model, const struct carm_validation_set *set,
                          struct carm_err *err)
{
    struct sample sample;
    /* with one level no bytes cross into another level: only the cache-aware model */
    const size_t links = model->nlevels > 1 ? model->nlevels : 0;
    int rc = sample_alloc(&sample, model->nvalidation_points, err);
    for (size_t link = 0; link <= links && !rc; link++) {
        for (size_t l = 0; l < model->nlevels && !rc; l++) {
            rc = add_score(model, set, link, model->levels[l].level, &sample, err);
        }
        rc = rc ? rc : add_score(model, set, link, NULL, &sample, err);
    }
    sample_free(&sample);
    return rc;
}

/* Relative error of a form itself, added to a point's spread; chosen by hand. The spread of a
 * median is 0.01% on a quiet machine: alone, it would let a few points decide. */
static const double model_sigma = 0.01;

/* Collects the points of one set and level. returns their number */
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
 * returns 0, -CARM_ENOMEM, or -CARM_EINVAL when the points do not determine it */
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
    snprintf(out->form, sizeof out->form, "%s", carm_ridge_name(form));
    out->n = (int)n;
    out->bandwidth = fit.bandwidth.value;
    out->bandwidth_se = fit.bandwidth.se;
    out->peak = fit.peak.value;
    out->peak_se = fit.peak.se;
    out->correlation = fit.correlation;
    /* with a ridge so narrow that no point lies in it, p has no error */
    const bool known = isfinite(fit.p.value) && isfinite(fit.p.se);
    out->p = known ? fit.p.value : 0.0;
    out->p_se = known ? fit.p.se : 0.0;
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
    for (int form = 0; form < CARM_RIDGE_COUNT; form++) {
        const bool wants_issue = form == CARM_RIDGE_ISSUE || form == CARM_RIDGE_ROUNDED_ISSUE;
        if (wants_issue && !(issue > 0.0)) {
            continue;
        }
        struct carm_validation_fit *f = &fits[nfits];
        *f = (struct carm_validation_fit){.set = *set};
        snprintf(f->level, sizeof f->level, "%s", level);
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
