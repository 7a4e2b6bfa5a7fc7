/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/levels.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "validation/roofs/points.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

/* Seconds of a repetition up to the last cache, and beyond it: about half the targets of roofs
 * (harness/machine/search.c), since a curve has many points. */
static const double target_near = 5e-6;
static const double target_far = 10e-6;

/* Bytes of each cache that the threads reach together, by the OS. */
static void os_sizes(const struct carm_topo *topo, int threads, double sizes[CARM_LEVELS_MAX])
{
    assert(topo->ncaches < CARM_LEVELS_MAX); /* the OS numbers them from 1 to 5 */
    for (size_t i = 0; i < topo->ncaches; i++) {
        sizes[i] = (double)topo->caches[i].size_bytes * carm_build_instances(topo, i, threads);
    }
}

/* Bytes of the last cache of the requested levels. 0 = the OS reports none. */
static double last_cache(const struct carm_build *build, int threads, bool *dram)
{
    double sizes[CARM_LEVELS_MAX] = {0.0};
    double last = 0.0;
    os_sizes(build->topo, threads, sizes);
    *dram = carm_build_wants_level(build->config, build->topo, build->topo->ncaches);
    for (size_t i = 0; i < build->topo->ncaches; i++) {
        if (*dram || carm_build_wants_level(build->config, build->topo, i)) {
            last = sizes[i] > 0.0 ? sizes[i] : last;
        }
    }
    return last;
}

/* The least requested number of threads with which thread i, from 0, works. */
static int fewest_with(const struct carm_build_config *c, int i)
{
    size_t k = 0;
    while (k + 1 < c->nthreads && c->threads[k] <= i) {
        k++;
    }
    return c->threads[k];
}

/* Memory of all threads' buffers relative to the buffers of one set's threads: thread i keeps
 * the buffer for the smallest set that it works in. */
static double memory_share(const struct carm_build_config *c)
{
    double sum = 0.0;
    for (int i = 0; i < c->threads[c->nthreads - 1]; i++) {
        sum += 1.0 / fewest_with(c, i);
    }
    return sum;
}

uint64_t carm_build_curve_end(const struct carm_build *build, int threads)
{
    bool dram;
    double last = last_cache(build, threads, &dram);
    /* memory: eight times the last cache or more, so that nearly no line of the set stays in the
     * cache (the sweep ends earlier, once memory's plateau is clear; the first touch of 1 GiB took 1.5 s);
     * a cache: beyond its size, so that its knee is seen */
    double end = dram ? fmax(8.0 * last, 512.0 * (double)MIB) : 2.5 * last;
    if (last == 0.0) {
        end = (double)(1024 * MIB);
    }
    return (uint64_t)fmin(end, (double)build->config->memory_bytes / memory_share(build->config));
}

/* The working set of a point, all threads together. */
static double set_of(const struct carm_series *p, int threads)
{
    return (double)(p->shape.windows * p->shape.window_bytes) * threads;
}

double carm_build_curve_seconds(const struct carm_build *build, int threads)
{
    double octaves =
        log2((double)carm_build_curve_end(build, threads) / (2.0 * (double)KIB) / threads);
    size_t each = 0;
    const size_t rounds = carm_build_sweep_rounds(build->reps, &each);
    return octaves * build->config->curve_steps * (double)(rounds * each) * (target_near + 3e-6);
}

/* Whether the last octave and a third is flat, past twice the last cache: memory's plateau. */
static bool at_the_end(const struct carm_build_sweep *sweep, double last_cache_bytes)
{
    const size_t need = (size_t)sweep->set->build->config->curve_steps + 2;
    const size_t n = sweep->n;
    if (set_of(&sweep->points[n - 1], sweep->set->threads) <
        fmax(2.0 * last_cache_bytes, 64.0 * (double)MIB)) {
        return false;
    }
    assert(n >= need); /* it began with 2 KiB for each thread */
    double lo = INFINITY;
    double hi = 0.0;
    for (size_t i = n - need; i < n; i++) {
        if (sweep->points[i].n == 0) {
            return false;
        }
        lo = fmin(lo, sweep->points[i].rounds[sweep->points[i].n - 1].rate);
        hi = fmax(hi, sweep->points[i].rounds[sweep->points[i].n - 1].rate);
    }
    return hi < 1.07 * lo;
}

