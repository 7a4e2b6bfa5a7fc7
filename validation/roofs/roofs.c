/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/roofs.h"

#include <assert.h>
#include <gsl/gsl_sort_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/search.h"
#include "models/roofline.h"
#include "validation/roofs/levels.h"

enum {
    SEARCH_REPS = 3000, /* repetitions of the search before a roof, for the progress line */
    FINALISTS = 3,
    FINALISTS_BESIDE = 2, /* of an ISA beside the widest, and of a shared level's other mixes */
    FIRST_CUT = 3,        /* rounds after which hopeless finalists go ... */
    LAST_CUT = 5,         /* ... and after which only one is left */
    FEWEST = 4,           /* rounds that run even after the deadline of the rounds */
    MORE = 3,             /* most rounds of a point, in multiples of the planned rounds ... */
    MORE_SHARED = 2,      /* ... and for shared resources, whose state lasts longer than a build */
    BARREN = 5,           /* repeated rounds without effect after which a roof gets no more */
    CLOCKS = 4096,        /* most rounds from which it is decided whether the core clock wanders */
    PROMPT = 2,           /* repeated rounds of the roofs that a plot shows, per repeated round of
                           * the others */
};

/* Finalists are within final_margin of the best candidate of the search; after some rounds,
 * within round_margin of the best finalist. A core's own rates repeat within 1% in rounds; a
 * search's runs are shorter. */
static const double final_margin = 0.04;
static const double round_margin = 0.01;
/* A code of the earlier model stays unless another code is better by more than this, since its rounds
 * would be lost. Equal codes differ by this much (code_floor). */
static const double known_margin = 0.005;

/* Variation between builds, relative: of a core's own rate by the choice among equal codes, and
 * of farther caches and memory by the places of their pages (docs/results.md). */
static const double code_floor = 0.005;
static const double page_floor = 0.02;

/* By how much a roof may be slower than a rule demands. A core's own rates repeat within 1%, rates of computation
 * within 0.2%. `mad` of a quick build stayed in a schedule of 97.6% with two threads (115.4 of 118.2 Gflop/s). */
static const double rule_slack = 0.03;
static const double rule_slack_peak = 0.015;

static void what_of(const struct carm_build_roof *r, char name[16])
{
    if (r->memory) {
        carm_mix_name(r->mix, name);
    } else {
        snprintf(name, 16, "%s", carm_op_name(r->op));
    }
}

/* Whether each thread has the roof's resource for itself: arithmetic, and caches that no two
 * threads share. */
static bool is_private(const struct carm_build_roof *r)
{
    return !r->memory || carm_build_is_private(r->set->build->topo, r->level, r->set->threads);
}

static double target_of(const struct carm_build_roof *r)
{
    return r->memory ? carm_level_target(r->level, r->set->levels.n) : CARM_TARGET_CORE;
}

/* Starts a series of a code. Finding the shape of its repetitions takes some milliseconds of the
 * rounds' time when the searches' time is over. */
static void open_series(struct carm_build_roof *r, const struct carm_code *code, uint64_t set_bytes)
{
    struct carm_series *s = &r->series[r->nseries++];
    const struct carm_deadline deadline = r->set->team->deadline;
    if (carm_team_is_over(r->set->team)) {
        carm_build_limit(r->set->build, r->set->team, CARM_SHAPES_END);
    }
    /* a set of fewer threads, or of an earlier model, may be larger than the smallest buffer */
    const uint64_t most = carm_team_room(r->set->team) - CARM_TEAM_SPARE;
    carm_series_open(s, r->set->team, code, set_bytes < most ? set_bytes : most, target_of(r),
                     !is_private(r));
    r->set->team->deadline = deadline;
    s->floor = r->memory && r->level > 0 ? page_floor : code_floor;
    s->clock_hz = &r->set->clock_hz;
}

/* Whether the roof's precision is beyond the nleading ones. */
static bool is_beside_precision(const struct carm_build_roof *r)
{
    const struct carm_build_config *c = r->set->build->config; // NOLINT: each roof has its set
    size_t precision = 0;
    while (precision < c->nprecisions && c->precisions[precision] != r->precision) {
        precision++;
    }
    return precision >= c->nleading;
}

/* Whether the roof's ISA is beyond the nwhole first or its precision beyond the nleading first: such roofs
 * get fewer rounds and candidates. */
static bool is_beside(const struct carm_build_roof *r)
{
    assert(r->set);
    const struct carm_build_config *c = r->set->build->config;
    size_t isa = 0;
    while (isa < c->nisas && c->isas[isa] != r->isa) {
        isa++;
    }
    return isa >= c->nwhole || is_beside_precision(r);
}

static bool same_roof(const struct carm_build_roof *a, const struct carm_build_roof *b)
{
    return a->isa == b->isa && a->precision == b->precision && a->memory == b->memory &&
           (a->memory ? a->mix == b->mix &&
                            strcmp(carm_build_roof_level(a), carm_build_roof_level(b)) == 0
                      : a->op == b->op);
}

