/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/build/roofs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/search.h"
#include "models/roofline.h"
#include "validation/build/points.h"

/* What the search before a roof costs, in repetitions: for the progress line. */
enum { SEARCH_REPS = 3500 };

/* ---- a second look ------------------------------------------------------------------------------ */

/* A core's own rates repeat within 1% and less; shared ones move by up to 8% from build to build. */
static const double own_max = 0.03;
static const double shared_max = 0.15;

enum { LOOK_REPS = 192 };

bool carm_build_doubts(double rate, double again, bool shared, bool *doubtful)
{
    *doubtful = shared && fabs(again / rate - 1.0) > shared_max;
    return !shared && again > rate * (1.0 + own_max);
}

static size_t level_of(const struct carm_model *model, const char *name)
{
    size_t i = 0;
    while (i + 1 < model->nlevels && strcmp(model->levels[i].level, name) != 0) {
        i++;
    }
    return i;
}

/* What a long measurement after a second look leaves in the note. */
static void put_note(char note[CARM_TEXT_MAX], double rate, double again)
{
    const size_t used = strlen(note);
    snprintf(note + used, CARM_TEXT_MAX - used, "%sa second look was %.0f%% %s", used ? "; " : "",
             100.0 * fabs(again / rate - 1.0), again > rate ? "faster" : "slower");
}

static int look_at_memory(const struct carm_build_plan *plan, struct carm_team *team,
                          const struct carm_model *model, struct carm_memory_roof *roof,
                          size_t reps, struct carm_budget *budget, struct carm_err *err)
{
    const struct carm_code *code = carm_image_find(plan->image, roof->code);
    const size_t level = level_of(model, roof->level);
    const bool shared = carm_level_search(level, model->nlevels) != CARM_SEARCH_CORE;
    const uint64_t window = roof->window_bytes;
    const struct carm_shape shape = {
        .iterations = window / code->account.stride_bytes,
        .passes = roof->passes,
        .windows = roof->working_set_bytes / (uint64_t)team->n / window,
        .window_bytes = window,
    };
    struct carm_measurement m;
    carm_measure_run(team, code, &shape, reps < LOOK_REPS ? reps : LOOK_REPS, 0.0, NULL, &m);
    const double rate = shared ? roof->bandwidth : roof->bytes_per_cycle;
    const double again = shared ? m.bytes / m.seconds.median : m.bytes / m.cycles / team->n;
    bool doubtful = false;
    if (!carm_build_doubts(rate, again, shared, &doubtful)) {
        if (doubtful && !roof->disturbed) {
            roof->disturbed = true;
            put_note(roof->note, rate, again);
        }
        return 0;
    }
    struct carm_roofs fresh = {.nmemory = 0};
    carm_measure_run(team, code, &shape, reps, again * team->n, budget, &m);
    int rc = carm_build_add_memory(&fresh, roof->level, &m, err);
    if (!rc && fresh.memory[0].bytes_per_cycle > roof->bytes_per_cycle) {
        *roof = fresh.memory[0];
        put_note(roof->note, rate, again);
    }
    free(fresh.memory);
    return rc;
}

static int look_at_compute(const struct carm_build_plan *plan, struct carm_team *team,
                           struct carm_compute_roof *roof, size_t reps, struct carm_budget *budget,
                           struct carm_err *err)
{
    const struct carm_code *code = carm_image_find(plan->image, roof->code);
    struct carm_shape shape;
    struct carm_measurement m;
    bool doubtful = false;
    carm_measure_shape(team, code, 0, CARM_TARGET_CORE, &shape);
    carm_measure_run(team, code, &shape, reps < LOOK_REPS ? reps : LOOK_REPS, 0.0, NULL, &m);
    const double rate = roof->flops_per_cycle;
    const double again = m.flops / m.cycles / team->n;
    if (!carm_build_doubts(rate, again, false, &doubtful)) {
        return 0;
    }
    struct carm_roofs fresh = {.ncompute = 0};
    carm_measure_run(team, code, &shape, reps, again * team->n, budget, &m);
    int rc = carm_build_add_compute(&fresh, &m, err);
    if (!rc && fresh.compute[0].flops_per_cycle > rate) {
        *roof = fresh.compute[0];
        put_note(roof->note, rate, again);
    }
    free(fresh.compute);
    return rc;
}

