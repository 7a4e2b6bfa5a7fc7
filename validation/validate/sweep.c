/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/validate/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/search.h"
#include "models/roofline.h"

/* Tolerated excess of a point's time over a point with more work, relative; chosen by hand. */
static const double excess_max = 0.03;
enum {
    CHOICES = 3,      /* most choices of a schedule */
    MORE = 3,         /* most rounds of a point, in multiples of the planned rounds */
    BETWEEN = 4,      /* points between two looks at codes A and B */
    BESIDE_SHARE = 2, /* codes A and B have a half of a point's repetitions */
};

static bool is_shared(const struct carm_sweep *s)
{
    return carm_level_search(s->level, s->model->nlevels) != CARM_SEARCH_CORE;
}

static double intensity_of(const struct carm_code *code)
{
    const struct carm_account *a = &code->account;
    return (double)a->flops / (double)(a->load_bytes + a->store_bytes);
}

int carm_sweep_open(struct carm_sweep *s, struct carm_err *err)
{
    const double target = carm_level_target(s->level, s->model->nlevels);
    s->points =
        calloc((size_t)2 * CARM_GRID_POINTS, sizeof *s->points); /* second half: the points before a
                                                          * repair */
    if (!s->points) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for the points of a level");
        return -CARM_ENOMEM;
    }
    carm_series_open(&s->memory, s->team, s->a, s->set_bytes, target, is_shared(s));
    carm_series_open(&s->compute, s->team, s->b, 0, CARM_TARGET_CORE, false);
    return 0;
}

void carm_sweep_close(struct carm_sweep *s)
{
    free(s->points);
    s->points = NULL;
}

void carm_sweep_choose(struct carm_sweep *s, size_t grid, bool search)
{
    const size_t n = s->model->nlevels;
    const double target = carm_level_target(s->level, n);
    const enum carm_search how = carm_level_search(s->level, n);
    const struct carm_code *codes[CARM_SCHEDULES_MAX];
    struct carm_sweep_point *p = &s->points[grid];
    struct carm_shape shape;
    const size_t schedules =
        carm_validate_plan_schedules(s->plan, s->target, grid, s->level == 0, codes);
    const size_t k = carm_measure_pick(s->team, codes, search ? schedules : 1, s->set_bytes, target,
                                       how, &shape, NULL);
    p->tried++;
    if (codes[k] != p->series.code) { /* rounds of another schedule do not count for this one */
        p->series = (struct carm_series){.code = codes[k], .shape = shape, .shared = is_shared(s)};
    }
}

/* Runs a round of codes A and B. returns false: the deadline left a code without a repetition */
static bool look_beside(struct carm_sweep *s)
{
    const size_t reps = s->reps / BESIDE_SHARE ? s->reps / BESIDE_SHARE : 1;
    const bool memory = carm_series_round(&s->memory, s->team, reps, NULL);
    return carm_series_round(&s->compute, s->team, reps, NULL) && memory;
}

static struct carm_round last_round(const struct carm_series *s)
{
    return s->rounds[s->n - 1];
}

/* Compares the points since the last look with the mean of the looks before and after them. */
static void pair(struct carm_sweep *s, const size_t *grids, size_t n, struct carm_round memory,
                 struct carm_round compute)
{
    const struct carm_round a = last_round(&s->memory);
    const struct carm_round b = last_round(&s->compute);
    for (size_t i = 0; i < n; i++) {
        struct carm_sweep_point *p = &s->points[grids[i]];
        p->beside[p->series.n - 1] = (struct carm_sweep_beside){
            .attainable =
                carm_roofline_eval(intensity_of(p->series.code), 0.5 * (memory.rate + a.rate),
                                   0.5 * (compute.rate + b.rate)),
            .sound = carm_state_is_sound(memory.state) && carm_state_is_sound(compute.state) &&
                     carm_state_is_sound(a.state) && carm_state_is_sound(b.state)};
    }
}

