/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/validation_read.h"
#include "models/validation.h"

#include <math.h>
#include <string.h>

enum {
    /* 256 sets, as many as a model may have, of 29 points in each of 8 levels; and for each set the
     * scores, roofs or fits of those levels. */
    POINTS_MAX = 1 << 16,
    ENTRIES_MAX = 1 << 13,
};

static void read_set(struct carm_jread *r, json_t *o, struct carm_validation_set *s)
{
    carm_jread_name(r, o, "isa", s->isa, sizeof s->isa);
    carm_jread_name(r, o, "precision", s->precision, sizeof s->precision);
    carm_jread_name(r, o, "op", s->op, sizeof s->op);
    s->threads = carm_jread_int(r, o, "threads", 1);
}

/* A level of the model, or the one other word that may stand there (NULL = none). */
static void read_level(struct carm_jread *r, json_t *o, const struct carm_model *m,
                       const char *other, char level[CARM_NAME_MAX])
{
    carm_jread_name(r, o, "level", level, CARM_NAME_MAX);
    if (!(other && strcmp(level, other) == 0) && !carm_model_has_level(m, level))
        carm_jread_bad(r, "level", "\"%s\" is not among the model's levels", level);
}

static bool has(const struct carm_jread *r, json_t *o, const char *name)
{
    return !r->rc && json_object_get(o, name);
}

/* 0 where it is left out */
static double positive_or_unknown(struct carm_jread *r, json_t *o, const char *name)
{
    return has(r, o, name) ? carm_jread_positive(r, o, name) : 0;
}

static double read_fitness(struct carm_jread *r, json_t *o, const char *name)
{
    double v = carm_jread_nonnegative(r, o, name);
    if (v > 100)
        carm_jread_bad(r, name, "is %g, more than 100", v);
    return v;
}

static void read_score(struct carm_jread *r, json_t *o, const struct carm_model *m,
                       struct carm_validation *v)
{
    read_set(r, o, &v->set);
    carm_jread_name(r, o, "model", v->model, sizeof v->model);
    read_level(r, o, m, "all", v->level);
    v->n = carm_jread_int(r, o, "n", 1);
    v->rrmse = carm_jread_nonnegative(r, o, "rrmse");
    v->rrmse_model = carm_jread_nonnegative(r, o, "rrmse_model");
    v->fitness = read_fitness(r, o, "fitness");
    v->worst_intensity = carm_jread_positive(r, o, "worst_intensity");
    v->worst_error = carm_jread_number(r, o, "worst_error");
    if (!(v->worst_error > -1)) /* what was measured is more than nothing */
        carm_jread_bad(r, "worst_error", "is %g, not more than -1", v->worst_error);
    if (has(r, o, "rrmse_beside"))
        v->rrmse_beside = carm_jread_nonnegative(r, o, "rrmse_beside");
    if (has(r, o, "fitness_beside"))
        v->fitness_beside = read_fitness(r, o, "fitness_beside");
}

static void read_scores(struct carm_jread *r, json_t *root, struct carm_model *m)
{
    json_t *a = carm_jread_array(r, root, "validation", ENTRIES_MAX, sizeof *m->validation,
                                 &m->validation, &m->nvalidation);
    for (size_t i = 0; a && i < m->nvalidation && !r->rc; i++) {
        struct carm_validation *v = &m->validation[i], *b = m->validation;
        size_t old = carm_jread_enter(r, "validation[%zu]", i);
        read_score(r, json_array_get(a, i), m, v);
        for (size_t k = 0; k < i && !r->rc; k++)
            if (strcmp(b[k].level, v->level) == 0 && strcmp(b[k].model, v->model) == 0 &&
                carm_validation_set_equal(&b[k].set, &v->set))
                carm_jread_bad(r, NULL, "repeats entry %zu", k);
        carm_jread_leave(r, old);
    }
}

static void read_point(struct carm_jread *r, json_t *o, const struct carm_model *m,
                       struct carm_validation_point *p)
{
    read_set(r, o, &p->set);
    read_level(r, o, m, NULL, p->level);
    carm_jread_name(r, o, "code", p->code, sizeof p->code);
    p->flops = carm_jread_positive(r, o, "flops");
    p->bytes = carm_jread_positive(r, o, "bytes");
    p->seconds = carm_jread_positive(r, o, "seconds");
    double performance = p->flops / p->seconds;
    if (!(performance >= CARM_JREAD_LEAST && performance <= CARM_JREAD_MOST))
        carm_jread_bad(r, NULL, "has a performance of %g, outside %g..%g", performance,
                       CARM_JREAD_LEAST, CARM_JREAD_MOST);
    carm_jread_interval(r, o, "ci95", performance, &p->ci95.lo, &p->ci95.hi);
    p->ntraffic = carm_jread_numbers(r, o, "traffic_bytes", CARM_TRAFFIC_MAX, p->traffic);
    p->slots = carm_jread_nonnegative(r, o, "slots");
    if (has(r, o, "beside")) {
        p->beside = carm_jread_positive(r, o, "beside");
    }
    p->clock_hz = carm_jread_positive(r, o, "clock_hz");
    p->working_set_bytes = carm_jread_count(r, o, "working_set_bytes", 1);
    p->reps = carm_jread_count(r, o, "reps", 1);
    carm_jread_name(r, o, "counted_by", p->counted_by, sizeof p->counted_by);
    p->disturbed = carm_jread_bool(r, o, "disturbed");
    carm_jread_text(r, o, "note", p->note, sizeof p->note);
}

