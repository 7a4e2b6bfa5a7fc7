/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/count_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "validation/count_code.h"
#include "harness/team.h"
#include "models/count_check.h"

/* Small enough for every L1 data cache, large enough for one iteration of every code. */
enum { WINDOW_BYTES = 1 << 17, DEVIATIONS_SHOWN = 8 };

/* ---- who counts ------------------------------------------------------------------------------ */

int carm_code_counter_open(struct carm_code_counter *counter, const char *word,
                           const struct carm_cpu *cpu, struct carm_err *err)
{
    struct carm_err why = {""};
    *counter = (struct carm_code_counter){.provider = CARM_PROVIDER_AUTO};
    int rc = word ? carm_provider_parse(word, &counter->provider, err) : 0;
    if (rc || counter->provider == CARM_PROVIDER_NONE || counter->provider == CARM_PROVIDER_STEP) {
        return rc;
    }
    rc = carm_recipe_find(cpu->vendor, cpu->family, cpu->model, &counter->recipe, &why);
    rc = rc ? rc : carm_counters_open(&counter->counters, counter->provider, counter->recipe, &why);
    if (!rc) {
        counter->provider = carm_counters_provider(counter->counters);
        return 0;
    }
    carm_recipe_free(counter->recipe);
    const bool named = counter->provider != CARM_PROVIDER_AUTO;
    *counter = (struct carm_code_counter){.provider = CARM_PROVIDER_NONE};
    return named ? carm_fail(err, CARM_ENOTSUP, "%s", why.text) : 0;
}

void carm_code_counter_close(struct carm_code_counter *counter)
{
    carm_counters_close(counter->counters);
    carm_recipe_free(counter->recipe);
    *counter = (struct carm_code_counter){.provider = CARM_PROVIDER_NONE};
}

/* ---- counting on a pinned thread ------------------------------------------------------------- */

struct job {
    const struct carm_code_counter *counter;
    const struct carm_code *code;
    struct carm_counts counted, constructed;
    int rc;
    struct carm_err err;
};

static void count(struct carm_worker *worker, void *arg)
{
    struct job *job = arg;
    job->rc = carm_count_code(job->counter->counters, job->code, worker->buffer.start, WINDOW_BYTES,
                              &job->counted, &job->constructed, &job->err);
}

static int open_team(struct carm_team **team, const struct carm_topo *topo,
                     const struct carm_clock *clock, struct carm_err *err)
{
    const int rc = carm_team_open(team, topo, clock, 1, WINDOW_BYTES, 1, err);
    if (!rc) {
        carm_team_touch(*team, WINDOW_BYTES);
    }
    return rc;
}

static int count_code(struct carm_team *team, struct job *job, struct carm_err *err)
{
    carm_team_run(team, count, job);
    if (job->rc == -CARM_EFORMAT) {
        return carm_fail(err, CARM_EFORMAT,
                         "code %s: %.300s; --counters none goes on without counters",
                         job->code->name, job->err.text);
    }
    if (job->rc) {
        *err = job->err;
    }
    return job->rc;
}

static struct carm_checked checked(const struct job *job, enum carm_quantity q)
{
    return (struct carm_checked){
        .constructed = job->constructed.q[q].value,
        .counted = carm_count_has(&job->counted, q) ? job->counted.q[q].value : -1.0,
    };
}

/* Whether what was counted is an upper bound by its recipe. */
static bool is_bound(const struct job *job)
{
    const struct carm_count *c = &job->counted.q[CARM_Q_LOADS];
    const struct carm_count *f = &job->counted.q[CARM_Q_FLOPS];
    return c->low < c->value || f->low < f->value;
}

