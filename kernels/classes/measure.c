/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm/image.h"
#include "harness/machine/measure.h"
#include "harness/machine/search.h"
#include "kernels/classes/run.h"
#include "kernels/classes/study.h"

enum {
    TEAM_REPS = 2048, /* repetitions for calibrating and choosing schedules */
    CODES_MAX = 1 + CARM_CLASS_COUNT * CARM_CLASS_CODES_MAX,
};

/* Most seconds of a call of a code, so that the user can stop a run soon. */
static const double call_seconds = 0.2;

struct session {
    struct carm_classes *study;
    struct carm_image *image;
    struct carm_team *team;
    const struct carm_code *chosen[CARM_CLASS_COUNT];
    size_t first[CARM_CLASS_COUNT]; /* index of the class's codes in the image */
    struct carm_observer *observer;
    const char *path; /* of the points; NULL = none */
    uint64_t began;
};

static double elapsed(const struct session *s)
{
    return (double)(carm_clock_now() - s->began) / s->team->clock->tsc_hz;
}

static int open_image(struct session *s, struct carm_err *err)
{
    struct carm_code_spec *specs = calloc(CODES_MAX, sizeof *specs);
    size_t n = 0;
    if (!specs) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the test codes");
    }
    specs[n++] = (struct carm_code_spec){.kind = CARM_KIND_EMPTY, .units = 1};
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_class_plan *p = &s->study->sides[c].plan;
        s->first[c] = n;
        memcpy(specs + n, p->specs, p->nspecs * sizeof *specs);
        n += p->nspecs;
    }
    const int rc = carm_image_open(&s->image, specs, n, err);
    free(specs);
    return rc;
}

static int open_team(struct session *s, const struct carm_topo *topo,
                     const struct carm_clock *clock, struct carm_err *err)
{
    uint64_t largest = 0;
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_side *side = &s->study->sides[c];
        largest = !*side->left_out && side->plan.bytes > largest ? side->plan.bytes : largest;
    }
    /* prefetches run a little past the end of a set */
    return carm_team_open(&s->team, topo, clock, s->study->base.threads,
                          largest + ((size_t)4 << 20), TEAM_REPS, err);
}

/* Chooses the schedule that does the class's work fastest on the level that holds its sets. */
static void choose(struct session *s, size_t c)
{
    const struct carm_code *codes[CARM_CLASS_CODES_MAX];
    struct carm_classes_side *side = &s->study->sides[c];
    const size_t nlevels = s->study->base.model->nlevels;
    struct carm_shape shape;
    for (size_t i = 0; i < side->plan.nspecs; i++) {
        codes[i] = &s->image->codes[s->first[c] + i];
    }
    carm_observer_step(s->observer, "%s: choosing among %zu schedules", carm_classes[c].name,
                       side->plan.nspecs);
    const double target = carm_level_target(side->home, nlevels);
    const enum carm_search search = carm_level_search(side->home, nlevels);
    /* in caches, schedules are compared in rounds, which show differences above the noise; from memory, one look
     * suffices */
    const size_t best = search == CARM_SEARCH_MEMORY
                            ? carm_measure_pick(s->team, codes, side->plan.nspecs, side->plan.bytes,
                                                target, search, &shape, NULL)
                            : carm_measure_best(s->team, codes, side->plan.nspecs, side->plan.bytes,
                                                target, search, NULL);
    s->chosen[c] = codes[best];
    snprintf(side->code, sizeof side->code, "%s", codes[best]->name);
}

/* The smallest k that is still to be measured, or one past the largest. */
static unsigned next_k(const struct carm_classes *study, size_t c)
{
    unsigned k = 0;
    while (k <= study->largest && study->sides[c].points[k].known) {
        k++;
    }
    return k;
}

/* Estimated time of one run of the next instance: twice that of half as many iterations. For the
 * first instance: from memory, compute and transfer one after the other. */
static void estimate(struct carm_classes *study, size_t c)
{
    struct carm_classes_side *s = &study->sides[c];
    const unsigned k = next_k(study, c);
    s->next_seconds = 0.0;
    if (*s->left_out || k > study->largest) {
        return;
    }
    if (k > 0) {
        s->next_seconds = 2.0 * s->points[k - 1].seconds;
        return;
    }
    const struct carm_roofs *r = study->base.roofs;
    const struct carm_model *m = study->base.model;
    const struct carm_memory_roof *memory =
        carm_roofs_find_memory(r, m->levels[m->nlevels - 1].level, m->config.ldst);
    const struct carm_compute_roof *peak = carm_roofs_find_peak(r);
    const double n = study->base.threads;
    s->next_seconds = 1e-6 + (double)s->plan.bytes * n / (memory ? memory->bandwidth : 1e9) +
                      (double)s->plan.flops * n / (peak ? peak->rate : 1e9);
}

/* Seconds that the next instance of a class takes with all its runs and, before its schedule is chosen, the
 * choice, in which each schedule reads the set about once. 0 = the class has no instance left. */