/* Repetitions of one round of a curve's point: the least number, and the usual one if enough are asked for. */
enum { LEAST_REPS = 32, USUAL_REPS = 128 };

size_t carm_build_sweep_rounds(size_t reps, size_t *each)
{
    const size_t rounds = 4;
    /* a level is found by the shape of the curve: a quarter of a roof's repetitions took 18 s of 60 on two cores */
    const size_t few = (reps + 4 * rounds - 1) / (4 * rounds);
    const size_t most = (reps + rounds - 1) / rounds;
    *each = few < USUAL_REPS ? USUAL_REPS : few;
    *each = *each > most ? most : *each;
    *each = *each < LEAST_REPS ? LEAST_REPS : *each;
    return rounds;
}

/* Least ratio of the median bandwidths within a cache's reported size and beyond it that shows the cache; caches of
 * one core differ by a factor of 1.5 and more, disturbed medians by less than 1.3 (Emerald Rapids guest). */
static const double step_least = 1.3;

static int run_point(struct carm_build_sweep *sweep, struct carm_series *point,
                     struct carm_err *err)
{
    const struct carm_build *build = sweep->set->build;
    const int threads = sweep->set->threads;
    char size[CARM_TEXT_NUMBER_MAX];
    size_t reps = 0;
    carm_build_sweep_rounds(build->reps, &reps);
    carm_observer_step(build->observer, "%d thread%s: curve at %s", threads,
                       threads == 1 ? "" : "s",
                       carm_text_bytes(size, sizeof size, (uint64_t)set_of(point, threads)));
    carm_series_round(point, sweep->set->team, reps, NULL);
    carm_observer_advance(build->observer, (double)reps * (target_near + 3e-6));
    return carm_observer_check(build->observer, err);
}

/* Unix time at which a model was made; 0 = unknown. */
static double time_of(const struct carm_model *model)
{
    struct tm tm = {.tm_year = 0};
    const char *end = strptime(model->created, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return end && !*end ? (double)timegm(&tm) : 0.0;
}

/* Adds the same point of the earlier model, as CARM_ROUNDS_MIN rounds. */
static void add_before(const struct carm_build_sweep *sweep, struct carm_series *point)
{
    const struct carm_model *before = sweep->set->build->before;
    const struct carm_code_spec *spec = &sweep->code->spec;
    const double set = set_of(point, sweep->set->threads);
    char mix[16];
    carm_mix_name(&spec->mix, mix);
    for (size_t i = 0; before && i < before->ncurves; i++) {
        const struct carm_curve *c = &before->curves[i];
        if (c->threads != sweep->set->threads || strcmp(c->isa, carm_isa_name(spec->isa)) != 0 ||
            strcmp(c->precision, carm_precision_name(spec->precision)) != 0 ||
            strcmp(c->kind, mix) != 0) {
            continue;
        }
        for (size_t k = 0; k < c->npoints; k++) {
            const struct carm_curve_point *p = &c->points[k];
            if (fabs(p->x - set) > 0.02 * set || p->disturbed) {
                continue;
            }
            while (point->n < CARM_ROUNDS_MIN) {
                point->rounds[point->n++] = (struct carm_round){
                    .rate = p->value, .at = time_of(before), .state = CARM_STATE_QUIET};
            }
        }
    }
}

int carm_build_sweep_open(struct carm_build_sweep *sweep, struct carm_build_set *set,
                          const struct carm_code *code, struct carm_err *err)
{
    const struct carm_build *build = set->build;
    bool dram;
    const double last = last_cache(build, set->threads, &dram);
    const double end = (double)carm_build_curve_end(build, set->threads);
    const int steps = build->config->curve_steps;
    const double first = 2048.0 * set->threads;
    const int points = (int)floor(log2(end * 1.001 / first) * steps) + 1;
    double before = 0.0;
    *sweep = (struct carm_build_sweep){.set = set, .code = code};
    sweep->points = calloc(CARM_CURVE_POINTS_MAX, sizeof *sweep->points);
    if (!sweep->points) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for the points of a curve");
        return -CARM_ENOMEM;
    }
    carm_build_wait(set, carm_build_has_time(build, CARM_CURVES_SHARE) ? CARM_WAIT_CURVE : 0.0);
    for (int i = 0; i < points && sweep->n < CARM_CURVE_POINTS_MAX && !carm_team_is_over(set->team);
         i++) {
        const double x = first * pow(2.0, (double)i / steps);
        struct carm_series *p = &sweep->points[sweep->n];
        carm_series_open(p, set->team, code, (uint64_t)(x / set->threads),
                         last > 0.0 && x > last ? target_far : target_near,
                         last > 0.0 && x > 0.5 * last);
        p->clock_hz = &set->clock_hz;
        if (set_of(p, set->threads) <= before) {
            continue;
        }
        before = set_of(p, set->threads);
        sweep->n++;
        add_before(sweep, p);
        const size_t had = p->n;
        const int rc = run_point(sweep, p, err);
        if (rc) {
            return rc;
        }
        /* the deadline ended the round: first touches of pages made such a point thirty times slower */
        if (carm_team_is_over(set->team)) {
            p->n = had;
            sweep->n -= had == 0 ? 1 : 0;
            break;
        }
        if (dram && last > 0.0 && at_the_end(sweep, last)) {
            break;
        }
    }
    return 0;
}