/* Whether plots and placement use the roof first. */
static bool is_main(const struct carm_build_roof *r)
{
    return !r->memory || r->mix == &r->set->build->config->mixes[0];
}

/* Planned rounds: all for roofs that a plot shows first, half for the other mixes, and FEWEST for
 * ISAs beside the widest (for mixtures of operations, CARM_ROOF_SETTLED + 1). */
static size_t rounds_of(const struct carm_build_job *j, const struct carm_build_roof *r)
{
    const size_t least = j->rounds < FEWEST ? j->rounds : FEWEST;
    if (is_beside(r)) {
        const bool mixture = !r->memory && carm_ops[r->op].mixture;
        return mixture && j->rounds > CARM_ROOF_SETTLED ? CARM_ROOF_SETTLED + 1 : least;
    }
    return is_main(r) || j->rounds / 2 < least ? j->rounds : j->rounds / 2;
}

/* ---- candidates ---- */

static int announce(const struct carm_build_roof *r, const char *doing, struct carm_err *err)
{
    char what[16];
    assert(r->set);
    what_of(r, what);
    carm_observer_step(r->set->build->observer, "%d thread%s: %s%s %s %s%s%s", r->set->threads,
                       r->set->threads == 1 ? "" : "s", doing, carm_isa_name(r->isa),
                       carm_precision_name(r->precision), carm_build_roof_level(r),
                       *carm_build_roof_level(r) ? " " : "", what);
    return carm_observer_check(r->set->build->observer, err);
}

/* Whether the roof gets fewer finalists: it is beside (is_beside), or has another mix than the first on a level that
 * threads share, since plots show the first mix. */
static bool is_brief(const struct carm_build_roof *r)
{
    return is_beside(r) || (!is_main(r) && !is_private(r));
}

/* The largest number of finalists. Loops of operations have slow schedules in which a round can stay (scalar mad with 14
 * chains 7.5% below its fastest look), so a code of each number of chains must stay. */
static size_t most_finalists(const struct carm_build_roof *r)
{
    return is_brief(r) && r->memory ? FINALISTS_BESIDE : FINALISTS;
}

/* Whether a code may be left out for a better finalist. For an operation, one code of each number of chains becomes a
 * finalist: loops of different lengths are equally fast, and once two loops of mad with 14 chains displaced the loop with
 * 12, which is 5% faster in rounds. */
static bool is_alike(const struct carm_build_roof *r, const struct carm_code *code,
                     const struct carm_code *finalist)
{
    return !r->memory && code->spec.chains == finalist->spec.chains;
}

/* The best candidates by short measurements, best first; the first candidate when there was no
 * time for a measurement. returns their number */
static size_t choose_finalists(const struct carm_build_roof *r,
                               const struct carm_code *const *codes, const double *rates, size_t n,
                               size_t order[FINALISTS])
{
    const size_t most = most_finalists(r);
    size_t sorted[CARM_CANDIDATES_MAX];
    size_t found = 0;
    gsl_sort_index(sorted, rates, 1, n); /* ascending */
    if (!(rates[sorted[n - 1]] > 0.0)) {
        order[0] = 0;
        return 1;
    }
    const double enough = (1.0 - final_margin) * rates[sorted[n - 1]];
    for (size_t i = n; i-- > 0 && found < most && rates[sorted[i]] >= enough;) {
        const size_t k = sorted[i];
        bool alike = false;
        for (size_t f = 0; f < found; f++) {
            alike = alike || is_alike(r, codes[k], codes[order[f]]);
        }
        if (!alike) {
            order[found++] = k;
        }
    }
    return found;
}

/* Adds the best usual candidate to the finalists of a search, so that the rounds measure the
 * search's gain. returns the number of finalists */
static size_t keep_usual(struct carm_build_roof *r, const struct carm_code *const *codes,
                         const double *rates, size_t n, size_t order[FINALISTS], size_t finalists)
{
    const struct carm_build_plan *plan = r->set->build->plan;
    size_t usual = n;
    for (size_t i = 0; i < n; i++) {
        if (!carm_build_plan_is_searched(plan, codes[i]) &&
            (usual == n || rates[i] > rates[usual])) {
            usual = i;
        }
    }
    assert(usual < n);
    r->usual = codes[usual];
    for (size_t i = 0; i < finalists; i++) {
        if (order[i] == usual) {
            return finalists;
        }
    }
    finalists += finalists < FINALISTS ? 1 : 0;
    order[finalists - 1] = usual;
    return finalists;
}

/* Whether the time for searches ended before each candidate had run. */
static bool has_unseen(const double *rates, size_t n)
{
    bool unseen = false;
    for (size_t i = 0; i < n; i++) {
        unseen = unseen || !(rates[i] > 0.0);
    }
    return unseen;
}

/* Candidates of an ISA beside the widest: loops of several lengths, one prefetch, and streams.
 * returns the number that is left */
