/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/validate/run.h"

#include <math.h>

#include "base/text.h"
#include "models/validation.h"
#include "validation/validate/measure.h"
#include "validation/validate/plan.h"
#include "validation/validate/score.h"

struct carm_validation_set carm_validate_set(const struct carm_validate_config *config,
                                             const struct carm_model *model, size_t i)
{
    return carm_validation_set_of(&model->roofs[config->sets[i].roofs],
                                  carm_op_name(config->targets[config->sets[i].target].op));
}

static int measure_set(struct carm_validate *run, struct carm_team *team, size_t i,
                       struct carm_err *err)
{
    const struct carm_validation_set set = carm_validate_set(run->config, run->model, i);
    int rc = carm_validate_measure(run, team, run->config->sets[i].roofs,
                                   run->config->sets[i].target, err);
    rc = rc ? rc : carm_validation_score(run->model, &set, err);
    return rc ? rc : carm_validation_fit_levels(run->model, &set, run->issue, err);
}

/* Measures and scores every set. Sets with the same number of threads share a team. */
static int measure(struct carm_validate *run, struct carm_err *err)
{
    const struct carm_validate_config *config = run->config;
    bool done[CARM_VALIDATE_SETS_MAX] = {false};
    int rc = 0;
    for (size_t i = 0; i < config->nsets && !rc; i++) {
        const int threads = run->model->roofs[config->sets[i].roofs].threads;
        struct carm_team *team = NULL;
        if (done[i]) {
            continue;
        }
        rc = carm_validate_open_team(run, threads, &team, err);
        for (size_t k = i; k < config->nsets && !rc; k++) {
            if (run->model->roofs[config->sets[k].roofs].threads == threads) {
                done[k] = true;
                rc = measure_set(run, team, k, err);
            }
        }
        carm_team_close(team);
    }
    return rc;
}

/* Whether a point of the sets has a figure. */
static bool has_points(const struct carm_validate *run)
{
    const struct carm_model *m = run->model;
    for (size_t i = 0; i < run->config->nsets; i++) {
        const struct carm_validation_set set = carm_validate_set(run->config, m, i);
        for (size_t k = 0; k < m->nvalidation_points; k++) {
            if (carm_validation_set_equal(&m->validation_points[k].set, &set)) {
                return true;
            }
        }
    }
    return false;
}

/* Assembles the codes. An unknown code name in the model is an error of the file. */
static int open_plan(struct carm_validate_plan *plan, const struct carm_validate_config *config,
                     const struct carm_model *model, const char *path, struct carm_err *err)
{
    const int rc =
        carm_validate_plan_open(plan, model, config->targets, config->ntargets, config->quick, err);
    const struct carm_err why = *err;
    return rc == -CARM_EFORMAT ? carm_fail(err, CARM_EFORMAT, "%.200s: %s", path, why.text) : rc;
}

int carm_validate_run(const struct carm_validate_config *config, const struct carm_host *host,
                      const char *path, const struct carm_code_counter *counter,
                      struct carm_model *model, struct carm_validate_done *done,
                      struct carm_err *err)
{
    struct carm_validate_plan plan = {.image = NULL};
    struct carm_validate run = {.config = config,
                                .plan = &plan,
                                .topo = host->topo,
                                .clock = &host->clock,
                                .observer = host->observer,
                                .model = model};
    double estimate = 0.0;
    for (size_t i = 0; i < config->nsets; i++) {
        estimate += carm_validate_seconds(&run, config->sets[i].roofs, &run.left);
    }
    run.until = carm_clock_now() +
                (uint64_t)(fmax(config->budget_seconds, CARM_BUDGET_LEAST) * host->clock.tsc_hz);
    carm_observer_begin(host->observer, estimate);
    carm_observer_step(host->observer, "assembling and recounting the test codes");
    int rc = open_plan(&plan, config, model, path, err);
    rc = rc ? rc : carm_code_counter_try(counter, plan.image, host->topo, &host->clock, err);
    rc = rc ? rc : measure(&run, err);
    rc = rc ? rc : carm_observer_check(host->observer, err);
    if (!rc && !has_points(&run)) {
        rc = carm_fail(
            err, CARM_EIO,
            "the budget of %.0f s ended before anything was measured: give more with --budget",
            fmax(config->budget_seconds, CARM_BUDGET_LEAST));
    }
    rc = rc ? rc
            : carm_code_counter_check(counter, plan.image, host->topo, &host->clock, model, err);
    if (!rc) {
        carm_text_now(model->validated, sizeof model->validated);
    }
    done->missing = run.missing;
    done->seconds = carm_observer_end(host->observer);
    carm_validate_plan_close(&plan);
    return rc;
}
