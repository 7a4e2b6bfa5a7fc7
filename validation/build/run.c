/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/build/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/search.h"
#include "validation/build/ceilings.h"
#include "validation/build/levels.h"
#include "validation/build/points.h"
#include "validation/build/roofs.h"
#include "validation/machine.h"

/* The code that draws the curve: the best in the two inner caches. */
static const struct carm_code *choose_code(struct carm_build_set *s)
{
    const struct carm_build_config *c = s->build->config;
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    double inner[CARM_CANDIDATES_MAX];
    double outer[CARM_CANDIDATES_MAX];
    const size_t n = carm_build_plan_memory(s->build->plan, c->isas[0], c->precisions[0],
                                            &c->mixes[0], true, codes);
    carm_observer_step(s->build->observer, "%d thread%s: choosing codes", s->threads,
                       s->threads == 1 ? "" : "s");
    const uint64_t l2 = s->build->topo->ncaches > 1 ? s->build->topo->caches[1].size_bytes : 0;
    size_t k =
        carm_measure_best(s->team, codes, n, 16384, CARM_TARGET_CORE, CARM_SEARCH_CORE, inner);
    if (l2) {
        /* the same code draws the whole curve: it must do well in L2, too, where the number of
         * loads in the loop can decide whether a prefetcher follows them */
        carm_measure_place(s->team, codes[k], l2 * 13 / 20, 8);
        carm_measure_best(s->team, codes, n, l2 / 2, CARM_TARGET_CORE, CARM_SEARCH_CORE, outer);
        for (size_t i = 0; i < n; i++) {
            k = inner[i] * outer[i] > inner[k] * outer[k] ? i : k;
        }
    }
    return codes[k];
}

/* The curve B(beta) and the levels on it. fewest: in and out, the levels of the fewest threads; n = 0
 * before them */
static int measure_levels(struct carm_build_set *s, struct carm_build_levels *fewest,
                          struct carm_model *model, struct carm_err *err)
{
    const struct carm_code *code = choose_code(s);
    struct carm_curve *curve = NULL;
    double clocks[CARM_CURVE_POINTS_MAX];
    int rc = carm_build_add_curve(model, &code->spec, s->threads, &curve, err);
    /* a burst of the neighbours can blur a cache: the first curve, which the others can borrow from,
     * gets a second chance */
    const int attempts = fewest->n ? 1 : 2;
    for (int attempt = 0; attempt < attempts && !rc; attempt++) {
        curve->npoints = 0;
        rc = carm_build_curve(s->build, s->team, code, &s->budget, curve, clocks, err);
        if (rc) {
            break;
        }
        carm_build_find_levels(s->build, s->threads, curve, clocks, fewest->n ? fewest : NULL,
                               &s->levels);
        if (!carm_build_misses_cache(s->build, &s->levels)) {
            break;
        }
    }
    if (rc) {
        return rc;
    }
    if (!fewest->n) {
        *fewest = s->levels;
    }
    if (model->nlevels == 0) { /* the fewest threads describe the levels of one core */
        return carm_build_add_levels(model, &s->levels, err);
    }
    carm_build_note_levels(model, &s->levels, s->threads);
    return 0;
}

/* fewest: as measure_levels has it */
static int measure_set(struct carm_build_set *s, struct carm_build_levels *fewest,
                       struct carm_model *model, struct carm_err *err)
{
    const struct carm_build_config *c = s->build->config;
    const struct carm_code *fastest = NULL;
    carm_measure_calibrate(s->team, s->build->plan->empty);
    int rc = measure_levels(s, fewest, model, err);
    for (size_t i = 0; i < c->nisas && !rc; i++) {
        for (size_t p = 0; p < c->nprecisions && !rc; p++) {
            const struct carm_code *code = NULL;
            rc = carm_build_measure_roofs(s, c->isas[i], c->precisions[p], model, &code, err);
            fastest = fastest ? fastest : code;
        }
    }
    if (!rc && fastest) {
        rc = carm_build_measure_flops(s, fastest, model, err);
    }
    if (!rc && model->machine.page_bytes == 0) {
        model->machine.page_bytes = carm_buffer_page_bytes(&s->team->workers[0].buffer);
    }
    return rc;
}

