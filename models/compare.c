/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/compare.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "models/ceilings.h"
#include "models/latency.h"
#include "models/scaling.h"
#include "models/validation.h"

/* ---- two values ---- */

const char *carm_compare_kind_name(enum carm_compare_kind kind)
{
    static const char *const names[CARM_COMPARE_KINDS] = {"memory", "compute", "dram_peak",
                                                          "ceiling"};
    return names[kind];
}

const char *carm_compare_verdict_name(enum carm_compare_verdict verdict)
{
    static const char *const names[] = {"absent", "disturbed", "equal", "significant"};
    return names[verdict];
}

double carm_compare_floor(enum carm_compare_noise noise, bool is_virtual)
{
    /* On a machine without other users, a core's rates repeat within 1% and memory's within 2%, see
     * models/ceilings.c. In a virtual machine beside other guests: the largest coefficient of
     * variation, disturbed points left out, of ten builds in a row (docs/results.md): 0.7% for L1,
     * L2 and the peaks, but 5.7% for one L2 roof, since the pages behind a large page may be
     * scattered there; 8.4% for L3; 4.5% for memory with one thread, 32% with two. */
    static const double floors[][2] = {
        [CARM_COMPARE_CORE] = {0.01, 0.01},         [CARM_COMPARE_PRIVATE] = {0.01, 0.057},
        [CARM_COMPARE_SHARED] = {0.02, 0.084},      [CARM_COMPARE_DRAM] = {0.02, 0.045},
        [CARM_COMPARE_DRAM_SEVERAL] = {0.02, 0.32},
    };
    return floors[noise][is_virtual];
}

double carm_compare_between(enum carm_compare_noise noise, bool is_virtual, bool quick)
{
    /* Twelve default and twenty quick builds within an hour on a virtual machine of two processors: the standard
     * deviation of a roof between builds, less the part that its interval shows. Memory: 2.2% of default builds, 4.5%
     * of quick ones; last cache: 0.6%, but 2% in single builds; private caches and computation: none (docs/results.md,
     * "Builds of one machine"). */
    static const double deviations[][2] = {
        [CARM_COMPARE_CORE] = {0.0, 0.0},           [CARM_COMPARE_PRIVATE] = {0.0, 0.0},
        [CARM_COMPARE_SHARED] = {0.015, 0.015},     [CARM_COMPARE_DRAM] = {0.03, 0.05},
        [CARM_COMPARE_DRAM_SEVERAL] = {0.03, 0.05},
    };
    return is_virtual ? deviations[noise][quick] : 0.0;
}

/* Degrees of freedom of these deviations: of twenty builds. A build's memory roofs move together, so they do not count
 * one by one. */
static const double between_freedom = 19.0;

/* On a restless virtual machine, rounds of the last cache scatter by 5% and rounds of memory by 8%. Rates of several
 * builds differ by 1.5 times as much: one build does not show the other half. */
static const double unseen = 0.5;

/* The part of a difference's variance from one value. squares: the part's square over its degrees
 * of freedom is added.
 * half  half of the value's interval */
static double add_variance(const struct carm_compare_value *v, double half, double *squares)
{
    /* models/rounds.c makes four batches of one run or two, and three batches of three runs.
     * From five runs on it makes more batches, and t is taken too large here. But such runs also
     * show the variation between runs, which is added below. */
    const double batches = fmin(3.0, (double)v->rounds - 1.0);
    const double sd = half / gsl_cdf_tdist_Pinv(0.975, batches);
    const double drift = unseen * v->scatter;
    const double builds = v->between * v->rate;
    const double seen = sd * sd / 2.0;
    if (builds > drift) {
        *squares += seen * seen / batches + pow(builds, 4.0) / between_freedom;
        return seen + builds * builds;
    }
    /* The scatter between batches and the scatter within batches are independent. */
    const double shared = fmin(1.0, batches / v->scatter_freedom);
    const double between = seen + shared * drift * drift;
    const double within = (1.0 - shared) * drift * drift;
    *squares += between * between / batches;
    if (shared < 1.0) {
        *squares += within * within / (v->scatter_freedom - batches);
    }
    return between + within;
}

/* Half width of the interval of a difference, for `comparisons` intervals that hold together. */
static double rounds_error(const struct carm_compare_value *low,
                           const struct carm_compare_value *high, size_t comparisons)
{
    double squares = 0.0;
    const double a = add_variance(low, low->hi - low->rate, &squares);
    const double b = add_variance(high, high->rate - high->lo, &squares);
    return squares > 0.0 ? sqrt(a + b) * gsl_cdf_tdist_Qinv(0.025 / (double)comparisons,
                                                            (a + b) * (a + b) / squares)
                         : 0.0;
}

static double share_of_larger(double a, double b)
{
    return fabs(a - b) / fmax(a, b);
}

