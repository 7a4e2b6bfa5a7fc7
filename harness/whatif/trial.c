/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/observer.h"
#include "harness/whatif/setup.h"
#include "harness/whatif/turns.h"

enum {
    ROUNDS_PILOT = 6, /* turns for the first estimate of the variants' speeds */
    SPEED_MOST = 32,
};

static const double null_most =
    0.035; /* largest error of the null ratio in turns; beyond, copies of one stretch are tried; chosen by hand */
/* Seconds that making a page huge takes: 1.1 to 2.6 ms for each MiB. */
static const double huge_page_seconds = 10e-6;
/* Single streams are tried if all data in L1 gain more than this. Chosen by hand. */
static const double stream_gain = 1.15;

int carm_trial_open(struct carm_trial *trial, uint64_t head, const struct carm_body_piece *pieces,
                    size_t npieces, struct carm_err *err)
{
    *trial = (struct carm_trial){.inside_l1 = NAN};
    return carm_body_open(&trial->body, head, pieces, npieces, err);
}

void carm_trial_close(struct carm_trial *trial)
{
    carm_body_close(&trial->body);
}

/* Measures the speed of each variant shortly, so that its turns become as long as those of the unchanged code. */
static bool find_speeds(struct carm_snapshot *s, struct carm_turns *plan,
                        struct carm_trial_result *result)
{
    struct carm_trial *t = s->trial;
    struct carm_turns pilot = *plan;
    pilot.rounds = ROUNDS_PILOT < plan->rounds ? ROUNDS_PILOT : plan->rounds;
    if (carm_turns_measure(s, &pilot, result)) {
        for (int v = 0; v < CARM_VARIANTS; v++) {
            carm_turns_refuse_slow(t, (enum carm_variant)v, result->ratio[v]);
            t->speed[v] = isnan(result->ratio[v]) ? 1.0 : fmin(SPEED_MOST, result->ratio[v]);
            result->ratio[v] = NAN;
        }
    }
    result->null = NAN;
    s->why[0] = '\0';
    return carm_turns_plan(s, plan);
}

/* Measures the variants in turns if the plan allows them; in copies of their own if turns fail or their null ratio
 * is too far from 1. The result with the better null ratio is kept. */
static bool measure_variants(struct carm_snapshot *s, const struct carm_turns *plan,
                             struct carm_trial_result *result)
{
    const bool good = plan->in_turns && carm_turns_measure(s, plan, result);
    result->in_turns = good;
    if (good && (fabs(result->null - 1.0) <= null_most || carm_snapshot_is_over(s))) {
        return true;
    }
    struct carm_trial_result other = *result;
    const double ticks = s->ticks;
    char why[sizeof result->why];
    int trials[CARM_VARIANTS];
    size_t n = 0;
    for (size_t k = 0; k < plan->n; k++) {
        trials[n] = (int)plan->variants[k];
        n += plan->variants[k] != CARM_VARIANT_AGAIN;
    }
    snprintf(why, sizeof why, "%s", s->why);
    s->why[0] = '\0';
    const bool copies = carm_turns_measure_apart(s, plan, trials, n, &other) && !isnan(other.null);
    if (copies && !(good && fabs(result->null - 1.0) < fabs(other.null - 1.0))) {
        *result = other;
        result->in_turns = false;
        result->why[0] = '\0';
    } else {
        s->ticks = ticks;
        snprintf(s->why, s->why_size, "%s", why);
    }
    return good || copies;
}

/* Measures changes whose effect turns of one copy do not show: huge pages, stores past the caches. */
static void measure_apart(struct carm_snapshot *s, const struct carm_turns *plan,
                          struct carm_trial_result *result)
{
    struct carm_trial *t = s->trial;
    struct carm_trial_result other = *result;
    char text[sizeof result->why] = "";
    char *const why = s->why;
    int trials[2];
    size_t n = 0;
    const double ticks = s->ticks;
    const double begin = carm_seconds_now();
    const double copies = 4.0 * t->open_seconds; /* two copies, and two of the unchanged code */
    if (!t->refused[CARM_TRIAL_HUGE][0] &&
        carm_turns_has_time(s, CARM_TRIAL_HUGE, &t->apart,
                            copies + huge_page_seconds * (double)s->nlist)) {
        trials[n++] = CARM_TRIAL_HUGE;
    }
    if (!t->refused[CARM_VARIANT_STREAMING][0] && result->in_turns) {
        result->ratio[CARM_VARIANT_STREAMING] = NAN; /* turns would show too little */
        if (n || carm_turns_has_time(s, CARM_VARIANT_STREAMING, &t->apart, copies)) {
            trials[n++] = CARM_VARIANT_STREAMING;
        }
    }
    s->why = text;
    if (n && carm_turns_measure_apart(s, plan, trials, n, &other)) {
        for (size_t i = 0; i < n; i++) {
            const int k = trials[i];
            if (!isnan(other.ratio[k])) {
                result->ratio[k] = other.ratio[k];
                result->nulls[k] = other.nulls[k];
            }
        }
    }
    s->why = why;
    s->ticks = ticks;
    if (n && trials[0] == CARM_TRIAL_HUGE && isnan(result->ratio[CARM_TRIAL_HUGE]) && text[0]) {
        snprintf(t->refused[CARM_TRIAL_HUGE], sizeof t->refused[0], "%.150s", text);
    }
    if (n) {
        t->apart.seconds = fmax(t->apart.seconds, carm_seconds_now() - begin);
        t->apart.n++;
    }
}

