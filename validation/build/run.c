/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/build/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validation/build/recheck.h"
#include "validation/build/ceilings.h"
#include "validation/build/levels.h"
#include "validation/build/points.h"
#include "harness/search.h"
#include "harness/measure.h"
#include "models/levels.h"
#include "models/roofline.h"

/* What the search before a roof costs, in repetitions: for the progress line. */
enum { SEARCH_REPS = 3500 };

/* One thread count's measurements. */
struct set {
    const struct carm_build *b;
    struct carm_team *team;
    struct carm_budget budget;
    struct carm_build_levels levels;
    int threads;
    const struct carm_roofs *alone; /* the same ISA and precision with fewer threads, or NULL */
};

/* Codes whose traffic with memory is known without counters: what they load is read, what they
 * update is read and written back, what they store past the caches is written. A plain store's line
 * may or may not be read first (processors differ), so it says nothing certain of memory. */
static bool known_dram_traffic(const struct carm_mix *mix)
{
    return mix->stores == 0 || mix->update || mix->nontemporal;
}

/* Bytes per cycle of all threads when each does as well in its private cache as fewer threads did;
 * 0 where the level is shared or nothing is known. */
static double alone_memory(const struct set *s, size_t level, const struct carm_mix *mix)
{
    char name[16];
    int instances = 0;
    int sharers = 0;
    if (!s->alone || level >= s->b->topo->ncaches) {
        return 0.0;
    }
    carm_topo_cache_share(s->b->topo, s->b->topo->caches[level].level, s->threads, &instances,
                          &sharers);
    carm_mix_name(mix, name);
    const struct carm_memory_roof *m =
        sharers == 1 ? carm_roofs_find_memory(s->alone, s->levels.levels[level].name, name) : NULL;
    return m && !m->disturbed ? m->bytes_per_cycle * s->threads : 0.0;
}

/* The same for flops: cores share no floating-point units. */
static double alone_compute(const struct set *s, enum carm_op op)
{
    const struct carm_compute_roof *c =
        s->alone ? carm_roofs_find_compute(s->alone, carm_op_name(op)) : NULL;
    return c && !c->disturbed ? c->flops_per_cycle * s->threads : 0.0;
}

/* One memory roof: the best code and working set by a short measurement, then the long one. */
static int measure_memory(struct set *s, enum carm_isa isa, enum carm_precision precision,
                          const struct carm_mix *mix, size_t level, struct carm_roofs *roofs,
                          struct carm_err *err)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    const struct carm_build_level *l = &s->levels.levels[level];
    const double target = carm_level_target(level, s->levels.n);
    size_t n = carm_build_plan_memory(s->b->plan, isa, precision, mix, level == 0, codes);
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
        (void)carm_measure_best(s->team, &code, 1, l->sets[i], target, search, &rate);
        if (rate > best) {
            best = rate;
            set_bytes = l->sets[i];
        }
    }
    const double expect =
        search == CARM_SEARCH_CORE ? fmax(best, alone_memory(s, level, mix)) : 0.0;
    struct carm_shape shape;
    struct carm_measurement m;
    carm_measure_shape(s->team, code, set_bytes, target, &shape);
    carm_measure_run(s->team, code, &shape, s->b->config->reps, expect, &s->budget, &m);
    int rc = carm_build_add_memory(roofs, l->name, &m, err);
    if (!rc && level == s->levels.n - 1 && known_dram_traffic(mix)) {
        double bandwidth = carm_measure_rate(&m, m.bytes);
        if (bandwidth > roofs->dram_peak.bandwidth) {
            roofs->dram_peak.bandwidth = bandwidth;
            (void)snprintf(roofs->dram_peak.code, sizeof roofs->dram_peak.code, "%s", code->name);
        }
    }
    return rc;
}