void carm_compare_values(const struct carm_compare_value *base,
                         const struct carm_compare_value *other, double floor, size_t comparisons,
                         struct carm_compare_diff *diff)
{
    *diff = (struct carm_compare_diff){.verdict = CARM_COMPARE_ABSENT, .floor = floor};
    if (!(base->rate > 0.0 && other->rate > 0.0)) {
        return;
    }
    const struct carm_compare_value *low = base->rate <= other->rate ? base : other;
    const struct carm_compare_value *high = low == base ? other : base;
    diff->by_rounds = base->rounds && other->rounds && comparisons;
    const double error = diff->by_rounds ? rounds_error(low, high, comparisons)
                                         : hypot(low->hi - low->rate, high->rate - high->lo);
    diff->change = other->rate / base->rate - 1.0;
    diff->error = error / base->rate;
    const bool differs =
        high->rate - low->rate > error && share_of_larger(base->rate, other->rate) > floor;
    diff->verdict = base->disturbed || other->disturbed ? CARM_COMPARE_DISTURBED
                    : differs                           ? CARM_COMPARE_SIGNIFICANT
                                                        : CARM_COMPARE_EQUAL;
    if (base->clock_hz > 0.0 && other->clock_hz > 0.0) {
        const double b = base->rate / base->clock_hz;
        const double o = other->rate / other->clock_hz;
        diff->has_cycles = true;
        diff->cycle_change = o / b - 1.0;
        diff->same_per_cycle = diff->verdict == CARM_COMPARE_SIGNIFICANT &&
                               (share_of_larger(b, o) <= floor || fabs(o / b - 1.0) <= diff->error);
    }
}

/* ---- rows ---- */

/* A set of rows under construction. */
struct maker {
    struct carm_compare_set *set;
    size_t room;
    const struct carm_level *levels; /* of the model whose roofs are being added */
    size_t nlevels;
    bool failed;
};

/* The row with a name, created if missing; NULL = out of memory. */
static struct carm_compare_row *row_of(struct maker *m, enum carm_compare_kind kind,
                                       const char *name)
{
    struct carm_compare_set *set = m->set;
    for (size_t i = 0; i < set->nrows; i++) {
        if (set->rows[i].kind == kind && strcmp(set->rows[i].name, name) == 0) {
            return &set->rows[i];
        }
    }
    if (carm_array_grow(&set->rows, &m->room, set->nrows, 1, sizeof *set->rows, "", NULL)) {
        m->failed = true;
        return NULL;
    }
    struct carm_compare_row *row = &set->rows[set->nrows];
    memset(row, 0, sizeof *row);
    row->kind = kind;
    row->order = set->nrows++;
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

static void put_value(struct maker *m, enum carm_compare_kind kind, const char *name, bool bytes,
                      enum carm_compare_noise noise, size_t model,
                      const struct carm_compare_value *value)
{
    struct carm_compare_row *row = value->rate > 0.0 ? row_of(m, kind, name) : NULL;
    if (row) {
        row->bytes = bytes;
        snprintf(row->unit, sizeof row->unit, "%s", carm_precision_rate(m->set->precision));
        row->noise = row->noise > noise ? row->noise : noise;
        row->values[model] = *value;
    }
}

static enum carm_compare_noise dram_noise(int threads)
{
    return threads > 1 ? CARM_COMPARE_DRAM_SEVERAL : CARM_COMPARE_DRAM;
}

/* Levels are listed fastest first, memory last. The level next to memory is shared, as in
 * validation/roofs/levels.c, unless it is the only one. */
static enum carm_compare_noise level_noise(const struct maker *m, const char *level)
{
    size_t i = 0;
    while (i < m->nlevels && strcmp(m->levels[i].level, level) != 0) {
        i++;
    }
    if (i + 1 >= m->nlevels) {
        return dram_noise(m->set->threads);
    }
    return i == 0                ? CARM_COMPARE_CORE
           : i + 2 == m->nlevels ? CARM_COMPARE_SHARED
                                 : CARM_COMPARE_PRIVATE;
}

/* Memory has a clock of its own. */
static double clock_of(enum carm_compare_noise noise, double clock_hz)
{
    return noise >= CARM_COMPARE_DRAM ? 0.0 : clock_hz;
}

/* Adds the scatter of the rounds behind the value. Where slower rounds were left out, the scatter is the
 * median absolute deviation of all rounds: the remaining rounds were selected, so their own scatter is too small. */
static void add_rounds(struct maker *m, const struct carm_round *rounds, size_t n, bool shared,
                       struct carm_compare_value *value)
{
    /* Efficiency of the median absolute deviation against the standard deviation. source: Rousseeuw
     * and Croux 1993, "Alternatives to the median absolute deviation", table 1 */
    const double efficiency = 0.37;
    struct carm_round *copy = n >= CARM_ROUNDS_MIN ? malloc(n * sizeof *copy) : NULL;
    double *rates = copy ? malloc(2 * n * sizeof *rates) : NULL;
    struct carm_pooled pooled = {.sound = false};
    size_t of_state = 0;
    m->failed = m->failed || (n >= CARM_ROUNDS_MIN && !rates);
    if (rates) {
        memcpy(copy, rounds, n * sizeof *copy); /* carm_rounds_estimate sorts and marks rounds */
        carm_rounds_estimate(copy, n, shared, 0.0, &pooled);
    }
    for (size_t i = 0; i < n && pooled.sound; i++) {
        if (copy[i].state == pooled.state) {
            rates[of_state++] = copy[i].rate;
        }
    }
    if (pooled.sound) {
        const bool all = pooled.used == of_state;
        value->rounds = pooled.used;
        value->runs = pooled.runs;
        value->apart = pooled.state == CARM_STATE_APART;
        value->scatter =
            all ? gsl_stats_sd(rates, 1, of_state) : gsl_stats_mad(rates, 1, of_state, rates + n);
        value->scatter_freedom = (double)(of_state - 1) * (all ? 1.0 : efficiency);
    }
    free(rates);
    free(copy);
}

static struct carm_compare_value memory_value(struct maker *m, const struct carm_memory_roof *x,
                                              const char *isa, enum carm_compare_noise noise)
{
    struct carm_compare_value value = {.isa = isa,
                                       .rate = x->bandwidth,
                                       .lo = x->ci95.lo,
                                       .hi = x->ci95.hi,
                                       .clock_hz = clock_of(noise, x->clock_hz),
                                       .disturbed = x->disturbed,
                                       .code = x->code,
                                       .note = x->note};
    add_rounds(m, x->rounds, x->nrounds, noise >= CARM_COMPARE_SHARED, &value);
    return value;
}

/* The original model's roof, with the interval of the same measured memory roof. */
static void put_dram_peak(struct maker *m, const struct carm_roofs *roofs, size_t model)
{
    const struct carm_dram_peak *d = &roofs->dram_peak;
    const enum carm_compare_noise noise = dram_noise(roofs->threads);
    struct carm_compare_value value = {.isa = roofs->isa,
                                       .rate = d->bandwidth,
                                       .lo = d->bandwidth,
                                       .hi = d->bandwidth,
                                       .code = d->code,
                                       .note = ""};
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *x = &roofs->memory[i];
        if (x->bandwidth == d->bandwidth && strcmp(x->code, d->code) == 0) {
            value = memory_value(m, x, roofs->isa, noise);
            break;
        }
    }
    put_value(m, CARM_COMPARE_DRAM_PEAK, "DRAM peak", true, noise, model, &value);
}

