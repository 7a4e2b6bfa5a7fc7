/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/validate/measure.h"

#include <math.h>
#include <stdio.h>

#include "harness/machine/measure.h"
#include "harness/machine/search.h"
#include "models/fit/line.h"
#include "models/roofline.h"
#include "models/validation.h"
#include "validation/validate/sweep.h"

/* Cost of the search among a point's schedules, in repetitions, for the progress line. */
enum { SEARCH_REPS = 5000 };

/* One set and operation being measured. */
struct job {
    struct carm_validate *run;
    struct carm_team *team;
    const struct carm_roofs *roofs;
    struct carm_validation_set set;
    size_t target;
    const struct carm_code *peak; /* code of the compute roof */
    struct carm_sweep sweep;
};

static double point_seconds(const struct carm_validate *run, size_t level)
{
    return (double)(run->config->reps + SEARCH_REPS) *
           (carm_level_target(level, run->model->nlevels) + 1e-6);
}

/* The weight of a level in the division of time: one half equal for all levels, one half by the
 * length of its repetitions. */
static double weight_of(const struct carm_validate *run, size_t level)
{
    return CARM_TARGET_CORE + carm_level_target(level, run->model->nlevels);
}

double carm_validate_seconds(const struct carm_validate *run, size_t roofs, double *weights)
{
    const struct carm_model *m = run->model;
    double total = 0.0;
    for (size_t l = 0; l < m->nlevels; l++) {
        if (carm_roofs_find_memory(&m->roofs[roofs], m->levels[l].level, m->config.ldst) &&
            carm_level_list_has(&run->config->levels, m->levels[l].level)) {
            total += point_seconds(run, l) * (CARM_GRID_POINTS + 1);
            *weights += weight_of(run, l);
        }
    }
    return total;
}

/* Measures the issue rate, slots/s, of the best code that keeps the whole width busy. */
static void measure_issue(struct carm_validate *run, struct carm_team *team)
{
    enum { ROUNDS = 3, REPS = 256 }; /* several rounds, as a neighbour may disturb one */
    const struct carm_validate_plan *plan = run->plan;
    const uint64_t set_bytes = 16384; /* fits any L1; large enough for few ends of passes */
    for (size_t i = 0; i < plan->nissue; i++) {
        const struct carm_code *code = &plan->image->codes[plan->first_issue + i];
        struct carm_shape shape;
        carm_measure_shape(team, code, set_bytes, CARM_TARGET_CORE, &shape);
        for (int round = 0; round < ROUNDS; round++) {
            struct carm_measurement m;
            carm_measure_run(team, code, &shape,
                             run->config->reps < REPS ? run->config->reps : REPS, &m);
            const double slots = (double)carm_account_slots(&code->account) *
                                 (double)(shape.iterations * shape.passes) * team->n;
            if (!m.disturbance) {
                run->issue = fmax(run->issue, slots / m.seconds.median);
            }
        }
    }
}

/* Seconds until a TSC value. */
static double until(const struct carm_validate *run, uint64_t tsc)
{
    return ((double)tsc - (double)carm_clock_now()) / run->clock->tsc_hz;
}

/* A deadline at a share of the remaining time. */
static struct carm_deadline within(const struct carm_validate *run, const struct carm_team *team,
                                   double part)
{
    const double ticks = part * until(run, team->deadline.tsc) * run->clock->tsc_hz;
    return carm_deadline_within(team->deadline, ticks);
}

static void calibrate(const struct carm_validate *run, struct carm_team *team)
{
    const struct carm_deadline deadline = team->deadline;
    team->deadline = within(run, team, 0.05);
    carm_measure_calibrate(team, run->plan->empty);
    team->deadline = deadline;
}

/* Touches all memory before the levels' time begins: half a second for 1 GiB. The deadline
 * leaves time for the levels of small sets, also under a quota of 6%. The levels of larger sets
 * touch the rest. */
static void touch(const struct carm_validate *run, struct carm_team *team, size_t bytes)
{
    const struct carm_deadline deadline = team->deadline;
    team->deadline = within(run, team, 0.15);
    carm_team_touch(team, bytes);
    team->deadline = deadline;
}

