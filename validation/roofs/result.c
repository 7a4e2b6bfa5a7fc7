/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/result.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "harness/place/place.h"
#include "harness/machine/search.h"
#include "validation/roofs/levels.h"
#include "validation/roofs/points.h"

/* Least gain of a search's code to be kept: codes of equal speed differ by up to 0.5%
 * (code_floor). */
static const double gain_least = 1.005;

/* Whether a mix's traffic with memory is known without counters: loaded lines are read, updated
 * lines are read and written back, lines of non-temporal stores are written. The line of a plain
 * store may or may not be read first (processors differ), so plain stores are not known. */
static bool known_dram_traffic(const struct carm_mix *mix)
{
    return mix->stores == 0 || mix->update || mix->nontemporal;
}

bool carm_build_is_unsettled(const struct carm_build_roof *r)
{
    const struct carm_series *s = &r->series[r->best];
    size_t sound = r->alike;
    for (size_t i = 0; i < s->n; i++) {
        sound += carm_state_is_sound(s->rounds[i].state) ? 1 : 0;
    }
    return !r->memory && carm_ops[r->op].mixture && sound < CARM_ROOF_SETTLED;
}

/* Why a roof is not reliable; "" = it is. returns whether there is a reason */
static bool find_fault(const struct carm_build_roof *r, char *note, size_t size)
{
    const struct carm_pooled *p = &r->pooled;
    const struct carm_topo *topo = r->set->build->topo;
    bool faulty = carm_series_fault(&r->series[r->best], p, note, size);
    if (!faulty && carm_build_is_unsettled(r)) {
        faulty = true;
        snprintf(note, size,
                 "fewer than %d sound rounds, and mixtures have faster and slower schedules",
                 CARM_ROOF_SETTLED);
    }
    if (!faulty && r->unsearched && !r->series[r->best].known) {
        faulty = true;
        snprintf(note, size,
                 "the time for comparing codes was over: another may be faster (give more with "
                 "--budget)");
    }
    if (!p->sound && p->state == CARM_STATE_ONE_CORE) {
        snprintf(note, size, "measured while threads shared cores: expect up to twice as much");
    } else if (r->note[0] && p->sound) {
        snprintf(note, size, "%s", r->note);
    } else if (!faulty && p->state == CARM_STATE_APART) {
        snprintf(note, size, "%s", carm_state_name(p->state));
    } else if (!faulty && carm_paired_is(&r->set->team->paired, r->set->threads)) {
        snprintf(note, size, "threads without a core each, as in every round");
    } else if (!faulty && carm_topo_slowest(topo, r->set->threads) < carm_topo_slowest(topo, 1)) {
        snprintf(note, size,
                 "all threads have the same work, so the slow cores set the rate (for one kind of "
                 "core: --on kind:p)");
    }
    return faulty || r->note[0];
}

static int add_roof(const struct carm_build_roof *r, struct carm_roofs *roofs, struct carm_err *err)
{
    char note[CARM_TEXT_MAX];
    if (r->pooled.n == 0) {
        return 0;
    }
    const bool faulty = find_fault(r, note, sizeof note);
    const struct carm_build_result result = {.series = &r->series[r->best],
                                             .threads = r->set->threads,
                                             .pooled = r->pooled,
                                             .disturbed = faulty,
                                             .note = note};
    int rc = r->memory ? carm_build_add_memory(roofs, carm_build_roof_level(r), &result, err)
                       : carm_build_add_compute(roofs, &result, err);
    const bool dram = r->memory && r->level + 1 == r->set->levels.n;
    if (!rc && dram && known_dram_traffic(r->mix) && r->pooled.rate > roofs->dram_peak.bandwidth) {
        roofs->dram_peak.bandwidth = r->pooled.rate;
        snprintf(roofs->dram_peak.code, sizeof roofs->dram_peak.code, "%s",
                 r->series[r->best].code->name);
    }
    return rc;
}

/* Adds the roofs of one set, ISA and precision to the model. */
static int add_roofs(const struct carm_build_job *j, struct carm_build_set *set, enum carm_isa isa,
                     enum carm_precision precision, struct carm_err *err)
{
    struct carm_roofs *roofs = NULL;
    if (!carm_cpu_has_precision(j->build->cpu, isa, precision)) {
        return 0;
    }
    bool any = false; /* a roof of the set was measured before the budget ended */
    for (size_t i = 0; i < j->n; i++) {
        const struct carm_build_roof *r = &j->roofs[i];
        any =
            any || (r->set == set && r->isa == isa && r->precision == precision && r->pooled.n > 0);
    }
    if (!any) {
        return 0;
    }
    int rc = carm_build_add_roofs(j->model, isa, precision, set->threads, &roofs, err);
    if (!rc) {
        carm_topo_name(set->build->topo, set->threads, roofs->place);
        carm_topo_cpus(set->build->topo, set->threads, roofs->cpus, sizeof roofs->cpus);
    }
    for (size_t i = 0; i < j->n && !rc; i++) {
        const struct carm_build_roof *r = &j->roofs[i];
        if (r->set == set && r->isa == isa && r->precision == precision) {
            rc = add_roof(r, roofs, err);
        }
    }
    if (!rc) {
        carm_build_use(set);
        roofs->core_to_core_seconds = carm_core_to_core_seconds(set->team);
        carm_build_roofs_clock(roofs);
    }
    return rc;
}