static void put_ceilings(struct maker *m, const struct carm_roofs *roofs, size_t model)
{
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *x = &roofs->ceilings[i];
        const bool bytes = x->group == CARM_CEILING_MEMORY || x->group == CARM_CEILING_TRAFFIC;
        const enum carm_compare_noise noise =
            bytes ? dram_noise(roofs->threads) : CARM_COMPARE_CORE;
        const struct carm_compare_value value = {.isa = roofs->isa,
                                                 .rate = x->rate,
                                                 .lo = x->ci95.lo,
                                                 .hi = x->ci95.hi,
                                                 .clock_hz = clock_of(noise, x->clock_hz),
                                                 .disturbed = x->disturbed,
                                                 .code = x->code,
                                                 .note = x->note};
        char name[2 * CARM_NAME_MAX];
        snprintf(name, sizeof name, "%s: %s", carm_ceiling_group_name(x->group), x->name);
        put_value(m, CARM_COMPARE_CEILING, name, bytes, noise, model, &value);
    }
}

static void put_memory(struct maker *m, const struct carm_memory_roof *x, const char *isa,
                       size_t model)
{
    char name[2 * CARM_NAME_MAX];
    const enum carm_compare_noise noise = level_noise(m, x->level);
    const struct carm_compare_value value = memory_value(m, x, isa, noise);
    snprintf(name, sizeof name, "%s %s", x->level, x->ldst);
    put_value(m, CARM_COMPARE_MEMORY, name, true, noise, model, &value);
}

static void put_compute(struct maker *m, const struct carm_compute_roof *x, const char *name,
                        const char *isa, size_t model)
{
    struct carm_compare_value value = {.isa = isa,
                                       .rate = x->rate,
                                       .lo = x->ci95.lo,
                                       .hi = x->ci95.hi,
                                       .clock_hz = x->clock_hz,
                                       .disturbed = x->disturbed,
                                       .code = x->code,
                                       .note = x->note};
    add_rounds(m, x->rounds, x->nrounds, false, &value);
    put_value(m, CARM_COMPARE_COMPUTE, name, false, CARM_COMPARE_CORE, model, &value);
}

static void put_roofs(struct maker *m, const struct carm_roofs *roofs, size_t model)
{
    for (size_t i = 0; i < roofs->nmemory; i++) {
        put_memory(m, &roofs->memory[i], roofs->isa, model);
    }
    for (size_t i = 0; i < roofs->ncompute; i++) {
        put_compute(m, &roofs->compute[i], roofs->compute[i].op, roofs->isa, model);
    }
    put_dram_peak(m, roofs, model);
    put_ceilings(m, roofs, model);
}

