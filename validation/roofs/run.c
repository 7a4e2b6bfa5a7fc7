/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/run.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/version.h"
#include "harness/machine/search.h"
#include "models/inherit.h"
#include "validation/latency/latency.h"
#include "validation/roofs/ceilings.h"
#include "validation/roofs/levels.h"
#include "validation/roofs/numa.h"
#include "validation/roofs/points.h"
#include "validation/roofs/roofs.h"
#include "validation/roofs/scaling.h"
#include "validation/machine.h"

/* Chooses the code of the curve: the best in the two inner caches among codes with one stream, whose
 * working set has no padding. With several streams, padding takes most of a small set, and every
 * level has more than one plateau. */
static const struct carm_code *choose_code(struct carm_build_set *s)
{
    const struct carm_build_config *c = s->build->config;
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    double inner[CARM_CANDIDATES_MAX];
    double outer[CARM_CANDIDATES_MAX];
    const size_t all = carm_build_plan_memory(s->build->plan, c->isas[0], c->precisions[0],
                                              &c->mixes[0], true, codes);
    size_t n = 0;
    for (size_t i = 0; i < all; i++) {
        if (codes[i]->spec.streams < 2) {
            codes[n++] = codes[i];
        }
    }
    carm_observer_step(s->build->observer, "%d thread%s: choosing codes", s->threads,
                       s->threads == 1 ? "" : "s");
    const uint64_t l2 = s->build->topo->ncaches > 1 ? s->build->topo->caches[1].size_bytes : 0;
    size_t k =
        carm_measure_best(s->team, codes, n, 16384, CARM_TARGET_CORE, CARM_SEARCH_CORE, inner);
    if (l2) {
        /* one code measures the whole curve: it must be fast in L2, too, where the number of
         * loads in the loop can decide whether a prefetcher follows */
        carm_measure_place(s->team, codes[k], l2 * 13 / 20, 8);
        for (int i = 0; i < s->threads; i++) {
            s->places[i] = s->team->workers[i].place;
        }
        carm_measure_best(s->team, codes, n, l2 / 2, CARM_TARGET_CORE, CARM_SEARCH_CORE, outer);
        for (size_t i = 0; i < n; i++) {
            k = inner[i] * outer[i] > inner[k] * outer[k] ? i : k;
        }
    }
    return codes[k];
}

/* Measures the sets' curves B(beta) in interleaved rounds, and finds their levels. A doubtful curve
 * gets more rounds while there is time.
 * sweeps  [n] zeroed; to be closed */
static int sweep_sets(struct carm_build_set *sets, size_t n, struct carm_build_sweep *sweeps,
                      struct carm_err *err)
{
    size_t each = 0;
    assert(n > 0 && sets[0].build && sets[n - 1].build);
    const size_t rounds = carm_build_sweep_rounds(sets[0].build->reps, &each);
    int rc = 0;
    carm_build_use(&sets[n - 1]);
    carm_build_limit(sets[0].build, sets[0].team, CARM_CURVES_END);
    carm_measure_watch(sets[0].team, sets[0].build->config->quick ? 0.1 : 0.3);
    for (size_t i = 0; i < n && !rc; i++) {
        carm_build_limit(sets[0].build, sets[0].team,
                         CARM_CURVES_END * (double)(i + 1) / (double)n);
        carm_build_calibrate(&sets[i]);
        rc = carm_build_sweep_open(&sweeps[i], &sets[i], choose_code(&sets[i]), err);
    }
    for (size_t r = 1; r < rounds && !rc && !carm_team_is_over(sets[0].team); r++) {
        if (r >= CARM_ROUNDS_MIN && !carm_build_has_time(sets[0].build, CARM_CURVES_SHARE)) {
            break;
        }
        for (size_t i = 0; i < n && !rc; i++) {
            rc = carm_build_sweep_round(&sweeps[i], 0.0, INFINITY, err);
        }
    }
    return rc;
}

/* Finds the levels of one set on its curve so far. */
static int find_levels(struct carm_build_sweep *sweep, const struct carm_build_levels *fewest,
                       struct carm_curve *curve, struct carm_err *err)
{
    double clocks[CARM_CURVE_POINTS_MAX];
    const int rc = carm_build_sweep_curve(sweep, false, curve, clocks, err);
    if (!rc) {
        carm_build_find_levels(sweep->set->build, sweep->set->threads, curve, clocks, fewest,
                               &sweep->set->levels);
    }
    return rc;
}