int carm_code_counter_try(const struct carm_code_counter *counter, const struct carm_image *image,
                          const struct carm_topo *topo, const struct carm_clock *clock,
                          struct carm_err *err)
{
    struct carm_team *team = NULL;
    unsigned seen = 1U << CARM_KIND_EMPTY;
    int rc = counter->provider == CARM_PROVIDER_NONE ? 0 : open_team(&team, topo, clock, err);
    for (size_t i = 0; i < image->n && team && !rc; i++) {
        const unsigned bit = 1U << image->codes[i].spec.kind;
        if (!(seen & bit)) {
            struct job job = {.counter = counter, .code = &image->codes[i]};
            rc = count_code(team, &job, err);
            seen |= bit;
        }
    }
    carm_team_close(team);
    return rc;
}

/* ---- every code that the model names ---------------------------------------------------------- */

static bool names(const struct carm_model *model, const char *code)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        for (size_t k = 0; k < r->nmemory; k++) {
            if (strcmp(r->memory[k].code, code) == 0) {
                return true;
            }
        }
        for (size_t k = 0; k < r->ncompute; k++) {
            if (strcmp(r->compute[k].code, code) == 0) {
                return true;
            }
        }
        for (size_t k = 0; k < r->nceilings; k++) {
            if (strcmp(r->ceilings[k].code, code) == 0) {
                return true;
            }
        }
    }
    for (size_t i = 0; i < model->nvalidation_points; i++) {
        if (strcmp(model->validation_points[i].code, code) == 0) {
            return true;
        }
    }
    return false;
}

int carm_code_counter_check(const struct carm_code_counter *counter, const struct carm_image *image,
                            const struct carm_topo *topo, const struct carm_clock *clock,
                            struct carm_model *model, struct carm_err *err)
{
    struct carm_team *team = NULL;
    int rc = counter->provider == CARM_PROVIDER_NONE ? 0 : open_team(&team, topo, clock, err);
    for (size_t i = 0; i < image->n && team && !rc; i++) {
        struct job job = {.counter = counter, .code = &image->codes[i]};
        struct carm_count_check check = {.deviation = 0.0};
        if (!names(model, job.code->name)) {
            continue;
        }
        rc = count_code(team, &job, err);
        if (rc) {
            break;
        }
        (void)snprintf(check.code, sizeof check.code, "%s", job.code->name);
        (void)snprintf(check.counted_by, sizeof check.counted_by, "%s",
                       carm_provider_name(counter->provider));
        (void)snprintf(check.recipe, sizeof check.recipe, "%s",
                       counter->recipe ? counter->recipe->name : "");
        check.flops = checked(&job, CARM_Q_FLOPS);
        check.loads = checked(&job, CARM_Q_LOADS);
        check.stores = checked(&job, CARM_Q_STORES);
        carm_count_check_judge(&check, is_bound(&job));
        rc = carm_count_check_add(model, &check, err);
    }
    carm_team_close(team);
    return rc;
}

void carm_count_checks_print(const struct carm_model *model)
{
    double worst = 0.0;
    size_t deviate = 0;
    if (model->nchecks == 0) {
        return;
    }
    for (size_t i = 0; i < model->nchecks; i++) {
        worst = fmax(worst, fabs(model->checks[i].deviation));
        deviate += model->checks[i].note[0] ? 1 : 0;
    }
    const struct carm_count_check *first = &model->checks[0];
    (void)printf("counted by %s%s%s: %zu code%s, ", first->counted_by,
                 first->recipe[0] ? " for " : "", first->recipe, model->nchecks,
                 model->nchecks == 1 ? "" : "s");
    if (worst > 0.0) {
        (void)printf("at most %.3g%% from construction\n", 100.0 * worst);
    } else {
        (void)printf("exactly as constructed\n");
    }
    size_t shown = 0;
    for (size_t i = 0; i < model->nchecks && shown < DEVIATIONS_SHOWN; i++) {
        if (model->checks[i].note[0]) {
            (void)printf("  warning: %s: %s\n", model->checks[i].code, model->checks[i].note);
            shown++;
        }
    }
    if (deviate > shown) {
        (void)printf("  and %zu more; count_checks of the model has all\n", deviate - shown);
    }
}