/* Adds the rows of plots and tables: each level and the peak, from the fastest of the set's ISA and
 * narrower ISAs. */
static void put_best(struct maker *m, const struct carm_model *of, const struct carm_roofs *roofs,
                     size_t model)
{
    const struct carm_roofs *whose = NULL;
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *x = carm_model_best_memory(of, roofs, roofs->memory[i].level,
                                                                  roofs->memory[i].ldst, &whose);
        put_memory(m, x, whose->isa, model);
    }
    const struct carm_compute_roof *peak = carm_model_best_peak(of, roofs, &whose);
    if (peak) {
        put_compute(m, peak, "peak", whose->isa, model);
    }
    put_dram_peak(m, roofs, model);
}

/* Keeps the rows that compare the baseline with a model whose best roof is from another ISA. */
static void keep_mixed(struct carm_compare_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < set->nrows; i++) {
        const struct carm_compare_value *v = set->rows[i].values;
        bool mixed = false;
        for (size_t k = 1; k < CARM_COMPARE_MOST; k++) {
            mixed = mixed || (v[0].isa && v[k].isa && strcmp(v[0].isa, v[k].isa) != 0);
        }
        if (mixed) {
            set->rows[n++] = set->rows[i];
        }
    }
    set->nrows = n;
}

/* The rank of a row's best verdict, and the lowest change with this verdict. */
static int rank_of(const struct carm_compare_row *row, double *worst)
{
    static const int ranks[] = {[CARM_COMPARE_SIGNIFICANT] = 0,
                                [CARM_COMPARE_EQUAL] = 1,
                                [CARM_COMPARE_DISTURBED] = 2,
                                [CARM_COMPARE_ABSENT] = 3};
    int rank = 3;
    *worst = 0.0;
    for (size_t i = 1; i < CARM_COMPARE_MOST; i++) {
        const struct carm_compare_diff *d = &row->diffs[i];
        const int r = ranks[d->verdict];
        if (r < rank || (r == rank && d->change < *worst)) {
            rank = r;
            *worst = d->change;
        }
    }
    return rank;
}

static int by_rank(const void *a, const void *b)
{
    const struct carm_compare_row *x = a, *y = b;
    double worst_x, worst_y;
    const int rank_x = rank_of(x, &worst_x), rank_y = rank_of(y, &worst_y);
    if (rank_x != rank_y) {
        return rank_x - rank_y;
    }
    if (worst_x != worst_y) {
        return worst_x < worst_y ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

/* Whether both values are known, undisturbed and from rounds. */
static bool are_rounds(const struct carm_compare_row *row, size_t model)
{
    const struct carm_compare_value *a = &row->values[0];
    const struct carm_compare_value *b = &row->values[model];
    return a->rounds && b->rounds && !a->disturbed && !b->disturbed;
}

/* The number of comparisons of one model with the baseline that are judged together. */
static size_t count_rounds(const struct carm_compare *c, size_t model)
{
    size_t n = 0;
    for (size_t s = 0; s < c->nsets; s++) {
        for (size_t k = 0; k < c->sets[s].nrows; k++) {
            n += are_rounds(&c->sets[s].rows[k], model);
        }
    }
    return n;
}

/* comparisons  [CARM_COMPARE_MOST] of values from rounds, for each model */
static void judge(const struct carm_compare *c, struct carm_compare_set *set, double noise,
                  const size_t *comparisons)
{
    for (size_t k = 0; k < set->nrows; k++) {
        struct carm_compare_row *row = &set->rows[k];
        for (size_t i = 1; i < c->n; i++) {
            const bool by_rounds = noise < 0.0 && row->values[0].rounds && row->values[i].rounds;
            const bool is_virtual = c->models[0]->machine.hypervisor[0] != '\0' ||
                                    c->models[i]->machine.hypervisor[0] != '\0';
            const double floor =
                noise >= 0.0 ? noise : carm_compare_floor(row->noise, is_virtual && !by_rounds);
            const size_t together = comparisons[i] ? comparisons[i] : 1;
            struct carm_compare_value of[2] = {row->values[0], row->values[i]};
            const bool places = set->threads > 1 && row->noise >= CARM_COMPARE_SHARED &&
                                (carm_compare_moved(set, i) || of[0].apart != of[1].apart);
            for (size_t v = 0; v < 2; v++) {
                of[v].between = places ? CARM_COMPARE_PLACES
                                : of[v].runs < CARM_ROUNDS_RUNS
                                    ? carm_compare_between(row->noise, is_virtual,
                                                           c->models[v ? i : 0]->config.quick)
                                    : 0.0;
            }
            carm_compare_values(&of[0], &of[1], floor, by_rounds ? together : 0, &row->diffs[i]);
        }
    }
    if (set->nrows > 0) {
        qsort(set->rows, set->nrows, sizeof *set->rows, by_rank);
    }
}

/* ---- sets ---- */

/* The layout of a set of several threads. Sets with different layouts are not compared. */
static const char *layout_of(const struct carm_compare *c, size_t model, const struct carm_roofs *r)
{
    return r->threads > 1 ? c->models[model]->machine.layout : "";
}

static struct carm_compare_set *find_set(struct carm_compare *c, const struct carm_roofs *r,
                                         const char *layout)
{
    for (size_t i = 0; i < c->nsets; i++) {
        struct carm_compare_set *s = &c->sets[i];
        if (s->threads == r->threads && strcmp(s->layout, layout) == 0 &&
            strcmp(s->isa, r->isa) == 0 && strcmp(s->precision, r->precision) == 0) {
            return s;
        }
    }
    return NULL;
}

/* The caller has made room for the sets of all models. */
static void collect_sets(struct carm_compare *c, const struct carm_compare_options *options)
{
    for (size_t m = 0; m < c->n; m++) {
        for (size_t i = 0; i < c->models[m]->nroofs; i++) {
            const struct carm_roofs *r = &c->models[m]->roofs[i];
            if (options->wanted && !options->wanted(options->arg, r->isa, r->threads)) {
                continue;
            }
            struct carm_compare_set *s = find_set(c, r, layout_of(c, m, r));
            if (!s) {
                s = &c->sets[c->nsets++];
                snprintf(s->isa, sizeof s->isa, "%s", r->isa);
                snprintf(s->precision, sizeof s->precision, "%s", r->precision);
                s->threads = r->threads;
                s->layout = layout_of(c, m, r);
            }
            s->roofs[m] = r;
            s->compared = s->compared || (m > 0 && s->roofs[0]);
        }
    }
}

/* The model's main roofs: of its widest ISA with all levels measured; NULL = none. */
static const struct carm_roofs *leading(const struct carm_model *model, const char *precision,
                                        int threads)
{
    const struct carm_roofs *best = NULL;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r->threads == threads && strcmp(r->precision, precision) == 0 &&
            !carm_model_is_beside(model, r) && (!best || carm_roofs_precede(r, best))) {
            best = r;
        }
    }
    return best;
}