/* Refuses single streams, unless all data in L1 gain enough. */
static void choose_streams(struct carm_trial *t, double gain)
{
    for (int v = CARM_VARIANT_STREAM; v < CARM_VARIANTS && !(gain > stream_gain); v++) {
        if (!t->refused[v][0]) {
            snprintf(t->refused[v], sizeof t->refused[v], "all its data in L1 gain little");
            t->idle[v] = true;
        }
    }
}

static bool measure(struct carm_snapshot *s, pid_t thread, struct carm_trial_result *result)
{
    struct carm_trial *t = s->trial;
    struct carm_turns plan;
    if (!carm_snapshot_set_up(s, thread) || !carm_turns_plan(s, &plan) ||
        (!t->prepared && !carm_snapshot_find_inside(s, CARM_VARIANT_UNCHANGED, &t->inside)) ||
        (!t->prepared && plan.in_turns && !find_speeds(s, &plan, result))) {
        return false;
    }
    const bool first = !t->prepared;
    t->prepared = true;
    t->ticks = s->ticks;
    const double begin = carm_seconds_now();
    const bool good = measure_variants(s, &plan, result);
    /* twice: a cold copy lists the pages, too */
    t->variants_seconds = 2.0 * (carm_seconds_now() - begin + t->open_seconds);
    if (good && first) {
        choose_streams(t, result->ratio[CARM_VARIANT_L1]);
        /* the code around the loop may now wait for lines that the loop's own loads used to bring */
        if (result->ratio[CARM_VARIANT_L1] > stream_gain) {
            (void)carm_snapshot_find_inside(s, CARM_VARIANT_L1, &t->inside_l1);
            s->why[0] = '\0';
        }
    }
    if (good) {
        measure_apart(s, &plan, result);
    }
    if (good && !t->refused[CARM_TRIAL_CORES][0]) {
        carm_turns_measure_cores(s, &plan, result);
    }
    t->snapshots++;
    t->ticks = good ? s->ticks : t->ticks;
    t->most = 1e15; /* the next snapshot may be elsewhere in the program */
    result->seconds = s->ticks / s->settings->tsc_hz / t->iterations;
    result->inside = t->inside;
    return good;
}

void carm_trial_measure(struct carm_trial *trial, pid_t thread,
                        const struct carm_trial_settings *settings,
                        struct carm_trial_result *result)
{
    const double begin = carm_seconds_now();
    struct carm_err err = {""};
    *result = (struct carm_trial_result){.null = NAN, .seconds = NAN};
    for (int v = 0; v < CARM_TRIAL_CHANGES; v++) {
        result->ratio[v] = NAN;
        result->nulls[v] = NAN;
    }
    struct carm_snapshot *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(result->why, sizeof result->why, "not enough memory");
        return;
    }
    s->trial = trial;
    s->settings = settings;
    s->until = begin + settings->seconds;
    s->limit = begin + settings->limit;
    s->why = result->why;
    s->why_size = sizeof result->why;
    if (trial->wrong[0]) {
        snprintf(result->why, sizeof result->why, "%s", trial->wrong);
    } else if (carm_memory_open(&s->memory, thread, &err) != 0) {
        snprintf(result->why, sizeof result->why, "%.190s", err.text);
    } else if (!carm_memory_forbids(thread, settings->memory, result->why, sizeof result->why)) {
        const bool good = measure(s, thread, result);
        if (!good && !result->why[0]) {
            snprintf(result->why, sizeof result->why, "it could not be measured");
        }
    }
    carm_child_kill(&s->origin);
    carm_memory_close(&s->memory);
    carm_region_close(&s->region);
    free(s);
    result->spent = carm_seconds_now() - begin;
}
