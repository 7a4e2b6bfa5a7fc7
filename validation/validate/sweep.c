/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/validate/sweep.h"

#include <math.h>
#include <stdio.h>

#include "harness/search.h"
#include "models/roofline.h"

/* How much longer than a point with more work beside it a point may take, and how far code A
 * beside it may be from its median: the ordinary spread of shared levels. */
static const double excess_max = 0.03;
static const double control_max = 0.07;

enum { ATTEMPTS = 3, CONTROL_REPS = 192 };

/* What a measurement says of a point, traffic between the levels by construction included. */
static void describe(const struct carm_sweep *s, const struct carm_measurement *m,
                     struct carm_validation_point *p)
{
    const struct carm_account *a = &m->code->account;
    const double times = (double)(m->shape.iterations * m->shape.passes) * m->threads;
    *p = (struct carm_validation_point){.set = *s->set};
    snprintf(p->level, sizeof p->level, "%s", s->model->levels[s->level].level);
    snprintf(p->code, sizeof p->code, "%s", m->code->name);
    p->flops = m->flops;
    p->bytes = m->bytes;
    p->seconds = m->seconds.median;
    p->ci95 = (struct carm_ci){m->flops / m->seconds.ci_hi, m->flops / m->seconds.ci_lo};
    p->slots = (double)carm_account_slots(a) * times;
    p->clock_hz = m->clock_hz;
    p->working_set_bytes = m->shape.windows * m->shape.window_bytes * (uint64_t)m->threads;
    p->reps = m->seconds.n;
    const struct carm_stream stream = {
        .load_bytes = (double)a->load_bytes * times,
        .store_bytes = (double)a->store_bytes * times,
        .update = m->code->spec.mix.update,
        .nontemporal = m->code->spec.mix.nontemporal,
        .set_bytes = (double)p->working_set_bytes,
        .repetitions = (double)m->seconds.n,
    };
    for (size_t link = 1; link < s->model->nlevels && p->ntraffic < CARM_TRAFFIC_MAX; link++) {
        p->traffic[p->ntraffic++] = carm_traffic_bytes(&stream, link, s->level);
    }
    snprintf(p->counted_by, sizeof p->counted_by, "constructed");
    p->disturbed = m->disturbed;
    snprintf(p->note, sizeof p->note, "%s", m->note);
}

void carm_sweep_point(struct carm_sweep *s, size_t grid)
{
    const size_t n = s->model->nlevels;
    const double target = carm_level_target(s->level, n);
    const enum carm_search search = carm_level_search(s->level, n);
    const struct carm_code *codes[CARM_SCHEDULES_MAX];
    double rate = 0.0;
    struct carm_shape shape;
    struct carm_measurement m;
    const size_t schedules =
        carm_validate_plan_schedules(s->plan, s->target, grid, s->level == 0, codes);
    const size_t k =
        carm_measure_pick(s->team, codes, schedules, s->set_bytes, target, search, &shape, &rate);
    carm_measure_run(s->team, codes[k], &shape, s->reps, search == CARM_SEARCH_CORE ? rate : 0.0,
                     s->budget, &m);
    describe(s, &m, &s->points[grid]);
    if (search != CARM_SEARCH_CORE) {
        if (s->control_shape.iterations == 0) {
            carm_measure_shape(s->team, s->a, s->set_bytes, target, &s->control_shape);
        }
        carm_measure_run(s->team, s->a, &s->control_shape,
                         s->reps < CONTROL_REPS ? s->reps : CONTROL_REPS, 0.0, NULL, &m);
        s->points[grid].beside = carm_measure_rate(&m, m.bytes);
    }
}

static double seconds_per_byte(const struct carm_validation_point *p)
{
    return p->seconds / p->bytes;
}

/* How far code A was from its median beside a point; 0 where it was not measured. */
static double unusual(const struct carm_sweep *s, size_t grid)
{
    double sorted[CARM_GRID_POINTS];
    for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
        sorted[g] = s->points[g].beside;
    }
    const double usual = carm_stats_median(sorted, CARM_GRID_POINTS);
    return usual > 0.0 ? fabs(s->points[grid].beside / usual - 1.0) : 0.0;
}

/* The largest excess of a point's time over what points do that have more work beside the same: of
 * its time for a byte over that of points with more flops for each, and of its time for a flop over
 * that of points with more bytes for each.
 * excess  [CARM_GRID_POINTS] out */
static void find_excess(const struct carm_sweep *s, double *excess)
{
    double least = INFINITY;
    for (size_t g = CARM_GRID_POINTS; g-- > 0;) {
        const double time = seconds_per_byte(&s->points[g]);
        excess[g] = fmax(0.0, time / least - 1.0);
        least = fmin(least, time);
    }
    least = INFINITY;
    for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
        const double time = s->points[g].seconds / s->points[g].flops;
        excess[g] = fmax(excess[g], time / least - 1.0);
        least = fmin(least, time);
    }
}

/* The point that most needs another try. returns CARM_GRID_POINTS when none does
 * tried       [CARM_GRID_POINTS] attempts so far
 * by_control  out: code A was the reason, not the point's own time */
static size_t find_worst(const struct carm_sweep *s, const int *tried, bool *by_control)
{
    double excess[CARM_GRID_POINTS];
    double worst = 1.0;
    size_t at = CARM_GRID_POINTS;
    find_excess(s, excess);
    for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
        const double control = unusual(s, g) / control_max;
        const double slow = excess[g] / excess_max;
        if (fmax(control, slow) > worst && tried[g] < ATTEMPTS) {
            worst = fmax(control, slow);
            at = g;
            *by_control = control > 1.0;
        }
    }
    return at;
}

void carm_sweep_repair(struct carm_sweep *s)
{
    int tried[CARM_GRID_POINTS] = {0};
    while (s->budget->seconds > 0.0) {
        bool by_control = false;
        const size_t at = find_worst(s, tried, &by_control);
        if (at == CARM_GRID_POINTS) {
            break;
        }
        const uint64_t begin = carm_clock_now();
        const struct carm_validation_point old = s->points[at];
        const double was = unusual(s, at);
        carm_sweep_point(s, at);
        const bool better = by_control ? unusual(s, at) < was
                                       : seconds_per_byte(&s->points[at]) < seconds_per_byte(&old);
        s->points[at] = better ? s->points[at] : old;
        tried[at]++;
        s->budget->seconds -= (double)(carm_clock_now() - begin) / s->team->clock->tsc_hz;
    }
    for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
        struct carm_validation_point *p = &s->points[g];
        if (unusual(s, g) > control_max && !p->disturbed) {
            p->disturbed = true;
            snprintf(p->note, sizeof p->note,
                     "code A beside it was %.0f%% from its usual speed: neighbours",
                     100.0 * unusual(s, g));
        }
    }
}