/* Takes working set and end of a level from the earlier model, if the present curve does not show
 * the level, or shows its end far beyond the cache while the earlier model has it within. */
static void recall_levels(struct carm_build_set *s, enum carm_isa isa)
{
    const struct carm_model *before = s->build->before;
    const char *precision = carm_precision_name(s->build->config->precisions[0]);
    const struct carm_roofs *roofs =
        before ? carm_model_find_roofs(before, carm_isa_name(isa), precision, s->threads) : NULL;
    for (size_t i = 0; roofs && i < s->levels.n; i++) {
        struct carm_build_level *l = &s->levels.levels[i];
        const struct carm_memory_roof *m =
            carm_roofs_find_memory(roofs, l->name, before->config.ldst);
        const struct carm_level *was = carm_model_find_level(before, l->name);
        const double os = (double)l->os_size_bytes;
        const bool late = os > 0.0 && (double)l->knee_bytes > CARM_LATE_KNEE * os && was &&
                          was->resolved && was->knee_bytes > 0 &&
                          (double)was->knee_bytes <= CARM_LATE_KNEE * os;
        if (late) {
            l->nsets = m ? 0 : l->nsets;
            l->knee_bytes = was->knee_bytes;
        }
        if (m && l->nsets == 0) {
            l->range.resolved = true;
            l->sets[l->nsets++] = m->working_set_bytes / (uint64_t)s->threads;
            l->note[0] = '\0';
        }
        if (l->knee_bytes == 0 && was) {
            l->knee_bytes = was->knee_bytes;
        }
    }
}

static int add_levels(struct carm_build_sweep *sweep, const struct carm_build_levels *fewest,
                      struct carm_model *model, struct carm_err *err)
{
    enum { ALWAYS = 3, AGAIN = 8 }; /* rounds that run even after the deadline; most rounds */
    struct carm_build_set *s = sweep->set;
    struct carm_curve *curve = NULL;
    double lo = 0.0;
    double hi = 0.0;
    int rc = carm_build_add_curve(model, &sweep->code->spec, s->threads, &curve, err);
    rc = rc ? rc : find_levels(sweep, fewest, curve, err);
    for (int i = 0; i < AGAIN && !rc && !carm_team_is_over(s->team) &&
                    (i < ALWAYS || carm_build_has_time(s->build, CARM_LEVELS_SHARE)) &&
                    carm_build_doubts_levels(s->build, &s->levels, &lo, &hi);
         i++) {
        rc = carm_build_sweep_round(sweep, lo, hi, err);
        rc = rc ? rc : find_levels(sweep, fewest, curve, err);
    }
    rc = rc ? rc : carm_build_doubt_late(sweep, fewest, &s->levels, err);
    if (rc) {
        return rc;
    }
    recall_levels(s, sweep->code->spec.isa);
    carm_build_assume_levels(s->build, curve, &s->levels);
    if (!fewest) { /* the set with the fewest threads describes the levels */
        return carm_build_add_levels(model, &s->levels, err);
    }
    carm_build_note_levels(model, &s->levels, s->threads);
    return 0;
}

static int measure_levels(struct carm_build_set *sets, size_t n, struct carm_model *model,
                          struct carm_err *err)
{
    struct carm_build_sweep sweeps[CARM_LIST_MAX] = {{.set = NULL}};
    int rc = sweep_sets(sets, n, sweeps, err);
    carm_build_limit(sets[0].build, sets[0].team, CARM_LEVELS_END);
    for (size_t i = 0; i < n && !rc; i++) {
        rc = add_levels(&sweeps[i], i ? &sets[0].levels : NULL, model, err);
    }
    for (size_t i = 0; i < n; i++) {
        carm_build_sweep_close(&sweeps[i]);
    }
    return rc;
}

/* Opens one team for all sets: thread i's buffer has room for its largest share of any set's
 * working sets. */
static int open_team(const struct carm_build *build, struct carm_team **team, struct carm_err *err)
{
    const struct carm_build_config *c = build->config;
    const int most = c->threads[c->nthreads - 1];
    enum { REPS = 2048 }; /* room for so many at least */
    const size_t reps = c->reps > REPS ? c->reps : REPS;
    size_t *bytes = calloc((size_t)most, sizeof *bytes);
    if (!bytes) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for %d threads", most);
        return -CARM_ENOMEM;
    }
    for (int i = 0; i < most; i++) {
        for (size_t k = 0; k < c->nthreads; k++) {
            const uint64_t n = (uint64_t)c->threads[k];
            const size_t share = (size_t)(carm_build_curve_end(build, c->threads[k]) / n);
            bytes[i] = c->threads[k] > i && share > bytes[i] ? share : bytes[i];
        }
        bytes[i] += CARM_TEAM_SPARE;
    }
    const int rc = carm_team_open_sized(team, build->topo, build->clock, most, bytes, reps, err);
    free(bytes);
    return rc;
}