/* Adds rows of the best roofs: a machine's best ISA may be missing on another, so that no set
 * compares them. The caller has made room. */
static void add_best(struct carm_compare *c, const struct carm_compare_options *options)
{
    const size_t n = c->nsets;
    for (size_t s = 0; s < n; s++) {
        const struct carm_compare_set *like = &c->sets[s];
        struct carm_compare_set best = {
            .isa = CARM_COMPARE_BEST, .threads = like->threads, .layout = like->layout};
        bool seen =
            options->wanted && !options->wanted(options->arg, CARM_COMPARE_BEST, like->threads);
        for (size_t k = 0; k < s; k++) {
            seen = seen || (c->sets[k].threads == like->threads &&
                            strcmp(c->sets[k].layout, like->layout) == 0 &&
                            strcmp(c->sets[k].precision, like->precision) == 0);
        }
        memcpy(best.precision, like->precision, sizeof best.precision);
        for (size_t m = 0; m < c->n && !seen; m++) {
            const bool alike =
                like->threads == 1 || strcmp(c->models[m]->machine.layout, like->layout) == 0;
            best.roofs[m] = alike ? leading(c->models[m], like->precision, like->threads) : NULL;
            best.compared = best.compared || (m > 0 && best.roofs[0] && best.roofs[m] &&
                                              strcmp(best.roofs[0]->isa, best.roofs[m]->isa) != 0);
        }
        if (best.compared) {
            c->sets[c->nsets++] = best;
        }
    }
}

int carm_compare_make(const struct carm_model *const *models, size_t n,
                      const struct carm_compare_options *options, struct carm_compare **out,
                      struct carm_err *err)
{
    size_t most = 1;
    *out = NULL;
    if (n < 2 || n > CARM_COMPARE_MOST) {
        return carm_fail(err, CARM_EINVAL, "two to %d models can be compared, not %zu",
                         CARM_COMPARE_MOST, n);
    }
    struct carm_compare *c = calloc(1, sizeof *c);
    if (!c) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to compare models");
    }
    c->n = n;
    for (size_t i = 0; i < n; i++) {
        c->models[i] = models[i];
        most += models[i]->nroofs;
    }
    c->sets = calloc(2 * most, sizeof *c->sets);
    if (!c->sets) {
        carm_compare_free(c);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to compare models");
    }
    collect_sets(c, options);
    add_best(c, options);
    for (size_t i = 0; i < c->nsets; i++) {
        struct maker m = {.set = &c->sets[i]};
        const bool best = strcmp(m.set->isa, CARM_COMPARE_BEST) == 0;
        for (size_t k = 0; k < n && m.set->compared; k++) {
            m.levels = models[k]->levels;
            m.nlevels = models[k]->nlevels;
            if (m.set->roofs[k] && best) {
                put_best(&m, models[k], m.set->roofs[k], k);
            } else if (m.set->roofs[k]) {
                put_roofs(&m, m.set->roofs[k], k);
            }
        }
        if (best) {
            keep_mixed(m.set);
        }
        if (m.failed) {
            carm_compare_free(c);
            return carm_fail(err, CARM_ENOMEM, "not enough memory to compare models");
        }
    }
    size_t comparisons[CARM_COMPARE_MOST];
    for (size_t i = 0; i < n; i++) {
        comparisons[i] = count_rounds(c, i);
    }
    for (size_t i = 0; i < c->nsets; i++) {
        judge(c, &c->sets[i], options->noise, comparisons);
    }
    *out = c;
    return 0;
}