static double cost_of(const struct session *s, size_t c)
{
    const struct carm_classes_side *side = &s->study->sides[c];
    const double one = side->next_seconds + side->evict_seconds;
    const double choice = 8e-3 + ldexp(side->next_seconds, -(int)next_k(s->study, c));
    if (!(side->next_seconds > 0.0)) {
        return 0.0;
    }
    return one * (double)carm_class_runs(one) +
           (s->chosen[c] ? 0.0 : (double)side->plan.nspecs * choice);
}

/* Whether the threads were preempted so often that the median is not the machine's own speed: in half of the
 * runs or more, and for more than a hundredth of the time. */
static bool disturbed(const struct carm_class_run *run)
{
    /* seconds that a preemption takes: a time slice of Linux's scheduler */
    const double slice = 3e-3;
    const double switches = (double)run->switches;
    return 2.0 * switches >= (double)run->runs && switches * slice > 0.01 * run->whole_seconds;
}

/* Measures an instance. A disturbed instance is measured again, up to twice, while a repetition takes a small
 * part of the remaining budget. The fastest attempt stays. */
static int measure_point(struct session *s, size_t c, unsigned k, struct carm_err *err)
{
    enum { ATTEMPTS = 3 };
    const double small = 0.1;
    struct carm_classes_side *side = &s->study->sides[c];
    struct carm_classes_point *p = &side->points[k];
    const double one = side->next_seconds + side->evict_seconds;
    const double calls = fmax(1.0, ceil(side->next_seconds / call_seconds));
    struct carm_class_run run = {
        .plan = &side->plan,
        .code = s->chosen[c],
        .iterations = (uint64_t)1 << k,
        .call_iterations = (uint64_t)ceil(exp2(k) / calls),
        .runs = carm_class_runs(one),
        .evict = side->home + 1 < s->study->base.model->nlevels,
    };
    carm_classes_construct(s->study, c, k, &run.code->account, p);
    for (int i = 0; i < ATTEMPTS; i++) {
        const int rc = carm_class_run(s->team, &run, err);
        if (rc == -CARM_EINTR && p->known) {
            return 0; /* an earlier attempt has a result */
        }
        if (rc) {
            return rc;
        }
        if (!p->known || run.seconds < p->seconds) {
            p->seconds = run.seconds;
            p->runs = run.runs;
            p->disturbed = disturbed(&run);
        }
        p->known = true;
        side->evict_seconds =
            run.evict ? fmax(0.0, run.whole_seconds / (double)run.runs - run.seconds) : 0.0;
        if (!p->disturbed || run.whole_seconds > small * (s->study->base.budget - elapsed(s))) {
            break;
        }
    }
    return 0;
}

static int measure_all(struct session *s, struct carm_err *err)
{
    struct carm_classes *study = s->study;
    while (!carm_observer_stopped(s->observer)) {
        double cost[CARM_CLASS_COUNT];
        for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
            cost[c] = cost_of(s, c);
        }
        const size_t c = carm_class_next(cost, CARM_CLASS_COUNT, study->base.budget - elapsed(s));
        if (c == CARM_CLASS_COUNT) {
            break;
        }
        const unsigned k = next_k(study, c);
        if (!s->chosen[c]) {
            choose(s, c);
        }
        carm_observer_step(s->observer, "%s, 2^%u iterations", carm_classes[c].name, k);
        int rc = measure_point(s, c, k, err);
        if (rc == -CARM_EINTR) {
            break;
        }
        rc = rc ? rc : carm_classes_rows_append(study, c, k, s->path, err);
        if (rc) {
            return rc;
        }
        carm_observer_advance(s->observer, cost[c]);
        estimate(study, c);
    }
    study->base.interrupted = carm_observer_stopped(s->observer);
    return 0;
}

/* Whether any instance is left to be measured. */
static bool has_work(struct carm_classes *study)
{
    bool any = false;
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        estimate(study, c);
        any = any || study->sides[c].next_seconds > 0.0;
    }
    return any;
}

int carm_classes_measure(struct carm_study *base, const struct carm_host *host, const char *path,
                         struct carm_err *err)
{
    struct carm_classes *study = (struct carm_classes *)base;
    struct session s = {.study = study, .observer = host->observer, .path = path};
    if (!has_work(study)) {
        return 0;
    }
    carm_study_begin(base, host, base->budget);
    s.began = carm_clock_now();
    carm_observer_step(s.observer, "assembling and recounting the test codes");
    int rc = open_image(&s, err);
    rc = rc ? rc : open_team(&s, host->topo, &host->clock, err);
    if (!rc) {
        s.team->deadline = carm_deadline_within((struct carm_deadline){.stop = s.observer->stop},
                                                (base->budget - elapsed(&s)) * host->clock.tsc_hz);
        carm_measure_calibrate(s.team, &s.image->codes[0]);
        rc = measure_all(&s, err);
    }
    rc = carm_study_measured(base, s.observer, rc);
    carm_team_close(s.team);
    carm_image_close(s.image);
    return rc;
}