static int measure_compute(struct set *s, enum carm_isa isa, enum carm_precision precision,
                           enum carm_op op, struct carm_roofs *roofs,
                           const struct carm_code **chosen, struct carm_err *err)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    size_t n = carm_build_plan_compute(s->b->plan, isa, precision, op, codes);
    struct carm_shape shape;
    struct carm_measurement m;
    double rates[CARM_CANDIDATES_MAX];
    size_t k = carm_measure_best(s->team, codes, n, 0, CARM_TARGET_CORE, CARM_SEARCH_CORE, rates);
    const double expect = fmax(rates[k], alone_compute(s, op));
    carm_measure_shape(s->team, codes[k], 0, CARM_TARGET_CORE, &shape);
    carm_measure_run(s->team, codes[k], &shape, s->b->config->reps, expect, &s->budget, &m);
    *chosen = codes[k];
    return carm_build_add_compute(roofs, &m, err);
}

/* Seconds of one roof, for the progress line: its repetitions, and the search before it. */
static double roof_seconds(const struct set *s, double target)
{
    return (double)(s->b->config->reps + SEARCH_REPS) * (target + 1e-6);
}

/* All roofs of one ISA and precision. fastest: out, the compute code for F(phi). */
static int measure_roofs(struct set *s, enum carm_isa isa, enum carm_precision precision,
                         struct carm_model *model, const struct carm_code **fastest,
                         struct carm_err *err)
{
    const struct carm_build_config *c = s->b->config;
    struct carm_roofs *roofs = NULL;
    int rc = carm_build_add_roofs(model, isa, precision, s->threads, &roofs, err);
    s->alone = NULL;
    for (size_t i = 0; i + 1 < model->nroofs && s->threads <= s->b->topo->cores; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (!s->alone && strcmp(r->isa, carm_isa_name(isa)) == 0 &&
            strcmp(r->precision, carm_precision_name(precision)) == 0) {
            s->alone = r;
        }
    }
    for (size_t level = 0; level < s->levels.n && !rc; level++) {
        const struct carm_build_level *l = &s->levels.levels[level];
        if (!l->nsets || !carm_build_wants_level(c, l->name)) {
            continue;
        }
        for (size_t m = 0; m < c->nmixes && !rc; m++) {
            char mix[16];
            carm_mix_name(&c->mixes[m], mix);
            if (c->mixes[m].nontemporal && level + 1 < s->levels.n) {
                continue; /* a non-temporal store leaves the caches: it has no roof in them */
            }
            carm_observer_step(s->b->observer, "%d thread%s: %s %s %s %s", s->threads,
                               s->threads == 1 ? "" : "s", carm_isa_name(isa),
                               carm_precision_name(precision), l->name, mix);
            rc = carm_observer_check(s->b->observer, err);
            rc = rc ? rc : measure_memory(s, isa, precision, &c->mixes[m], level, roofs, err);
            carm_observer_advance(s->b->observer,
                                  roof_seconds(s, carm_level_target(level, s->levels.n)));
        }
    }
    double best = 0.0;
    for (size_t o = 0; o < c->nops && !rc; o++) {
        const struct carm_code *code = NULL;
        if (!carm_cpu_has_op(s->b->cpu, isa, c->ops[o])) {
            continue;
        }
        carm_observer_step(s->b->observer, "%d thread%s: %s %s %s", s->threads,
                           s->threads == 1 ? "" : "s", carm_isa_name(isa),
                           carm_precision_name(precision), carm_op_name(c->ops[o]));
        rc = carm_observer_check(s->b->observer, err);
        rc = rc ? rc : measure_compute(s, isa, precision, c->ops[o], roofs, &code, err);
        if (!rc) {
            /* F(phi) is drawn for one operation, the same with every number of threads */
            const struct carm_compute_roof *last = &roofs->compute[roofs->ncompute - 1];
            const char *drawn = model->nflop_curves ? model->flop_curves[0].kind : NULL;
            double rate = drawn ? 0.0 : last->rate;
            if (drawn && strcmp(last->op, drawn) == 0) {
                rate = INFINITY;
            }
            if (rate > best) {
                best = rate;
                *fastest = code;
            }
        }
        carm_observer_advance(s->b->observer, roof_seconds(s, CARM_TARGET_CORE));
    }
    rc = rc ? rc : carm_build_recheck(s->b->plan, s->team, model, roofs, c->reps, &s->budget, err);
    if (!rc) {
        roofs->core_to_core_seconds = carm_core_to_core_seconds(s->team);
        carm_build_roofs_clock(roofs);
    }
    return rc;
}