/* Opens the sets of all numbers of threads; places: one for each thread of each set. */
static int open_sets(const struct carm_build *build, struct carm_build_set *sets, uint64_t **places,
                     struct carm_err *err)
{
    const struct carm_build_config *c = build->config;
    struct carm_team *team = NULL;
    size_t sum = 0;
    for (size_t i = 0; i < c->nthreads; i++) {
        sum += (size_t)c->threads[i];
    }
    *places = calloc(sum + 1, sizeof **places);
    if (!*places) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for %zu threads", sum);
        return -CARM_ENOMEM;
    }
    const int rc = open_team(build, &team, err);
    sum = 0;
    for (size_t i = 0; i < c->nthreads && !rc; i++) {
        sets[i] = (struct carm_build_set){
            .build = build, .threads = c->threads[i], .team = team, .places = *places + sum};
        sum += (size_t)c->threads[i];
    }
    return rc;
}

static double build_seconds(const struct carm_build *build)
{
    return (double)(build->last - build->begin) / build->clock->tsc_hz;
}

static bool has_roofs(const struct carm_model *model)
{
    bool has = false;
    for (size_t i = 0; i < model->nroofs; i++) {
        has = has || model->roofs[i].nmemory || model->roofs[i].ncompute;
    }
    return has;
}

/* Measures everything in the model. */
static int measure(const struct carm_build *build, struct carm_model *model,
                   struct carm_build_done *done, struct carm_err *err)
{
    const struct carm_build_config *c = build->config;
    uint64_t *places = NULL;
    struct carm_build_set *sets = calloc(c->nthreads, sizeof *sets);
    if (!sets) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure a model");
    }
    struct carm_build_set *last = &sets[c->nthreads - 1];
    int rc = open_sets(build, sets, &places, err);
    rc = rc ? rc : measure_levels(sets, c->nthreads, model, err);
    rc = rc ? rc : carm_build_measure_roofs(sets, c->nthreads, model, &done->missing, err);
    for (size_t i = 0; i < c->nthreads && !rc; i++) {
        done->paired =
            carm_paired_is(&sets[i].team->paired, sets[i].threads) ? sets[i].threads : done->paired;
    }
    if (!rc) {
        model->machine.page_bytes = carm_buffer_page_bytes(&last->team->workers[0].buffer);
    }
    if (!rc && !has_roofs(model)) {
        rc = carm_fail(
            err, CARM_EIO,
            "the budget of %.0f s ended before anything was measured: give more with --budget",
            build_seconds(build));
    }
    /* ceilings belong to the roofs of the widest ISA and the most threads */
    struct carm_roofs *roofs =
        carm_model_find_roofs(model, carm_isa_name(c->isas[0]),
                              carm_precision_name(carm_build_ceilings_precision(c)), last->threads);
    if (!rc && roofs && carm_build_wants_ceilings(c)) {
        carm_build_use(last);
        rc = carm_build_measure_ceilings(last, roofs, err); /* closes the team */
    }
    carm_team_close(last->team); /* frees its memory before other teams are opened */
    if (!rc && c->scaling) {
        rc = carm_build_measure_scaling(build, model, err);
    }
    free(places);
    free(sets);
    return rc;
}

/* Roofs of one number of threads that this CPU can have. */
static size_t count_roofs(const struct carm_build_config *c, const struct carm_cpu *cpu,
                          const struct carm_topo *topo)
{
    const size_t levels = topo->ncaches + 1;
    size_t n = 0;
    for (size_t i = 0; i < c->nisas * c->nprecisions; i++) {
        const size_t isa = i / c->nprecisions;
        const enum carm_precision precision = c->precisions[i % c->nprecisions];
        if (!carm_cpu_has_precision(cpu, c->isas[isa], precision) ||
            !carm_build_wants_compute(c, isa, i % c->nprecisions)) {
            continue;
        }
        for (size_t o = 0; o < c->nops; o++) {
            n += carm_build_wants_op(c, cpu, isa, i % c->nprecisions, c->ops[o]) ? 1 : 0;
        }
        for (size_t k = 0; k < levels * c->nmixes && i % c->nprecisions < c->nleading; k++) {
            n += carm_build_wants_level(c, topo, k / c->nmixes) &&
                 carm_build_wants_roof(c, isa, &c->mixes[k % c->nmixes], k / c->nmixes, levels);
        }
    }
    return n;
}