int carm_validate_open_team(struct carm_validate *run, int threads, struct carm_team **team,
                            struct carm_err *err)
{
    const struct carm_model *m = run->model;
    uint64_t largest = (uint64_t)2 << 20;
    for (size_t i = 0; i < m->nroofs; i++) {
        for (size_t k = 0; k < m->roofs[i].nmemory && m->roofs[i].threads == threads; k++) {
            const uint64_t set = m->roofs[i].memory[k].working_set_bytes / (uint64_t)threads;
            largest = set > largest ? set : largest;
        }
    }
    /* places for small sets are tried on eight pages (carm_measure_place) */
    carm_observer_step(run->observer, "%d thread%s: touching memory", threads,
                       threads == 1 ? "" : "s");
    enum { REPS = 2048 }; /* room for so many at least */
    const size_t reps = run->config->reps > REPS ? run->config->reps : REPS;
    int rc = carm_observer_check(run->observer, err);
    rc = rc ? rc
            : carm_team_open(team, run->topo, run->clock, threads, largest + ((size_t)18 << 20),
                             reps, err);
    if (!rc) {
        (*team)->deadline = (struct carm_deadline){run->until, run->observer->stop};
        touch(run, *team, largest);
        carm_measure_watch(*team, run->config->quick ? 0.1 : 0.3);
        calibrate(run, *team);
        run->issue = 0.0;
    }
    return rc;
}

/* The rate of a roof's code free of start-up cost: T = t0 + work / rate over sizes of one run, from a
 * sixteenth of target_seconds to twice that, as F(phi) and B(beta) approach it in Ilic et al. 2014, figure
 * 3. Fills rate, rate_se, t0 and t0_se, or leaves them 0 where the times are not conclusive.
 * set_bytes  working set of one thread, touched before; 0 for code B
 * returns 0 or -CARM_ENOMEM */
static int measure_startup(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                           double target_seconds, size_t reps, struct carm_validation_roof *roof,
                           struct carm_err *err)
{
    enum { SIZES = 11, HALVES_BELOW = 8, REPS = 512 };
    double work[SIZES];
    double seconds[SIZES];
    double last = 0.0;
    size_t n = 0;
    struct carm_shape full;
    struct carm_fit_line line;
    carm_measure_shape(team, code, set_bytes, target_seconds, &full);
    const double whole = (double)(full.iterations * full.passes);
    for (int i = 0; i < SIZES; i++) { /* half octaves from 1/16 to 2 of a repetition */
        struct carm_shape shape;
        struct carm_measurement m;
        const double wanted = whole * pow(2.0, 0.5 * (i - HALVES_BELOW));
        carm_measure_shape_of(code, set_bytes, (uint64_t)wanted, &shape);
        carm_measure_run(team, code, &shape, reps < REPS ? reps : REPS, &m);
        const double done = code->account.stride_bytes ? m.bytes : m.flops;
        if (m.seconds.median > 0.0 && done > last) {
            last = done;
            work[n] = done;
            seconds[n++] = m.seconds.median;
        }
    }
    int rc = carm_fit_line(work, seconds, n, &line, err);
    if (rc == -CARM_ENOMEM) {
        return rc;
    }
    if (rc == 0) {
        roof->rate = line.rate.value;
        roof->rate_se = line.rate.se;
        roof->t0 = line.t0.value;
        roof->t0_se = line.t0.se;
    }
    return 0; /* times that do not grow with work: the roof gets no such rate */
}

/* The roof measured beside the points: its code in all rounds of the points. */
static void describe_beside(const struct carm_series *series, const struct carm_clock *clock,
                            struct carm_validation_roof *out)
{
    struct carm_pooled pooled;
    carm_series_estimate(series, clock, &pooled);
    if (pooled.n > 0) {
        out->beside = pooled.rate;
        out->beside_ci95 = pooled.ci95;
        out->disturbed = !pooled.sound;
    }
}