int carm_build_recheck(const struct carm_build_plan *plan, struct carm_team *team,
                       const struct carm_model *model, struct carm_roofs *roofs, size_t reps,
                       struct carm_budget *budget, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < roofs->nmemory && !rc; i++) {
        rc = look_at_memory(plan, team, model, &roofs->memory[i], reps, budget, err);
    }
    for (size_t i = 0; i < roofs->ncompute && !rc; i++) {
        rc = look_at_compute(plan, team, &roofs->compute[i], reps, budget, err);
    }
    return rc;
}

/* ---- roofs -------------------------------------------------------------------------------------- */

/* Codes whose traffic with memory is known without counters: what they load is read, what they
 * update is read and written back, what they store past the caches is written. A plain store's line
 * may or may not be read first (processors differ), so it says nothing certain of memory. */
static bool known_dram_traffic(const struct carm_mix *mix)
{
    return mix->stores == 0 || mix->update || mix->nontemporal;
}

/* Bytes per cycle of all threads when each does as well in its private cache as fewer threads did;
 * 0 where the level is shared or nothing is known. */
static double alone_memory(const struct carm_build_set *s, const struct carm_roofs *alone,
                           size_t level, const struct carm_mix *mix)
{
    char name[16];
    int instances = 0;
    int sharers = 0;
    if (!alone || level >= s->build->topo->ncaches) {
        return 0.0;
    }
    carm_topo_cache_share(s->build->topo, s->build->topo->caches[level].level, s->threads,
                          &instances, &sharers);
    carm_mix_name(mix, name);
    const struct carm_memory_roof *m =
        sharers == 1 ? carm_roofs_find_memory(alone, s->levels.levels[level].name, name) : NULL;
    return m && !m->disturbed ? m->bytes_per_cycle * s->threads : 0.0;
}

/* The same for flops: cores share no floating-point units. */
static double alone_compute(const struct carm_build_set *s, const struct carm_roofs *alone,
                            enum carm_op op)
{
    const struct carm_compute_roof *c =
        alone ? carm_roofs_find_compute(alone, carm_op_name(op)) : NULL;
    return c && !c->disturbed ? c->flops_per_cycle * s->threads : 0.0;
}

/* One memory roof: the best code and working set by a short measurement, then the long one. */
static int measure_memory(struct carm_build_set *s, enum carm_isa isa,
                          enum carm_precision precision, const struct carm_mix *mix, size_t level,
                          const struct carm_roofs *alone, struct carm_roofs *roofs,
                          struct carm_err *err)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    const struct carm_build_level *l = &s->levels.levels[level];
    const double target = carm_level_target(level, s->levels.n);
    size_t n = carm_build_plan_memory(s->build->plan, isa, precision, mix, level == 0, codes);
    /* the code on the middle set, then the set with that code */
    const uint64_t middle = l->sets[l->nsets / 2];
    const enum carm_search search = carm_level_search(level, s->levels.n);
    double rates[CARM_CANDIDATES_MAX];
    const size_t k = carm_measure_best(s->team, codes, n, middle, target, search, rates);
    const struct carm_code *code = codes[k];
    uint64_t set_bytes = middle;
    double best = rates[k];
    for (size_t i = 0; i < l->nsets; i++) {
        double rate = 0.0;
        if (l->sets[i] == middle) {
            continue;
        }
        carm_measure_best(s->team, &code, 1, l->sets[i], target, search, &rate);
        if (rate > best) {
            best = rate;
            set_bytes = l->sets[i];
        }
    }
    const double expect =
        search == CARM_SEARCH_CORE ? fmax(best, alone_memory(s, alone, level, mix)) : 0.0;
    struct carm_shape shape;
    struct carm_measurement m;
    carm_measure_shape(s->team, code, set_bytes, target, &shape);
    carm_measure_run(s->team, code, &shape, s->build->config->reps, expect, &s->budget, &m);
    int rc = carm_build_add_memory(roofs, l->name, &m, err);
    if (!rc && level == s->levels.n - 1 && known_dram_traffic(mix)) {
        double bandwidth = carm_measure_rate(&m, m.bytes);
        if (bandwidth > roofs->dram_peak.bandwidth) {
            roofs->dram_peak.bandwidth = bandwidth;
            snprintf(roofs->dram_peak.code, sizeof roofs->dram_peak.code, "%s", code->name);
        }
    }
    return rc;
}