void carm_compare_free(struct carm_compare *compare)
{
    if (!compare) {
        return;
    }
    for (size_t i = 0; i < compare->nsets; i++) {
        free(compare->sets[i].rows);
    }
    free(compare->sets);
    free(compare);
}

size_t carm_compare_drops(const struct carm_compare *compare, double threshold, bool ignore_clock,
                          struct carm_compare_drop *worst)
{
    size_t n = 0;
    *worst = (struct carm_compare_drop){0};
    for (size_t s = 0; s < compare->nsets; s++) {
        const struct carm_compare_set *set = &compare->sets[s];
        for (size_t k = 0; k < set->nrows; k++) {
            for (size_t i = 1; i < compare->n; i++) {
                const struct carm_compare_diff *d = &set->rows[k].diffs[i];
                if (d->verdict != CARM_COMPARE_SIGNIFICANT || !(-d->change > threshold) ||
                    (ignore_clock && d->same_per_cycle)) {
                    continue;
                }
                n++;
                if (!worst->row || d->change < worst->row->diffs[worst->model].change) {
                    *worst = (struct carm_compare_drop){set, &set->rows[k], i};
                }
            }
        }
    }
    return n;
}

struct carm_compare_counts carm_compare_counts(const struct carm_compare *compare)
{
    struct carm_compare_counts n = {0};
    for (size_t s = 0; s < compare->nsets; s++) {
        for (size_t k = 0; k < compare->sets[s].nrows; k++) {
            for (size_t i = 1; i < compare->n; i++) {
                const struct carm_compare_diff *d = &compare->sets[s].rows[k].diffs[i];
                n.of[d->verdict]++;
                n.by_rounds += d->by_rounds && d->verdict >= CARM_COMPARE_EQUAL;
                n.same_per_cycle += d->same_per_cycle;
            }
        }
    }
    return n;
}

/* ---- properties of each model besides its roofs ---- */

char carm_compare_letter(size_t model)
{
    return (char)('A' + (int)model);
}

bool carm_compare_moved(const struct carm_compare_set *set, size_t model)
{
    /* from core to core: 30 to 51 ns with the virtual CPUs on one core complex, 162 to 182 ns on two
     * (docs/results.md) */
    const double most = 2.0;
    if (!set->roofs[0] || !set->roofs[model]) {
        return false;
    }
    const double a = set->roofs[0]->core_to_core_seconds,
                 b = set->roofs[model]->core_to_core_seconds;
    return a > 0.0 && b > 0.0 && fmax(a, b) > most * fmin(a, b);
}

/* Facts are compared as printed, so that differences below the printed digits do not count. */

/* ---- facts ---- */

struct list {
    const struct carm_compare *compare;
    bool ascii;
    struct carm_compare_fact *facts;
    size_t n;
    size_t model; /* index of the model whose texts are added */
};

/* Sets one model's text of a fact, which is created if missing. */
__attribute__((format(printf, 3, 4))) static void put(struct list *l, const char *name,
                                                      const char *fmt, ...)
{
    char text[CARM_COMPARE_FACT_MAX];
    size_t i = 0;
    CARM_TEXT_OF_ARGS(text, fmt);
    while (i < l->n && strcmp(l->facts[i].name, name) != 0) {
        i++;
    }
    if (i == CARM_COMPARE_FACTS_MAX) {
        return;
    }
    struct carm_compare_fact *f = &l->facts[i];
    if (i == l->n) {
        memset(f, 0, sizeof *f);
        snprintf(f->name, sizeof f->name, "%s", name);
        l->n++;
    }
    carm_text_clean(f->text[l->model], sizeof f->text[l->model], *text ? text : "-", l->ascii);
}

static size_t finish(struct list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct carm_compare_fact *f = &l->facts[i];
        f->same = true;
        for (size_t m = 0; m < l->compare->n; m++) {
            if (!f->text[m][0]) {
                snprintf(f->text[m], sizeof f->text[m], "-");
            }
            f->same = f->same && strcmp(f->text[m], f->text[0]) == 0;
        }
    }
    return l->n;
}