static size_t keep_few(const struct carm_code **codes, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct carm_code_spec *s = &codes[i]->spec;
        if (s->order == CARM_ORDER_UNIT && (s->prefetch_bytes == 0 || s->prefetch_bytes == 1024)) {
            codes[kept++] = codes[i];
        }
    }
    return kept;
}

/* Codes that won on this microarchitecture before become finalists: one bad moment of the search
 * must not lose them. returns the number of finalists */
static size_t keep_known(const struct carm_build_roof *r, const struct carm_code *const *codes,
                         size_t n, size_t order[FINALISTS], size_t finalists)
{
    const struct carm_build_config *c = r->set->build->config;
    for (size_t i = 0; c->known && i < c->known->n; i++) {
        const struct carm_winner *w = &c->known->items[i];
        size_t k = 0;
        while (k < n && strcmp(codes[k]->name, w->code) != 0) {
            k++;
        }
        if (k == n || strcmp(w->machine, c->machine) != 0 ||
            strcmp(w->level, carm_build_roof_level(r)) != 0) {
            continue;
        }
        bool there = false;
        for (size_t f = 0; f < finalists; f++) {
            there = there || order[f] == k;
        }
        if (!there) {
            finalists += finalists < FINALISTS ? 1 : 0;
            order[finalists - 1] = k;
        }
    }
    return finalists;
}

/* The working set that another roof of a shared level has chosen: the set's place in memory matters for every code. 0 =
 * none */
static uint64_t set_chosen(const struct carm_build_job *j, const struct carm_build_roof *r)
{
    for (size_t i = 0; i < j->n && is_brief(r) && !is_private(r); i++) {
        const struct carm_build_roof *other = &j->roofs[i];
        if (other->set == r->set && other->memory && other->level == r->level && is_main(other) &&
            other->nseries && !other->unsearched) {
            return carm_measure_set_bytes(other->series[0].code, &other->series[0].shape);
        }
    }
    return 0;
}

static void search_memory(const struct carm_build_job *j, struct carm_build_roof *r)
{
    const struct carm_build_set *s = r->set;
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    const struct carm_build_level *l = &s->levels.levels[r->level];
    const double target = carm_level_target(r->level, s->levels.n);
    const enum carm_search search = carm_level_search(r->level, s->levels.n);
    double rates[CARM_CANDIDATES_MAX] = {0.0};
    size_t order[FINALISTS];
    const size_t all =
        carm_build_plan_memory(s->build->plan, r->isa, r->precision, r->mix, r->level == 0, codes);
    const size_t n = is_beside(r) && r->level > 0 ? keep_few(codes, all) : all;
    /* the codes on the middle set, then the set with the best code */
    const uint64_t chosen = set_chosen(j, r);
    const uint64_t middle = chosen ? chosen : l->sets[l->nsets / 2];
    carm_measure_rank(s->team, codes, n, middle, target, search, rates);
    size_t finalists = choose_finalists(r, codes, rates, n, order);
    assert(finalists > 0);
    r->unsearched = has_unseen(rates, n);
    finalists = keep_known(r, codes, n, order, finalists);
    if (s->build->config->found) {
        finalists = keep_usual(r, codes, rates, n, order, finalists);
    }
    double of_sets[CARM_LEVEL_SETS] = {0.0};
    const size_t set = l->nsets < 2 || chosen
                           ? 0
                           : carm_measure_best_set(s->team, codes[order[0]], l->sets, l->nsets,
                                                   target, search, of_sets);
    for (size_t i = 0; i < finalists; i++) {
        open_series(r, codes[order[i]], chosen ? chosen : l->sets[set]);
    }
    /* the rounds decide between the best code's working sets, too */
    for (size_t i = 0; i < l->nsets && finalists < FINALISTS && !is_brief(r); i++) {
        if (i != set && of_sets[i] >= (1.0 - final_margin) * of_sets[set]) {
            open_series(r, codes[order[0]], l->sets[i]);
            finalists++;
        }
    }
}

/* Roofs of computation in a further precision take the codes of the leading precision: a loop that
 * covers latency and pipes of dp covers those of sp, whose instructions use the same units.
 * returns whether there were any */
static bool take_leading_codes(const struct carm_build_job *j, struct carm_build_roof *r)
{
    const struct carm_build_config *c = r->set->build->config;
    for (size_t i = 0; i < j->n && !r->memory && is_beside_precision(r); i++) {
        const struct carm_build_roof *other = &j->roofs[i];
        if (other->set == r->set && other->isa == r->isa && !other->memory && other->op == r->op &&
            other->precision == c->precisions[0] && other->nseries && !other->unsearched) {
            for (size_t k = 0; k < other->nseries && k < most_finalists(r); k++) {
                struct carm_code_spec spec = other->series[k].code->spec;
                char name[CARM_CODE_NAME_MAX];
                spec.precision = r->precision;
                carm_code_name(&spec, name);
                const struct carm_code *code = carm_image_find(r->set->build->plan->image, name);
                if (code) {
                    open_series(r, code, 0);
                }
            }
            return r->nseries > 0;
        }
    }
    return false;
}

