/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "harness/machine/search.h"
#include "harness/place/place.h"
#include "models/roofline.h"
#include "validation/roofs/levels.h"
#include "validation/series.h"

/* A point has a quarter of a roof's repetitions: by the intervals, 2048 repetitions in 8 rounds repeat within 1% in
 * private caches and within 5% in shared ones. */
enum { SHARE_OF_REPS = 4, LEAST_REPS = 64, PLACES = 8, TRIES = 3, PLACES_MAX = 2 * CARM_LIST_MAX };

static size_t reps_of(const struct carm_build *build)
{
    const size_t reps = build->reps / SHARE_OF_REPS;
    return reps > LEAST_REPS ? reps : LEAST_REPS;
}

/* Numbers of threads whose places are noted: those of a default build's sets, and of this build's. */
static size_t list_places(const struct carm_build *build, int *places, size_t most)
{
    char words[CARM_TOPO_PLACE_MAX];
    char *rest = words;
    size_t n = 0;
    for (size_t i = 0; i < build->config->nthreads && n < most; i++) {
        places[n++] = build->config->threads[i];
    }
    if (!*build->topo->layout) {
        carm_topo_usual(build->topo, words);
        for (const char *w = strtok_r(words, ",", &rest); w && n < most;
             w = strtok_r(NULL, ",", &rest)) {
            places[n] = (int)strtol(w, NULL, 10); /* "cores" is none */
            n += places[n] > 1;
        }
    }
    return n;
}

/* The order of spread threads. returns false if it is the usual order; *order is to be freed */
static bool spread_order(const struct carm_topo *topo, int **order)
{
    *order = *topo->layout ? NULL : malloc((size_t)topo->pus * sizeof **order);
    return *order && carm_topo_spread(topo, *order) == 0 &&
           memcmp(*order, topo->order, (size_t)topo->pus * sizeof **order) != 0;
}

void carm_build_plan_scaling(const struct carm_build *build, struct carm_scaling_plan *out)
{
    /* byte/s at which one thread touches pages for the first time */
    static const double touch = 2e9;
    const struct carm_build_config *c = build->config;
    const int most = c->threads[c->nthreads - 1];
    const size_t levels = build->topo->ncaches + 1;
    const double reps = (double)reps_of(build);
    int places[PLACES_MAX];
    int *order = NULL;
    *out = (struct carm_scaling_plan){.seconds = 0.0};
    out->n = carm_scaling_begin(most, places, list_places(build, places, PLACES_MAX), out->steps);
    out->spread = spread_order(build->topo, &order);
    free(order);
    double run = reps * (CARM_TARGET_CORE + 1e-6); /* the peak */
    for (size_t i = 0; i < levels; i++) {
        run += carm_build_wants_level(c, build->topo, i)
                   ? reps * (carm_level_target(i, levels) + 1e-6)
                   : 0.0;
    }
    for (size_t i = 0; i < out->n; i++) {
        out->seconds +=
            run + (double)carm_build_curve_end(build, out->steps[i]) / touch / out->steps[i];
    }
    /* half of the possible further runs, if there are numbers of threads between the steps */
    const size_t between = (size_t)most - out->n, half = CARM_SCALING_RUNS / 4;
    out->seconds += run * (double)(between < half ? between : half);
    out->seconds *= out->spread ? 2.0 : 1.0;
}

uint64_t carm_scaling_set(const struct carm_topo *topo, const struct carm_topo *from_topo,
                          size_t level, uint64_t set_bytes, int from, int threads)
{
    int instances = 0;
    int sharers = 0;
    int were = 0;
    if (topo->ncaches == 0) {
        return set_bytes * (uint64_t)from / (uint64_t)threads;
    }
    const size_t cache = level < topo->ncaches ? level : topo->ncaches - 1;
    carm_topo_cache_share(from_topo, topo->caches[cache].level, from, &instances, &were);
    carm_topo_cache_share(topo, topo->caches[cache].level, threads, &instances, &sharers);
    return sharers > 0 && were > 0 ? set_bytes * (uint64_t)were / (uint64_t)sharers : set_bytes;
}

/* The measured roof that a point continues: of the smallest number of threads that is not smaller, else of the
 * largest. */
struct source {
    const struct carm_code *codes[CARM_LIST_MAX]; /* of all sets' roofs, this one's first */
    size_t ncodes;
    uint64_t set_bytes; /* of one thread; 0 = registers alone */
    int threads;
    double rate; /* of all these threads */
};

static void add_code(struct source *s, const struct carm_code *code)
{
    size_t k = 0;
    while (k < s->ncodes && s->codes[k] != code) {
        k++;
    }
    s->codes[k] = code;
    s->ncodes += k == s->ncodes;
}