static const char *size_text(char *dst, size_t size, uint64_t bytes)
{
    return bytes ? carm_text_bytes(dst, size, bytes) : "-";
}

/* The set with the highest peak among the model's sets with this number of threads. */
static const struct carm_roofs *highest(const struct carm_model *m, int threads)
{
    const struct carm_roofs *best = NULL;
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        if (r->threads == threads && carm_roofs_find_peak(r) &&
            (!best || carm_roofs_precede(r, best))) {
            best = r;
        }
    }
    return best;
}

const struct carm_roofs *carm_compare_adopt(struct carm_model *model,
                                            const struct carm_model *other)
{
    struct carm_roofs *r = model->nroofs == 1 ? model->roofs : NULL;
    const struct carm_roofs *like =
        r && strcmp(r->isa, "unknown") == 0 ? highest(other, r->threads) : NULL;
    if (like) {
        snprintf(r->isa, sizeof r->isa, "%s", like->isa);
    }
    if (like && r->ncompute == 1) {
        snprintf(r->compute[0].op, sizeof r->compute[0].op, "%s", carm_roofs_find_peak(like)->op);
    }
    return like;
}

size_t carm_compare_machine_facts(const struct carm_compare *compare, bool ascii,
                                  struct carm_compare_fact *facts)
{
    struct list l = {.compare = compare, .ascii = ascii, .facts = facts};
    char a[CARM_TEXT_NUMBER_MAX], place[256];
    for (l.model = 0; l.model < compare->n; l.model++) {
        const struct carm_model *m = compare->models[l.model];
        const struct carm_machine *mc = &m->machine;
        put(&l, "host", "%s%s", mc->hostname, carm_machine_place(place, sizeof place, mc));
        put(&l, "CPU", "%s", mc->cpu);
        if (*m->roofs_of) { /* a file of another tool has no other facts */
            put(&l, "built", "%s", *m->created ? m->created : "-");
            put(&l, "mix", "%s", m->config.ldst);
            continue;
        }
        put(&l, "hypervisor", "%s", mc->hypervisor[0] ? mc->hypervisor : "none known");
        put(&l, "cores", "%d", mc->cores);
        put(&l, "threads", "%d", mc->threads);
        for (size_t i = 0; i < mc->ncaches; i++) {
            char name[24];
            snprintf(name, sizeof name, "L%d cache", mc->caches[i].level);
            put(&l, name, "%s / %d thread%s",
                carm_text_bytes(a, sizeof a, mc->caches[i].size_bytes), mc->caches[i].shared_by,
                mc->caches[i].shared_by == 1 ? "" : "s");
        }
        put(&l, "memory", "%s", carm_text_bytes(a, sizeof a, mc->memory_bytes));
        put(&l, "pages", "%s", carm_text_bytes(a, sizeof a, mc->page_bytes));
        put(&l, "built", "%s", m->created);
        put(&l, "carm", "%s%s", m->carm_version, m->config.quick ? ", --quick" : "");
        put(&l, "repetitions", "%llu", (unsigned long long)m->config.reps);
        put(&l, "mix", "%s", m->config.ldst);
        put(&l, "validated", "%s",
            m->validated[0]  ? m->validated
            : m->nvalidation ? "yes"
                             : "never");
    }
    return finish(&l);
}

/* The last cache and memory. */
static bool is_shared(const struct carm_model *m, const char *level)
{
    size_t i = 0;
    while (i < m->nlevels && strcmp(m->levels[i].level, level) != 0) {
        i++;
    }
    return i + 2 >= m->nlevels;
}

/* The noise of the last cache's or of memory's latency between builds, as a share, for eight latencies of two builds
 * together. In twelve default builds of one virtual machine, latencies of memory and L3 had a standard deviation of 5
 * to 7%, while their intervals were 1.4% and 10%: by intervals alone, 59 of 66 pairs of builds would differ. Latencies
 * of private caches were equal within 0.1%. */
static double latency_noise(const struct carm_compare *c, size_t model, const char *level)
{
    enum { LATENCIES = 8 };
    static const double between = 0.07; /* the largest of the standard deviations above */
    const struct carm_model *m = c->models[model];
    const bool is_virtual = *m->machine.hypervisor || *c->models[0]->machine.hypervisor;
    return !is_shared(m, level) || !is_virtual
               ? 0.0
               : sqrt(2.0) * between * gsl_cdf_tdist_Qinv(0.025 / LATENCIES, between_freedom);
}

/* The difference of a latency from the baseline's, as text. Overlapping intervals, and differences
 * below the noise, count as none. returns dst */
static const char *latency_change(char dst[48], const struct carm_latency *base,
                                  const struct carm_latency *of, double noise)
{
    dst[0] = '\0';
    if (!base || base == of) {
        return dst;
    }
    const bool meet = base->ci95.lo <= of->ci95.hi && of->ci95.lo <= base->ci95.hi;
    if (meet || share_of_larger(base->seconds, of->seconds) <= noise) {
        snprintf(dst, 48, " (no difference)");
    } else {
        snprintf(dst, 48, " (%+.0f%%)", 100.0 * (of->seconds / base->seconds - 1.0));
    }
    return dst;
}