/* An ISA beside the widest takes the codes of private resources from a smaller number of threads.
 * returns whether there were any */
static bool take_codes(const struct carm_build_job *j, struct carm_build_roof *r)
{
    if (take_leading_codes(j, r)) {
        return true;
    }
    for (size_t i = 0; i < j->n && is_beside(r) && is_private(r); i++) {
        const struct carm_build_roof *other = &j->roofs[i];
        if (other == r || !same_roof(other, r) || !is_private(other) || other->unsearched) {
            continue;
        }
        for (size_t k = 0; k < other->nseries && k < most_finalists(r); k++) {
            const struct carm_series *theirs = &other->series[k];
            open_series(r, theirs->code,
                        r->memory ? carm_measure_set_bytes(theirs->code, &theirs->shape) : 0);
        }
        return r->nseries > 0;
    }
    return false;
}

static bool has_code(const struct carm_build_roof *r, const struct carm_code *code)
{
    bool has = false;
    for (size_t k = 0; k < r->nseries; k++) {
        has = has || r->series[k].code == code;
    }
    return has;
}

void carm_build_share_code(const struct carm_build_roof *roofs, size_t n, struct carm_build_roof *r)
{
    for (size_t i = 0; i < n && is_private(r) && r->nseries < CARM_ROOF_CODES; i++) {
        const struct carm_build_roof *other = &roofs[i];
        const struct carm_series *theirs = &other->series[0];
        if (other != r && same_roof(other, r) && is_private(other) && other->nseries &&
            !has_code(r, theirs->code)) {
            open_series(r, theirs->code,
                        r->memory ? carm_measure_set_bytes(theirs->code, &theirs->shape) : 0);
        }
    }
}

static void search_compute(struct carm_build_roof *r)
{
    const struct carm_build_set *s = r->set;
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    double rates[CARM_CANDIDATES_MAX];
    size_t order[FINALISTS];
    const size_t n = carm_build_plan_compute(s->build->plan, r->isa, r->precision, r->op, codes);
    carm_measure_rank(s->team, codes, n, 0, CARM_TARGET_CORE, CARM_SEARCH_CORE, rates);
    const size_t finalists = choose_finalists(r, codes, rates, n, order);
    r->unsearched = has_unseen(rates, n);
    for (size_t i = 0; i < finalists; i++) {
        open_series(r, codes[order[i]], 0);
    }
}

/* ---- the rounds of a model before ---- */

static const struct carm_roofs *roofs_before(const struct carm_build_roof *r)
{
    const struct carm_model *before = r->set->build->before;
    return before ? carm_model_find_roofs(before, carm_isa_name(r->isa),
                                          carm_precision_name(r->precision), r->set->threads)
                  : NULL;
}

/* The series for the rounds of a code of the earlier model: of the finalist with the same code and a
 * set within a tenth, or a new series. NULL = the code does not exist any more. */
static struct carm_series *series_before(struct carm_build_roof *r, const char *name,
                                         uint64_t set_bytes)
{
    const struct carm_code *code = carm_image_find(r->set->build->plan->image, name);
    for (size_t i = 0; i < r->nseries && code; i++) {
        const struct carm_series *s = &r->series[i];
        const double now = (double)carm_measure_set_bytes(s->code, &s->shape);
        if (s->code == code && fabs(now - (double)set_bytes) <= 0.1 * (double)set_bytes) {
            return &r->series[i];
        }
    }
    if (!code || r->nseries == CARM_ROOF_CODES) {
        return NULL;
    }
    open_series(r, code, set_bytes);
    return &r->series[r->nseries - 1];
}

/* returns whether the series has the rounds */
static bool take_over(struct carm_series *s, const struct carm_round *rounds, size_t n,
                      const struct carm_spread *spread, uint64_t reps)
{
    const size_t room = CARM_ROUNDS_MAX / 2; /* the other half is for rounds of this build */
    const size_t from = n > room ? n - room : 0;
    if (!s || n == 0) {
        return false;
    }
    memcpy(s->rounds, rounds + from, (n - from) * sizeof *rounds);
    s->n = n - from;
    s->spread = *spread;
    s->spreads = s->n;
    s->spread_sound = carm_state_is_sound(s->rounds[s->n - 1].state);
    s->reps = reps;
    s->known = true;
    return true;
}

/* returns whether a series of the roof has rounds of the earlier model */
static bool add_before(struct carm_build_roof *r)
{
    const struct carm_roofs *before = roofs_before(r);
    char what[16];
    what_of(r, what);
    if (before && r->memory) {
        const struct carm_memory_roof *m =
            carm_roofs_find_memory(before, carm_build_roof_level(r), what);
        if (m) {
            const uint64_t set_bytes = m->working_set_bytes / (uint64_t)before->threads;
            return take_over(series_before(r, m->code, set_bytes), m->rounds, m->nrounds,
                             &m->spread, m->reps);
        }
    } else if (before) {
        const struct carm_compute_roof *c = carm_roofs_find_compute(before, what);
        if (c) {
            return take_over(series_before(r, c->code, 0), c->rounds, c->nrounds, &c->spread,
                             c->reps);
        }
    }
    return false;
}

