/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/buffer.h"
#include "harness/search.h"
#include "harness/measure.h"
#include "models/roofline.h"
#include "models/validation.h"
#include "validation/startup.h"
#include "validation/sweep.h"

/* What the search among a point's schedules costs, in repetitions: for the progress line. */
enum { SEARCH_REPS = 5000 };

/* One set and operation being measured. */
struct job {
    struct carm_validation_run *run;
    struct carm_team *team;
    struct carm_budget budget;
    const struct carm_roofs *roofs;
    struct carm_validation_set set;
    size_t target;
    struct carm_sweep sweep;
};

__attribute__((format(printf, 4, 5))) static int announce(struct carm_validation_run *run,
                                                          double seconds, struct carm_err *err,
                                                          const char *fmt, ...)
{
    char what[160];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return run->step(run->context, what, seconds, err);
}

static double point_seconds(const struct carm_validation_run *run, size_t level)
{
    return (double)(run->reps + SEARCH_REPS) *
           (carm_level_target(level, run->model->nlevels) + 1e-6);
}

double carm_validation_seconds(const struct carm_validation_run *run, size_t roofs)
{
    const struct carm_model *m = run->model;
    double total = 0.0;
    for (size_t l = 0; l < m->nlevels; l++) {
        if (carm_roofs_find_memory(&m->roofs[roofs], m->levels[l].level, m->config.ldst) &&
            run->wants_level(run->context, m->levels[l].level)) {
            total += point_seconds(run, l) * (CARM_GRID_POINTS + 1);
        }
    }
    return total;
}

int carm_validation_check(const struct carm_validation_run *run, size_t roofs, struct carm_err *err)
{
    const struct carm_model *m = run->model;
    const struct carm_roofs *r = &m->roofs[roofs];
    size_t usable = 0;
    for (size_t l = 0; l < m->nlevels; l++) {
        const char *level = m->levels[l].level;
        if (!run->wants_level(run->context, level)) {
            continue;
        }
        const struct carm_memory_roof *roof = carm_roofs_find_memory(r, level, m->config.ldst);
        if (roof && roof->working_set_bytes > carm_memory_available()) {
            return carm_fail(err, CARM_ENOTSUP,
                             "roofs[%zu] (%s, %d thread%s): the working set of %s takes %llu MiB, "
                             "%llu MiB are available: leave it out with --levels",
                             roofs, r->isa, r->threads, r->threads == 1 ? "" : "s", level,
                             (unsigned long long)(roof->working_set_bytes >> 20),
                             (unsigned long long)(carm_memory_available() >> 20));
        }
        if (roof) {
            usable++;
        } else if (m->levels[l].resolved) {
            return carm_fail(
                err, CARM_EFORMAT,
                "roofs[%zu] (%s, %d thread%s) has no %s roof with the model's mix %s, "
                "though levels[%zu] is resolved: `carm build` measures it, or name the "
                "levels to validate with --levels",
                roofs, r->isa, r->threads, r->threads == 1 ? "" : "s", level, m->config.ldst, l);
        }
    }
    if (usable == 0) {
        return carm_fail(err, CARM_EFORMAT,
                         "roofs[%zu] (%s, %d thread%s) has no memory roof with the model's mix %s "
                         "for any level asked for: `carm build` measures them",
                         roofs, r->isa, r->threads, r->threads == 1 ? "" : "s", m->config.ldst);
    }
    return 0;
}

/* Slots a second of the best code that keeps the whole width busy. */
static void measure_issue(struct carm_validation_run *run, struct carm_team *team)
{
    enum { ROUNDS = 3, REPS = 256 }; /* a neighbour's burst must not hide the width */
    const struct carm_validation_plan *plan = run->plan;
    const uint64_t set_bytes = 16384; /* inside any first cache, few ends of passes */
    for (size_t i = 0; i < plan->nissue; i++) {
        const struct carm_code *code = &plan->image->codes[plan->first_issue + i];
        struct carm_shape shape;
        carm_measure_shape(team, code, set_bytes, CARM_TARGET_CORE, &shape);
        for (int round = 0; round < ROUNDS; round++) {
            struct carm_measurement m;
            carm_measure_run(team, code, &shape, run->reps < REPS ? run->reps : REPS, 0.0, NULL,
                             &m);
            const double slots = (double)carm_account_slots(&code->account) *
                                 (double)(shape.iterations * shape.passes) * team->n;
            if (!m.disturbed) {
                run->issue = fmax(run->issue, slots / m.seconds.median);
            }
        }
    }
}

int carm_validation_team(struct carm_validation_run *run, int threads, struct carm_team **team,
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
    int rc =
        announce(run, 0.0, err, "%d thread%s: touching memory", threads, threads == 1 ? "" : "s");
    rc = rc ? rc
            : carm_team_open(team, run->topo, run->clock, threads, largest + ((size_t)18 << 20),
                             run->reps > 2048 ? run->reps : 2048, err);
    if (!rc) {
        carm_measure_calibrate(*team, run->plan->empty);
        run->issue = 0.0;
    }
    return rc;
}

/* What codes A or B give now: before and after the points, and the faster of both, since neighbours
 * only slow a core down. (What is shared with them is measured beside each point: usual_control.) */
