/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/turns.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/observer.h"
#include "harness/machine/buffer.h"
#include "harness/machine/stats.h"

enum {
    ROUNDS_MAX =
        16, /* turns of each variant: more turns write more pages, which each copy has to copy */
    ROUNDS_MIN = 8,
    ROUNDS_FIRST = 1, /* the first turn of each variant is left out */
    ROUNDS_APART = 5, /* of copies of their own */
    ROUNDS_APART_MIN = 3,
    APART_MOST = 4,  /* changed copies at one time */
    UNITS_LEAST = 4, /* of a turn */
};

static const double turn_seconds = 60e-6; /* long against a time stamp, short against a drift */
/* For data in L3: products in place of roots reached full speed after some 0.1 ms (2.8 times as fast in turns of 60 us,
 * 3.75 times in turns of 200 and of 600 us, 3.8 times by hand). Copies of more data would take too long. */
static const double far_turn_seconds = 200e-6;
static const double far_least = 512 << 10,
                    far_most = 16 << 20; /* bytes: a small L2; a part of L3 */
static const double slowest =
    0.2; /* slower variants are refused; partly written lines past the caches: 0.01 */
static const double settle_share = 0.5; /* part of a turn before its timing; chosen by hand */
/* Timed part of a turn of a copy of its own, after half as much untimed. A cache of 32 MB is filled in 3 ms; until
 * then, stores cause no writes to memory. Stores past the caches seem to gain 1.4 times in turns of 60 us; they
 * gain 2 times. */
static const double apart_seconds = 5e-3;

/* Time for a page of a copy's own: 3 us in the kernel, up to 12 if a virtual machine's host has to provide memory. */
static const double own_page_seconds = 5e-6;

bool carm_turns_has_time(const struct carm_snapshot *s, int change,
                         const struct carm_trial_stage *stage, double guess)
{
    const struct carm_trial *t = s->trial;
    const double each = stage->seconds > 0.0 ? stage->seconds : guess;
    const double later =
        t->snapshots + 1 < CARM_TRIAL_SNAPSHOTS ? CARM_TRIAL_SNAPSHOTS - 1.0 - t->snapshots : 0.0;
    const bool has = carm_seconds_now() + each + later * (each + t->variants_seconds) <= s->limit;
    if (!has && stage->n < CARM_TRIAL_SNAPSHOTS) {
        carm_trial_refuse(s->trial, change, "three times copies of its data take too long");
    }
    return has;
}

/* Lists the pages that a copy touches in a number of units. A system call before their end limits the units of a
 * copy. */
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
        char text[80];
        return carm_snapshot_fails(s, "a copy came to %s before it showed its pages",
                                   carm_copy_end(s, &outcome, text, sizeof text));
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
    const double begin = carm_seconds_now();
    if (!carm_copy_open_warm(s, false, &child)) {
        return 0.0;
    }
    s->trial->open_seconds = carm_seconds_now() - begin;
    const size_t n = carm_copy_run(s, &child, code, 0.1 * units, phases, 2, &outcome, NULL, NULL);
    if (n < 2) {
        char text[80];
        (void)carm_snapshot_fails(s, "it came to %s",
                                  carm_copy_end(s, &outcome, text, sizeof text));
        return 0.0;
    }
    return (double)(phases[1].tsc - phases[0].tsc) / (double)phases[0].units;
}

/* Speed of a variant relative to the unchanged code: a faster variant does more units in a turn, so that all turns take
 * the same time. */
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

static double units_apart(const struct carm_turns *p)
{
    /* turn_at_once runs half of p->apart before the timed units, and half behind them */
    return 2.0 * p->apart * (double)p->rounds_apart;
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
    p->turn = fmax(UNITS_LEAST, ceil((t->far ? far_turn_seconds : turn_seconds) * hz / s->ticks));
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
    p->rounds_apart = ROUNDS_APART;
    p->apart = ceil(apart_seconds * hz / s->ticks);
    while (p->rounds_apart > ROUNDS_APART_MIN && units_apart(p) > 0.9 * s->most) {
        p->rounds_apart--;
    }
    p->apart = fmax(1.0, fmin(p->apart, floor(p->apart * 0.9 * s->most / units_apart(p))));
}