/* ---- rounds ---- */

static void one_round(const struct carm_build_job *j, struct carm_build_roof *r, double wait)
{
    carm_build_use(r->set);
    const size_t reps = is_beside(r) ? (j->reps + 1) / 2 : j->reps;
    carm_build_wait(r->set, is_beside(r) ? 0.5 * wait : wait);
    for (size_t i = 0; i < r->nseries; i++) {
        carm_series_round(&r->series[i], r->set->team, reps, NULL);
    }
    carm_observer_advance(j->build->observer, (double)reps * (target_of(r) + 1e-6));
}

/* The rates by which codes are compared. Shared bandwidth drifts by more than codes differ: there,
 * a code's rate is the first code's rate times the ratio of both in rounds that ran one after the
 * other (carm_series_ratio).
 * pooled, rates  [nseries] out
 * returns whether all figures are sound */
static bool compare(const struct carm_build_roof *r, const struct carm_clock *clock,
                    struct carm_pooled *pooled, double *rates)
{
    bool sound = true;
    bool paired = !is_private(r);
    double ratios[CARM_ROOF_CODES] = {1.0};
    for (size_t i = 0; i < r->nseries; i++) {
        carm_series_estimate(&r->series[i], clock, &pooled[i]);
        sound = sound && pooled[i].sound;
        if (i > 0) {
            ratios[i] = carm_series_ratio(&r->series[i], &r->series[0]);
            paired = paired && ratios[i] > 0.0;
        }
    }
    for (size_t i = 0; i < r->nseries; i++) {
        rates[i] = (paired && sound ? pooled[0].rate * ratios[i] : pooled[i].rate) *
                   (r->series[i].known ? 1.0 + known_margin : 1.0);
    }
    return sound;
}

/* Notes for each set whether the core clock wanders. */
static void note_clocks(struct carm_build_job *j)
{
    for (size_t k = 0; k < j->nsets; k++) {
        static double clocks[CLOCKS]; /* 32 KiB */
        size_t n = 0;
        for (size_t i = 0; i < j->n; i++) {
            const struct carm_build_roof *r = &j->roofs[i];
            for (size_t c = 0; c < r->nseries && r->set == &j->sets[k]; c++) {
                n = carm_series_clocks(&r->series[c], clocks, n, CLOCKS);
            }
        }
        j->sets[k].clock_hz = carm_rounds_wandering(clocks, n);
    }
}

void carm_build_pool_roof(struct carm_build_roof *r, const struct carm_clock *clock)
{
    struct carm_pooled pooled[CARM_ROOF_CODES];
    double rates[CARM_ROOF_CODES];
    double most = 0.0;
    bool sound = false;
    r->pooled = (struct carm_pooled){.n = 0};
    compare(r, clock, pooled, rates);
    for (size_t i = 0; i < r->nseries; i++) {
        const struct carm_pooled *p = &pooled[i];
        if (p->n > 0 && (p->sound > sound || (p->sound == sound && rates[i] > most))) {
            r->pooled = *p;
            r->best = i;
            most = rates[i];
            sound = p->sound;
        }
    }
}

/* Notes the gain of a search's best code over the usual code while both have rounds.
 * rates  of the series, all sound */
static void note_gain(struct carm_build_roof *r, const double *rates)
{
    double best = 0.0;
    for (size_t i = 0; i < r->nseries; i++) {
        best = fmax(best, rates[i]);
    }
    for (size_t i = 0; i < r->nseries && r->usual; i++) {
        r->gain = r->series[i].code == r->usual ? best / rates[i] : r->gain;
    }
}

/* Keeps the finalists that can still be the best. With unsound rounds, all stay; if only one may be
 * left, the best so far stays when each has some rounds.
 * most  most finalists to keep */
static void cut(const struct carm_build_job *j, struct carm_build_roof *r, size_t most)
{
    double rates[CARM_ROOF_CODES];
    size_t order[CARM_ROOF_CODES];
    struct carm_series kept[CARM_ROOF_CODES];
    struct carm_pooled pooled[CARM_ROOF_CODES];
    bool known = true;
    for (size_t i = 0; i < r->nseries; i++) {
        known = known && r->series[i].n >= FEWEST;
    }
    const bool sound = compare(r, j->build->clock, pooled, rates);
    if (r->nseries < 2) {
        return;
    }
    if (!sound) {
        if (most > 1 || !known) {
            return;
        }
        carm_build_pool_roof(r, j->build->clock);
        r->series[0] = r->series[r->best];
        r->best = 0;
        r->nseries = 1;
        return;
    }
    size_t n = 0;
    note_gain(r, rates);
    gsl_sort_index(order, rates, 1, r->nseries); /* ascending */
    const double best = rates[order[r->nseries - 1]];
    for (size_t i = r->nseries; i-- > 0 && n < most;) {
        if (rates[order[i]] >= (1.0 - round_margin) * best) {
            kept[n++] = r->series[order[i]];
        }
    }
    memcpy(r->series, kept, n * sizeof *kept);
    r->nseries = n;
}