void carm_build_sweep_close(struct carm_build_sweep *sweep)
{
    free(sweep->points);
    sweep->points = NULL;
}

int carm_build_sweep_round(struct carm_build_sweep *sweep, double lo, double hi,
                           struct carm_err *err)
{
    int rc = 0;
    carm_build_use(sweep->set);
    /* rounds of doubtful points only: each may wait for own cores at any time */
    const bool part = lo > 0.0 || hi < INFINITY;
    const bool early = carm_build_has_time(sweep->set->build, CARM_CURVES_SHARE);
    sweep->set->team->patience_seconds = part || early ? CARM_WAIT_CURVE : 0.0;
    for (size_t i = 0; i < sweep->n && !rc && !carm_team_is_over(sweep->set->team); i++) {
        struct carm_series *p = &sweep->points[i];
        const double set = set_of(p, sweep->set->threads);
        rc = set >= lo && set <= hi ? run_point(sweep, p, err) : 0;
    }
    return rc;
}

/* A round's rate, scaled to a common clock if the core clock wanders. */
static double rate_of(const struct carm_series *p, size_t i)
{
    return carm_round_rate_at(&p->rounds[i], p->shared, p->clock_hz ? *p->clock_hz : 0.0);
}

/* The value of a point. A level is found by the curve's shape, so all points should be in the
 * same state: one sound round is enough; without one, the fastest round counts. */
static struct carm_pooled value_of(const struct carm_series *p, const struct carm_clock *clock)
{
    double sound[CARM_ROUNDS_MAX];
    struct carm_pooled pooled;
    double most = 0.0;
    size_t n = 0;
    carm_series_estimate(p, clock, &pooled);
    for (size_t i = 0; i < p->n && !pooled.sound; i++) {
        most = fmax(most, rate_of(p, i));
        if (carm_state_is_sound(p->rounds[i].state)) {
            sound[n++] = rate_of(p, i);
        }
    }
    if (!pooled.sound) {
        pooled.rate = n ? carm_stats_median(sound, n) : most;
        pooled.ci95 =
            (struct carm_ci){fmin(pooled.ci95.lo, pooled.rate), fmax(pooled.ci95.hi, pooled.rate)};
    }
    return pooled;
}

static double fastest_of(const struct carm_series *p, double rate)
{
    for (size_t i = 0; i < p->n; i++) {
        rate = carm_state_is_sound(p->rounds[i].state) ? fmax(rate, rate_of(p, i)) : rate;
    }
    return rate;
}

int carm_build_sweep_curve(const struct carm_build_sweep *sweep, bool fastest,
                           struct carm_curve *curve, double *clocks, struct carm_err *err)
{
    int rc = 0;
    double seen[CARM_CURVE_POINTS_MAX * CARM_ROUNDS_MIN];
    size_t n = 0;
    for (size_t i = 0; i < sweep->n; i++) {
        n = carm_series_clocks(&sweep->points[i], seen, n, sizeof seen / sizeof *seen);
    }
    sweep->set->clock_hz = carm_rounds_wandering(seen, n);
    curve->npoints = 0;
    for (size_t i = 0; i < sweep->n && !rc; i++) {
        struct carm_pooled pooled = value_of(&sweep->points[i], sweep->set->build->clock);
        pooled.rate = fastest ? fastest_of(&sweep->points[i], pooled.rate) : pooled.rate;
        clocks[curve->npoints] = pooled.clock_hz;
        rc = carm_build_add_pooled_point(curve, set_of(&sweep->points[i], sweep->set->threads),
                                         &pooled, err);
    }
    return rc;
}