void carm_sweep_round(struct carm_sweep *s, const bool *wanted)
{
    size_t grids[BETWEEN];
    size_t n = 0;
    bool goes = look_beside(s);
    for (size_t g = 0; g < CARM_GRID_POINTS && goes; g++) {
        struct carm_sweep_point *p = &s->points[g];
        if ((!wanted || wanted[g]) && carm_series_round(&p->series, s->team, s->reps, NULL)) {
            p->beside[p->series.n - 1] = (struct carm_sweep_beside){.attainable = 0.0};
            grids[n++] = g;
        }
        if (n == BETWEEN || (n > 0 && g + 1 == CARM_GRID_POINTS)) {
            const struct carm_round memory = last_round(&s->memory);
            const struct carm_round compute = last_round(&s->compute);
            goes = look_beside(s);
            if (goes) {
                pair(s, grids, n, memory, compute);
            }
            n = 0;
        }
    }
}

void carm_sweep_excess(const double *intensity, const double *performance, size_t n, double *excess)
{
    double least = INFINITY;
    for (size_t g = n; g-- > 0;) {
        const double time = intensity[g] / performance[g]; /* seconds for a byte */
        excess[g] = fmax(0.0, time / least - 1.0);
        least = fmin(least, time);
    }
    least = INFINITY;
    for (size_t g = 0; g < n; g++) {
        const double time = 1.0 / performance[g]; /* seconds for a flop */
        excess[g] = fmax(excess[g], time / least - 1.0);
        least = fmin(least, time);
    }
}

/* The performance of a point, flop/s, from its series' rate, which counts the bytes of its code. */
static double performance_of(const struct carm_series *s, double rate)
{
    return rate * intensity_of(s->code);
}

static void estimate(const struct carm_sweep *s, struct carm_pooled *pooled)
{
    for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
        carm_series_estimate(&s->points[g].series, s->team->clock, &pooled[g]);
    }
}

/* Marks the points that need more rounds (wanted), and among these the points that need another
 * schedule (choose). returns the number of points */
static size_t find_doubtful(const struct carm_sweep *s, size_t rounds, bool *wanted, bool *choose)
{
    struct carm_pooled pooled[CARM_GRID_POINTS];
    double intensity[CARM_GRID_POINTS];
    double performance[CARM_GRID_POINTS];
    double excess[CARM_GRID_POINTS];
    size_t n = 0;
    estimate(s, pooled);
    for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
        const struct carm_series *series = &s->points[g].series;
        intensity[g] = intensity_of(series->code);
        performance[g] = performance_of(series, pooled[g].rate);
    }
    carm_sweep_excess(intensity, performance, CARM_GRID_POINTS, excess);
    for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
        const struct carm_sweep_point *p = &s->points[g];
        const bool slow = excess[g] > excess_max;
        choose[g] = slow && p->tried < CHOICES;
        wanted[g] = (choose[g] || slow || carm_series_is_doubtful(&p->series, &pooled[g], 1.0)) &&
                    p->series.n < MORE * rounds;
        choose[g] = choose[g] && wanted[g];
        n += wanted[g] ? 1 : 0;
    }
    return n;
}

void carm_sweep_repair(struct carm_sweep *s)
{
    const size_t rounds = s->points[0].series.n;
    struct carm_sweep_point *const earlier = s->points + CARM_GRID_POINTS;
    bool wanted[CARM_GRID_POINTS];
    bool choose[CARM_GRID_POINTS];
    while (s->budget_seconds > 0.0 && !carm_team_is_over(s->team) &&
           find_doubtful(s, rounds, wanted, choose) > 0) {
        const uint64_t begin = carm_clock_now();
        memcpy(earlier, s->points, CARM_GRID_POINTS * sizeof *earlier);
        for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
            if (choose[g]) {
                carm_sweep_choose(s, g, true);
                if (s->points[g].series.n == 0) { /* a new schedule: compare it with the old one */
                    struct carm_pooled was;
                    struct carm_pooled now;
                    carm_series_round(&s->points[g].series, s->team, s->reps, NULL);
                    carm_series_estimate(&earlier[g].series, s->team->clock, &was);
                    carm_series_estimate(&s->points[g].series, s->team->clock, &now);
                    s->points[g].series.n = 0; /* new rounds, with codes A and B beside them */
                    if (performance_of(&s->points[g].series, now.rate) <
                        performance_of(&earlier[g].series, was.rate)) {
                        const int tried = s->points[g].tried;
                        s->points[g] = earlier[g];
                        s->points[g].tried = tried;
                    }
                }
            }
        }
        carm_sweep_round(s, wanted);
        /* if the deadline left the new schedule no round, the earlier schedule stays */
        for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
            s->points[g] = s->points[g].series.n > 0 ? s->points[g] : earlier[g];
        }
        s->budget_seconds -= (double)(carm_clock_now() - begin) / s->team->clock->tsc_hz;
    }
    /* a new schedule gets the same number of rounds as the others */
    for (bool any = true; any && !carm_team_is_over(s->team);) {
        any = false;
        for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
            wanted[g] = s->points[g].series.n < rounds;
            any = any || wanted[g];
        }
        if (any) {
            carm_sweep_round(s, wanted);
        }
    }
}