/* Estimate of the seconds of --scaling; 0 = not asked for. */
static double scaling_seconds(const struct carm_build *build)
{
    struct carm_scaling_plan plan = {.seconds = 0.0};
    if (build->config->scaling) {
        carm_build_plan_scaling(build, &plan);
    }
    return plan.seconds;
}

/* Estimate of the build's seconds, for the progress line. */
static double estimate(const struct carm_build *build)
{
    const struct carm_build_config *c = build->config;
    double total = 0.0;
    for (size_t i = 0; i < c->nthreads; i++) {
        total += carm_build_curve_seconds(build, c->threads[i]) + carm_build_roofs_seconds(build);
    }
    if (carm_build_wants_ceilings(c)) {
        total += carm_build_ceilings_seconds(build, c->threads[c->nthreads - 1]);
    }
    return total + scaling_seconds(build);
}

/* Fills in the parts of the model that need no measurement. */
static void describe(struct carm_model *model, const struct carm_build_config *config,
                     const struct carm_host *host)
{
    carm_text_now(model->created, sizeof model->created);
    snprintf(model->carm_version, sizeof model->carm_version, "%s", carm_version);
    snprintf(model->carm_commit, sizeof model->carm_commit, "%s", carm_commit);
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

static bool has_rounds(const struct carm_model *m)
{
    bool has = false;
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        has = has || (r->nmemory > 0 && r->memory[0].nrounds > 0) ||
              (r->ncompute > 0 && r->compute[0].nrounds > 0);
    }
    return has;
}

bool carm_build_inherits(const struct carm_build_config *config, const struct carm_host *host,
                         const struct carm_model *before)
{
    struct carm_model here = {.config = {.reps = 0}};
    struct carm_err why;
    describe(&here, config, host);
    const bool same = carm_machine_check(&here.machine, &before->machine, &why) == 0 &&
                      here.machine.cores == before->machine.cores &&
                      here.machine.threads == before->machine.threads &&
                      strcmp(here.machine.layout, before->machine.layout) == 0 &&
                      strcmp(here.config.ldst, before->config.ldst) == 0 && has_rounds(before);
    free(here.machine.caches);
    return same;
}

/* Divides the budget: its end, the parts of the ceilings, the scaling, latencies and memory domains (estimated
 * seconds, 0 = none), and the repetitions. The requested repetitions are kept if their estimate is at most half of
 * the time, else reduced in proportion. */
static void plan_time(struct carm_build *build, double latency, double numa)
{
    enum { FEWEST = 64 };
    /* largest shares of the budget for ceilings and latencies; chosen by hand */
    static const double ceilings_most = 0.4;
    static const double latency_most = 0.5;
    static const double scaling_most = 0.4; /* largest share of the rest; chosen by hand */
    /* share of the roofs' time that is planned: the rest is for further rounds on a busy machine */
    static const double planned = 0.5;
    const struct carm_build_config *c = build->config;
    const double seconds = fmax(c->budget_seconds, CARM_BUDGET_LEAST);
    /* twice the estimate for latencies; nothing in a budget that is too short. Memory domains have their own limit */
    const double wanted = 2.0 * latency + numa;
    const double reserved = wanted < latency_most * seconds ? wanted : 0.0;
    double scaling = 0.0;
    double ceilings = 0.0;
    if (c->scaling) {
        scaling = fmin(fmax(2.0 * scaling_seconds(build), CARM_BUDGET_SCALING),
                       scaling_most * (seconds - reserved));
    }
    if (carm_build_wants_ceilings(c)) {
        ceilings = carm_build_ceilings_seconds(build, c->threads[c->nthreads - 1]);
        ceilings = fmin(fmax(2.0 * ceilings, CARM_BUDGET_CEILINGS), ceilings_most * seconds);
    }
    build->begin = carm_clock_now();
    build->last = build->begin + (uint64_t)(seconds * build->clock->tsc_hz);
    build->scaled = build->last - (uint64_t)(reserved * build->clock->tsc_hz);
    build->end = build->scaled - (uint64_t)(scaling * build->clock->tsc_hz);
    build->until = build->end - (uint64_t)(ceilings * build->clock->tsc_hz);
    const double share = planned * (seconds - reserved - scaling - ceilings) / estimate(build);
    if (share < 1.0) {
        const size_t reps = (size_t)(share * (double)c->reps);
        const size_t least = c->reps < FEWEST ? c->reps : FEWEST;
        build->reps = reps > least ? reps : least;
    }
}

