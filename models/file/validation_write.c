/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/validation_write.h"

#include "base/json_write.h"

static bool set(json_t *o, const struct carm_validation_set *s)
{
    return carm_jwrite_text(o, "isa", s->isa) && carm_jwrite_text(o, "precision", s->precision) &&
           carm_jwrite_text(o, "op", s->op) && carm_jwrite_int(o, "threads", s->threads);
}

/* Left out when 0, which stands for unknown. */
static bool known(json_t *o, const char *name, double v)
{
    return v == 0 || carm_jwrite_number(o, name, v);
}

static json_t *score(const void *item, size_t i)
{
    const struct carm_validation *v = (const struct carm_validation *)item + i;
    json_t *o = json_object();
    return carm_jwrite_done(o, set(o, &v->set) && carm_jwrite_text(o, "model", v->model) &&
                                   carm_jwrite_text(o, "level", v->level) &&
                                   carm_jwrite_int(o, "n", v->n) &&
                                   carm_jwrite_number(o, "rrmse", v->rrmse) &&
                                   carm_jwrite_number(o, "rrmse_model", v->rrmse_model) &&
                                   carm_jwrite_number(o, "fitness", v->fitness) &&
                                   carm_jwrite_number(o, "worst_intensity", v->worst_intensity) &&
                                   carm_jwrite_number(o, "worst_error", v->worst_error) &&
                                   known(o, "rrmse_beside", v->rrmse_beside) &&
                                   known(o, "fitness_beside", v->fitness_beside));
}

static json_t *point(const void *item, size_t i)
{
    const struct carm_validation_point *p = (const struct carm_validation_point *)item + i;
    json_t *o = json_object();
    return carm_jwrite_done(
        o, set(o, &p->set) && carm_jwrite_text(o, "level", p->level) &&
               carm_jwrite_text(o, "code", p->code) && carm_jwrite_number(o, "flops", p->flops) &&
               carm_jwrite_number(o, "bytes", p->bytes) &&
               carm_jwrite_number(o, "seconds", p->seconds) &&
               carm_jwrite_interval(o, "ci95", p->ci95) &&
               carm_jwrite_numbers(o, "traffic_bytes", p->traffic, p->ntraffic) &&
               carm_jwrite_number(o, "slots", p->slots) && known(o, "beside", p->beside) &&
               carm_jwrite_number(o, "clock_hz", p->clock_hz) &&
               carm_jwrite_count(o, "working_set_bytes", p->working_set_bytes) &&
               carm_jwrite_count(o, "reps", p->reps) &&
               carm_jwrite_text(o, "counted_by", p->counted_by) &&
               carm_jwrite_bool(o, "disturbed", p->disturbed) &&
               carm_jwrite_text(o, "note", p->note));
}

static json_t *roof(const void *item, size_t i)
{
    const struct carm_validation_roof *v = (const struct carm_validation_roof *)item + i;
    json_t *o = json_object();
    bool ok = set(o, &v->set) && carm_jwrite_text(o, "level", v->level) &&
              carm_jwrite_text(o, "code", v->code) && carm_jwrite_number(o, "model", v->model) &&
              carm_jwrite_number(o, "beside", v->beside) &&
              carm_jwrite_interval(o, "beside_ci95", v->beside_ci95);
    if (ok && v->rate != 0)
        ok = carm_jwrite_number(o, "rate", v->rate) &&
             carm_jwrite_number(o, "rate_se", v->rate_se) && carm_jwrite_number(o, "t0", v->t0) &&
             carm_jwrite_number(o, "t0_se", v->t0_se);
    return carm_jwrite_done(o, ok && known(o, "theory", v->theory) &&
                                   carm_jwrite_bool(o, "disturbed", v->disturbed));
}

static json_t *fit(const void *item, size_t i)
{
    const struct carm_validation_fit *f = (const struct carm_validation_fit *)item + i;
    json_t *o = json_object();
    bool ok = set(o, &f->set) && carm_jwrite_text(o, "level", f->level) &&
              carm_jwrite_text(o, "form", f->form) && carm_jwrite_int(o, "n", f->n) &&
              carm_jwrite_number(o, "bandwidth", f->bandwidth) &&
              carm_jwrite_number(o, "bandwidth_se", f->bandwidth_se) &&
              carm_jwrite_number(o, "peak", f->peak) &&
              carm_jwrite_number(o, "peak_se", f->peak_se) &&
              carm_jwrite_number(o, "correlation", f->correlation);
    if (ok && f->p != 0)
        ok = carm_jwrite_number(o, "p", f->p) && carm_jwrite_number(o, "p_se", f->p_se);
    return carm_jwrite_done(o, ok && known(o, "issue", f->issue) &&
                                   carm_jwrite_number(o, "aicc", f->aicc) &&
                                   carm_jwrite_number(o, "cv_rrmse", f->cv_rrmse) &&
                                   carm_jwrite_number(o, "cv_fitness", f->cv_fitness) &&
                                   carm_jwrite_bool(o, "chosen", f->chosen));
}

/* Left out when empty. */
static bool entries(json_t *root, const char *name, const void *items, size_t n,
                    json_t *(*make)(const void *items, size_t i))
{
    return n == 0 || carm_jwrite_array(root, name, items, n, make);
}

bool carm_validation_write(json_t *root, const struct carm_model *m)
{
    return (!*m->validated || carm_jwrite_text(root, "validated", m->validated)) &&
           carm_jwrite_array(root, "validation", m->validation, m->nvalidation, score) &&
           entries(root, "validation_points", m->validation_points, m->nvalidation_points, point) &&
           entries(root, "validation_roofs", m->validation_roofs, m->nvalidation_roofs, roof) &&
           entries(root, "validation_fits", m->validation_fits, m->nvalidation_fits, fit);
}
