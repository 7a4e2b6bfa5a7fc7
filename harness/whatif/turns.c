/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/machine/stats.h"

enum {
    ROUNDS_MAX = 16, /* turns of each variant: more take more pages, which each copy has to copy */
    ROUNDS_MIN = 8,
    ROUNDS_FIRST = 1, /* the first turn of each variant is left out */
    CHILDREN = 2,     /* rounds of copies, if turns cannot be used */
    HUGE_ROUNDS = 1,  /* to make 400 MB huge takes half a second */
    UNITS_LEAST = 4,  /* of a turn */
};

static const double turn_seconds = 60e-6; /* long against a time stamp, short against a drift */
static const double settle_share = 0.5;   /* of a turn, before it is timed */
static const double child_seconds = 1e-2; /* timed in a copy of its own */

/* ---- how long ---- */

/* Lists the pages that a copy takes for so many units. A system call before their end limits the units of a copy. */
static bool list_pages(struct carm_snapshot *s, double units)
{
    const struct carm_variant_code *code = &s->codes[CARM_VARIANT_UNCHANGED];
    struct carm_phase phases[2] = {carm_copy_phase(code, units), carm_copy_last_phase(s)};
    struct carm_child_outcome outcome;
    struct carm_child child;
    struct carm_err err = {""};
    uint64_t *list = NULL;
    double done = 0.0;
    int rc = 0;
    s->nlist = 0;
    if (!carm_copy_fork(s, &s->origin, &child)) {
        return false;
    }
    const size_t began = carm_copy_start(s, &child, code, 1.0, phases, 2, &outcome, &done);
    if (!child.pid) {
        return carm_snapshot_fails(s, "a copy took more than %.0f s", carm_copy_limit_seconds);
    }
    if (began < 2) {
        s->most = fmin(s->most, floor(0.9 * done));
        if (s->most < CARM_SNAPSHOT_UNITS_LEAST) {
            carm_child_kill(&child);
            return carm_snapshot_too_few(s, done, &outcome);
        }
    }
    rc = carm_memory_pages(s->origin.pid, child.pid, &s->memory, s->data, s->ndata, &list,
                           &s->nlist, &err);
    carm_child_kill(&child);
    s->nlist = s->nlist * sizeof *list > CARM_SNAPSHOT_LIST_BYTES
                   ? CARM_SNAPSHOT_LIST_BYTES / sizeof *list
                   : s->nlist;
    const bool good = !rc && (!s->nlist || carm_child_write(s->origin.pid, s->list_at, list,
                                                            s->nlist * sizeof *list));
    free(list);
    return good ||
           carm_snapshot_fails(s, "%s", err.text[0] ? err.text : "a copy cannot be written");
}

/* Ticks of a unit in a copy whose pages are touched; 0 = failed */
static double warm_ticks(struct carm_snapshot *s, double units)
{
    const struct carm_variant_code *code = &s->codes[CARM_VARIANT_UNCHANGED];
    struct carm_phase phases[2] = {carm_copy_phase(code, units), carm_copy_last_phase(s)};
    struct carm_child_outcome outcome;
    struct carm_child child;
    if (!carm_copy_open_warm(s, false, &child)) {
        return 0.0;
    }
    const size_t n = carm_copy_run(s, &child, code, 0.1 * units, phases, 2, &outcome, NULL, NULL);
    if (n < 2) {
        char text[80];
        (void)carm_snapshot_fails(s, "it came to %s",
                                  carm_copy_end(s, &outcome, text, sizeof text));
        return 0.0;
    }
    return (double)(phases[1].tsc - phases[0].tsc) / (double)phases[0].units;
}

/* A faster variant does more units in a turn: turns of all variants take the same time. */
static double speed_of(const struct carm_snapshot *s, enum carm_variant variant)
{
    return fmax(1.0, s->trial->speed[variant]);
}

static double units_of(const struct carm_snapshot *s, const struct carm_turns *p)
{
    double units = 0.0;
    for (size_t k = 0; k < p->n; k++) {
        units += (p->turn + p->settle) * (1.0 + speed_of(s, p->variants[k]));
    }
    return p->rounds * units + p->turn;
}