void carm_build_foresee(const struct carm_build_config *config, const struct carm_host *host,
                        struct carm_build_outlook *out)
{
    const struct carm_clock clock = {.tsc_hz = 1e9}; /* any frequency: the plan is in seconds */
    const struct carm_latency_options latencies = {.quick = config->quick,
                                                   .memory_bytes = config->memory_bytes};
    struct carm_observer quiet = {0};
    struct carm_build build = {.config = config,
                               .cpu = &host->cpu,
                               .topo = host->topo,
                               .clock = &clock,
                               .observer = &quiet,
                               .reps = config->reps};
    const double latency = config->latency ? carm_latency_seconds(&latencies) : 0.0;
    const double numa = config->latency ? carm_build_numa_seconds(host->topo) : 0.0;
    plan_time(&build, latency, numa);
    *out = (struct carm_build_outlook){
        .seconds = estimate(&build) + latency + numa,
        .most_seconds = fmax(config->budget_seconds, CARM_BUDGET_LEAST),
        .reps = build.reps,
        .roofs = config->nthreads * count_roofs(config, &host->cpu, host->topo)};
    if (config->scaling) {
        carm_build_plan_scaling(&build, &out->scaling);
    }
}

/* Whether the rounds of the earlier model count. A quick build continues a full model. A full build does not continue a
 * quick model, whose working sets come from fewer points. */
static bool continues(const struct carm_build_config *config, const struct carm_model *before)
{
    return before && (config->quick || !before->config.quick);
}

int carm_build_run(const struct carm_build_config *config, const struct carm_host *host,
                   const struct carm_code_counter *counter, struct carm_model *before,
                   struct carm_model **model, struct carm_build_done *done, struct carm_err *err)
{
    struct carm_build_plan plan = {0};
    struct carm_build build = {.config = config,
                               .plan = &plan,
                               .cpu = &host->cpu,
                               .topo = host->topo,
                               .clock = &host->clock,
                               .observer = host->observer,
                               .before = continues(config, before) ? before : NULL,
                               .reps = config->reps};
    const struct carm_latency_options latencies = {.quick = config->quick,
                                                   .memory_bytes = config->memory_bytes};
    struct carm_model *m = calloc(1, sizeof *m);
    *model = NULL;
    if (!m) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the model");
    }
    const double latency = config->latency ? carm_latency_seconds(&latencies) : 0.0;
    const double numa = config->latency ? carm_build_numa_seconds(host->topo) : 0.0;
    plan_time(&build, latency, numa);
    carm_observer_begin(host->observer, estimate(&build) + latency + numa);
    describe(m, config, host);
    int rc = carm_build_plan_open(&plan, config, &host->cpu, err);
    rc = rc ? rc : carm_code_counter_try(counter, plan.image, host->topo, &host->clock, err);
    rc = rc ? rc : measure(&build, m, done, err);
    done->reps = build.reps;
    if (!rc && config->latency) {
        /* with so little time left, the machine is too slow to measure latencies either */
        const double left = ((double)build.last - (double)carm_clock_now()) / host->clock.tsc_hz;
        if (left > latency) {
            const struct carm_deadline last = {build.last, host->observer->stop};
            rc = carm_latency_measure(&latencies, host, last, m, err);
        } else {
            carm_observer_say(host->observer,
                              "the budget left no time for latencies: give more with --budget");
        }
        rc = rc ? rc : carm_build_measure_numa(&build, host, m, err);
    }
    rc = rc ? rc : carm_observer_check(host->observer, err);
    rc = rc ? rc : carm_code_counter_check(counter, plan.image, host->topo, &host->clock, m, err);
    rc = rc || !before ? rc : carm_model_inherit(m, before, err);
    done->seconds = carm_observer_end(host->observer);
    carm_build_plan_close(&plan);
    if (rc) {
        carm_model_free(m);
    } else {
        *model = m;
    }
    return rc;
}