/* The median of n values; NaN = no values */
static double median(double *v, size_t n)
{
    return n ? carm_stats_median(v, n) : NAN;
}

/* Stores a ratio; for the unchanged code it is the null ratio. */
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
    for (size_t k = 0; k < p->n; k++) {
        result->nulls[p->variants[k]] = result->null;
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

static void add_known(double *to, size_t *n, double v)
{
    if (!isnan(v)) {
        to[(*n)++] = v;
    }
}

/* The median of the values that are not NaN */
static double median_known(const double *v, size_t n)
{
    double known[ROUNDS_APART];
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        add_known(known, &m, v[i]);
    }
    return median(known, m);
}

/* A copy that takes turns with other copies; in the k-th turn, all copies do the same work. */
struct runner {
    enum carm_variant variant;
    bool huge;
    struct carm_child child; /* pid 0 = it has failed */
    double ticks[ROUNDS_APART];
};

/* Ticks between two phases, minus the ticks in which the copy waited for its CPU; NaN = it waited for most of the time
 * waited  seconds */
static double ticks_of(const struct carm_snapshot *s, const struct carm_phase *phases,
                       double waited)
{
    const double all = (double)(phases[1].tsc - phases[0].tsc);
    const double ran = all - (waited > 0.0 ? waited * s->settings->tsc_hz : 0.0);
    return ran > 0.25 * all ? ran : NAN;
}

/* Runs some units before the timing, then the timed units.
 * ticks   out: NaN = other programs had the CPU
 * returns false: the copy has ended */
static bool take_turn(struct carm_snapshot *s, const struct carm_turns *p, struct runner *r,
                      double *ticks)
{
    const struct carm_variant_code *code = &s->codes[r->variant];
    struct carm_phase phases[2] = {carm_copy_phase(code, p->apart), carm_copy_last_phase(s)};
    struct carm_phase last = carm_copy_last_phase(s);
    struct carm_child_outcome outcome;
    double waited = 0.0;
    if (carm_copy_start(s, &r->child, code, 0.5 * p->apart, &last, 1, &outcome, NULL) == 1) {
        waited = carm_seconds_queued(r->child.pid);
        if (carm_copy_start(s, &r->child, code, 1.0, phases, 2, &outcome, NULL) == 2) {
            *ticks = ticks_of(s, phases, carm_seconds_queued(r->child.pid) - waited);
            return true;
        }
    }
    char text[80];
    carm_child_kill(&r->child);
    return carm_snapshot_fails(s, "it came to %s", carm_copy_end(s, &outcome, text, sizeof text));
}

bool carm_turns_refuse_slow(struct carm_trial *t, enum carm_variant variant, double ratio)
{
    const bool slow = ratio < slowest;
    if (slow) {
        char why[80];
        snprintf(why, sizeof why, "with it the loop takes more than %.0f times as long",
                 1.0 / slowest);
        carm_trial_refuse(t, (int)variant, why);
    }
    return slow;
}

/* Runs turns of n copies; the first and the last copy run the unchanged code.
 * ratio  out: [n] time of the first copy over the time of each copy; NaN = not measured */
static bool run_apart(struct carm_snapshot *s, const struct carm_turns *p, struct runner *all,
                      size_t n, double *ratio)
{
    size_t rounds = 0;
    for (size_t i = 0; i < n; i++) {
        if (!carm_copy_open_warm(s, all[i].huge, &all[i].child)) {
            all[i].child.pid = 0;
        }
    }
    while (rounds < p->rounds_apart && all[0].child.pid &&
           !(rounds >= ROUNDS_APART_MIN && carm_snapshot_is_over(s))) {
        for (size_t i = 0; i < n; i++) {
            if (all[i].child.pid) {
                (void)take_turn(s, p, &all[i], &all[i].ticks[rounds]);
            }
        }
        for (size_t i = 1; i + 1 < n && rounds == 0; i++) { /* the last copy is unchanged */
            const double gain = all[0].ticks[0] / all[i].ticks[0];
            if (all[0].child.pid && all[i].child.pid && !all[i].huge &&
                carm_turns_refuse_slow(s->trial, all[i].variant, gain)) {
                carm_child_kill(&all[i].child);
            }
        }
        rounds += all[0].child.pid > 0;
    }
    for (size_t i = 0; i < n; i++) {
        double ratios[ROUNDS_APART];
        size_t m = 0;
        for (size_t k = 0; k < rounds; k++) {
            add_known(ratios, &m, all[0].ticks[k] / all[i].ticks[k]);
        }
        ratio[i] = all[i].child.pid ? median(ratios, m) : NAN;
        carm_child_kill(&all[i].child);
    }
    if (rounds) {
        const double ticks = median_known(all[0].ticks, rounds) / p->apart;
        s->ticks = isnan(ticks) ? s->ticks : ticks;
    }
    return rounds > 0;
}