bool carm_build_is_private(const struct carm_topo *topo, size_t level, int threads)
{
    int instances = 0;
    int sharers = 0;
    if (level + 1 >= topo->ncaches) {
        return false;
    }
    carm_topo_cache_share(topo, topo->caches[level].level, threads, &instances, &sharers);
    return sharers == 1;
}

/* Chooses candidate working sets of one thread for a level's roof. below: end of the cache
 * before; os: reported size of this cache, all threads together; own: no two threads share the
 * cache. */
static void choose_sets(struct carm_build_level *l, double below, double os, bool dram, bool own,
                        double largest, int threads)
{
    const struct carm_level_range *r = &l->range;
    l->nsets = 0;
    if (!r->resolved) {
        return;
    }
    if (dram) {
        l->sets[l->nsets++] = (uint64_t)(largest / threads);
        return;
    }
    /* Inside the plateau, clear of the cache before it and of its own end. A cache of the
     * reported size is tried beyond its plateau, too: some prefetchers start only there, and a
     * larger set never profits from the cache before. A cache of one thread has the reported
     * size even when the curve ends early: the curve was disturbed. Other programs take a part of
     * the last cache: the smaller the set, the fewer of its lines they evict. */
    const double lo = fmax(r->lo, 1.5 * below);
    const bool as_reported = os > 0.0 && r->knee > 0.67 * os;
    const double hi = as_reported ? fmin(r->hi, 0.9 * os) : r->hi;
    const double third = as_reported || own ? 0.65 * os : fmin(3.0 * below, 0.8 * hi);
    const double sets[CARM_LEVEL_SETS] = {0.5 * hi, 0.8 * hi, third};
    for (size_t i = 0; i < CARM_LEVEL_SETS; i++) {
        if (sets[i] >= lo) {
            l->sets[l->nsets++] = (uint64_t)(sets[i] / threads);
        }
    }
    if (l->nsets == 0) {
        /* a range borrowed from fewer threads begins below the caches of more threads */
        const double begin = fmax(r->lo, fmin(below, r->hi));
        l->sets[l->nsets++] = (uint64_t)(sqrt(begin * r->hi) / threads);
    }
}

/* Writes the note of a level. reach: bytes of the last cache; share: memory_share; planned:
 * largest set of the curve, if time had sufficed */
static void describe(struct carm_build_level *l, bool dram, double largest, double reach,
                     double share, double planned)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char b[CARM_TEXT_NUMBER_MAX];
    if (!l->range.resolved) {
        const double least = dram ? 2.0 * reach : (double)l->os_size_bytes;
        if (largest < least && largest < 0.5 * planned) {
            snprintf(l->note, sizeof l->note,
                     "the time for the curve was over %s %s: give more with --budget",
                     largest > 0.0 ? "at" : "before",
                     largest > 0.0 ? carm_text_bytes(a, sizeof a, (uint64_t)largest)
                                   : "its first point");
        } else if (dram && largest < 2.0 * reach) {
            snprintf(l->note, sizeof l->note,
                     "the working set ended at %s, the memory limit: give --memory %lluM or "
                     "more to leave the last cache",
                     carm_text_bytes(a, sizeof a, (uint64_t)largest),
                     (unsigned long long)(4.0 * reach * share / (double)MIB) + 1);
        } else {
            snprintf(l->note, sizeof l->note, "the curve has no plateau of its own here");
        }
        return;
    }
    const double os = (double)l->os_size_bytes;
    const double knee = (double)l->knee_bytes;
    if (!dram && knee > 0.0 && os > 0.0 && (knee < 0.67 * os || knee > 1.5 * os)) {
        snprintf(l->note, sizeof l->note,
                 "the OS reports %s, the curve leaves the plateau at %s: the roof is the "
                 "plateau's",
                 carm_text_bytes(a, sizeof a, l->os_size_bytes),
                 carm_text_bytes(b, sizeof b, l->knee_bytes));
    }
}

