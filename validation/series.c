/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Ratio of latencies from which on threads count as farther apart: on two core complexes, a cache line takes some 3
 * to 5 times as long. */
static const double apart = 2.0;
/* Half an interval of a figure on a sound machine, relative: of rates that a core has for
 * itself, which repeat within 1% (ten builds, docs/results.md), and of rates shared with
 * neighbours. */
static const double own_tolerance = 0.01;
static const double shared_tolerance = 0.05;
/* Half an interval from which on one figure does not describe a point, relative: two to three
 * times the tolerances above. */
static const double own_max = 0.03;
static const double shared_max = 0.10;

void carm_series_open(struct carm_series *s, struct carm_team *team, const struct carm_code *code,
                      uint64_t set_bytes, double target_seconds, bool shared)
{
    *s = (struct carm_series){.code = code, .shared = shared};
    carm_measure_shape(team, code, set_bytes, target_seconds, &s->shape);
}

/* Whether the threads of a set are farther apart (core-to-core latency) than in other rounds. */
static bool are_apart(struct carm_team *team, size_t round)
{
    if (team->n < 2) {
        return false;
    }
    const int other = 1 + (int)(round % (size_t)(team->n - 1));
    struct carm_worker *w = &team->workers[other];
    const double seconds = carm_core_to_core_once(team, other);
    if (!(seconds > 0.0)) { /* the deadline ended the measurement */
        return false;
    }
    if (!(w->nearest_seconds > 0.0) || seconds < w->nearest_seconds) {
        w->nearest_seconds = seconds;
    }
    return seconds > apart * w->nearest_seconds;
}

static enum carm_state find_state(const struct carm_series *s, struct carm_team *team,
                                  const struct carm_measurement *m)
{
    static const enum carm_state states[CARM_DISTURBANCE_COUNT] = {
        [CARM_TOO_FAST] = CARM_STATE_TOO_FAST,
        [CARM_MIGRATED] = CARM_STATE_MIGRATED,
        [CARM_CLOCK_MOVED] = CARM_STATE_UNSTEADY,
        [CARM_PREEMPTED] = CARM_STATE_HELD_UP,
        [CARM_STOLEN] = CARM_STATE_STOLEN,
        [CARM_CORE_SHARED] = CARM_STATE_SHARED,
        [CARM_UNEVEN] = CARM_STATE_UNEVEN,
        [CARM_TOO_SHORT] = CARM_STATE_UNTIMED,
        [CARM_CUT] = CARM_STATE_CUT,
    };
    if (!(m->own_share > 0.0) && !m->cut && m->disturbance != CARM_TOO_FAST &&
        m->disturbance != CARM_PREEMPTED) {
        if (team->n == 1 || carm_team_shares(team) || carm_measure_own_alone(team) < 2) {
            return CARM_STATE_SHARED;
        }
        carm_paired_note(&team->paired, team->n, false);
        return CARM_STATE_ONE_CORE;
    }
    if (m->own_share > 0.0 && !carm_team_shares(team)) {
        carm_paired_note(&team->paired, team->n, true);
    }
    if (m->disturbance) {
        return states[m->disturbance];
    }
    return s->shared && are_apart(team, s->n) ? CARM_STATE_APART : CARM_STATE_QUIET;
}

static void note_spread(struct carm_series *s, const struct carm_measurement *m, bool sound)
{
    if (s->spread_sound && !sound) {
        return;
    }
    if (sound && !s->spread_sound) { /* the first sound round replaces all unsound ones before */
        s->spreads = 0;
        s->reps = 0;
        s->spread_sound = true;
    }
    /* A repetition shorter than the empty code, whose time is subtracted, has no rate: the
     * median replaces it. */
    const double p5 = m->seconds.p5 > 0.0 ? m->seconds.p5 : m->seconds.median;
    const double min = m->seconds.min > 0.0 ? m->seconds.min : p5;
    const struct carm_spread of = {.min = s->work / m->seconds.max,
                                   .p5 = s->work / m->seconds.p95,
                                   .p95 = s->work / p5,
                                   .max = s->work / min};
    const double n = (double)s->spreads++;
    s->reps += m->seconds.n;
    if (s->spreads == 1) {
        s->spread = of;
        return;
    }
    s->spread.min = fmin(s->spread.min, of.min);
    s->spread.p5 += (of.p5 - s->spread.p5) / (n + 1.0);
    s->spread.p95 += (of.p95 - s->spread.p95) / (n + 1.0);
    s->spread.max = fmax(s->spread.max, of.max);
}

/* Makes room: drops the oldest round of the worst state. */
static void drop_worst(struct carm_series *s)
{
    size_t worst = 0;
    for (size_t i = 1; i < s->n; i++) {
        worst = s->rounds[i].state > s->rounds[worst].state ? i : worst;
    }
    memmove(&s->rounds[worst], &s->rounds[worst + 1], (s->n - worst - 1) * sizeof *s->rounds);
    s->n--;
}