bool carm_turns_measure_apart(struct carm_snapshot *s, const struct carm_turns *p,
                              const int *trials, size_t n, struct carm_trial_result *result)
{
    bool good = true;
    double nulls[CARM_TRIAL_CHANGES];
    size_t nnulls = 0;
    for (size_t i = 0; i < n && good; i += APART_MOST) {
        struct runner all[APART_MOST + 2] = {{.variant = CARM_VARIANT_UNCHANGED}};
        double ratio[APART_MOST + 2];
        const size_t some = n - i < APART_MOST ? n - i : APART_MOST;
        for (size_t k = 0; k < some; k++) {
            const bool huge = trials[i + k] == CARM_TRIAL_HUGE;
            all[k + 1].huge = huge;
            all[k + 1].variant = huge ? CARM_VARIANT_UNCHANGED : (enum carm_variant)trials[i + k];
        }
        all[some + 1].variant = CARM_VARIANT_AGAIN;
        good = run_apart(s, p, all, some + 2, ratio);
        for (size_t k = 0; k < some && good; k++) {
            result->ratio[trials[i + k]] = ratio[k + 1];
            result->nulls[trials[i + k]] = ratio[some + 1];
        }
        if (good && !isnan(ratio[some + 1])) {
            nulls[nnulls++] = ratio[some + 1];
        }
    }
    result->null = median(nulls, nnulls);
    return good || s->why[0] || carm_snapshot_fails(s, "its copies did not end their stretch");
}