static int run_rounds(struct carm_build_job *j, struct carm_err *err)
{
    struct carm_team *team = j->sets[0].team;
    const struct carm_deadline deadline = team->deadline;
    for (size_t round = 0; round < j->rounds && !carm_team_is_over(team); round++) {
        if (round >= FEWEST && !carm_build_has_time(j->build, CARM_ROUNDS_SHARE)) {
            return 0; /* the remaining time is for roofs that need more rounds */
        }
        for (size_t i = 0; i < j->nsets; i++) { /* the empty code is measured in each round, too */
            carm_build_calibrate(&j->sets[i]);
        }
        note_clocks(j);
        for (size_t i = 0; i < j->n; i++) {
            const bool brief = is_brief(&j->roofs[i]);
            if (round >= rounds_of(j, &j->roofs[i])) {
                continue;
            }
            const int rc = announce(&j->roofs[i], "", err);
            if (rc) {
                return rc;
            }
            if (round ==
                0) { /* each roof gets a part of the time; a figure from few repetitions is better
                      * than none */
                const double ticks = (double)deadline.tsc - (double)carm_clock_now();
                team->deadline = carm_deadline_within(deadline, ticks / (double)(j->n - i));
            }
            one_round(j, &j->roofs[i], CARM_WAIT_ROUND);
            team->deadline = deadline;
            if (round + 1 >= FIRST_CUT) {
                cut(j, &j->roofs[i], round + 1 >= (brief ? FIRST_CUT : LAST_CUT) ? 1 : 2);
            }
        }
    }
    return 0;
}

/* ---- rules ---- */

/* The rate of one thread, at the same clock. */
static double per_core(const struct carm_build_roof *r)
{
    const double clock = r->pooled.clock_hz > 0.0 ? r->pooled.clock_hz : 1.0;
    return r->pooled.rate / r->set->threads / clock;
}

/* Judges two roofs by the rules between fewer and more threads. There are no rules if some of the more threads are on a
 * slower kind of core, as all threads have equal work. returns the number of roofs that break a rule */
static size_t check_pair(struct carm_build_roof *fewer, struct carm_build_roof *more)
{
    const struct carm_topo *topo = fewer->set->build->topo;
    const int cores = topo->cores;
    const int n = more->set->threads;
    if (carm_topo_slowest(topo, n) < carm_topo_slowest(topo, fewer->set->threads)) {
        return 0;
    }
    if (is_private(fewer) && is_private(more) && n <= cores &&
        !carm_paired_is(&more->set->team->paired, n)) {
        const double ratio = per_core(more) / per_core(fewer);
        if (fabs(ratio - 1.0) <= round_margin && fewer->pooled.sound && more->pooled.sound) {
            fewer->alike += more->pooled.used;
            more->alike += fewer->pooled.used;
        }
        const double slack = more->memory ? rule_slack : rule_slack_peak;
        if (ratio < 1.0 - slack && !more->note[0]) {
            snprintf(more->note, sizeof more->note,
                     "%.0f%% of %d times what %d thread%s reach%s, although each has a core for "
                     "itself: expect %.2f times as much",
                     100.0 * ratio, n / fewer->set->threads, fewer->set->threads,
                     fewer->set->threads == 1 ? "" : "s", fewer->set->threads == 1 ? "es" : "",
                     1.0 / ratio);
            return 1;
        }
        if (ratio > 1.0 + slack && !fewer->note[0]) {
            snprintf(fewer->note, sizeof fewer->note,
                     "%d threads reach %.0f%% more each: expect as much of fewer", n,
                     100.0 * (ratio - 1.0));
            return 1;
        }
    } else if (more->pooled.rate < (1.0 - rule_slack) * fewer->pooled.rate && !more->note[0] &&
               !(more->memory && !more->pooled.sound)) {
        snprintf(more->note, sizeof more->note, "slower than with %d thread%s", fewer->set->threads,
                 fewer->set->threads == 1 ? "" : "s");
        return 1;
    }
    return 0;
}

size_t carm_build_check_roofs(struct carm_build_roof *roofs, size_t n)
{
    size_t broken = 0;
    for (size_t i = 0; i < n; i++) {
        assert(roofs[i].set);
        roofs[i].note[0] = '\0';
        roofs[i].alike = 0;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            if (roofs[i].set->threads < roofs[k].set->threads && same_roof(&roofs[i], &roofs[k]) &&
                roofs[i].pooled.n > 0 && roofs[k].pooled.n > 0) {
                broken += check_pair(&roofs[i], &roofs[k]);
            }
        }
    }
    return broken;
}