bool carm_series_round(struct carm_series *s, struct carm_team *team, size_t reps,
                       struct carm_measurement *m)
{
    struct carm_measurement own = {.code = NULL};
    struct timespec now;
    m = m ? m : &own;
    carm_team_separate(team, !s->shared);
    carm_measure_run(team, s->code, &s->shape, reps, m);
    carm_team_separate(team, false);
    if (m->seconds.n == 0) {
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    /* lines at random have no stride */
    const bool memory = s->code->account.stride_bytes || s->code->spec.kind == CARM_KIND_R;
    s->work = memory ? m->bytes : m->flops;
    const enum carm_state state = find_state(s, team, m);
    s->shared = s->shared || carm_paired_is(&team->paired, team->n);
    if (s->n == CARM_ROUNDS_MAX) {
        drop_worst(s);
    }
    s->rounds[s->n++] = (struct carm_round){.rate = carm_measure_rate(m, s->work),
                                            .clock_hz = m->clock_hz,
                                            .at = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec,
                                            .state = state};
    note_spread(s, m, carm_state_is_sound(state));
    return true;
}

void carm_series_estimate(const struct carm_series *s, const struct carm_clock *clock,
                          struct carm_pooled *out)
{
    struct carm_round rounds[CARM_ROUNDS_MAX];
    *out = (struct carm_pooled){.n = 0};
    memcpy(rounds, s->rounds, s->n * sizeof *rounds);
    double rate = s->n ? s->rounds[0].rate : 0.0;
    /* half a quantum relative to a repetition's time, and the error of the counter's frequency; rounds
     * of an earlier build do not contain the work of a repetition */
    const double seconds = s->work / rate;
    const double quantum = s->n && s->work > 0.0 ? 0.5 * clock->tick_quantum / clock->tsc_hz /
                                                       seconds / sqrt((double)s->n)
                                                 : 0.0;
    const double floor = s->n ? fmax(quantum, fmax(s->floor, clock->tsc_hz_error)) : 0.0;
    carm_rounds_estimate_at(rounds, s->n, s->shared, floor, s->clock_hz ? *s->clock_hz : 0.0, out);
}

size_t carm_series_clocks(const struct carm_series *s, double *clocks, size_t n, size_t most)
{
    for (size_t i = 0; i < s->n && n < most; i++) {
        if (carm_state_is_sound(s->rounds[i].state) && s->rounds[i].clock_hz > 0.0) {
            clocks[n++] = s->rounds[i].clock_hz;
        }
    }
    return n;
}

double carm_series_ratio(const struct carm_series *s, const struct carm_series *other)
{
    /* rounds of two codes of one roof begin within a second of each other, rounds of further turns later */
    static const double beside_seconds = 1.0;
    double ratios[CARM_ROUNDS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct carm_round *mine = &s->rounds[i];
        const struct carm_round *nearest = NULL;
        for (size_t k = 0; k < other->n; k++) {
            const struct carm_round *o = &other->rounds[k];
            if (!nearest || fabs(o->at - mine->at) < fabs(nearest->at - mine->at)) {
                nearest = o;
            }
        }
        if (nearest && fabs(nearest->at - mine->at) < beside_seconds &&
            carm_state_is_sound(mine->state) && carm_state_is_sound(nearest->state)) {
            ratios[n++] = mine->rate / nearest->rate;
        }
    }
    return n < CARM_ROUNDS_MIN ? 0.0 : carm_stats_median(ratios, n);
}

void carm_series_run(struct carm_series *s, struct carm_team *team, const struct carm_clock *clock,
                     size_t reps, double *more_seconds, struct carm_pooled *pooled)
{
    size_t each = 0;
    const size_t rounds = carm_rounds_of(reps, &each);
    bool goes = true;
    for (size_t i = 0; i < rounds && goes; i++) {
        goes = carm_series_round(s, team, each, NULL);
    }
    carm_series_estimate(s, clock, pooled);
    while (goes && s->n<2 * rounds && * more_seconds> 0.0 &&
           carm_series_is_doubtful(s, pooled, 1.0)) {
        const uint64_t begin = carm_clock_now();
        goes = carm_series_round(s, team, each, NULL);
        carm_series_estimate(s, clock, pooled);
        *more_seconds -= (double)(carm_clock_now() - begin) / clock->tsc_hz;
    }
}

/* Half of the interval of a figure, relative to its rate. */
static double half_width(const struct carm_pooled *pooled)
{
    return 0.5 * (pooled->ci95.hi - pooled->ci95.lo) / pooled->rate;
}

bool carm_series_fault(const struct carm_series *s, const struct carm_pooled *p, char *note,
                       size_t size)
{
    note[0] = '\0';
    if (!p->sound) {
        const int nice = getpriority(PRIO_PROCESS, 0);
        char advice[160];
        snprintf(advice, sizeof advice, "%s",
                 carm_state_is_sound(p->state) ? "give more with --budget"
                                               : carm_state_advice(p->state));
        if (p->state == CARM_STATE_HELD_UP && nice > 0) {
            snprintf(
                advice, sizeof advice,
                "carm runs with nice %d, so others go first: run it without nice, or when nothing else runs",
                nice);
        }
        snprintf(note, size, "fewer than %d sound rounds of %zu: %s%s%s", CARM_ROUNDS_MIN, p->n,
                 carm_state_name(p->state), *advice ? "; " : "", advice);
    } else if (half_width(p) > (s->shared ? shared_max : own_max)) {
        snprintf(note, size, "its rounds differ by %.0f%%",
                 100.0 * (p->range.hi - p->range.lo) / p->rate);
    }
    return note[0] != '\0';
}

size_t carm_rounds_of(size_t reps, size_t *each)
{
    const size_t rounds = reps >= 4096 ? 16 : reps >= 512 ? 8 : 4;
    *each = (reps + rounds - 1) / rounds;
    return rounds;
}

bool carm_series_is_doubtful(const struct carm_series *s, const struct carm_pooled *pooled,
                             double slack)
{
    const double tolerance = s->shared ? shared_tolerance : own_tolerance;
    return !pooled->sound || half_width(pooled) > slack * tolerance;
}
