/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/rounds.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCHES = 4,
    ENOUGH = 8,       /* fewest rounds for a 90th percentile */
    CONFIRM = 2,      /* sound rounds that agree make a figure */
    CONFIRM_HELD = 3, /* or so many rounds that other programs interrupted */
};

/* Share of the 90th percentile below which a round counts as slowed. Chosen by hand. */
static const double slowed_own = 0.97;
static const double slowed_shared = 0.84;
/* agreement: relative distance within which rounds of a core's own resource confirm one another.
 * confirmed: distance of another run's best rounds. Of the figures marked on a busy Zen 4, the best
 * sound round was within 1% of the truth in 75%, and never more than 1% above it (docs/results.md). */
static const double agreement = 0.005;
static const double confirmed = 0.01;
static const double slow_clock = 0.97;
/* agreement for rates per cycle: quiet rounds of one code were within 0.0 to 1.2% (Emerald Rapids guest). */
static const double agreement_wandering = 0.01;
static const double wandering =
    0.03; /* distance of the 10th and 90th percentile of clocks, relative; as slow_clock */
static const double same_run = 600.0; /* seconds: rounds further apart are of two runs */
static const double clear_gap = 0.02; /* relative: closer modes may be one mode */
/* Share of rounds with the upper mode's distribution that must be above the whole lower mode. */
static const double clear_share = 0.999;
/* Factor on von Neumann's ratio above 1, with which 90% of intervals cover drifts as long as a run (test_rounds.c) */
static const double beyond = 1.5;
static const double most_drift = 6.0; /* largest factor on the width: see drift */

static const char *const names[CARM_STATE_COUNT] = {
    [CARM_STATE_QUIET] = "quiet",
    [CARM_STATE_APART] = "threads on two core complexes",
    [CARM_STATE_SLOW] = "lower clock",
    [CARM_STATE_UNSTEADY] = "core clock changed",
    [CARM_STATE_UNEVEN] = "uneven repetitions",
    [CARM_STATE_HELD_UP] = "preempted",
    [CARM_STATE_STOLEN] = "time taken by the hypervisor",
    [CARM_STATE_MIGRATED] = "moved to another CPU",
    [CARM_STATE_SHARED] = "core shared with another hardware thread",
    [CARM_STATE_ONE_CORE] = "threads on one core",
    [CARM_STATE_CUT] = "cut short by the budget",
    [CARM_STATE_UNTIMED] = "too short to be timed",
    [CARM_STATE_TOO_FAST] = "faster than any known core",
};

const char *carm_state_name(enum carm_state state)
{
    return names[state];
}

const char *carm_state_advice(enum carm_state state)
{
    static const char *const advice[CARM_STATE_COUNT] = {
        [CARM_STATE_SLOW] = "fix the clock, or let the CPU cool",
        [CARM_STATE_UNSTEADY] = "fix the clock, or let the CPU cool",
        [CARM_STATE_UNEVEN] = "build again when fewer interrupts or guests disturb",
        [CARM_STATE_HELD_UP] =
            "other processes ran on its CPUs, or carm was stopped: end them, and build again",
        [CARM_STATE_STOLEN] = "build again when the host has time",
        [CARM_STATE_MIGRATED] = "leave carm's threads on their CPUs",
        [CARM_STATE_SHARED] =
            "build again when the host, or the process on that hardware thread, is quiet",
        [CARM_STATE_ONE_CORE] = "build again when the host gives each CPU a core",
        [CARM_STATE_CUT] = "give more with --budget",
    };
    return advice[state] ? advice[state] : "";
}

bool carm_state_is_sound(enum carm_state state)
{
    return state == CARM_STATE_QUIET || state == CARM_STATE_APART;
}

