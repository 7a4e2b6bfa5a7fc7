/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>

#include "kernels/dwarfs/study.h"

/* Estimated seconds of one item: its repetitions; making, counting and checking it; simulating it. */
static const double run_seconds = 3.0;
static const double around_seconds = 4.0;
static const double count_seconds = 2.0; /* of around_seconds */
static const double simulate_seconds = 2.0;

/* A study while it measures. */
struct run {
    struct carm_dwarf_study *study;
    const struct carm_host *host;
    const char *path;
    struct carm_team *team;
    struct carm_dram *dram; /* NULL: compulsory bytes are used */
    struct carm_observer *observer;
};

struct repetition {
    struct carm_dwarf_case *c;
    struct carm_team *team;
};

static int run_case(void *context, int rep, struct carm_err *err)
{
    const struct repetition *r = context;
    (void)rep;
    return r->c->ops->run(r->c, r->team, err);
}

/* Times, checks and counts an open case; counting comes last, as stepping disturbs the caches. */
static int measure_case(struct run *run, struct carm_dwarf_case *c, struct carm_dwarf_point *p,
                        struct carm_err *err)
{
    struct repetition repetition = {c, run->team};
    const double seconds = fmin(run_seconds, carm_study_left(&run->study->base));
    const struct carm_run_limits limits = {seconds, run->observer, run->dram};
    int rc = carm_repeat(&run->host->clock, run->study->base.threads, limits, run_case, &repetition,
                         &p->times, err);
    rc = rc ? rc : c->ops->check(c, run->team, &p->error, p->checked_by, err);
    p->work = c->work;
    rc = rc ? rc : carm_observer_check(run->observer, err);
    if (!rc && carm_study_has_time(&run->study->base, count_seconds, p->work.core_note,
                                   sizeof p->work.core_note)) {
        rc = c->ops->count(c, &p->work, err);
    }
    snprintf(p->size, sizeof p->size, "%s", c->size);
    snprintf(p->isa, sizeof p->isa, "%s", c->isa);
    return rc;
}

static int measure_item(struct run *run, struct carm_dwarf_item *item, struct carm_err *err)
{
    struct carm_dwarf_case *c = NULL;
    struct carm_err why;
    carm_observer_step(run->observer, "%s, %s", carm_dwarf_titles[item->kernel],
                       item->optimised ? "optimised" : "plain");
    int rc = carm_observer_check(run->observer, err);
    if (rc || !carm_study_has_time(&run->study->base, run_seconds + around_seconds, item->left_out,
                                   sizeof item->left_out)) {
        return rc;
    }
    /* a kernel asked for by name has to work; otherwise kernels that are too large or not
     * installed are left out */
    rc = carm_dwarf_case_open(run->study, item, false, run->team, &c, &why);
    if (rc && item->kernel == CARM_DWARF_SPMV && run->study->matrix) {
        *err = why;
        return rc;
    }
    if (rc || !c) {
        snprintf(item->left_out, sizeof item->left_out, "%.255s", why.text);
        return 0;
    }
    rc = measure_case(run, c, &item->point, err);
    c->ops->close(c);
    if (rc) {
        return rc;
    }
    item->point.known = true;
    carm_dwarf_point_place(run->study, item);
    return carm_dwarf_rows_append(run->study, item, run->path, err);
}

static int simulate_case(struct run *run, struct carm_dwarf_item *item, struct carm_dwarf_case *c,
                         struct carm_err *err)
{
    const struct carm_dwarf_study *study = run->study;
    const struct carm_ceilings *ceilings = carm_dwarf_ceilings(study, item->kernel);
    const struct carm_ceiling *slope = carm_ceilings_slope(ceilings);
    const struct carm_ceiling *peak = carm_ceilings_peak(ceilings);
    struct carm_three_cs_trace *trace = NULL;
    struct carm_three_cs_lines lines;
    struct carm_hierarchy_counts counts;
    struct carm_three_cs_input in = {.operations = c->work.operations,
                                     .compulsory_bytes = c->work.compulsory_bytes};
    if (slope && peak) {
        in.bandwidth = slope->rate;
        in.peak = peak->rate;
    }
    int rc = carm_three_cs_open(&trace, &study->caches, err);
    if (rc) {
        return rc;
    }
    c->ops->trace(c, carm_three_cs_access, trace);
    rc = carm_three_cs_read(trace, &counts, &lines, err);
    carm_three_cs_close(trace);
    rc = rc ? rc : carm_three_cs_eval(&counts, &lines, &in, &item->misses.cs, err);
    if (!rc) {
        item->misses.known = true;
        item->misses.accesses = (double)counts.accesses;
        snprintf(item->misses.size, sizeof item->misses.size, "%s", c->size);
    }
    return rc;
}