static int announce(const struct job *j, const char *level, size_t round, size_t rounds,
                    struct carm_err *err)
{
    carm_observer_step(j->run->observer, "%d thread%s: %s %s %s, round %zu of %zu", j->set.threads,
                       j->set.threads == 1 ? "" : "s", j->set.isa, j->set.op, level, round, rounds);
    return carm_observer_check(j->run->observer, err);
}

/* Chooses schedules, then runs rounds of all points.
 * end  TSC at which the level's time is over; repairs that have begun go on */
static int measure_points(struct job *j, uint64_t end, struct carm_err *err)
{
    /* Seconds that a run waits for cores of its own. States of a shared core last 1 to 10 ms
     * (docs/results.md). */
    static const double search_wait = 3e-3;
    static const double round_wait = 10e-3;
    static const double repair_wait = 25e-3;
    /* Shares of a level's time that are left when each part ends, chosen by hand. search_left:
     * searches stop waiting */
    static const double search_left = 0.65;
    /* searches end: the remaining points take their first schedule */
    static const double search_least = 0.60;
    static const double chosen_left = 0.50; /* every point has a schedule */
    static const double rounds_left = 0.45; /* the equal rounds end; the rest is for repairs */
    struct carm_validate *run = j->run;
    struct carm_team *team = j->team;
    const double share = until(run, end);
    const struct carm_deadline whole = team->deadline;
    struct carm_sweep *s = &j->sweep;
    const char *level = j->run->model->levels[s->level].level;
    const size_t rounds = carm_rounds_of(j->run->config->reps, &s->reps);
    const double each = point_seconds(j->run, s->level) * CARM_GRID_POINTS / (double)(rounds + 4);
    int rc = carm_sweep_open(s, err);
    for (size_t g = 0; g < CARM_GRID_POINTS && !rc; g++) {
        carm_observer_step(j->run->observer, "%d thread%s: %s %s %s at %.3g flop/byte",
                           j->set.threads, j->set.threads == 1 ? "" : "s", j->set.isa, j->set.op,
                           level, carm_grid_intensity(g));
        rc = carm_observer_check(j->run->observer, err);
        if (!rc) {
            const bool early = until(run, end) > search_least * share;
            team->patience_seconds = until(run, end) > search_left * share ? search_wait : 0.0;
            /* the time of the rounds is divided among the rounds */
            const double left = until(run, end) - chosen_left * share;
            team->deadline = carm_deadline_within(whole, left / (double)(CARM_GRID_POINTS - g) *
                                                             run->clock->tsc_hz);
            carm_sweep_choose(s, g, early);
            team->deadline = whole;
            carm_observer_advance(j->run->observer, 4.0 * each / CARM_GRID_POINTS);
        }
    }
    for (size_t r = 0; r < rounds && !rc && !carm_team_is_over(team); r++) {
        if (r > CARM_ROUNDS_MIN && !(until(run, end) > rounds_left * share)) {
            break; /* the remaining time is for points that need more rounds */
        }
        team->patience_seconds = until(run, end) > 0.0 ? round_wait : 0.0;
        rc = announce(j, level, r + 1, rounds, err);
        if (!rc) {
            calibrate(j->run, team);
            carm_sweep_round(s, NULL);
            carm_observer_advance(j->run->observer, each);
        }
    }
    if (!rc) {
        s->budget_seconds = until(run, end);
        team->patience_seconds = repair_wait;
        carm_sweep_repair(s);
    }
    return rc;
}