/* The roofs that ceilings belong to: of the widest ISA and the most threads, which are this set's. */
static struct carm_roofs *ceilings_roofs(const struct carm_build_set *s, struct carm_model *model)
{
    const struct carm_build_config *c = s->build->config;
    const char *precision = carm_precision_name(carm_build_ceilings_precision(c));
    for (size_t i = 0; i < model->nroofs; i++) {
        struct carm_roofs *r = &model->roofs[i];
        if (r->threads == s->threads && strcmp(r->isa, carm_isa_name(c->isas[0])) == 0 &&
            strcmp(r->precision, precision) == 0) {
            return r;
        }
    }
    return NULL;
}

/* Everything that the model says of measuring, one number of threads after the other. */
static int measure(const struct carm_build *build, struct carm_model *model, struct carm_err *err)
{
    const struct carm_build_config *c = build->config;
    /* for measuring disturbed points again */
    double retry = c->quick ? 0.5 : 0.2 + 0.8 * (double)c->nisas;
    struct carm_build_levels fewest = {.n = 0};
    int rc = 0;
    for (size_t i = 0; i < c->nthreads && !rc; i++) {
        struct carm_build_set s = {.build = build, .threads = c->threads[i]};
        s.budget.seconds = retry / (double)(c->nthreads - i);
        retry -= s.budget.seconds;
        const uint64_t bytes = carm_build_curve_end(build, s.threads) / (uint64_t)s.threads;
        const size_t reps = c->reps > 2048 ? c->reps : 2048;
        rc = carm_team_open(&s.team, build->topo, build->clock, s.threads,
                            (size_t)bytes + ((size_t)2 << 20), reps, err);
        rc = rc ? rc : measure_set(&s, &fewest, model, err);
        struct carm_roofs *roofs = ceilings_roofs(&s, model);
        if (!rc && roofs && i + 1 == c->nthreads && carm_build_wants_ceilings(c)) {
            rc = carm_build_measure_ceilings(&s, roofs, err);
        }
        carm_team_close(s.team);
        retry += fmax(0.0, s.budget.seconds);
    }
    return rc;
}

double carm_build_estimate(const struct carm_build *build)
{
    const struct carm_build_config *c = build->config;
    double total = 0.0;
    for (size_t i = 0; i < c->nthreads; i++) {
        total += carm_build_curve_seconds(build, c->threads[i]) + carm_build_roofs_seconds(build);
    }
    if (carm_build_wants_ceilings(c)) {
        total += carm_build_ceilings_seconds(build, c->threads[c->nthreads - 1]);
    }
    return total;
}

/* What the model says before anything is measured. */
static void describe(struct carm_model *model, const struct carm_build_config *config,
                     const struct carm_host *host)
{
    carm_text_now(model->created, sizeof model->created);
    snprintf(model->carm_version, sizeof model->carm_version, "%s", CARM_VERSION);
    carm_machine_describe(&model->machine, &host->cpu, host->topo, &host->clock);
    model->config.reps = config->reps;
    carm_mix_name(&config->mixes[0], model->config.ldst);
    for (size_t i = 0; i < config->nprecisions; i++) {
        const size_t used = strlen(model->config.precision);
        snprintf(model->config.precision + used, sizeof model->config.precision - used, "%s%s",
                 i ? "," : "", carm_precision_name(config->precisions[i]));
    }
    model->config.memory_limit_bytes = config->memory_bytes;
    model->config.quick = config->quick;
}

int carm_build_run(const struct carm_build_config *config, const struct carm_host *host,
                   const struct carm_code_counter *counter, struct carm_model **model,
                   double *seconds, struct carm_err *err)
{
    struct carm_build_plan plan = {0};
    const struct carm_build build = {.config = config,
                                     .plan = &plan,
                                     .cpu = &host->cpu,
                                     .topo = host->topo,
                                     .clock = &host->clock,
                                     .observer = host->observer};
    struct carm_model *m = calloc(1, sizeof *m);
    *model = NULL;
    if (!m) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the model");
    }
    carm_observer_begin(host->observer, carm_build_estimate(&build));
    describe(m, config, host);
    int rc = carm_build_plan_open(&plan, config, &host->cpu, err);
    rc = rc ? rc : carm_code_counter_try(counter, plan.image, host->topo, &host->clock, err);
    rc = rc ? rc : measure(&build, m, err);
    rc = rc ? rc : carm_code_counter_check(counter, plan.image, host->topo, &host->clock, m, err);
    *seconds = carm_observer_end(host->observer);
    carm_build_plan_close(&plan);
    if (rc) {
        carm_model_free(m);
    } else {
        *model = m;
    }
    return rc;
}