static void make_plan(const struct carm_snapshot *s, struct carm_turns *p)
{
    const struct carm_trial *t = s->trial;
    const double hz = s->settings->tsc_hz;
    p->n = 0;
    for (int v = CARM_VARIANT_AGAIN; v < CARM_VARIANTS; v++) {
        if (!t->refused[v][0] && s->codes[v].start) {
            p->variants[p->n++] = (enum carm_variant)v;
        }
    }
    p->turn = fmax(UNITS_LEAST, ceil(turn_seconds * hz / s->ticks));
    p->settle = ceil(settle_share * p->turn);
    p->rounds = ROUNDS_MAX;
    while (p->rounds > ROUNDS_MIN && units_of(s, p) > s->most) {
        p->rounds--;
    }
    const double shrink = s->most / units_of(s, p);
    if (shrink < 1.0) {
        p->turn = floor(shrink * p->turn);
        p->settle = floor(shrink * p->settle);
    }
    p->in_turns = p->turn >= UNITS_LEAST && p->turn * s->ticks > 5e-6 * hz;
    p->child = fmin(floor(0.6 * s->most), ceil(child_seconds * hz / s->ticks));
}

/* NaN = no values */
static double median(double *v, size_t n)
{
    return n ? carm_stats_median(v, n) : NAN;
}

/* The unchanged code against itself gives the null ratio. */
static void take_ratio(struct carm_trial_result *result, enum carm_variant variant, double ratio)
{
    *(variant == CARM_VARIANT_AGAIN ? &result->null : &result->ratio[variant]) = ratio;
}

bool carm_turns_measure(struct carm_snapshot *s, const struct carm_turns *p,
                        struct carm_trial_result *result)
{
    const struct carm_variant_code *unchanged = &s->codes[CARM_VARIANT_UNCHANGED];
    struct carm_phase *phases = calloc(CARM_REGION_PHASES_MAX, sizeof *phases);
    struct carm_child_outcome outcome;
    struct carm_child child;
    double base[ROUNDS_MAX * CARM_VARIANTS];
    size_t n = 0, nbase = 0;
    if (!phases) {
        return carm_snapshot_fails(s, "not enough memory");
    }
    for (int r = 0; r < p->rounds; r++) {
        for (size_t k = 0; k < p->n && n + 6 < CARM_REGION_PHASES_MAX; k++) {
            const struct carm_variant_code *code = &s->codes[p->variants[k]];
            phases[n++] = carm_copy_phase(unchanged, p->settle);
            phases[n++] = carm_copy_phase(unchanged, p->turn);
            phases[n++] = carm_copy_phase(code, p->settle * speed_of(s, p->variants[k]));
            phases[n++] = carm_copy_phase(code, p->turn * speed_of(s, p->variants[k]));
        }
    }
    phases[n++] = carm_copy_last_phase(s);
    if (!carm_copy_open_warm(s, false, &child)) {
        free(phases);
        return false;
    }
    const size_t began =
        carm_copy_run(s, &child, unchanged, p->turn, phases, n, &outcome, NULL, NULL);
    for (size_t k = 0; k < p->n; k++) {
        double ratios[ROUNDS_MAX];
        size_t m = 0;
        for (size_t r = ROUNDS_FIRST; r < (size_t)p->rounds; r++) {
            const size_t at = 4 * (r * p->n + k);
            if (at + 6 >= began) {
                break;
            }
            const double before = (double)(phases[at + 2].tsc - phases[at + 1].tsc);
            const double changed = (double)(phases[at + 4].tsc - phases[at + 3].tsc) *
                                   (double)phases[at + 1].units / (double)phases[at + 3].units;
            const double after = (double)(phases[at + 6].tsc - phases[at + 5].tsc);
            ratios[m++] = 0.5 * (before + after) / changed;
            base[nbase++] = before / p->turn;
        }
        take_ratio(result, p->variants[k], m >= ROUNDS_MIN / 2 ? median(ratios, m) : NAN);
    }
    free(phases);
    if (nbase < ROUNDS_MIN / 2) {
        char text[80];
        return carm_snapshot_fails(s, "it came to %s too soon",
                                   carm_copy_end(s, &outcome, text, sizeof text));
    }
    s->ticks = median(base, nbase);
    return true;
}

/* Ticks of the stretch in a copy of its own; NaN = the copy ended before the stretch
 * huge  with huge pages */