/* ---- more rounds ---- */

/* Counts repeated rounds without effect: the figure did not become sound, and its interval not narrower.
 * before  the figure without the last round */
static void note_gain_of_round(struct carm_build_roof *r, const struct carm_pooled *before)
{
    const double width = before->ci95.hi - before->ci95.lo;
    const bool better =
        r->pooled.sound > before->sound || r->pooled.used > before->used + FEWEST ||
        (r->pooled.sound == before->sound && r->pooled.ci95.hi - r->pooled.ci95.lo < 0.9 * width);
    r->barren = better ? 0 : r->barren + 1;
}

static bool needs_more(const struct carm_build_job *j, const struct carm_build_roof *r)
{
    const struct carm_series *s = &r->series[r->best];
    if (r->barren >= BARREN) {
        return false;
    }
    const double slack = j->build->config->quick ? 2.0 : 1.0;
    return s->n < (is_private(r) ? MORE : MORE_SHARED) * rounds_of(j, r) &&
           (r->note[0] || r->nseries > 1 || carm_build_is_unsettled(r) ||
            carm_series_is_doubtful(s, &r->pooled, slack));
}

/* Adds a series of another roof's code: a roof that breaks a rule with another number of threads may have
 * the wrong code. */
static void adopt_code(const struct carm_build_job *j, struct carm_build_roof *r)
{
    for (size_t i = 0; i < j->n && r->nseries < CARM_ROOF_CODES; i++) {
        const struct carm_build_roof *other = &j->roofs[i];
        if (other == r || !same_roof(other, r) || other->pooled.n == 0) {
            continue;
        }
        const struct carm_series *theirs = &other->series[other->best];
        if (!has_code(r, theirs->code)) {
            carm_build_use(r->set);
            open_series(r, theirs->code, carm_measure_set_bytes(theirs->code, &theirs->shape));
        }
    }
}

/* Runs one more round of each roof that needs one.
 * all  false: only roofs that a plot shows
 * any  out: whether a roof needed a round */
static int run_again(struct carm_build_job *j, bool all, bool *any, struct carm_err *err)
{
    *any = false;
    note_clocks(j);
    for (size_t i = 0; i < j->n; i++) {
        carm_build_pool_roof(&j->roofs[i], j->build->clock);
    }
    carm_build_check_roofs(j->roofs, j->n);
    for (size_t i = 0; i < j->n && carm_build_has_time(j->build, 1.0); i++) {
        struct carm_build_roof *r = &j->roofs[i];
        if (!(all || is_main(r)) || !needs_more(j, r)) {
            continue;
        }
        const int rc = announce(r, "once more: ", err);
        if (rc) {
            return rc;
        }
        *any = true;
        if (r->note[0]) {
            adopt_code(j, r);
        }
        one_round(j, r, CARM_WAIT_AGAIN);
        cut(j, r, r->note[0] ? CARM_ROOF_CODES : 1);
        const struct carm_pooled before = r->pooled;
        carm_build_pool_roof(r, j->build->clock);
        note_gain_of_round(r, &before);
    }
    return 0;
}

static int run_more(struct carm_build_job *j, struct carm_err *err)
{
    bool any = true;
    int rc = 0;
    for (int turn = 1; any && !rc && carm_build_has_time(j->build, 1.0); turn++) {
        const bool all = turn % (PROMPT + 1) == 0;
        rc = run_again(j, all, &any, err);
        any = any || !all;
    }
    return rc;
}

static int finish(struct carm_build_job *j, struct carm_err *err)
{
    note_clocks(j);
    for (size_t i = 0; i < j->n; i++) {
        carm_build_pool_roof(&j->roofs[i], j->build->clock);
    }
    carm_build_check_roofs(j->roofs, j->n);
    return carm_build_add_results(j, err);
}

/* ---- measuring all roofs ---- */

static int add(struct carm_build_job *j, const struct carm_build_roof *roof, struct carm_err *err)
{
    struct carm_build_roof *r = &j->roofs[j->n];
    *r = *roof;
    r->series = calloc(CARM_ROOF_CODES, sizeof *r->series);
    if (!r->series) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for the rounds of a roof");
        return -CARM_ENOMEM;
    }
    j->n++;
    const int rc = announce(r, "choosing codes for ", err);
    if (rc) {
        return rc;
    }
    carm_build_use(r->set);
    if (take_codes(j, r)) {
        r->unsearched = false;
    } else if (r->memory) {
        search_memory(j, r);
    } else {
        search_compute(r);
    }
    const bool known = add_before(r);
    carm_build_share_code(j->roofs, j->n, r);
    if (is_beside(r) && r->unsearched &&
        !known) { /* the time for searches is kept for the first ISA's roofs */
        free(r->series);
        j->n--;
        j->dropped++;
    }
    /* the share that carm_build_roofs_seconds estimates */
    const double searched = is_beside_precision(roof) ? 0.0 : is_beside(roof) ? 0.5 : 1.0;
    carm_observer_advance(j->build->observer, searched * SEARCH_REPS * (target_of(roof) + 1e-6));
    return 0;
}