/* Finds the codes of the same roof with all numbers of threads. returns false if there is no such roof */
static bool find_source(const struct carm_build *build, const struct carm_model *m,
                        const struct carm_scaling *curve, int threads, struct source *out)
{
    const struct carm_build_config *c = build->config;
    *out = (struct source){.threads = 0};
    for (size_t i = c->nthreads; i-- > 0;) {
        const struct carm_roofs *r =
            carm_model_find_roofs(m, curve->isa, curve->precision, c->threads[i]);
        const struct carm_memory_roof *x =
            r ? carm_roofs_find_memory(r, curve->level, curve->kind) : NULL;
        const struct carm_compute_roof *y = r ? carm_roofs_find_compute(r, curve->kind) : NULL;
        const char *name = x ? x->code : y ? y->code : NULL;
        const struct carm_code *code = name ? carm_image_find(build->plan->image, name) : NULL;
        if (!code) {
            continue;
        }
        add_code(out, code);
        if (out->threads == 0 || c->threads[i] >= threads) {
            out->threads = c->threads[i];
            out->set_bytes = x ? x->working_set_bytes / (uint64_t)c->threads[i] : 0;
            out->rate = x ? x->bandwidth : y->rate;
        }
    }
    return out->ncodes > 0;
}

struct scaling {
    const struct carm_build *build;
    const struct carm_topo *topo; /* in the order of the layout */
    struct carm_model *model;
    struct carm_scaling *curves; /* [n] of the layout */
    size_t n;
    double more_seconds; /* for further rounds of doubtful points */
};

/* Index of a level in topo->caches; topo->ncaches = memory. */
static size_t level_at(const struct carm_model *m, const char *level)
{
    size_t i = 0;
    while (i < m->nlevels && strcmp(m->levels[i].level, level) != 0) {
        i++;
    }
    return i;
}

/* Working set of one thread for a curve's point. */
static uint64_t set_of(const struct scaling *s, const struct carm_scaling *curve,
                       const struct source *from, int threads)
{
    return carm_scaling_set(s->topo, s->build->topo, level_at(s->model, curve->level),
                            from->set_bytes, from->threads, threads);
}

static int add_point(struct carm_scaling *c, const struct carm_scaling_point *point,
                     struct carm_err *err)
{
    const int rc =
        carm_array_grow(&c->points, NULL, c->npoints, 1, sizeof *c->points, "the model", err);
    size_t at = c->npoints;
    if (rc) {
        return rc;
    }
    for (; at > 0 && c->points[at - 1].threads > point->threads; at--) {
        c->points[at] = c->points[at - 1];
    }
    c->points[at] = *point;
    c->npoints++;
    return 0;
}

/* The rate below which a point is measured again. Private resources: as much for each thread as with the roof's
 * threads, which are as many or more. Shared resources: as much as with fewer threads. */
static double least_rate(const struct carm_scaling *curve, const struct source *from, int threads,
                         bool shared)
{
    static const double own_near = 0.97, shared_near = 0.90; /* roofs repeat within 1% and 5% */
    double least = 0.0;
    if (!shared) {
        return own_near * from->rate * threads / from->threads;
    }
    for (size_t i = 0; i < curve->npoints && curve->points[i].threads < threads; i++) {
        least = fmax(least, shared_near * curve->points[i].rate);
    }
    return from->threads == threads ? fmax(least, shared_near * from->rate) : least;
}

/* Measures one curve's point with an open team. */
static int measure_point(struct scaling *s, struct carm_scaling *curve, const struct source *from,
                         struct carm_team *team, struct carm_err *err)
{
    const size_t levels = s->build->topo->ncaches + 1;
    const size_t level = level_at(s->model, curve->level);
    const bool memory = from->set_bytes > 0;
    const bool shared = memory && !carm_build_is_private(s->topo, level, team->n);
    const double target = memory ? carm_level_target(level, levels) : CARM_TARGET_CORE;
    const enum carm_search how = memory ? carm_level_search(level, levels) : CARM_SEARCH_CORE;
    const uint64_t set = set_of(s, curve, from, team->n);
    struct carm_series series = {.n = 0};
    struct carm_pooled pooled = {.n = 0};
    char note[CARM_TEXT_MAX];
    size_t k = 0;
    if (from->ncodes > 1) {
        k = carm_measure_best(team, from->codes, from->ncodes, set, target, how, NULL);
    }
    /* All rounds of a point use the windows that were chosen at its begin, perhaps in a disturbed moment: one of four
     * builds had 26% of L1's bandwidth with two threads, in all rounds within 1% */
    const double least = least_rate(curve, from, team->n, shared);
    for (size_t i = 0; i < TRIES && (i == 0 || !(pooled.rate >= least)) && !carm_team_is_over(team);
         i++) {
        struct carm_series again;
        struct carm_pooled other;
        carm_series_open(&again, team, from->codes[k], set, target, shared);
        team->patience_seconds = CARM_WAIT_ROUND;
        carm_series_run(&again, team, s->build->clock, reps_of(s->build), &s->more_seconds, &other);
        if (i == 0 || other.rate > pooled.rate) {
            series = again;
            pooled = other;
        }
    }
    if (!(pooled.ci95.lo > 0.0)) {
        return 0; /* the time is over, or the code is too short to time */
    }
    struct carm_scaling_point p = {.threads = team->n, .rate = pooled.rate, .ci95 = pooled.ci95};
    snprintf(p.code, sizeof p.code, "%s", series.code->name);
    p.working_set_bytes =
        memory ? carm_measure_set_bytes(series.code, &series.shape) * (uint64_t)team->n : 0;
    p.disturbed =
        carm_series_fault(&series, &pooled, note, sizeof note) || (!shared && pooled.rate < least);
    return add_point(curve, &p, err);
}

