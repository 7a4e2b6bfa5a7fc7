/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/rounds.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 4 };

static const double slow_clock = 0.97;
static const double same_run = 600.0; /* seconds: rounds further apart are of two runs */

static const char *const names[CARM_STATE_COUNT] = {
    [CARM_STATE_QUIET] = "quiet",
    [CARM_STATE_APART] = "threads on two core complexes",
    [CARM_STATE_SLOW] = "lower clock",
    [CARM_STATE_HELD_UP] = "preempted",
    [CARM_STATE_SHARED] = "core shared with another hardware thread",
    [CARM_STATE_ONE_CORE] = "threads on one core",
};

const char *carm_state_name(enum carm_state state)
{
    return names[state];
}

bool carm_state_parse(const char *word, enum carm_state *state)
{
    for (int i = 0; i < CARM_STATE_COUNT; i++) {
        if (strcmp(names[i], word) == 0) {
            *state = (enum carm_state)i;
            return true;
        }
    }
    return false;
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

static void mark_slow(struct carm_round *rounds, size_t n)
{
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        const bool sound = carm_state_is_sound(rounds[i].state);
        most = sound ? fmax(most, rounds[i].clock_hz) : most;
    }
    for (size_t i = 0; i < n; i++) {
        if (carm_state_is_sound(rounds[i].state) && rounds[i].clock_hz > 0.0 &&
            rounds[i].clock_hz < slow_clock * most) {
            rounds[i].state = CARM_STATE_SLOW;
        }
    }
}

/* The rates of one state's rounds (CARM_STATE_COUNT: of all) in order of time. returns how many */
static size_t collect(const struct carm_round *rounds, size_t n, enum carm_state state, double *out)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (state == CARM_STATE_COUNT || rounds[i].state == state) {
            out[found++] = rounds[i].rate;
        }
    }
    return found;
}

/* The state that the figure is made of. scratch: [n] */
static enum carm_state choose(const struct carm_round *rounds, size_t n, double *scratch)
{
    enum carm_state best = CARM_STATE_COUNT;
    double most = 0.0;
    bool sound = false;
    for (int s = 0; s < CARM_STATE_COUNT; s++) {
        const enum carm_state state = (enum carm_state)s;
        const size_t found = collect(rounds, n, state, scratch);
        if (found < CARM_ROUNDS_MIN || (sound && !carm_state_is_sound(state))) {
            continue;
        }
        const double rate = median_of(scratch, found);
        if (rate > most) {
            most = rate;
            best = state;
            sound = carm_state_is_sound(state);
        }
    }
    return best;
}

/* Half the interval's width, from medians of batches. */
static double half_width(const struct carm_round *rounds, size_t n, enum carm_state state,
                         double *scratch)
{
    double medians[CARM_ROUNDS_MAX];
    double part[CARM_ROUNDS_MAX];
    size_t first[CARM_ROUNDS_MAX + 1];
    size_t runs = 0;
    size_t found = 0;
    double last = 0.0;
    for (size_t i = 0; i < n && found < CARM_ROUNDS_MAX; i++) {
        if (state == CARM_STATE_COUNT || rounds[i].state == state) {
            if (found == 0 || rounds[i].at - last > same_run) {
                first[runs++] = found;
            }
            last = rounds[i].at;
            scratch[found++] = rounds[i].rate;
        }
    }
    first[runs] = found;
    size_t batches = 0;
    if (runs >= BATCHES) { /* each run is one */
        for (size_t r = 0; r < runs; r++) {
            const size_t length = first[r + 1] - first[r];
            memcpy(part, scratch + first[r], length * sizeof *part);
            medians[batches++] = median_of(part, length);
        }
    } else {
        const size_t want = found < BATCHES ? found : BATCHES;
        for (size_t b = 0; b < want; b++) {
            const size_t from = found * b / want;
            const size_t length = found * (b + 1) / want - from;
            memcpy(part, scratch + from, length * sizeof *part);
            medians[batches++] = median_of(part, length);
        }
    }
    if (batches < 2) {
        return 0.0;
    }
    const double t = gsl_cdf_tdist_Pinv(0.975, (double)(batches - 1));
    /* the scatter of one run's figure around another's: both have it */
    return t * gsl_stats_sd(medians, 1, batches) * sqrt(2.0 / (double)batches);
}

void carm_rounds_estimate(struct carm_round *rounds, size_t n, double floor,
                          struct carm_pooled *out)
{
    double scratch[CARM_ROUNDS_MAX];
    double clocks[CARM_ROUNDS_MAX];
    n = n < CARM_ROUNDS_MAX ? n : CARM_ROUNDS_MAX;
    if (n == 0) {
        return;
    }
    qsort(rounds, n, sizeof *rounds, by_time);
    mark_slow(rounds, n);
    const enum carm_state state = choose(rounds, n, scratch);
    struct carm_pooled e = {.n = n};
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        if ((state == CARM_STATE_COUNT || rounds[i].state == state) && rounds[i].clock_hz > 0.0) {
            clocks[known++] = rounds[i].clock_hz;
        }
    }
    e.used = collect(rounds, n, state, scratch);
    e.rate = median_of(scratch, e.used); /* sorts */
    e.range = (struct carm_ci){scratch[0], scratch[e.used - 1]};
    e.clock_hz = known ? median_of(clocks, known) : 0.0;
    e.state = state == CARM_STATE_COUNT ? rounds[0].state : state;
    e.sound = state != CARM_STATE_COUNT && carm_state_is_sound(state);
    const double half = fmax(half_width(rounds, n, state, scratch), floor * e.rate);
    e.ci95 = (struct carm_ci){fmax(e.rate - half, 1e-3 * e.rate), e.rate + half};
    *out = e;
}

void carm_rounds_shares(const struct carm_round *rounds, size_t n, double *shares)
{
    for (int s = 0; s < CARM_STATE_COUNT; s++) {
        shares[s] = 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        shares[rounds[i].state] += 1.0 / (double)n;
    }
}