static int measure_compute(struct carm_build_set *s, enum carm_isa isa,
                           enum carm_precision precision, enum carm_op op,
                           const struct carm_roofs *alone, struct carm_roofs *roofs,
                           const struct carm_code **chosen, struct carm_err *err)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    size_t n = carm_build_plan_compute(s->build->plan, isa, precision, op, codes);
    struct carm_shape shape;
    struct carm_measurement m;
    double rates[CARM_CANDIDATES_MAX];
    size_t k = carm_measure_best(s->team, codes, n, 0, CARM_TARGET_CORE, CARM_SEARCH_CORE, rates);
    const double expect = fmax(rates[k], alone_compute(s, alone, op));
    carm_measure_shape(s->team, codes[k], 0, CARM_TARGET_CORE, &shape);
    carm_measure_run(s->team, codes[k], &shape, s->build->config->reps, expect, &s->budget, &m);
    *chosen = codes[k];
    return carm_build_add_compute(roofs, &m, err);
}

/* Seconds of one roof, for the progress line: its repetitions, and the search before it. */
static double roof_seconds(const struct carm_build *build, double target)
{
    return (double)(build->config->reps + SEARCH_REPS) * (target + 1e-6);
}

/* What fewer threads gave: the first set of the same ISA and precision, as long as each thread has a core
 * for itself; or NULL. */
static const struct carm_roofs *find_alone(const struct carm_build_set *s,
                                           const struct carm_model *model, enum carm_isa isa,
                                           enum carm_precision precision)
{
    for (size_t i = 0; i + 1 < model->nroofs && s->threads <= s->build->topo->cores; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (strcmp(r->isa, carm_isa_name(isa)) == 0 &&
            strcmp(r->precision, carm_precision_name(precision)) == 0) {
            return r;
        }
    }
    return NULL;
}

/* Announces one roof. level "": a compute roof */
static int begin(const struct carm_build_set *s, enum carm_isa isa, enum carm_precision precision,
                 const char *level, const char *what, struct carm_err *err)
{
    carm_observer_step(s->build->observer, "%d thread%s: %s %s %s%s%s", s->threads,
                       s->threads == 1 ? "" : "s", carm_isa_name(isa),
                       carm_precision_name(precision), level, *level ? " " : "", what);
    return carm_observer_check(s->build->observer, err);
}

static int measure_level(struct carm_build_set *s, enum carm_isa isa, enum carm_precision precision,
                         size_t level, const struct carm_roofs *alone, struct carm_roofs *roofs,
                         struct carm_err *err)
{
    const struct carm_build_config *c = s->build->config;
    const struct carm_build_level *l = &s->levels.levels[level];
    int rc = 0;
    if (!l->nsets || !carm_level_list_has(&c->levels, l->name)) {
        return 0;
    }
    for (size_t m = 0; m < c->nmixes && !rc; m++) {
        char mix[16];
        carm_mix_name(&c->mixes[m], mix);
        if (c->mixes[m].nontemporal && level + 1 < s->levels.n) {
            continue; /* a non-temporal store leaves the caches: it has no roof in them */
        }
        rc = begin(s, isa, precision, l->name, mix, err);
        rc = rc ? rc : measure_memory(s, isa, precision, &c->mixes[m], level, alone, roofs, err);
        carm_observer_advance(s->build->observer,
                              roof_seconds(s->build, carm_level_target(level, s->levels.n)));
    }
    return rc;
}

/* fastest: out, the code for F(phi), which is drawn for one operation, the same with every number of
 * threads: the fastest of the first ones */