double carm_sweep_paired(double performance, const struct carm_round *rounds,
                         const struct carm_sweep_beside *beside, size_t n)
{
    double ratios[CARM_ROUNDS_MAX];
    for (int all = 0; all < 2; all++) {
        size_t found = 0;
        for (size_t i = 0; i < n; i++) {
            if (beside[i].attainable > 0.0 &&
                (all || (beside[i].sound && carm_state_is_sound(rounds[i].state)))) {
                ratios[found++] = rounds[i].rate / beside[i].attainable;
            }
        }
        if (found >= CARM_ROUNDS_MIN || (all && found > 0)) {
            return performance / carm_stats_median(ratios, found);
        }
    }
    return 0.0;
}

void carm_sweep_describe(const struct carm_sweep *s, size_t grid, struct carm_validation_point *p)
{
    const struct carm_sweep_point *point = &s->points[grid];
    const struct carm_series *series = &point->series;
    const struct carm_account *a = &series->code->account;
    const double times =
        (double)(series->shape.iterations * series->shape.passes) * s->set->threads;
    const double intensity = intensity_of(series->code);
    struct carm_round rounds[CARM_ROUNDS_MAX];
    struct carm_pooled pooled;
    carm_series_estimate(series, s->team->clock, &pooled);
    *p = (struct carm_validation_point){.set = *s->set};
    snprintf(p->level, sizeof p->level, "%s", s->model->levels[s->level].level);
    snprintf(p->code, sizeof p->code, "%s", series->code->name);
    p->flops = (double)a->flops * times;
    p->bytes = (double)(a->load_bytes + a->store_bytes) * times;
    p->seconds = p->bytes / pooled.rate;
    p->ci95 = (struct carm_ci){pooled.ci95.lo * intensity, pooled.ci95.hi * intensity};
    p->slots = (double)carm_account_slots(a) * times;
    p->clock_hz = pooled.clock_hz;
    p->working_set_bytes =
        carm_measure_set_bytes(series->code, &series->shape) * (uint64_t)s->set->threads;
    p->reps = series->reps;
    const struct carm_stream stream = {
        .load_bytes = (double)a->load_bytes * times,
        .store_bytes = (double)a->store_bytes * times,
        .update = series->code->spec.mix.update,
        .nontemporal = series->code->spec.mix.nontemporal,
        .set_bytes = (double)p->working_set_bytes,
        .repetitions = (double)p->reps,
    };
    for (size_t link = 1; link < s->model->nlevels && p->ntraffic < CARM_TRAFFIC_MAX; link++) {
        p->traffic[p->ntraffic++] = carm_traffic_bytes(&stream, link, s->level);
    }
    memcpy(rounds, series->rounds, series->n * sizeof *rounds);
    for (size_t i = 0; i < series->n; i++) {
        rounds[i].rate *= intensity;
    }
    p->paired = carm_sweep_paired(p->flops / p->seconds, rounds, point->beside, series->n);
    snprintf(p->counted_by, sizeof p->counted_by, "constructed");
    p->disturbed = carm_series_fault(series, &pooled, p->note, sizeof p->note);
}