/* Measures all curves with one number of threads. */
static int measure_step(struct scaling *s, int threads, struct carm_err *err)
{
    const struct carm_build *b = s->build;
    const size_t page = (size_t)2 << 20;
    struct source *from = calloc(s->n + 1, sizeof *from);
    struct carm_team *team = NULL;
    uint64_t most = PLACES * page;
    if (!from) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure a model");
    }
    for (size_t i = 0; i < s->n; i++) {
        if (find_source(b, s->model, &s->curves[i], threads, &from[i])) {
            const uint64_t set = set_of(s, &s->curves[i], &from[i], threads);
            most = set > most ? set : most;
        }
    }
    carm_observer_step(b->observer, "%d thread%s %s: scaling", threads, threads == 1 ? "" : "s",
                       s->curves[0].layout);
    int rc = carm_observer_check(b->observer, err);
    rc = rc ? rc
            : carm_team_open(&team, s->topo, b->clock, threads, most + CARM_TEAM_SPARE,
                             reps_of(b) + 2048, err);
    if (!rc) {
        team->deadline = (struct carm_deadline){b->scaled, b->observer->stop};
        carm_measure_calibrate(team, b->plan->empty);
        if (b->topo->ncaches > 1 && from[0].ncodes && from[0].set_bytes) {
            carm_measure_place(team, from[0].codes[0], b->topo->caches[1].size_bytes * 13 / 20,
                               PLACES);
        }
    }
    for (size_t i = 0; i < s->n && !rc && !carm_team_is_over(team); i++) {
        rc = from[i].ncodes ? measure_point(s, &s->curves[i], &from[i], team, err) : 0;
    }
    carm_team_close(team);
    free(from);
    return rc;
}

/* Takes a point of the first layout, if both layouts use the same CPUs. returns whether they do */
static int take_same(struct scaling *s, const struct carm_scaling *first, size_t nfirst,
                     int threads, bool *same, struct carm_err *err)
{
    const int *a = s->topo->order;
    const int *b = s->build->topo->order;
    int rc = 0;
    *same = first != NULL;
    for (int i = 0; i < threads && *same; i++) {
        int k = 0;
        while (k < threads && b[k] != a[i]) {
            k++;
        }
        *same = k < threads;
    }
    for (size_t i = 0; i < nfirst && *same && !rc; i++) {
        for (size_t k = 0; k < first[i].npoints && !rc; k++) {
            if (first[i].points[k].threads == threads) {
                rc = add_point(&s->curves[i], &first[i].points[k], err);
            }
        }
    }
    return rc;
}

/* first  [nfirst] curves of the first layout in the same order, NULL = this is the first */
static int measure_layout(struct scaling *s, const struct carm_scaling_plan *plan,
                          const struct carm_scaling *first, struct carm_err *err)
{
    const int most = plan->steps[plan->n - 1];
    bool *tried = calloc((size_t)most + 1, sizeof *tried);
    size_t runs = 0;
    int rc = tried ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory to measure a model");
    for (int t = most; !rc && t > 0 && !tried[t] && runs < CARM_SCALING_RUNS; runs++) {
        bool same = false;
        tried[t] = true;
        rc = take_same(s, first, s->n, t, &same, err);
        rc = rc || same ? rc : measure_step(s, t, err);
        /* the ends first, so that a short time covers the whole range */
        size_t i = 0;
        while (i < plan->n && tried[plan->steps[i]]) {
            i++;
        }
        t = i < plan->n ? plan->steps[i] : carm_scaling_next(s->curves, s->n);
        if ((double)carm_clock_now() >= (double)s->build->scaled) {
            break;
        }
    }
    carm_observer_advance(s->build->observer, plan->seconds / (plan->spread ? 2.0 : 1.0));
    free(tried);
    return rc;
}

