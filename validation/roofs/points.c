/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Room for one more element at the end, zeroed. */
static int grow(void *array, size_t n, size_t size, struct carm_err *err)
{
    char *items = NULL;
    const int rc = carm_array_grow(array, NULL, n, 1, size, "the model", err);
    if (!rc) {
        memcpy(&items, array, sizeof items);
        memset(items + n * size, 0, size);
    }
    return rc;
}

int carm_build_add_levels(struct carm_model *model, const struct carm_build_levels *levels,
                          struct carm_err *err)
{
    for (size_t i = 0; i < levels->n; i++) {
        const struct carm_build_level *l = &levels->levels[i];
        const int rc = grow(&model->levels, model->nlevels, sizeof(struct carm_level), err);
        if (rc) {
            return rc;
        }
        struct carm_level *level = &model->levels[model->nlevels++];
        snprintf(level->level, sizeof level->level, "%s", l->name);
        level->os_size_bytes = l->os_size_bytes;
        level->knee_bytes = l->knee_bytes;
        level->resolved = l->range.resolved;
        snprintf(level->note, sizeof level->note, "%s", l->note);
    }
    return 0;
}

void carm_build_note_levels(struct carm_model *model, const struct carm_build_levels *levels,
                            int threads)
{
    for (size_t i = 0; i < levels->n && i < model->nlevels; i++) {
        struct carm_level *l = &model->levels[i];
        const struct carm_build_level *here = &levels->levels[i];
        if (!here->borrowed && (here->range.resolved || !l->resolved)) {
            continue;
        }
        const size_t used = strlen(l->note);
        snprintf(l->note + used, sizeof l->note - used,
                 "%sthe curve of %d threads shows no clear plateau here%s", used ? "; " : "",
                 threads,
                 here->borrowed ? ": the working sets of fewer threads are used"
                                : ", so it has no roof");
    }
}

int carm_build_add_roofs(struct carm_model *model, enum carm_isa isa, enum carm_precision precision,
                         int threads, struct carm_roofs **out, struct carm_err *err)
{
    const int rc = grow(&model->roofs, model->nroofs, sizeof(struct carm_roofs), err);
    if (rc) {
        return rc;
    }
    struct carm_roofs *r = &model->roofs[model->nroofs++];
    snprintf(r->isa, sizeof r->isa, "%s", carm_isa_name(isa));
    snprintf(r->precision, sizeof r->precision, "%s", carm_precision_name(precision));
    r->threads = threads;
    *out = r;
    return 0;
}

/* The rounds in order of time, for the file. returns 0 or -CARM_ENOMEM */
static int copy_rounds(const struct carm_series *s, struct carm_round **rounds, size_t *n,
                       struct carm_err *err)
{
    *rounds = calloc(s->n + 1, sizeof **rounds);
    if (!*rounds) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for the rounds of a roof");
        return -CARM_ENOMEM;
    }
    memcpy(*rounds, s->rounds, s->n * sizeof **rounds);
    *n = s->n;
    return 0;
}

int carm_build_add_memory(struct carm_roofs *roofs, const char *level,
                          const struct carm_build_result *result, struct carm_err *err)
{
    const struct carm_series *s = result->series;
    const struct carm_pooled *p = &result->pooled;
    const int rc = grow(&roofs->memory, roofs->nmemory, sizeof(struct carm_memory_roof), err);
    if (rc) {
        return rc;
    }
    struct carm_memory_roof *r = &roofs->memory[roofs->nmemory++];
    char mix[16];
    carm_mix_name(&s->code->spec.mix, mix);
    snprintf(r->level, sizeof r->level, "%s", level);
    snprintf(r->ldst, sizeof r->ldst, "%s", mix);
    snprintf(r->code, sizeof r->code, "%s", s->code->name);
    r->bandwidth = p->rate;
    r->ci95 = p->ci95;
    r->spread = s->spread;
    r->bytes_per_cycle = p->rate / result->threads / p->clock_hz;
    r->clock_hz = p->clock_hz;
    r->window_bytes = s->shape.window_bytes;
    r->passes = s->shape.passes;
    r->working_set_bytes = carm_measure_set_bytes(s->code, &s->shape) * (uint64_t)result->threads;
    r->reps = s->reps;
    snprintf(r->counted_by, sizeof r->counted_by, "constructed");
    r->disturbed = result->disturbed;
    snprintf(r->note, sizeof r->note, "%s", result->note);
    return copy_rounds(s, &r->rounds, &r->nrounds, err);
}