/* Borrows the range of a cache from fewer threads. A recalled level (recall_levels) has a working set and no range. */
static void borrow(const struct carm_topo *topo, int threads, size_t level,
                   const struct carm_build_levels *fewer, struct carm_build_level *l)
{
    if (!fewer || level + 1 >= fewer->n || level >= topo->ncaches ||
        !(fewer->levels[level].range.hi > 0.0)) {
        return;
    }
    const double scale = (double)carm_build_instances(topo, level, threads) /
                         carm_build_instances(topo, level, fewer->threads);
    l->range = fewer->levels[level].range;
    l->range.lo *= scale;
    l->range.hi *= scale;
    l->range.knee *= scale;
    l->borrowed = true;
}

void carm_build_find_levels(const struct carm_build *build, int threads,
                            const struct carm_curve *curve, const double *clocks,
                            const struct carm_build_levels *fewer, struct carm_build_levels *out)
{
    double x[CARM_CURVE_POINTS_MAX];
    double bandwidth[CARM_CURVE_POINTS_MAX];
    double sizes[CARM_LEVELS_MAX] = {0.0};
    struct carm_level_range ranges[CARM_LEVELS_MAX];
    const size_t n = curve->npoints;
    for (size_t i = 0; i < n; i++) {
        x[i] = curve->points[i].x;
        bandwidth[i] = curve->points[i].value;
    }
    memset(out, 0, sizeof *out);
    out->threads = threads;
    os_sizes(build->topo, threads, sizes);
    size_t caches = build->topo->ncaches;
    const bool known = caches > 0;
    if (clocks && n > 0) { /* up to the second cache: B/cycle times a common clock */
        double sorted[CARM_CURVE_POINTS_MAX];
        memcpy(sorted, clocks, n * sizeof *sorted);
        const double usual = carm_stats_median(sorted, n);
        for (size_t i = 0; i < n && caches > 1 && x[i] <= sizes[1]; i++) {
            bandwidth[i] *= usual / clocks[i];
        }
    }
    if (!known) { /* the OS reports no cache: every plateau except the last is a cache */
        struct carm_plateau p[CARM_LEVELS_MAX];
        size_t found = carm_levels_plateaus(x, bandwidth, n, p, CARM_LEVELS_MAX);
        for (; caches + 1 < found; caches++) {
            sizes[caches] = x[p[caches].last];
        }
    }
    size_t hidden;
    assert(caches < CARM_LEVELS_MAX);
    carm_levels_match(x, bandwidth, n, sizes, caches, ranges, &hidden);
    const double largest = n ? x[n - 1] : 0.0;
    const double reach = caches ? sizes[caches - 1] : 0.0;
    double below = 0.0;
    out->n = caches + 1;
    for (size_t i = 0; i <= caches; i++) {
        struct carm_build_level *l = &out->levels[i];
        const bool dram = i == caches;
        l->range = ranges[i];
        if (!l->range.resolved && !dram) {
            borrow(build->topo, threads, i, fewer, l);
        }
        l->os_size_bytes = dram || !known ? 0 : build->topo->caches[i].size_bytes;
        /* the curve counts the sets of all threads, which reach sizes / os_size_bytes instances */
        const double instances =
            l->os_size_bytes ? fmax(1.0, sizes[i] / (double)l->os_size_bytes) : 1.0;
        l->knee_bytes = (uint64_t)(l->range.knee / instances);
        if (dram) {
            snprintf(l->name, sizeof l->name, "DRAM");
        } else {
            snprintf(l->name, sizeof l->name, "L%d",
                     known ? build->topo->caches[i].level : (int)i + 1);
        }
        if (carm_level_list_has(&build->config->levels, l->name)) {
            choose_sets(l, below, dram ? 0.0 : sizes[i], dram,
                        known && carm_build_is_private(build->topo, i, threads), largest, threads);
            describe(l, dram, largest, reach, memory_share(build->config),
                     (double)carm_build_curve_end(build, threads));
        } else if (!l->range.resolved) {
            snprintf(l->note, sizeof l->note, "not asked for (--levels)");
        }
        if (l->range.resolved && !dram) {
            below = l->range.hi;
        }
    }
    if (hidden && out->n > 1 && out->levels[out->n - 1].range.resolved) {
        struct carm_build_level *l = &out->levels[out->n - 2];
        snprintf(l->note, sizeof l->note,
                 "the curve has %zu more plateau%s before memory that no reported cache "
                 "explains",
                 hidden, hidden == 1 ? "" : "s");
    }
}