/* Simulates a case of a modest size, by one thread. A failure is only noted, as the points are measured
 * already. */
static void simulate_item(struct run *run, struct carm_team *alone, struct carm_dwarf_item *item)
{
    struct carm_dwarf_case *c = NULL;
    struct carm_err why = {""};
    carm_observer_step(run->observer, "%s, %s: simulating caches", carm_dwarf_titles[item->kernel],
                       item->optimised ? "optimised" : "plain");
    int rc = carm_dwarf_case_open(run->study, item, true, alone, &c, &why);
    if (!rc && c && c->ops->trace) {
        rc = simulate_case(run, item, c, &why);
    } else if (!rc) {
        rc = carm_fail(&why, CARM_ENOTSUP, "a library does the accesses");
    }
    if (c) {
        c->ops->close(c);
    }
    if (rc) {
        snprintf(item->misses.lacks, sizeof item->misses.lacks, "%.199s", why.text);
    }
}

static int simulate(struct run *run, struct carm_err *err)
{
    struct carm_dwarf_study *study = run->study;
    struct carm_team *alone = NULL;
    if (study->caches.nlevels == 0 || (study->matrix && study->nitems == 0)) {
        return 0;
    }
    int rc =
        carm_team_open(&alone, run->host->topo, &run->host->clock, 1, 4096, CARM_REPEAT_MAX, err);
    for (size_t i = 0; i < study->nitems && !rc; i++) {
        struct carm_dwarf_item *item = &study->items[i];
        rc = carm_observer_check(run->observer, err);
        /* not for a library, whose accesses are not known; a user's matrix cannot be made smaller */
        if (!rc && item->kernel != CARM_DWARF_FFT && item->point.known &&
            carm_study_has_time(&study->base, simulate_seconds, item->misses.lacks,
                                sizeof item->misses.lacks)) {
            const double begun = carm_seconds_now();
            simulate_item(run, alone, item);
            carm_study_spent(&study->base, begun, simulate_seconds);
        }
        carm_observer_advance(run->observer, simulate_seconds);
    }
    carm_team_close(alone);
    return rc;
}

static double estimate(const struct carm_dwarf_study *study)
{
    double s = 0.0;
    for (size_t i = 0; i < study->nitems; i++) {
        s += simulate_seconds + (study->items[i].point.known ? 0.0 : run_seconds + around_seconds);
    }
    return s;
}

int carm_dwarf_study_measure(struct carm_study *base, const struct carm_host *host,
                             const char *path, struct carm_err *err)
{
    struct carm_dwarf_study *study = (struct carm_dwarf_study *)base;
    struct run run = {.study = study, .host = host, .path = path, .observer = host->observer};
    run.dram = carm_study_open_dram(base, &host->cpu);
    int rc = carm_team_open(&run.team, host->topo, &host->clock, base->threads, 4096,
                            CARM_REPEAT_MAX, err);
    carm_study_begin(base, host, estimate(study));
    for (size_t i = 0; i < study->nitems && !rc; i++) {
        if (!study->items[i].point.known) {
            const double begun = carm_seconds_now();
            rc = measure_item(&run, &study->items[i], err);
            if (study->items[i].point.known) {
                carm_study_spent(base, begun, run_seconds + around_seconds);
            }
            carm_observer_advance(run.observer, run_seconds + around_seconds);
        }
    }
    rc = rc ? rc : simulate(&run, err);
    rc = carm_study_measured(base, run.observer, rc);
    carm_team_close(run.team);
    carm_dram_close(run.dram);
    return rc;
}