static int by_time(const void *a, const void *b)
{
    const struct carm_round *x = a;
    const struct carm_round *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static double median_of(double *values, size_t n)
{
    gsl_sort(values, 1, n);
    return gsl_stats_median_from_sorted_data(values, 1, n);
}

/* The rounds of a figure, in order of time; borrowed. */
struct part {
    const struct carm_round *round[CARM_ROUNDS_MAX];
    size_t n;
};

static size_t rates_of(const struct part *p, double *out)
{
    for (size_t i = 0; i < p->n; i++) {
        out[i] = p->round[i]->rate;
    }
    return p->n;
}

/* Marks rounds as slow. The reference is the clock that CARM_ROUNDS_MIN rounds reached, so that one
 * wrong reading does not mark all others. */
static void mark_slow(struct carm_round *rounds, size_t n)
{
    double best[CARM_ROUNDS_MIN] = {0.0}; /* descending */
    for (size_t i = 0; i < n; i++) {
        double clock = carm_state_is_sound(rounds[i].state) ? rounds[i].clock_hz : 0.0;
        for (size_t k = 0; k < CARM_ROUNDS_MIN; k++) {
            const double kept = fmax(best[k], clock);
            clock = fmin(best[k], clock);
            best[k] = kept;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (carm_state_is_sound(rounds[i].state) && rounds[i].clock_hz > 0.0 &&
            rounds[i].clock_hz < slow_clock * best[CARM_ROUNDS_MIN - 1]) {
            rounds[i].state = CARM_STATE_SLOW;
        }
    }
}

/* Collects the latest rounds of one state (CARM_STATE_COUNT = of all states). */
static void collect(const struct carm_round *rounds, size_t n, enum carm_state state,
                    struct part *out)
{
    size_t from = n;
    for (size_t found = 0; from > 0 && found < CARM_ROUNDS_MAX; from--) {
        found += state == CARM_STATE_COUNT || rounds[from - 1].state == state;
    }
    out->n = 0;
    for (size_t i = from; i < n; i++) {
        if (state == CARM_STATE_COUNT || rounds[i].state == state) {
            out->round[out->n++] = &rounds[i];
        }
    }
}

/* Chooses the state whose rounds make the figure. */
static enum carm_state choose(const struct carm_round *rounds, size_t n)
{
    enum carm_state best = CARM_STATE_COUNT;
    double most = 0.0;
    bool sound = false;
    for (int s = 0; s < CARM_STATE_TOO_FAST; s++) {
        const enum carm_state state = (enum carm_state)s;
        struct part part;
        double rates[CARM_ROUNDS_MAX];
        collect(rounds, n, state, &part);
        if (part.n < CARM_ROUNDS_MIN || (sound && !carm_state_is_sound(state))) {
            continue;
        }
        const double rate = median_of(rates, rates_of(&part, rates));
        if (rate > most) {
            most = rate;
            best = state;
            sound = carm_state_is_sound(state);
        }
    }
    return best;
}

/* Leaves out the slower mode where the widest gap between rates separates two clear modes. returns
 * whether it did */
static bool drop_slower_mode(struct part *p)
{
    double rates[CARM_ROUNDS_MAX];
    const size_t n = rates_of(p, rates);
    gsl_sort(rates, 1, n);
    size_t split = 0;
    double widest = 0.0;
    for (size_t i = 1; i + CARM_ROUNDS_MIN <= n; i++) {
        if (rates[i] - rates[i - 1] > widest) {
            widest = rates[i] - rates[i - 1];
            split = i;
        }
    }
    if (widest <= clear_gap * rates[split]) {
        return false;
    }
    const size_t upper = n - split;
    const double mean = gsl_stats_mean(rates + split, 1, upper);
    const double sd = gsl_stats_sd_m(rates + split, 1, upper, mean);
    const double t = gsl_cdf_tdist_Pinv(clear_share, (double)(upper - 1));
    if (mean - rates[split - 1] <= t * sd * sqrt(1.0 + 1.0 / (double)upper)) {
        return false;
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->round[i]->rate >= rates[split]) {
            p->round[kept++] = p->round[i];
        }
    }
    p->n = kept;
    return true;
}

/* Leaves out rounds that lie far below the 90th percentile: something that no probe saw slowed them, such as other
 * cores' traffic in a shared cache. */
static void drop_slowed(struct part *p, double slowed)
{
    double rates[CARM_ROUNDS_MAX];
    const size_t n = rates_of(p, rates);
    gsl_sort(rates, 1, n);
    const double least = slowed * gsl_stats_quantile_from_sorted_data(rates, 1, n, 0.9);
    if (n < ENOUGH || rates[n - CARM_ROUNDS_MIN] < least) {
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->round[i]->rate >= least) {
            p->round[kept++] = p->round[i];
        }
    }
    p->n = kept;
}

/* The factor on the interval for drifting rates. Rates drift where neighbouring rounds are alike,
 * and then differ more between runs than in this run. returns 1 for independent rounds */