/* One empty curve for each level that has a roof, and for the peak. returns 0 or -CARM_ENOMEM */
static int begin_curves(struct scaling *s, const char *layout, struct carm_err *err)
{
    const struct carm_build_config *c = s->build->config;
    const char *isa = carm_isa_name(c->isas[0]);
    const char *precision = carm_precision_name(carm_build_ceilings_precision(c));
    const struct carm_roofs *r =
        carm_model_find_roofs(s->model, isa, precision, c->threads[c->nthreads - 1]);
    const struct carm_compute_roof *peak = r ? carm_roofs_find_peak(r) : NULL;
    s->curves = calloc(s->model->nlevels + 1, sizeof *s->curves);
    if (!s->curves) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure a model");
    }
    for (size_t i = 0; r && i <= s->model->nlevels; i++) {
        struct carm_scaling *x = &s->curves[s->n];
        const bool memory = i < s->model->nlevels;
        const char *level = memory ? s->model->levels[i].level : CARM_SCALING_PEAK;
        if (memory ? !carm_roofs_find_memory(r, level, s->model->config.ldst) : !peak) {
            continue;
        }
        snprintf(x->layout, sizeof x->layout, "%s", layout);
        snprintf(x->isa, sizeof x->isa, "%s", isa);
        snprintf(x->precision, sizeof x->precision, "%s", precision);
        snprintf(x->level, sizeof x->level, "%s", level);
        snprintf(x->kind, sizeof x->kind, "%s", memory ? s->model->config.ldst : peak->op);
        s->n++;
    }
    return 0;
}

/* Moves curves with points to the model; frees the others. returns 0 or -CARM_ENOMEM */
static int keep(struct scaling *s, struct carm_err *err)
{
    struct carm_model *m = s->model;
    int rc = 0;
    for (size_t i = 0; i < s->n; i++) {
        rc = rc || s->curves[i].npoints == 0
                 ? rc
                 : carm_array_grow(&m->scaling, NULL, m->nscaling, 1, sizeof *m->scaling,
                                   "the model", err);
        if (!rc && s->curves[i].npoints) {
            m->scaling[m->nscaling++] = s->curves[i];
        } else {
            free(s->curves[i].points);
        }
    }
    return rc;
}

static int measure_all(const struct carm_build *build, const struct carm_topo *topo,
                       const char *layout, const struct carm_scaling_plan *plan, bool second,
                       struct carm_model *model, struct carm_err *err)
{
    struct scaling s = {.build = build,
                        .topo = topo,
                        .model = model,
                        .more_seconds = build->config->quick ? 0.5 : 2.0};
    int rc = begin_curves(&s, layout, err);
    const bool whole = !second || model->nscaling == s.n;
    if (!rc && s.n && whole) {
        rc = measure_layout(&s, plan, second ? model->scaling : NULL, err);
    }
    const int kept = rc ? rc : keep(&s, err);
    for (size_t i = 0; rc && i < s.n; i++) {
        free(s.curves[i].points);
    }
    free(s.curves);
    return kept;
}

/* The places that the first threads fill. returns 0 or -CARM_ENOMEM */
static int add_units(const struct carm_build *build, struct carm_model *m, struct carm_err *err)
{
    const struct carm_build_config *c = build->config;
    int places[PLACES_MAX];
    const size_t n = list_places(build, places, PLACES_MAX);
    int rc = 0;
    for (int t = 2; t < c->threads[c->nthreads - 1] && !rc; t++) {
        char name[CARM_TOPO_PLACE_MAX];
        bool there = false;
        for (size_t i = 0; i < n; i++) {
            there = there || places[i] == t;
        }
        if (!there || !strchr(carm_topo_name(build->topo, t, name), ':') ||
            strncmp(name, "cpu:", 4) == 0) {
            continue;
        }
        rc = carm_array_grow(&m->scaling_units, NULL, m->nscaling_units, 1,
                             sizeof *m->scaling_units, "the model", err);
        if (!rc) {
            struct carm_scaling_unit *u = &m->scaling_units[m->nscaling_units++];
            *u = (struct carm_scaling_unit){.threads = t};
            snprintf(u->place, sizeof u->place, "%s", name);
        }
    }
    return rc;
}

int carm_build_measure_scaling(const struct carm_build *build, struct carm_model *model,
                               struct carm_err *err)
{
    struct carm_scaling_plan plan;
    struct carm_topo other = *build->topo; /* borrows everything except the order */
    int *order = NULL;
    const char *layout = *build->topo->layout ? build->topo->layout : CARM_SCALING_COMPACT;
    carm_build_plan_scaling(build, &plan);
    int rc = measure_all(build, build->topo, layout, &plan, false, model, err);
    rc = rc || !model->nscaling ? rc : add_units(build, model, err);
    if (!rc && spread_order(build->topo, &order)) {
        other.order = order;
        rc = measure_all(build, &other, CARM_SCALING_SPREAD, &plan, true, model, err);
    }
    free(order);
    return rc;
}