/* Plans the roofs of one set, ISA and precision, with the candidates of each. */
static int plan(struct carm_build_job *j, struct carm_build_set *set, size_t isa, size_t precision,
                struct carm_err *err)
{
    const struct carm_build_config *c = j->build->config;
    struct carm_build_roof r = {
        .set = set, .isa = c->isas[isa], .precision = c->precisions[precision]};
    int rc = 0;
    if (!carm_cpu_has_precision(j->build->cpu, r.isa, r.precision) ||
        !carm_build_wants_compute(c, isa, precision)) {
        return 0;
    }
    r.memory = true;
    for (r.level = 0; r.level < set->levels.n && precision < c->nleading && !rc; r.level++) {
        const struct carm_build_level *l = &set->levels.levels[r.level];
        const bool asked = l->nsets && carm_level_list_has(&c->levels, l->name);
        for (size_t m = 0; m < c->nmixes && asked && !rc; m++) {
            r.mix = &c->mixes[m];
            if (carm_build_wants_roof(c, isa, r.mix, r.level, set->levels.n)) {
                rc = add(j, &r, err);
            }
        }
    }
    r.memory = false;
    r.mix = NULL;
    r.level = 0;
    for (size_t o = 0; o < c->nops && !rc; o++) {
        r.op = c->ops[o];
        rc = carm_build_wants_op(c, j->build->cpu, isa, precision, r.op) ? add(j, &r, err) : 0;
    }
    return rc;
}

int carm_build_measure_roofs(struct carm_build_set *sets, size_t n, struct carm_model *model,
                             size_t *missing, struct carm_err *err)
{
    const struct carm_build *build = sets[0].build;
    const struct carm_build_config *c = build->config;
    struct carm_build_job j = {.build = build, .sets = sets, .nsets = n, .model = model};
    const size_t each = c->nmixes * CARM_LEVELS_MAX + c->nops;
    int rc = 0;
    j.rounds = carm_rounds_of(build->reps, &j.reps);
    j.roofs = calloc(n * c->nisas * c->nprecisions * each, sizeof *j.roofs);
    if (!j.roofs) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for the roofs");
        return -CARM_ENOMEM;
    }
    /* the first ISAs and precisions with all numbers of threads, then the others */
    for (size_t k = 0; k < 2 * n && !rc; k++) {
        const bool beside = k >= n;
        carm_build_limit(build, sets[0].team,
                         CARM_LEVELS_END + (CARM_SEARCH_END - CARM_LEVELS_END) * (double)(k + 1) /
                                               (double)(2 * n));
        for (size_t i = 0; i < c->nisas * c->nprecisions && !rc; i++) {
            const size_t isa = i / c->nprecisions;
            const size_t precision = i % c->nprecisions;
            if ((isa >= c->nwhole || precision >= c->nleading) == beside) {
                rc = plan(&j, &sets[k % n], isa, precision, err);
            }
        }
    }
    carm_build_limit(build, sets[0].team, CARM_ROUNDS_END);
    rc = rc ? rc : run_rounds(&j, err);
    rc = rc ? rc : run_more(&j, err);
    carm_build_limit(build, sets[0].team, CARM_BUILD_END);
    rc = rc ? rc : finish(&j, err);
    *missing = j.dropped;
    for (size_t i = 0; i < j.n; i++) {
        *missing += j.roofs[i].pooled.n == 0 ? 1 : 0;
        free(j.roofs[i].series);
    }
    free(j.roofs);
    return rc;
}

double carm_build_roofs_seconds(const struct carm_build *build)
{
    const struct carm_build_config *c = build->config;
    const size_t levels = build->topo->ncaches + 1;
    double all = 0.0;
    size_t each = 0;
    for (size_t i = 0; i < c->nisas; i++) {
        const bool whole = i < c->nwhole; /* false: few rounds, and half of the candidates */
        const double few =
            0.5 * FEWEST * (double)build->reps / (double)carm_rounds_of(build->reps, &each);
        const double reps = whole ? (double)(build->reps + SEARCH_REPS) : few + 0.5 * SEARCH_REPS;
        for (size_t p = 0; p < c->nprecisions; p++) {
            const bool leading = p < c->nleading; /* false: no search */
            all += carm_build_wants_compute(c, i, p)
                       ? (double)c->nops * (leading ? reps : few) * (CARM_TARGET_CORE + 1e-6)
                       : 0.0;
        }
        for (size_t k = 0; k < levels * c->nmixes; k++) {
            const size_t level = k / c->nmixes;
            all += carm_build_wants_level(c, build->topo, level) &&
                           carm_build_wants_roof(c, i, &c->mixes[k % c->nmixes], level, levels)
                       ? (double)c->nleading * reps * (carm_level_target(level, levels) + 1e-6)
                       : 0.0;
        }
    }
    return all;
}