/* F(phi): test code B from one pass of its loop to as many as fill a repetition. */
static int measure_flops(struct set *s, const struct carm_code *code, struct carm_model *model,
                         struct carm_err *err)
{
    struct carm_curve *curve = NULL;
    struct carm_shape full;
    int rc = carm_build_add_curve(model, &code->spec, s->threads, &curve, err);
    carm_measure_shape(s->team, code, 0, CARM_TARGET_CORE, &full);
    for (uint64_t n = 1; n <= full.iterations && !rc; n *= 2) {
        struct carm_shape shape = {.iterations = n, .passes = 1, .windows = 1};
        struct carm_measurement m;
        rc = carm_observer_check(s->b->observer, err);
        if (rc) {
            return rc;
        }
        carm_observer_step(s->b->observer, "%d thread%s: flops of %s", s->threads,
                           s->threads == 1 ? "" : "s", carm_isa_name(code->spec.isa));
        carm_measure_run(s->team, code, &shape, s->b->config->reps, 0.0, NULL, &m);
        rc = carm_build_add_curve_point(curve, m.flops / m.threads, &m, m.flops, err);
    }
    return rc;
}

/* fewest: in and out, the levels of the fewest threads; n = 0 before them. */
static int measure_set(struct set *s, struct carm_build_levels *fewest, struct carm_model *model,
                       struct carm_err *err)
{
    const struct carm_build_config *c = s->b->config;
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    const struct carm_code *fastest = NULL;
    struct carm_curve *curve = NULL;
    double inner[CARM_CANDIDATES_MAX];
    double outer[CARM_CANDIDATES_MAX];
    double clocks[CARM_CURVE_POINTS_MAX];
    carm_measure_calibrate(s->team, s->b->plan->empty);

    /* the curve, with the code that is best in the two inner caches */
    size_t n =
        carm_build_plan_memory(s->b->plan, c->isas[0], c->precisions[0], &c->mixes[0], true, codes);
    carm_observer_step(s->b->observer, "%d thread%s: choosing codes", s->threads,
                       s->threads == 1 ? "" : "s");
    const uint64_t l2 = s->b->topo->ncaches > 1 ? s->b->topo->caches[1].size_bytes : 0;
    size_t k =
        carm_measure_best(s->team, codes, n, 16384, CARM_TARGET_CORE, CARM_SEARCH_CORE, inner);
    if (l2) {
        /* the same code draws the whole curve: it must do well in L2, too, where the number of
         * loads in the loop can decide whether a prefetcher follows them */
        carm_measure_place(s->team, codes[k], l2 * 13 / 20, 8);
        (void)carm_measure_best(s->team, codes, n, l2 / 2, CARM_TARGET_CORE, CARM_SEARCH_CORE,
                                outer);
        for (size_t i = 0; i < n; i++) {
            k = inner[i] * outer[i] > inner[k] * outer[k] ? i : k;
        }
    }
    int rc = carm_build_add_curve(model, &codes[k]->spec, s->threads, &curve, err);
    /* a burst of the neighbours can blur a cache: the first curve, which the others can borrow from,
     * gets a second chance */
    const int attempts = fewest->n ? 1 : 2;
    for (int attempt = 0; attempt < attempts && !rc; attempt++) {
        curve->npoints = 0;
        rc = carm_build_curve(s->b, s->team, codes[k], &s->budget, curve, clocks, err);
        if (rc) {
            break;
        }
        carm_build_find_levels(s->b, s->threads, curve, clocks, fewest->n ? fewest : NULL,
                               &s->levels);
        if (!carm_build_lacks_cache(s->b, &s->levels)) {
            break;
        }
    }
    if (rc) {
        return rc;
    }
    if (!fewest->n) {
        *fewest = s->levels;
    }
    if (model->nlevels == 0) { /* the fewest threads tell of the levels of one core */
        rc = carm_build_add_levels(model, &s->levels, err);
    } else {
        carm_build_note_levels(model, &s->levels, s->threads);
    }
    for (size_t i = 0; i < c->nisas && !rc; i++) {
        for (size_t p = 0; p < c->nprecisions && !rc; p++) {
            const struct carm_code *code = NULL;
            rc = measure_roofs(s, c->isas[i], c->precisions[p], model, &code, err);
            fastest = fastest ? fastest : code;
        }
    }
    if (!rc && fastest) {
        rc = measure_flops(s, fastest, model, err);
    }
    if (!rc && model->machine.page_bytes == 0) {
        model->machine.page_bytes = carm_buffer_page_bytes(&s->team->workers[0].buffer);
    }
    return rc;
}