/* Bytes of a level's caches that `threads` threads reach, by the OS; 0 = unknown. */
static double reach_of(const struct carm_build *build, const struct carm_build_level *l, size_t i,
                       int threads)
{
    return (double)l->os_size_bytes * carm_build_instances(build->topo, i, threads);
}

/* The median bandwidth of the curve's points between two working sets; 0 = there is none. */
static double median_between(const struct carm_curve *curve, double lo, double hi)
{
    double values[CARM_CURVE_POINTS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < curve->npoints && n < CARM_CURVE_POINTS_MAX; i++) {
        if (curve->points[i].x > lo && curve->points[i].x <= hi) {
            values[n++] = curve->points[i].value;
        }
    }
    return n ? carm_stats_median(values, n) : 0.0;
}

void carm_build_assume_levels(const struct carm_build *build, const struct carm_curve *curve,
                              struct carm_build_levels *levels)
{
    double below = 0.0;
    for (size_t i = 0; i < build->topo->ncaches; i++) {
        struct carm_build_level *l = &levels->levels[i];
        const double os = reach_of(build, l, i, levels->threads);
        const double inside = median_between(curve, below, 0.8 * os);
        const double outside = median_between(curve, 1.25 * os, 4.0 * os);
        if (!l->range.resolved && carm_level_list_has(&build->config->levels, l->name) &&
            carm_build_is_private(build->topo, i, levels->threads) && outside > 0.0 &&
            inside > step_least * outside) {
            l->range = (struct carm_level_range){true, fmax(curve->points[0].x, 2.0 * below),
                                                 0.8 * os, os, inside};
            choose_sets(l, below, os, false, true, 0.0, levels->threads);
            snprintf(l->note, sizeof l->note,
                     "the curve has a step but no even plateau here: the size that the OS reports "
                     "is used");
        }
        below = os;
    }
}

/* No cache is larger than reported: points beyond the reported size were disturbed, or hit other caches. */
static bool is_late(const struct carm_build_level *l, double os)
{
    return os > 0.0 && l->range.knee > CARM_LATE_KNEE * os;
}

int carm_build_doubt_late(const struct carm_build_sweep *sweep,
                          const struct carm_build_levels *fewer, struct carm_build_levels *levels,
                          struct carm_err *err)
{
    const struct carm_build *build = sweep->set->build;
    struct carm_curve curve = {.points = NULL};
    struct carm_build_levels best = {.n = 0};
    double clocks[CARM_CURVE_POINTS_MAX];
    for (size_t i = 0; i < build->topo->ncaches; i++) {
        const double os = reach_of(build, &levels->levels[i], i, levels->threads);
        if (!is_late(&levels->levels[i], os)) {
            continue;
        }
        const int rc = best.n ? 0 : carm_build_sweep_curve(sweep, true, &curve, clocks, err);
        if (rc) {
            free(curve.points);
            return rc;
        }
        carm_build_find_levels(build, levels->threads, &curve, clocks, fewer, &best);
        if (best.levels[i].range.resolved && !is_late(&best.levels[i], os)) {
            levels->levels[i] = best.levels[i];
        }
    }
    free(curve.points);
    return 0;
}

bool carm_build_doubts_levels(const struct carm_build *build,
                              const struct carm_build_levels *levels, double *lo, double *hi)
{
    bool found = false;
    double above = 0.0;
    for (size_t i = 0; i < build->topo->ncaches; i++) {
        const struct carm_build_level *l = &levels->levels[i];
        const double os = reach_of(build, l, i, levels->threads);
        const bool early = carm_build_is_private(build->topo, i, levels->threads) &&
                           l->knee_bytes > 0 &&
                           (double)l->knee_bytes < 0.6 * (double)l->os_size_bytes;
        const bool late = is_late(l, os);
        if (carm_level_list_has(&build->config->levels, l->name) &&
            (!l->range.resolved || early || late)) {
            *lo = found ? *lo : 0.5 * above;
            *hi = late ? 2.0 * l->range.knee : os > 0.0 ? 2.0 * os : INFINITY;
            found = true;
        }
        above = os;
    }
    return found;
}
