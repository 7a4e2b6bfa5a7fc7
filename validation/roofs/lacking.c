/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/lacking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/scaling.h"
#include "validation/machine.h"
#include "validation/roofs/levels.h"
#include "validation/roofs/roofs.h"

/* On a quiet Zen 4 a set takes 1 s (docs/results.md); beside busy processes, at most this. */
static const double most_seconds = 4.0;
static const double watch_seconds = 0.1; /* as long as in a quick build */

bool carm_build_lacks(const struct carm_model *model, const char *isa, const char *precision,
                      int threads, const struct carm_cpu *cpu, const struct carm_topo *topo,
                      struct carm_build_lack *out)
{
    out->threads = threads;
    if (carm_isa_parse(isa, &out->isa, NULL) ||
        carm_precision_parse(precision, &out->precision, NULL) || carm_isas[out->isa].columns ||
        carm_precisions[out->precision].forms || threads < 1 || threads > topo->cores ||
        !carm_cpu_has_precision(cpu, out->isa, out->precision)) {
        return false;
    }
    return !carm_model_find_roofs(model, isa, precision, threads) &&
           !carm_scaling_reaches(model, isa, precision, threads);
}

/* The working set of a level in the model, one thread's. 0 = the model has none */
static uint64_t set_of(const struct carm_model *model, const struct carm_topo *topo, size_t level,
                       int threads)
{
    uint64_t found = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const struct carm_memory_roof *m =
            carm_roofs_find_memory(r, model->levels[level].level, model->config.ldst);
        if (!m || (found && r->threads != threads)) {
            continue;
        }
        const bool own = carm_build_is_private(topo, level, threads);
        found = m->working_set_bytes / (uint64_t)(own ? r->threads : threads);
        if (r->threads == threads) {
            return found;
        }
    }
    return found;
}

/* The model's levels. returns the bytes of the largest working set */
static uint64_t take_levels(const struct carm_model *model, const struct carm_topo *topo,
                            int threads, struct carm_build_levels *out)
{
    uint64_t largest = 0;
    memset(out, 0, sizeof *out);
    out->threads = threads;
    for (size_t i = 0; i < model->nlevels && i < CARM_LEVELS_MAX; i++) {
        struct carm_build_level *l = &out->levels[out->n++];
        snprintf(l->name, sizeof l->name, "%s", model->levels[i].level);
        l->sets[0] = set_of(model, topo, i, threads);
        l->range.resolved = l->sets[0];
        l->nsets = l->range.resolved;
        largest = l->sets[0] > largest ? l->sets[0] : largest;
    }
    return largest;
}

/* Configures the set as by the command line: with the operations of a default build that the ISA has.
 * returns -CARM_ENOTSUP and others of carm_build_configure */
static int configure(struct carm_build_config *config, const struct carm_model *model,
                     const struct carm_build_lack *lack, const struct carm_host *host,
                     struct carm_err *err)
{
    static const enum carm_op usual[] = {CARM_MAD, CARM_FMA, CARM_FMA_ADD, CARM_ADD,
                                         CARM_MUL, CARM_DIV, CARM_SQRT};
    char ops[128] = "";
    char threads[16];
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (carm_cpu_has_op(&host->cpu, lack->isa, lack->precision, usual[i])) {
            snprintf(ops + strlen(ops), sizeof ops - strlen(ops), "%s%s", *ops ? "," : "",
                     carm_op_name(usual[i]));
        }
    }
    snprintf(threads, sizeof threads, "%d", lack->threads);
    const struct carm_build_words words = {.isa = carm_isa_name(lack->isa),
                                           .precision = carm_precision_name(lack->precision),
                                           .ldst = model->config.ldst,
                                           .ops = ops,
                                           .threads = threads,
                                           .quick = "",
                                           .latency = "no"};
    return carm_build_configure(config, &words, &host->cpu, host->topo, err);
}

/* Whether no level is missing, as on a machine that was too busy: pictures and studies would treat the set as
 * complete. */
static bool is_whole(const struct carm_roofs *roofs, const struct carm_build_levels *levels,
                     const char *mix)
{
    bool whole = roofs->ncompute;
    for (size_t i = 0; i < levels->n; i++) {
        const struct carm_build_level *l = &levels->levels[i];
        whole = whole && (l->nsets == 0 || carm_roofs_find_memory(roofs, l->name, mix));
    }
    return whole;
}

static int measure(struct carm_model *model, struct carm_build *build, int threads,
                   struct carm_err *err)
{
    struct carm_build_set set = {.build = build, .threads = threads};
    const size_t before = model->nroofs;
    size_t missing;
    const uint64_t largest = take_levels(model, build->topo, threads, &set.levels);
    set.places = calloc((size_t)threads, sizeof *set.places);
    if (!set.places) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %d threads", threads);
    }
    int rc = carm_team_open(&set.team, build->topo, build->clock, threads,
                            (size_t)largest + CARM_TEAM_SPARE, 2048, err);
    if (!rc) {
        carm_build_limit(build, set.team, CARM_CURVES_END);
        carm_measure_watch(set.team, watch_seconds);
        carm_build_calibrate(&set);
        rc = carm_build_measure_roofs(&set, 1, model, &missing, err);
    }
    if (!rc && (model->nroofs == before ||
                !is_whole(&model->roofs[before], &set.levels, model->config.ldst))) {
        rc = carm_fail(err, CARM_EIO, "the machine was too busy to measure each level in %.0f s",
                       most_seconds);
    }
    carm_team_close(set.team);
    free(set.places);
    return rc;
}

int carm_build_add_lack(struct carm_model *model, const struct carm_build_lack *lack,
                        const struct carm_host *host, struct carm_err *err)
{
    struct carm_build_config config;
    struct carm_build_plan plan = {0};
    struct carm_machine here;
    carm_machine_describe(&here, &host->cpu, host->topo, &host->clock);
    int rc = carm_machine_check(&here, &model->machine, err);
    free(here.caches);
    rc = rc ? rc : configure(&config, model, lack, host, err);
    rc = rc ? rc : carm_build_plan_open(&plan, &config, &host->cpu, err);
    if (!rc) {
        const uint64_t now = carm_clock_now();
        const uint64_t end = now + (uint64_t)(most_seconds * host->clock.tsc_hz);
        struct carm_build build = {.config = &config,
                                   .plan = &plan,
                                   .cpu = &host->cpu,
                                   .topo = host->topo,
                                   .clock = &host->clock,
                                   .observer = host->observer,
                                   .begin = now,
                                   .until = end,
                                   .end = end,
                                   .last = end,
                                   .adds = true,
                                   .reps = config.reps};
        carm_observer_begin(host->observer, 1.0);
        rc = measure(model, &build, lack->threads, err);
        carm_observer_end(host->observer);
    }
    carm_build_plan_close(&plan);
    return rc;
}