/* Ceilings belong to the widest ISA of the most threads: this set. Its team is closed on the way. */
static int measure_ceilings(struct set *s, struct carm_model *model, struct carm_err *err)
{
    const struct carm_build_config *config = s->b->config;
    struct carm_build_ceilings c = {.build = s->b, .levels = &s->levels, .budget = &s->budget};
    for (size_t i = 0; i < model->nroofs; i++) {
        struct carm_roofs *r = &model->roofs[i];
        if (r->threads == s->threads && strcmp(r->isa, carm_isa_name(config->isas[0])) == 0 &&
            strcmp(r->precision, carm_precision_name(carm_build_ceilings_precision(config))) == 0) {
            c.roofs = r;
        }
    }
    if (!c.roofs) {
        return 0;
    }
    int rc = carm_build_ceilings_here(&c, s->team, err);
    carm_team_close(s->team); /* its memory, before other teams take theirs */
    s->team = NULL;
    return rc ? rc : carm_build_ceilings_apart(&c, err);
}

int carm_build_run(const struct carm_build *build, struct carm_model *model, struct carm_err *err)
{
    const struct carm_build_config *c = build->config;
    int rc = 0;
    double retry = build->retry_seconds;
    struct carm_build_levels fewest = {.n = 0};
    for (size_t i = 0; i < c->nthreads && !rc; i++) {
        struct set s = {.b = build, .threads = c->threads[i]};
        s.budget.seconds = retry / (double)(c->nthreads - i);
        retry -= s.budget.seconds;
        const bool ceilings = i + 1 == c->nthreads && carm_build_wants_ceilings(c);
        size_t bytes = (size_t)(carm_build_curve_end(build, s.threads) / (uint64_t)s.threads);
        size_t reps = c->reps > 2048 ? c->reps : 2048;
        rc = carm_team_open(&s.team, build->topo, build->clock, s.threads,
                            bytes + ((size_t)2 << 20), reps, err);
        rc = rc ? rc : measure_set(&s, &fewest, model, err);
        rc = rc || !ceilings ? rc : measure_ceilings(&s, model, err);
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
        struct set s = {.b = build, .threads = c->threads[i]};
        s.levels.n = build->topo->ncaches + 1;
        total += carm_build_curve_seconds(build, c->threads[i]);
        double one = 0.0;
        for (size_t level = 0; level < s.levels.n; level++) {
            one += (double)c->nmixes * roof_seconds(&s, carm_level_target(level, s.levels.n));
        }
        one += (double)c->nops * roof_seconds(&s, CARM_TARGET_CORE);
        total += one * (double)(c->nisas * c->nprecisions);
    }
    if (carm_build_wants_ceilings(c)) {
        total += carm_build_ceilings_seconds(build, c->threads[c->nthreads - 1]);
    }
    return total;
}