static int measure_operations(struct carm_build_set *s, enum carm_isa isa,
                              enum carm_precision precision, const struct carm_model *model,
                              const struct carm_roofs *alone, struct carm_roofs *roofs,
                              const struct carm_code **fastest, struct carm_err *err)
{
    const struct carm_build_config *c = s->build->config;
    const char *drawn = model->nflop_curves ? model->flop_curves[0].kind : NULL;
    double best = 0.0;
    int rc = 0;
    for (size_t o = 0; o < c->nops && !rc; o++) {
        const struct carm_code *code = NULL;
        if (!carm_cpu_has_op(s->build->cpu, isa, precision, c->ops[o])) {
            continue;
        }
        rc = begin(s, isa, precision, "", carm_op_name(c->ops[o]), err);
        rc = rc ? rc : measure_compute(s, isa, precision, c->ops[o], alone, roofs, &code, err);
        if (!rc) {
            const struct carm_compute_roof *last = &roofs->compute[roofs->ncompute - 1];
            double rate = drawn ? 0.0 : last->rate;
            if (drawn && strcmp(last->op, drawn) == 0) {
                rate = INFINITY;
            }
            if (rate > best) {
                best = rate;
                *fastest = code;
            }
        }
        carm_observer_advance(s->build->observer, roof_seconds(s->build, CARM_TARGET_CORE));
    }
    return rc;
}

int carm_build_measure_roofs(struct carm_build_set *s, enum carm_isa isa,
                             enum carm_precision precision, struct carm_model *model,
                             const struct carm_code **fastest, struct carm_err *err)
{
    const struct carm_build *b = s->build;
    struct carm_roofs *roofs = NULL;
    int rc = carm_build_add_roofs(model, isa, precision, s->threads, &roofs, err);
    const struct carm_roofs *alone = rc ? NULL : find_alone(s, model, isa, precision);
    for (size_t level = 0; level < s->levels.n && !rc; level++) {
        rc = measure_level(s, isa, precision, level, alone, roofs, err);
    }
    rc = rc ? rc : measure_operations(s, isa, precision, model, alone, roofs, fastest, err);
    rc = rc ? rc
            : carm_build_recheck(b->plan, s->team, model, roofs, b->config->reps, &s->budget, err);
    if (!rc) {
        roofs->core_to_core_seconds = carm_core_to_core_seconds(s->team);
        carm_build_roofs_clock(roofs);
    }
    return rc;
}

/* F(phi): test code B from one pass of its loop to as many as fill a repetition. */
int carm_build_measure_flops(struct carm_build_set *s, const struct carm_code *code,
                             struct carm_model *model, struct carm_err *err)
{
    struct carm_curve *curve = NULL;
    struct carm_shape full;
    int rc = carm_build_add_curve(model, &code->spec, s->threads, &curve, err);
    carm_measure_shape(s->team, code, 0, CARM_TARGET_CORE, &full);
    for (uint64_t n = 1; n <= full.iterations && !rc; n *= 2) {
        struct carm_shape shape = {.iterations = n, .passes = 1, .windows = 1};
        struct carm_measurement m;
        rc = carm_observer_check(s->build->observer, err);
        if (rc) {
            return rc;
        }
        carm_observer_step(s->build->observer, "%d thread%s: flops of %s", s->threads,
                           s->threads == 1 ? "" : "s", carm_isa_name(code->spec.isa));
        carm_measure_run(s->team, code, &shape, s->build->config->reps, 0.0, NULL, &m);
        rc = carm_build_add_curve_point(curve, m.flops / m.threads, &m, m.flops, err);
    }
    return rc;
}

double carm_build_roofs_seconds(const struct carm_build *build)
{
    const struct carm_build_config *c = build->config;
    const size_t levels = build->topo->ncaches + 1;
    double one = (double)c->nops * roof_seconds(build, CARM_TARGET_CORE);
    for (size_t level = 0; level < levels; level++) {
        one += (double)c->nmixes * roof_seconds(build, carm_level_target(level, levels));
    }
    return one * (double)(c->nisas * c->nprecisions);
}