bool carm_turns_plan(struct carm_snapshot *s, struct carm_turns *plan)
{
    for (int i = 0; i < 5; i++) {
        make_plan(s, plan);
        const double all = fmin(s->most, fmax(units_of(s, plan), units_apart(plan)));
        const double most = s->most;
        if (!list_pages(s, all)) {
            return false;
        }
        const double bytes = 4096.0 * (double)s->nlist;
        if (!s->trial->prepared && !s->trial->far && bytes > far_least && bytes < far_most) {
            s->trial->far = true;
            continue;
        }
        if (s->trial->prepared && s->most >= most) {
            break; /* the time of a unit is known from the last snapshot */
        }
        const double was = s->ticks;
        const double now = warm_ticks(s, fmin(plan->apart, 0.5 * s->most));
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

enum { CORES_MAX = 64 };

static void pin(pid_t pid, size_t cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(pid, sizeof set, &set);
}

/* A turn of copies that run at once: mean ticks of the stretch in the middle of the turn; NaN = a copy has ended, other
 * programs had a CPU, or some copies did not run all the time
 * all  [n] */
static double turn_at_once(struct carm_snapshot *s, const struct carm_turns *p,
                           struct carm_child *all, size_t n)
{
    static const double waited_most = 0.25; /* of the time that a copy takes; chosen by hand */
    const struct carm_variant_code *code = &s->codes[CARM_VARIANT_UNCHANGED];
    struct carm_phase phases[CORES_MAX][4];
    double waited[CORES_MAX];
    uint64_t begin = 0, end = UINT64_MAX;
    double sum = 0.0;
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        phases[i][0] = carm_copy_phase(code, 0.5 * p->apart);
        phases[i][1] = carm_copy_phase(code, p->apart);
        phases[i][2] = carm_copy_phase(code, 0.5 * p->apart);
        phases[i][3] = carm_copy_last_phase(s);
        waited[i] = carm_seconds_queued(all[i].pid);
        if (!carm_copy_go(s, &all[i], code, 1.0, phases[i], 4)) {
            carm_child_kill(&all[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct carm_child_outcome outcome;
        const struct carm_phase *x = phases[i];
        if (!all[i].pid || carm_copy_await(s, &all[i], 1.0, phases[i], 4, &outcome, NULL) != 4) {
            carm_child_kill(&all[i]);
            good = false;
            continue;
        }
        begin = x[0].tsc > begin ? x[0].tsc : begin;
        end = x[3].tsc < end ? x[3].tsc : end;
        /* waiting is subtracted as if it were spread evenly over the turn */
        const double all_ticks = (double)(x[3].tsc - x[0].tsc);
        const double wait = (carm_seconds_queued(all[i].pid) - waited[i]) * s->settings->tsc_hz;
        const double ran = wait > 0.0 ? fmax(0.0, 1.0 - wait / all_ticks) : 1.0;
        sum += ran * (double)(x[2].tsc - x[1].tsc);
        good = good && ran > 1.0 - waited_most;
    }
    for (size_t i = 0; i < n && good; i++) {
        good = phases[i][1].tsc >= begin && phases[i][2].tsc <= end;
    }
    return good ? sum / (double)n : NAN;
}

static size_t find_cpus(size_t cpus[CORES_MAX])
{
    cpu_set_t set;
    size_t n = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (size_t c = 0; c < CPU_SETSIZE && n < CORES_MAX; c++) {
            cpus[n] = c;
            n += CPU_ISSET(c, &set) != 0;
        }
    }
    return n;
}

void carm_turns_measure_cores(struct carm_snapshot *s, const struct carm_turns *p,
                              struct carm_trial_result *result)
{
    struct carm_trial *t = s->trial;
    /* one copy on each CPU. The last copy also runs alone. It uses the pages that copies share; the other copies have
     * their own pages */
    struct carm_child all[CORES_MAX] = {{.pid = 0}};
    size_t cpus[CORES_MAX];
    double ratios[ROUNDS_APART], nulls[ROUNDS_APART];
    double before = NAN; /* ticks alone, in the turn before */
    size_t nratios = 0, nnulls = 0, opened = 0;
    char text[200] = "";
    char *const why = s->why;
    const size_t n = find_cpus(cpus);
    const uint64_t need = (uint64_t)n * s->nlist * 4096;
    const uint64_t most = s->settings->memory ? s->settings->memory : carm_memory_available() / 2;
    t->cpus = (unsigned)n;
    if (n < 2) {
        snprintf(t->refused[CARM_TRIAL_CORES], sizeof t->refused[0], "it may use one CPU alone");
        t->idle[CARM_TRIAL_CORES] = true;
        return;
    }
    if (need > most) {
        snprintf(t->refused[CARM_TRIAL_CORES], sizeof t->refused[0],
                 "%zu copies of its data may take %.2g GiB (--memory)", n,
                 (double)need / (double)(1 << 30));
        return;
    }
    const double runs = 2.0 * ROUNDS_APART_MIN * 2.0 * apart_seconds;
    if (!carm_turns_has_time(s, CARM_TRIAL_CORES, &t->cores,
                             runs + (double)n * t->open_seconds +
                                 (double)((n - 1) * s->nlist) * own_page_seconds)) {
        return;
    }
    const double begin = carm_seconds_now();
    s->why = text;
    while (opened < n && (opened + 1 < n ? carm_copy_open_apart(s, &all[opened])
                                         : carm_copy_open_warm(s, false, &all[opened]))) {
        pin(all[opened].pid, cpus[opened]);
        opened++;
    }
    for (size_t r = 0; r < ROUNDS_APART_MIN && opened == n && all[n - 1].pid; r++) {
        const double alone = turn_at_once(s, p, all + n - 1, 1);
        add_known(ratios, &nratios, (double)n * alone / turn_at_once(s, p, all, n));
        add_known(nulls, &nnulls, alone / before);
        before = alone;
    }
    for (size_t i = 0; i < opened; i++) {
        carm_child_kill(&all[i]);
    }
    s->why = why;
    t->cores.seconds = fmax(t->cores.seconds, carm_seconds_now() - begin);
    t->cores.n += nratios > 0;
    result->ratio[CARM_TRIAL_CORES] = median(ratios, nratios);
    result->nulls[CARM_TRIAL_CORES] = median(nulls, nnulls);
}