int carm_build_add_compute(struct carm_roofs *roofs, const struct carm_build_result *result,
                           struct carm_err *err)
{
    const struct carm_series *s = result->series;
    const struct carm_pooled *p = &result->pooled;
    const int rc = grow(&roofs->compute, roofs->ncompute, sizeof(struct carm_compute_roof), err);
    if (rc) {
        return rc;
    }
    struct carm_compute_roof *r = &roofs->compute[roofs->ncompute++];
    snprintf(r->op, sizeof r->op, "%s", carm_op_name(s->code->spec.op));
    snprintf(r->code, sizeof r->code, "%s", s->code->name);
    r->rate = p->rate;
    r->ci95 = p->ci95;
    r->spread = s->spread;
    r->flops_per_cycle = p->rate / result->threads / p->clock_hz;
    r->clock_hz = p->clock_hz;
    r->reps = s->reps;
    snprintf(r->counted_by, sizeof r->counted_by, "constructed");
    r->disturbed = result->disturbed;
    snprintf(r->note, sizeof r->note, "%s", result->note);
    return copy_rounds(s, &r->rounds, &r->nrounds, err);
}

int carm_build_add_curve(struct carm_model *model, const struct carm_code_spec *spec, int threads,
                         struct carm_curve **out, struct carm_err *err)
{
    const bool memory = spec->kind == CARM_KIND_A;
    struct carm_curve **curves = memory ? &model->curves : &model->flop_curves;
    size_t *n = memory ? &model->ncurves : &model->nflop_curves;
    const int rc = grow(curves, *n, sizeof(struct carm_curve), err);
    if (rc) {
        return rc;
    }
    struct carm_curve *c = &(*curves)[(*n)++];
    char mix[16];
    carm_mix_name(&spec->mix, mix);
    snprintf(c->isa, sizeof c->isa, "%s", carm_isa_name(spec->isa));
    snprintf(c->precision, sizeof c->precision, "%s", carm_precision_name(spec->precision));
    c->threads = threads;
    snprintf(c->kind, sizeof c->kind, "%s",
             spec->kind == CARM_KIND_A ? mix : carm_op_name(spec->op));
    *out = c;
    return 0;
}

int carm_build_add_pooled_point(struct carm_curve *curve, double x,
                                const struct carm_pooled *pooled, struct carm_err *err)
{
    if (!(pooled->rate > 0.0 && pooled->ci95.lo > 0.0)) {
        return 0;
    }
    const int rc = grow(&curve->points, curve->npoints, sizeof(struct carm_curve_point), err);
    if (!rc) {
        curve->points[curve->npoints++] = (struct carm_curve_point){
            .x = x, .value = pooled->rate, .ci95 = pooled->ci95, .disturbed = !pooled->sound};
    }
    return rc;
}

void carm_build_roofs_clock(struct carm_roofs *roofs)
{
    double clocks[256];
    size_t n = 0;
    for (size_t i = 0; i < roofs->nmemory && n < 256; i++) {
        clocks[n++] = roofs->memory[i].clock_hz;
    }
    for (size_t i = 0; i < roofs->ncompute && n < 256; i++) {
        clocks[n++] = roofs->compute[i].clock_hz;
    }
    roofs->clock_hz = n ? carm_stats_median(clocks, n) : 0.0;
}