/* peak: the peak measured beside the points, the best over the levels */
static int measure_level(struct job *j, size_t level, struct carm_validation_roof *peak,
                         struct carm_err *err)
{
    const struct carm_model *model = j->run->model;
    const struct carm_memory_roof *roof =
        carm_roofs_find_memory(j->roofs, model->levels[level].level, model->config.ldst);
    if (!roof || !carm_level_list_has(&j->run->config->levels, roof->level)) {
        return 0;
    }
    const struct carm_code *code = carm_validate_plan_find(j->run->plan, roof->code);
    const double target = carm_level_target(level, model->nlevels);
    const uint64_t set_bytes = roof->working_set_bytes / (uint64_t)j->set.threads;
    struct carm_sweep *s = &j->sweep;
    carm_validation_drop(j->run->model, &j->set, roof->level);
    struct carm_validation_roof beside = {.set = j->set, .model = roof->bandwidth};
    *s = (struct carm_sweep){.team = j->team,
                             .model = model,
                             .plan = j->run->plan,
                             .set = &j->set,
                             .target = j->target,
                             .level = level,
                             .a = code,
                             .b = j->peak,
                             .set_bytes = set_bytes};
    snprintf(beside.level, sizeof beside.level, "%s", roof->level);
    snprintf(beside.code, sizeof beside.code, "%s", roof->code);
    /* Each level has its part of the remaining time. Repairs that have begun may exceed this
     * part by 15%, at the cost of the next level or of the budget's tolerance */
    static const double beyond = 0.15;
    struct carm_validate *run = j->run;
    const struct carm_deadline whole = j->team->deadline;
    const double part = fmin(weight_of(run, level) / run->left, 1.0);
    const double share = fmax(part * until(run, run->until), 0.0);
    run->left -= weight_of(run, level);
    const uint64_t end = carm_clock_now() + (uint64_t)(share * run->clock->tsc_hz);
    j->team->deadline = (struct carm_deadline){
        end + (uint64_t)(beyond * share * run->clock->tsc_hz), run->observer->stop};
    if (level > 0) {
        carm_measure_place(j->team, code, set_bytes, 8);
    }
    int rc = measure_startup(j->team, code, set_bytes, target, j->run->config->reps, &beside, err);
    rc = rc ? rc : measure_points(j, end, err);
    j->team->deadline = whole;
    for (size_t g = 0; g < CARM_GRID_POINTS && !rc; g++) {
        struct carm_validation_point p;
        if (s->points[g].series.n == 0) {
            j->run->missing++;
            continue;
        }
        carm_sweep_describe(s, g, &p);
        /* a code whose loop does not fit into the level measures another level: at 2^-8 op/byte,
         * vpdpbusd takes 64 KiB of loads and stores */
        if (p.working_set_bytes <= roof->working_set_bytes || level + 1 == model->nlevels) {
            rc = carm_validation_add_point(j->run->model, &p, err);
        }
    }
    if (!rc) {
        struct carm_validation_roof here = *peak;
        describe_beside(&s->memory, j->team->clock, &beside);
        describe_beside(&s->compute, j->team->clock, &here);
        *peak = here.beside > peak->beside ? here : *peak; /* the best of all levels, since
                                                            * neighbours only slow the peak */
        rc = beside.beside > 0.0 ? carm_validation_add_roof(j->run->model, &beside, err) : 0;
    }
    carm_sweep_close(s);
    return rc;
}

int carm_validate_measure(struct carm_validate *run, struct carm_team *team, size_t roofs,
                          size_t target, struct carm_err *err)
{
    const struct carm_roofs *r = &run->model->roofs[roofs];
    struct job j = {.run = run, .team = team, .roofs = r, .target = target};
    const char *op = carm_op_name(run->plan->targets[target].op);
    const struct carm_compute_roof *peak = carm_roofs_find_compute(r, op);
    const struct carm_code *code = carm_validate_plan_find(run->plan, peak->code);
    struct carm_validation_roof beside = {.model = peak->rate};
    j.set = carm_validation_set_of(r, op);
    beside.set = j.set;
    snprintf(beside.level, sizeof beside.level, "peak");
    snprintf(beside.code, sizeof beside.code, "%s", peak->code);
    run->model->roofs[roofs].validated_core_to_core_seconds = carm_core_to_core_seconds(team);
    measure_issue(run, team); /* the best over all sets with this team */
    carm_validation_drop(run->model, &j.set, "peak");
    j.peak = code;
    int rc = measure_startup(team, code, 0, CARM_TARGET_CORE, run->config->reps, &beside, err);
    for (size_t level = 0; level < run->model->nlevels && !rc; level++) {
        rc = measure_level(&j, level, &beside, err);
    }
    return rc || !(beside.beside > 0.0) ? rc : carm_validation_add_roof(run->model, &beside, err);
}