static double drift(const double *rates, size_t n)
{
    double squares = 0.0;
    for (size_t i = 1; i < n; i++) {
        squares += (rates[i] - rates[i - 1]) * (rates[i] - rates[i - 1]);
    }
    if (n < 3 || squares == 0.0) {
        return 1.0;
    }
    const double neighbours = squares / (2.0 * (double)(n - 1));
    const double ratio = gsl_stats_variance(rates, 1, n) / neighbours;
    return fmin(fmax(1.0 + beyond * (ratio - 1.0), 1.0), most_drift);
}

/* Divides rounds into runs. A run of too few rounds is joined to a neighbouring run.
 * first [n + 1] out: index of each run's first round, and the end
 * returns the number of runs */
static size_t cut_runs(const struct part *p, size_t *first)
{
    size_t runs = 1;
    first[0] = 0;
    for (size_t i = 1; i < p->n; i++) {
        if (p->round[i]->at - p->round[i - 1]->at > same_run &&
            i - first[runs - 1] >= CARM_ROUNDS_MIN) {
            first[runs++] = i;
        }
    }
    runs -= runs > 1 && p->n - first[runs - 1] < CARM_ROUNDS_MIN;
    first[runs] = p->n;
    return runs;
}

/* Half the interval's width, from medians of batches. */
static double half_width(const struct part *p)
{
    double rates[CARM_ROUNDS_MAX];
    double medians[CARM_ROUNDS_MAX];
    double batch[CARM_ROUNDS_MAX];
    size_t first[CARM_ROUNDS_MAX + 1];
    if (p->n < 2) {
        return 0.0;
    }
    rates_of(p, rates);
    const size_t runs = cut_runs(p, first);
    const size_t cuts = runs >= CARM_ROUNDS_RUNS ? 1 : runs == 1 ? BATCHES : BATCHES / 2;
    size_t batches = 0;
    for (size_t r = 0; r < runs; r++) {
        const size_t length = first[r + 1] - first[r];
        const size_t want = length < cuts ? length : cuts;
        for (size_t b = 0; b < want; b++) {
            const size_t from = length * b / want;
            const size_t size = length * (b + 1) / want - from;
            memcpy(batch, rates + first[r] + from, size * sizeof *batch);
            medians[batches++] = median_of(batch, size);
        }
    }
    const double t = gsl_cdf_tdist_Pinv(0.975, (double)(batches - 1));
    /* for the difference between the figures of two runs, which both scatter */
    const double half = t * gsl_stats_sd(medians, 1, batches) * sqrt(2.0 / (double)batches);
    return cuts == 1 ? half : half * drift(rates, p->n);
}

/* Whether a round in this state has a usable rate although its threads were interrupted: most repetitions lie between
 * two interruptions, and the rate is their median. */
static bool is_interrupted(enum carm_state state)
{
    return state == CARM_STATE_HELD_UP || state == CARM_STATE_STOLEN;
}

/* Finds the fastest rounds that agree, and all rounds within the same distance of the fastest one. A faster round
 * that no other confirms is left out.
 * interrupted  also rounds of states with is_interrupted; else only sound rounds
 * least        number of rounds that have to agree
 * within       relative distance of rounds that agree
 * returns whether enough rounds agree */
static bool find_agreeing(const struct carm_round *rounds, size_t n, bool interrupted, size_t least,
                          double within, struct part *out)
{
    struct part all;
    double rates[CARM_ROUNDS_MAX];
    all.n = 0;
    for (size_t i = n; i-- > 0 && all.n < CARM_ROUNDS_MAX;) { /* the latest */
        if (carm_state_is_sound(rounds[i].state) ||
            (interrupted && is_interrupted(rounds[i].state))) {
            all.round[all.n++] = &rounds[i];
        }
    }
    rates_of(&all, rates);
    gsl_sort(rates, 1, all.n);
    size_t top = all.n;
    while (top >= least && rates[top - least] < (1.0 - within) * rates[top - 1]) {
        top--;
    }
    if (top < least) {
        return false;
    }
    out->n = 0;
    for (size_t i = all.n; i-- > 0;) {
        const double rate = all.round[i]->rate;
        if (rate <= rates[top - 1] && rate >= (1.0 - within) * rates[top - 1]) {
            out->round[out->n++] = all.round[i];
        }
    }
    return true;
}

/* Finds the fastest sound round. returns whether there is one */
static bool find_fastest_sound(const struct carm_round *rounds, size_t n, struct part *out)
{
    out->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (carm_state_is_sound(rounds[i].state) &&
            (out->n == 0 || rounds[i].rate > out->round[0]->rate)) {
            out->round[0] = &rounds[i];
            out->n = 1;
        }
    }
    return out->n > 0;
}