/* Adds the number of threads of the first layout that saturate each shared level, and their
 * rate. */
static void put_scaling(struct list *l)
{
    const struct carm_model *m = l->compare->models[l->model];
    for (size_t i = 0; i < m->nscaling; i++) {
        const struct carm_scaling *c = &m->scaling[i];
        const int most = c->npoints ? c->points[c->npoints - 1].threads : 0;
        const bool shared = carm_scaling_find(m, c->level) == c && is_shared(m, c->level) &&
                            strcmp(c->level, CARM_SCALING_PEAK) != 0;
        const int enough = most > 1 && shared ? carm_scaling_enough(c, most) : 0;
        char level[16];
        char name[48];
        char rate[CARM_TEXT_NUMBER_MAX];
        int between[2];
        if (enough == 0) {
            continue;
        }
        carm_text_clean(level, sizeof level, c->level, l->ascii);
        snprintf(name, sizeof name, "%s threads that saturate", level);
        put(l, name, "%d of %d: %s", enough, most,
            carm_text_si(rate, sizeof rate, carm_scaling_rate(c, enough, between), "B/s"));
    }
}

/* Adds figures of the domains' own and other memory, each as a range. */
static void put_domains(struct list *l)
{
    enum { MOST = 8 };
    char lines[MOST][CARM_NUMA_LINE];
    const size_t n = carm_numa_say(l->compare->models[l->model], lines, MOST);
    for (size_t i = 0; i < n; i++) {
        char *figures = strstr(lines[i], ": ");
        if (figures) {
            *figures = '\0';
            put(l, lines[i], "%s", figures + 2);
        }
    }
}

/* Adds latencies and lines in flight of the list's current model. */
static void put_latencies(struct list *l)
{
    const struct carm_model *m = l->compare->models[l->model];
    char level[16];
    char name[64];
    char text[CARM_TEXT_NUMBER_MAX];
    char change[48];
    for (size_t i = 0; i < m->nlatency; i++) {
        const struct carm_latency *x = &m->latency[i];
        if (x->order == CARM_LATENCY_RANDOM && x->seconds > 0.0) {
            carm_text_clean(level, sizeof level, x->level, l->ascii);
            snprintf(name, sizeof name, "%s latency, %s pages", level,
                     carm_text_bytes(text, sizeof text, x->page_bytes));
            put(l, name, "%.3g ns%s", 1e9 * x->seconds,
                latency_change(
                    change,
                    carm_latency_find(l->compare->models[0], x->level, x->order, x->page_bytes), x,
                    latency_noise(l->compare, l->model, x->level)));
        }
    }
    put_scaling(l);
    put_domains(l);
    const struct carm_in_flight *f = carm_in_flight_find(m, "DRAM");
    if (f) {
        put(l, "DRAM lines in flight", "%.0f", f->lines);
    }
}

size_t carm_compare_level_facts(const struct carm_compare *compare, bool ascii,
                                struct carm_compare_fact *facts)
{
    struct list l = {.compare = compare, .ascii = ascii, .facts = facts};
    char a[CARM_TEXT_NUMBER_MAX];
    for (l.model = 0; l.model < compare->n; l.model++) {
        const struct carm_model *m = compare->models[l.model];
        for (size_t i = 0; i < m->nlevels; i++) {
            const struct carm_level *x = &m->levels[i];
            char level[16];
            char name[32];
            carm_text_clean(level, sizeof level, x->level, ascii);
            snprintf(name, sizeof name, "%s OS size", level);
            put(&l, name, "%s", size_text(a, sizeof a, x->os_size_bytes));
            snprintf(name, sizeof name, "%s knee", level);
            put(&l, name, "%s", x->resolved ? size_text(a, sizeof a, x->knee_bytes) : "unresolved");
        }
        put_latencies(&l);
    }
    return finish(&l);
}

/* ---- fitness ---- */

bool carm_compare_next_score(const struct carm_compare *compare,
                             const struct carm_compare_options *options, size_t *at,
                             struct carm_compare_score *score)
{
    const struct carm_model *base = compare->models[0];
    for (; *at < base->nvalidation; (*at)++) {
        const struct carm_validation *v = &base->validation[*at];
        bool shared = false;
        if (options->wanted && !options->wanted(options->arg, v->set.isa, v->set.threads)) {
            continue;
        }
        memset(score, 0, sizeof *score);
        score->of[0] = v;
        for (size_t m = 1; m < compare->n; m++) {
            score->of[m] =
                carm_validation_find_score(compare->models[m], &v->set, v->model, v->level);
            shared = shared || score->of[m];
        }
        if (shared) {
            (*at)++;
            return true;
        }
    }
    return false;
}