/* Measures F(phi): test code B with one pass of its loop up to the number of passes that fills a repetition. */
static int measure_flops(struct carm_build_set *s, const struct carm_code *code,
                         struct carm_model *model, struct carm_err *err)
{
    struct carm_curve *curve = NULL;
    struct carm_shape full;
    int rc = carm_build_add_curve(model, &code->spec, s->threads, &curve, err);
    carm_build_use(s);
    carm_build_wait(s, CARM_WAIT_ROUND);
    carm_measure_shape(s->team, code, 0, CARM_TARGET_CORE, &full);
    for (uint64_t n = 1; n <= full.iterations && !rc; n *= 2) {
        struct carm_series series = {.code = code,
                                     .shape = {.iterations = n, .passes = 1, .windows = 1}};
        struct carm_pooled pooled = {.n = 0};
        size_t reps = 0;
        const size_t rounds = carm_build_sweep_rounds(s->build->reps, &reps);
        rc = carm_observer_check(s->build->observer, err);
        if (rc) {
            return rc;
        }
        carm_observer_step(s->build->observer, "%d thread%s: flops of %s", s->threads,
                           s->threads == 1 ? "" : "s", carm_isa_name(code->spec.isa));
        for (size_t i = 0; i < rounds; i++) {
            carm_series_round(&series, s->team, reps, NULL);
        }
        carm_series_estimate(&series, s->build->clock, &pooled);
        rc = carm_build_add_pooled_point(curve, (double)(n * code->account.flops), &pooled, err);
    }
    return rc;
}

/* The code for F(phi): the fastest of the first ISA and precision, the same for every number of
 * threads. */
static const struct carm_code *fastest(const struct carm_build_job *j,
                                       const struct carm_build_set *set)
{
    const struct carm_build_config *c = j->build->config;
    const char *drawn = j->model->nflop_curves ? j->model->flop_curves[0].kind : NULL;
    const struct carm_code *code = NULL;
    double best = 0.0;
    for (size_t i = 0; i < j->n; i++) {
        const struct carm_build_roof *r = &j->roofs[i];
        if (r->set == set && !r->memory && r->isa == c->isas[0] &&
            r->precision == c->precisions[0] && r->pooled.n > 0 &&
            (!drawn || strcmp(drawn, carm_op_name(r->op)) == 0) && r->pooled.rate > best) {
            best = r->pooled.rate;
            code = r->series[r->best].code;
        }
    }
    return code;
}

bool carm_build_roof_winner(const struct carm_build_roof *r, struct carm_winner *winner)
{
    char note[CARM_TEXT_MAX];
    if (!r->memory || r->pooled.n == 0 || r->gain < gain_least ||
        r->series[r->best].code == r->usual || find_fault(r, note, sizeof note)) {
        return false;
    }
    *winner = (struct carm_winner){.gain = r->gain};
    snprintf(winner->level, sizeof winner->level, "%s", carm_build_roof_level(r));
    snprintf(winner->code, sizeof winner->code, "%s", r->series[r->best].code->name);
    return true;
}

/* Keeps the winners of the search, of all numbers of threads. */
static int keep_winners(const struct carm_build_job *j, struct carm_err *err)
{
    const struct carm_build_config *c = j->build->config;
    char when[sizeof((struct carm_model *)0)->created];
    int rc = 0;
    carm_text_now(when, sizeof when);
    for (size_t i = 0; i < j->n && !rc; i++) {
        struct carm_winner w;
        if (!carm_build_roof_winner(&j->roofs[i], &w)) {
            continue;
        }
        snprintf(w.machine, sizeof w.machine, "%s", c->machine);
        snprintf(w.source, sizeof w.source, "%.60s, %d thread%s, %.10s", j->model->machine.cpu,
                 j->roofs[i].set->threads, j->roofs[i].set->threads == 1 ? "" : "s", when);
        const struct carm_winner *other = carm_winners_find(c->found, &w);
        rc = other && other->gain >= w.gain ? 0 : carm_winners_add(c->found, &w, err);
    }
    return rc;
}

int carm_build_add_results(const struct carm_build_job *j, struct carm_err *err)
{
    const struct carm_build_config *c = j->build->config;
    int rc = c->found ? keep_winners(j, err) : 0;
    for (size_t s = 0; s < j->nsets && !rc; s++) {
        for (size_t i = 0; i < c->nisas * c->nprecisions && !rc; i++) {
            rc = add_roofs(j, &j->sets[s], c->isas[i / c->nprecisions],
                           c->precisions[i % c->nprecisions], err);
        }
        const struct carm_code *code = rc || j->build->adds ? NULL : fastest(j, &j->sets[s]);
        rc = code ? measure_flops(&j->sets[s], code, j->model, err) : rc;
    }
    return rc;
}