static double measure_child(struct carm_snapshot *s, const struct carm_turns *p,
                            enum carm_variant variant, bool huge)
{
    const struct carm_variant_code *code = &s->codes[variant];
    struct carm_phase phases[2] = {carm_copy_phase(code, p->child), carm_copy_last_phase(s)};
    struct carm_child_outcome outcome;
    struct carm_child child;
    if (!carm_copy_open_warm(s, huge, &child)) {
        return NAN;
    }
    const size_t n =
        carm_copy_run(s, &child, code, 0.5 * p->child, phases, 2, &outcome, NULL, NULL);
    return n == 2 ? (double)(phases[1].tsc - phases[0].tsc) : NAN;
}

bool carm_turns_measure_copies(struct carm_snapshot *s, const struct carm_turns *p,
                               struct carm_trial_result *result)
{
    double ratios[CARM_VARIANTS][CHILDREN];
    double base[2 * CHILDREN];
    size_t m[CARM_VARIANTS] = {0};
    size_t nbase = 0;
    for (int r = 0; r < CHILDREN && (r == 0 || !carm_snapshot_is_over(s)); r++) {
        double took[CARM_VARIANTS];
        const double before = measure_child(s, p, CARM_VARIANT_UNCHANGED, false);
        for (size_t k = 0; k < p->n; k++) {
            took[k] = isnan(before) ? NAN : measure_child(s, p, p->variants[k], false);
        }
        const double after = measure_child(s, p, CARM_VARIANT_UNCHANGED, false);
        if (isnan(before) || isnan(after)) {
            continue;
        }
        base[nbase++] = before;
        base[nbase++] = after;
        for (size_t k = 0; k < p->n; k++) {
            if (!isnan(took[k])) {
                ratios[k][m[k]++] = 0.5 * (before + after) / took[k];
            }
        }
    }
    for (size_t k = 0; k < p->n; k++) {
        take_ratio(result, p->variants[k], median(ratios[k], m[k]));
    }
    if (!nbase) {
        return s->why[0] ? false : carm_snapshot_fails(s, "its copies did not end their stretch");
    }
    s->ticks = median(base, nbase) / p->child;
    s->why[0] = '\0';
    return true;
}

bool carm_turns_plan(struct carm_snapshot *s, struct carm_turns *plan)
{
    for (int i = 0; i < 5; i++) {
        make_plan(s, plan);
        const double all = fmin(s->most, fmax(units_of(s, plan), 1.6 * plan->child));
        const double most = s->most;
        if (!list_pages(s, all)) {
            return false;
        }
        if (s->trial->prepared && s->most >= most) {
            break; /* the time of a unit is known from the last snapshot */
        }
        const double was = s->ticks;
        const double now = warm_ticks(s, fmin(plan->child, 0.5 * s->most));
        if (now <= 0.0) {
            return false;
        }
        s->ticks = now;
        if ((now > 0.75 * was && s->most >= most) || carm_snapshot_is_over(s)) {
            break;
        }
    }
    make_plan(s, plan);
    return true;
}

/* ---- huge pages ---- */

void carm_turns_measure_huge(struct carm_snapshot *s, const struct carm_turns *p,
                             struct carm_trial_result *result)
{
    double ratios[HUGE_ROUNDS], nulls[HUGE_ROUNDS];
    size_t n = 0;
    char text[200] = "";
    char *const why = s->why;
    s->why = text;
    double before = measure_child(s, p, CARM_VARIANT_UNCHANGED, false);
    for (int r = 0; r < HUGE_ROUNDS && !isnan(before); r++) {
        const double changed = measure_child(s, p, CARM_VARIANT_UNCHANGED, true);
        const double after =
            isnan(changed) ? NAN : measure_child(s, p, CARM_VARIANT_UNCHANGED, false);
        if (!isnan(changed) && !isnan(after)) {
            nulls[n] = before / after;
            ratios[n++] = 0.5 * (before + after) / changed;
        }
        before = after;
    }
    s->why = why;
    result->ratio[CARM_TRIAL_HUGE] = median(ratios, n);
    result->null_pages = median(nulls, n);
    if (isnan(result->ratio[CARM_TRIAL_HUGE]) && text[0]) {
        snprintf(s->trial->refused[CARM_TRIAL_HUGE], sizeof s->trial->refused[0], "%.150s", text);
    }
}