static void read_points(struct carm_jread *r, json_t *root, struct carm_model *m)
{
    if (!has(r, root, "validation_points"))
        return;
    json_t *a =
        carm_jread_array(r, root, "validation_points", POINTS_MAX, sizeof *m->validation_points,
                         &m->validation_points, &m->nvalidation_points);
    for (size_t i = 0; a && i < m->nvalidation_points && !r->rc; i++) {
        size_t old = carm_jread_enter(r, "validation_points[%zu]", i);
        read_point(r, json_array_get(a, i), m, &m->validation_points[i]);
        carm_jread_leave(r, old);
    }
}

static void read_roof(struct carm_jread *r, json_t *o, const struct carm_model *m,
                      struct carm_validation_roof *v)
{
    read_set(r, o, &v->set);
    read_level(r, o, m, "peak", v->level);
    carm_jread_name(r, o, "code", v->code, sizeof v->code);
    v->model = carm_jread_positive(r, o, "model");
    v->beside = carm_jread_positive(r, o, "beside");
    carm_jread_interval(r, o, "beside_ci95", v->beside, &v->beside_ci95.lo, &v->beside_ci95.hi);
    if (has(r, o, "rate")) { /* the line's four figures go together */
        v->rate = carm_jread_positive(r, o, "rate");
        v->rate_se = carm_jread_nonnegative(r, o, "rate_se");
        v->t0 = carm_jread_number(r, o, "t0");
        v->t0_se = carm_jread_nonnegative(r, o, "t0_se");
    }
    v->theory = positive_or_unknown(r, o, "theory");
    v->disturbed = carm_jread_bool(r, o, "disturbed");
}

static void read_roofs(struct carm_jread *r, json_t *root, struct carm_model *m)
{
    if (!has(r, root, "validation_roofs"))
        return;
    json_t *a =
        carm_jread_array(r, root, "validation_roofs", ENTRIES_MAX, sizeof *m->validation_roofs,
                         &m->validation_roofs, &m->nvalidation_roofs);
    for (size_t i = 0; a && i < m->nvalidation_roofs && !r->rc; i++) {
        struct carm_validation_roof *v = &m->validation_roofs[i], *b = m->validation_roofs;
        size_t old = carm_jread_enter(r, "validation_roofs[%zu]", i);
        read_roof(r, json_array_get(a, i), m, v);
        for (size_t k = 0; k < i && !r->rc; k++)
            if (strcmp(b[k].level, v->level) == 0 && strcmp(b[k].code, v->code) == 0 &&
                carm_validation_set_equal(&b[k].set, &v->set))
                carm_jread_bad(r, NULL, "repeats entry %zu", k);
        carm_jread_leave(r, old);
    }
}

static void read_fit(struct carm_jread *r, json_t *o, const struct carm_model *m,
                     struct carm_validation_fit *f)
{
    read_set(r, o, &f->set);
    read_level(r, o, m, NULL, f->level);
    carm_jread_name(r, o, "form", f->form, sizeof f->form);
    f->n = carm_jread_int(r, o, "n", 1);
    f->bandwidth = carm_jread_positive(r, o, "bandwidth");
    f->bandwidth_se = carm_jread_nonnegative(r, o, "bandwidth_se");
    f->peak = carm_jread_positive(r, o, "peak");
    f->peak_se = carm_jread_nonnegative(r, o, "peak_se");
    f->correlation = carm_jread_number(r, o, "correlation");
    if (fabs(f->correlation) > 1)
        carm_jread_bad(r, "correlation", "is %g, outside -1..1", f->correlation);
    if (has(r, o, "p")) {
        f->p = carm_jread_positive(r, o, "p");
        f->p_se = carm_jread_nonnegative(r, o, "p_se");
    }
    f->issue = positive_or_unknown(r, o, "issue");
    f->aicc = carm_jread_number(r, o, "aicc");
    f->cv_rrmse = carm_jread_nonnegative(r, o, "cv_rrmse");
    f->cv_fitness = read_fitness(r, o, "cv_fitness");
    f->chosen = carm_jread_bool(r, o, "chosen");
}

static void read_fits(struct carm_jread *r, json_t *root, struct carm_model *m)
{
    if (!has(r, root, "validation_fits"))
        return;
    json_t *a =
        carm_jread_array(r, root, "validation_fits", ENTRIES_MAX, sizeof *m->validation_fits,
                         &m->validation_fits, &m->nvalidation_fits);
    for (size_t i = 0; a && i < m->nvalidation_fits && !r->rc; i++) {
        struct carm_validation_fit *f = &m->validation_fits[i], *b = m->validation_fits;
        size_t old = carm_jread_enter(r, "validation_fits[%zu]", i);
        read_fit(r, json_array_get(a, i), m, f);
        for (size_t k = 0; k < i && !r->rc; k++)
            if (strcmp(b[k].level, f->level) == 0 && strcmp(b[k].form, f->form) == 0 &&
                carm_validation_set_equal(&b[k].set, &f->set))
                carm_jread_bad(r, NULL, "repeats entry %zu", k);
        carm_jread_leave(r, old);
    }
}

void carm_validation_read(struct carm_jread *r, json_t *root, struct carm_model *m)
{
    if (has(r, root, "validated"))
        carm_jread_name(r, root, "validated", m->validated, sizeof m->validated);
    read_scores(r, root, m);
    read_points(r, root, m);
    read_roofs(r, root, m);
    read_fits(r, root, m);
}