static void measure_beside(struct job *j, const struct carm_code *code, uint64_t set_bytes,
                           double target, struct carm_validation_roof *out)
{
    struct carm_shape shape;
    struct carm_measurement m;
    carm_measure_shape(j->team, code, set_bytes, target, &shape);
    carm_measure_run(j->team, code, &shape, j->run->reps, 0.0, &j->budget, &m);
    const double work = code->account.stride_bytes ? m.bytes : m.flops;
    if (carm_measure_rate(&m, work) > out->beside) {
        out->beside = carm_measure_rate(&m, work);
        out->beside_ci95 = (struct carm_ci){work / m.seconds.ci_hi, work / m.seconds.ci_lo};
        out->disturbed = m.disturbed;
    }
}

/* On shared levels the roof beside the points is the median of what code A gave after each. */
static void usual_control(const struct carm_sweep *s, struct carm_validation_roof *roof)
{
    double control[CARM_GRID_POINTS];
    struct carm_stats stats;
    for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
        control[g] = s->points[g].beside;
    }
    carm_stats_describe(control, CARM_GRID_POINTS, &stats);
    if (stats.median > 0.0) {
        roof->beside = stats.median;
        roof->beside_ci95 = (struct carm_ci){stats.ci_lo, stats.ci_hi};
    }
}

static int measure_level(struct job *j, size_t level, struct carm_err *err)
{
    const struct carm_model *model = j->run->model;
    const struct carm_memory_roof *roof =
        carm_roofs_find_memory(j->roofs, model->levels[level].level, model->config.ldst);
    if (!roof || !j->run->wants_level(j->run->context, roof->level)) {
        return 0;
    }
    const struct carm_code *code = carm_validation_plan_find(j->run->plan, roof->code);
    const double target = carm_level_target(level, model->nlevels);
    const uint64_t set_bytes = roof->working_set_bytes / (uint64_t)j->set.threads;
    struct carm_sweep *s = &j->sweep;
    (void)carm_validation_drop(j->run->model, &j->set, roof->level);
    struct carm_validation_roof beside = {.set = j->set, .model = roof->bandwidth};
    *s = (struct carm_sweep){.team = j->team,
                             .model = model,
                             .plan = j->run->plan,
                             .set = &j->set,
                             .target = j->target,
                             .level = level,
                             .a = code,
                             .set_bytes = set_bytes,
                             .reps = j->run->reps,
                             .budget = &j->budget};
    (void)snprintf(beside.level, sizeof beside.level, "%s", roof->level);
    (void)snprintf(beside.code, sizeof beside.code, "%s", roof->code);
    int rc = announce(j->run, 0.0, err, "%d thread%s: %s %s %s", j->set.threads,
                      j->set.threads == 1 ? "" : "s", j->set.isa, roof->level, model->config.ldst);
    if (rc) {
        return rc;
    }
    if (level > 0) {
        carm_measure_place(j->team, code, set_bytes, 8);
    }
    measure_beside(j, code, set_bytes, target, &beside);
    rc = carm_validation_startup(j->team, code, set_bytes, target, j->run->reps, &beside, err);
    for (size_t g = 0; g < CARM_GRID_POINTS && !rc; g++) {
        rc = announce(j->run, point_seconds(j->run, level), err,
                      "%d thread%s: %s %s %s at %.3g flop/byte", j->set.threads,
                      j->set.threads == 1 ? "" : "s", j->set.isa, j->set.op, roof->level,
                      carm_grid_intensity(g));
        if (!rc) {
            carm_sweep_point(s, g);
        }
    }
    if (!rc) {
        carm_sweep_repair(s);
    }
    for (size_t g = 0; g < CARM_GRID_POINTS && !rc; g++) {
        rc = carm_validation_add_point(j->run->model, &s->points[g], err);
    }
    if (!rc) {
        measure_beside(j, code, set_bytes, target, &beside);
        usual_control(s, &beside);
        rc = carm_validation_add_roof(j->run->model, &beside, err);
    }
    return rc;
}

int carm_validation_measure(struct carm_validation_run *run, struct carm_team *team, size_t roofs,
                            size_t target, struct carm_err *err)
{
    const struct carm_roofs *r = &run->model->roofs[roofs];
    struct job j = {.run = run, .team = team, .roofs = r, .target = target};
    const char *op = carm_op_name(run->plan->targets[target].op);
    const struct carm_compute_roof *peak = carm_roofs_find_compute(r, op);
    const struct carm_code *code = carm_validation_plan_find(run->plan, peak->code);
    struct carm_validation_roof beside = {.model = peak->rate};
    j.set = carm_validation_set_of(r, op);
    beside.set = j.set;
    (void)snprintf(beside.level, sizeof beside.level, "peak");
    (void)snprintf(beside.code, sizeof beside.code, "%s", peak->code);
    j.budget.seconds = run->retry_seconds;
    run->model->roofs[roofs].validated_core_to_core_seconds = carm_core_to_core_seconds(team);
    measure_issue(run, team); /* the best of all sets with one team is the width */
    (void)carm_validation_drop(run->model, &j.set, "peak");
    measure_beside(&j, code, 0, CARM_TARGET_CORE, &beside);
    int rc = carm_validation_startup(team, code, 0, CARM_TARGET_CORE, run->reps, &beside, err);
    for (size_t level = 0; level < run->model->nlevels && !rc; level++) {
        rc = measure_level(&j, level, err);
    }
    if (!rc) {
        measure_beside(&j, code, 0, CARM_TARGET_CORE, &beside);
        rc = carm_validation_add_roof(run->model, &beside, err);
    }
    return rc;
}