/* The figure of these rounds, without its interval. */
static struct carm_pooled pool(const struct part *part, size_t n)
{
    size_t first[CARM_ROUNDS_MAX + 1];
    struct carm_pooled e = {.used = part->n, .n = n, .runs = cut_runs(part, first)};
    double rates[CARM_ROUNDS_MAX];
    double clocks[CARM_ROUNDS_MAX];
    size_t known = 0;
    for (size_t i = 0; i < part->n; i++) {
        if (part->round[i]->clock_hz > 0.0) {
            clocks[known++] = part->round[i]->clock_hz;
        }
        e.state = part->round[i]->state > e.state ? part->round[i]->state : e.state;
    }
    e.rate = median_of(rates, rates_of(part, rates)); /* sorts */
    e.range = (struct carm_ci){rates[0], rates[part->n - 1]};
    e.clock_hz = known ? median_of(clocks, known) : 0.0;
    return e;
}

static void put_interval(struct carm_pooled *e, double half)
{
    e->ci95 = (struct carm_ci){fmax(e->rate - half, 1e-3 * e->rate), e->rate + half};
}

double carm_rounds_wandering(double *clocks, size_t n)
{
    if (n < ENOUGH) {
        return 0.0;
    }
    const double median = median_of(clocks, n);
    const double range = gsl_stats_quantile_from_sorted_data(clocks, 1, n, 0.9) -
                         gsl_stats_quantile_from_sorted_data(clocks, 1, n, 0.1);
    return range > wandering * median ? median : 0.0;
}

double carm_round_rate_at(const struct carm_round *round, bool shared, double clock_hz)
{
    const bool scales = !shared && clock_hz > 0.0 && round->clock_hz > 0.0;
    return scales ? round->rate * clock_hz / round->clock_hz : round->rate;
}

/* Scales the rounds to one clock. A wandering clock does not disturb rounds of a shared resource. */
static void bring_to(struct carm_round *rounds, size_t n, bool shared, double clock_hz)
{
    for (size_t i = 0; i < n; i++) {
        rounds[i].rate = carm_round_rate_at(&rounds[i], shared, clock_hz);
        rounds[i].clock_hz = rounds[i].clock_hz > 0.0 ? clock_hz : 0.0;
        if (shared && rounds[i].state == CARM_STATE_UNSTEADY) {
            rounds[i].state = CARM_STATE_QUIET;
        }
    }
}

void carm_rounds_estimate(struct carm_round *rounds, size_t n, bool shared, double floor,
                          struct carm_pooled *out)
{
    carm_rounds_estimate_at(rounds, n, shared, floor, 0.0, out);
}

void carm_rounds_estimate_at(struct carm_round *rounds, size_t n, bool shared, double floor,
                             double clock_hz, struct carm_pooled *out)
{
    if (n == 0) {
        return;
    }
    const double within = clock_hz > 0.0 ? agreement_wandering : agreement;
    if (clock_hz > 0.0) {
        bring_to(rounds, n, shared, clock_hz);
    }
    qsort(rounds, n, sizeof *rounds, by_time);
    mark_slow(rounds, n);
    const enum carm_state state = choose(rounds, n);
    struct part part;
    collect(rounds, n, state, &part);
    while (drop_slower_mode(&part)) {
    }
    drop_slowed(&part, shared ? slowed_shared : slowed_own);
    struct carm_pooled e = pool(&part, n);
    e.sound = state != CARM_STATE_COUNT && carm_state_is_sound(state);
    const double half = fmax(half_width(&part), floor * e.rate);
    put_interval(&e, half);
    if (!shared && (find_agreeing(rounds, n, false, CONFIRM, within, &part) ||
                    (!e.sound && find_agreeing(rounds, n, true, CONFIRM_HELD, within, &part)))) {
        struct carm_pooled best = pool(&part, n);
        if (!e.sound || half > confirmed * e.rate || best.rate > (1.0 + confirmed) * e.rate) {
            best.sound = true;
            put_interval(&best, fmax(confirmed, floor) * best.rate);
            e = best;
        }
    } else if (!shared && !e.sound && find_fastest_sound(rounds, n, &part)) {
        struct carm_pooled best = pool(&part, n);
        /* no other round confirms the best round: its figure is marked, and its interval reaches down to the other
         * rounds */
        if (best.rate > e.rate) {
            put_interval(&best, best.rate - e.rate);
            best.state = e.state;
            e = best;
        }
    }
    *out = e;
}
