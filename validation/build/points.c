/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/build/points.h"

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
                 here->borrowed ? ": its working sets are those of fewer threads"
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

static struct carm_ci rate_interval(const struct carm_measurement *m, double work)
{
    return (struct carm_ci){work / m->seconds.ci_hi, work / m->seconds.ci_lo};
}

/* A repetition that was shorter than the empty code, whose time is subtracted, has no rate: on a busy
 * machine the empty code's time can come out too long. The next slower figure replaces it. */
static struct carm_spread rate_spread(const struct carm_measurement *m, double work)
{
    const double p5 = m->seconds.p5 > 0.0 ? m->seconds.p5 : m->seconds.median;
    const double min = m->seconds.min > 0.0 ? m->seconds.min : p5;
    return (struct carm_spread){.min = work / m->seconds.max,
                                .p5 = work / m->seconds.p95,
                                .p95 = work / p5,
                                .max = work / min};
}

static void put_note(char note[CARM_TEXT_MAX], const struct carm_measurement *m)
{
    if (m->attempts > 1) {
        snprintf(note, CARM_TEXT_MAX, "%s%smeasured %d times", m->note, m->disturbed ? "; " : "",
                 m->attempts);
    } else {
        snprintf(note, CARM_TEXT_MAX, "%s", m->note);
    }
}

int carm_build_add_memory(struct carm_roofs *roofs, const char *level,
                          const struct carm_measurement *m, struct carm_err *err)
{
    const int rc = grow(&roofs->memory, roofs->nmemory, sizeof(struct carm_memory_roof), err);
    if (rc) {
        return rc;
    }
    struct carm_memory_roof *r = &roofs->memory[roofs->nmemory++];
    char mix[16];
    carm_mix_name(&m->code->spec.mix, mix);
    snprintf(r->level, sizeof r->level, "%s", level);
    snprintf(r->ldst, sizeof r->ldst, "%s", mix);
    snprintf(r->code, sizeof r->code, "%s", m->code->name);
    r->bandwidth = carm_measure_rate(m, m->bytes);
    r->ci95 = rate_interval(m, m->bytes);
    r->spread = rate_spread(m, m->bytes);
    r->bytes_per_cycle = m->bytes / m->threads / m->cycles;
    r->clock_hz = m->clock_hz;
    r->window_bytes = m->shape.window_bytes;
    r->passes = m->shape.passes;
    r->working_set_bytes = m->shape.window_bytes * m->shape.windows * (uint64_t)m->threads;
    r->reps = m->seconds.n;
    snprintf(r->counted_by, sizeof r->counted_by, "constructed");
    r->disturbed = m->disturbed;
    put_note(r->note, m);
    return 0;
}

int carm_build_add_compute(struct carm_roofs *roofs, const struct carm_measurement *m,
                           struct carm_err *err)
{
    const int rc = grow(&roofs->compute, roofs->ncompute, sizeof(struct carm_compute_roof), err);
    if (rc) {
        return rc;
    }
    struct carm_compute_roof *r = &roofs->compute[roofs->ncompute++];
    snprintf(r->op, sizeof r->op, "%s", carm_op_name(m->code->spec.op));
    snprintf(r->code, sizeof r->code, "%s", m->code->name);
    r->rate = carm_measure_rate(m, m->flops);
    r->ci95 = rate_interval(m, m->flops);
    r->spread = rate_spread(m, m->flops);
    r->flops_per_cycle = m->flops / m->threads / m->cycles;
    r->clock_hz = m->clock_hz;
    r->reps = m->seconds.n;
    snprintf(r->counted_by, sizeof r->counted_by, "constructed");
    r->disturbed = m->disturbed;
    put_note(r->note, m);
    return 0;
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

int carm_build_add_curve_point(struct carm_curve *curve, double x, const struct carm_measurement *m,
                               double work, struct carm_err *err)
{
    if (!(m->seconds.median > 0.0 && m->seconds.ci_lo > 0.0)) {
        return 0;
    }
    const int rc = grow(&curve->points, curve->npoints, sizeof(struct carm_curve_point), err);
    if (rc) {
        return rc;
    }
    struct carm_curve_point *p = &curve->points[curve->npoints++];
    p->x = x;
    p->value = carm_measure_rate(m, work);
    p->ci95 = rate_interval(m, work);
    p->disturbed = m->disturbed;
    return 0;
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
