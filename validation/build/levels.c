/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/build/levels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "validation/build/points.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static const double target_near = 5e-6;
static const double target_far = 10e-6; /* beyond the last cache, see validation/build/roofs.c */

/* What the threads reach of each cache together. */
static size_t os_sizes(const struct carm_topo *topo, int threads, double sizes[CARM_LEVELS_MAX])
{
    size_t n = topo->ncaches < CARM_LEVELS_MAX - 1 ? topo->ncaches : CARM_LEVELS_MAX - 1;
    for (size_t i = 0; i < n; i++) {
        int instances = 0;
        int sharers = 0;
        carm_topo_cache_share(topo, topo->caches[i].level, threads, &instances, &sharers);
        sizes[i] = (double)topo->caches[i].size_bytes * (instances > 0 ? instances : 1);
    }
    return n;
}

/* The last cache that matters: of all, or of the levels asked for. 0 = the OS reports none. */
static double last_cache(const struct carm_build *build, int threads, bool *dram)
{
    double sizes[CARM_LEVELS_MAX] = {0.0};
    size_t n = os_sizes(build->topo, threads, sizes);
    double last = 0.0;
    *dram = carm_level_list_has(&build->config->levels, "DRAM");
    for (size_t i = 0; i < n; i++) {
        char name[8];
        snprintf(name, sizeof name, "L%d", build->topo->caches[i].level);
        if (*dram || carm_level_list_has(&build->config->levels, name)) {
            last = sizes[i] > 0.0 ? sizes[i] : last;
        }
    }
    return last;
}

uint64_t carm_build_curve_end(const struct carm_build *build, int threads)
{
    bool dram = false;
    double last = last_cache(build, threads, &dram);
    /* memory: eight times the last cache and more, so that next to nothing of the set can stay in
     * it (the sweep ends before, once memory's plateau is plain); a cache: past its size, so that
     * its knee is seen */
    double end = dram ? fmax(8.0 * last, 1024.0 * (double)MIB) : 2.5 * last;
    if (last == 0.0) {
        end = (double)(1024 * MIB);
    }
    return (uint64_t)fmin(end, (double)build->config->memory_bytes);
}

double carm_build_curve_seconds(const struct carm_build *build, int threads)
{
    double octaves =
        log2((double)carm_build_curve_end(build, threads) / (2.0 * (double)KIB) / threads);
    return octaves * build->config->curve_steps * (double)build->config->reps *
           (target_near + 3e-6);
}

/* Whether the last octave and a third is flat, past twice the last cache: memory's plateau. */
static bool at_the_end(const struct carm_curve *curve, double last_cache_bytes, int steps)
{
    const size_t need = (size_t)steps + 2;
    const size_t n = curve->npoints;
    if (n < need || curve->points[n - 1].x < fmax(2.0 * last_cache_bytes, 64.0 * (double)MIB)) {
        return false;
    }
    double lo = INFINITY;
    double hi = 0.0;
    for (size_t i = n - need; i < n; i++) {
        lo = fmin(lo, curve->points[i].value);
        hi = fmax(hi, curve->points[i].value);
    }
    return hi < 1.07 * lo;
}

int carm_build_curve(const struct carm_build *build, struct carm_team *team,
                     const struct carm_code *code, struct carm_budget *budget,
                     struct carm_curve *curve, double *clocks, struct carm_err *err)
{
    bool dram = false;
    const double last = last_cache(build, team->n, &dram);
    const double end = (double)carm_build_curve_end(build, team->n);
    const int steps = build->config->curve_steps;
    const double first = 2048.0 * team->n;
    const double per_point = carm_build_curve_seconds(build, team->n) / (log2(end / first) * steps);
    const int points = (int)floor(log2(end * 1.001 / first) * steps) + 1;
    for (int i = 0; i < points && curve->npoints < CARM_CURVE_POINTS_MAX; i++) {
        const double x = first * pow(2.0, (double)i / steps);
        int rc = carm_observer_check(build->observer, err);
        if (rc) {
            return rc;
        }
        char size[CARM_TEXT_NUMBER_MAX];
        carm_observer_step(build->observer, "%d thread%s: curve at %s", team->n,
                           team->n == 1 ? "" : "s",
                           carm_text_bytes(size, sizeof size, (uint64_t)x));
        struct carm_shape shape;
        struct carm_measurement m;
        carm_measure_shape(team, code, (uint64_t)(x / team->n),
                           last > 0.0 && x > last ? target_far : target_near, &shape);
        carm_measure_run(team, code, &shape, build->config->reps, 0.0, budget, &m);
        double set = (double)(shape.windows * shape.window_bytes) * team->n;
        if (curve->npoints == 0 || set > curve->points[curve->npoints - 1].x) {
            clocks[curve->npoints] = m.clock_hz;
            rc = carm_build_add_curve_point(curve, set, &m, m.bytes, err);
            if (rc) {
                return rc;
            }
        }
        carm_observer_advance(build->observer, per_point);
        if (dram && last > 0.0 && at_the_end(curve, last, steps)) {
            break;
        }
    }
    return 0;
}

/* Working sets of one thread to try for a level's roof. below: where the cache before it ends; os:
 * what the OS reports of this one, all threads together. */
static void choose_sets(struct carm_build_level *l, double below, double os, bool dram,
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
    /* Inside the plateau, clear of the cache before it and of its own end. A cache that is as large
     * as the OS says is tried beyond its plateau, too: some prefetchers wake up only there, and a
     * larger set can never profit from the cache before. */
    const double lo = fmax(r->lo, 1.5 * below);
    const bool as_reported = os > 0.0 && r->knee > 0.67 * os;
    const double hi = as_reported ? fmin(r->hi, 0.9 * os) : r->hi;
    const double sets[CARM_LEVEL_SETS] = {0.5 * hi, 0.8 * hi, as_reported ? 0.65 * os : 0.0};
    for (size_t i = 0; i < CARM_LEVEL_SETS; i++) {
        if (sets[i] >= lo && sets[i] > 0.0) {
            l->sets[l->nsets++] = (uint64_t)(sets[i] / threads);
        }
    }
    if (l->nsets == 0) {
        l->sets[l->nsets++] = (uint64_t)(sqrt(r->lo * r->hi) / threads);
    }
}

/* What the model says of a level beside its numbers. reach: the last cache. */
static void describe(struct carm_build_level *l, bool dram, double largest, double reach)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char b[CARM_TEXT_NUMBER_MAX];
    if (!l->range.resolved) {
        if (dram && largest < 2.0 * reach) {
            snprintf(l->note, sizeof l->note,
                     "the working set ended at %s, the memory limit: give --memory %lluM or "
                     "more to leave the last cache",
                     carm_text_bytes(a, sizeof a, (uint64_t)largest),
                     (unsigned long long)(4.0 * reach / (double)MIB) + 1);
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

/* Takes over the range of a cache from fewer threads. */
static void borrow(const struct carm_topo *topo, int threads, size_t level,
                   const struct carm_build_levels *fewer, struct carm_build_level *l)
{
    int here = 0;
    int there = 0;
    int sharers = 0;
    if (!fewer || level + 1 >= fewer->n || level >= topo->ncaches ||
        !fewer->levels[level].range.resolved) {
        return;
    }
    carm_topo_cache_share(topo, topo->caches[level].level, threads, &here, &sharers);
    carm_topo_cache_share(topo, topo->caches[level].level, fewer->threads, &there, &sharers);
    const double scale = there > 0 ? (double)here / there : 1.0;
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
    size_t caches = os_sizes(build->topo, threads, sizes);
    const bool known = caches > 0;
    if (clocks && n > 0) { /* up to the second cache: B/cycle times one clock for all */
        double sorted[CARM_CURVE_POINTS_MAX];
        memcpy(sorted, clocks, n * sizeof *sorted);
        const double usual = carm_stats_median(sorted, n);
        for (size_t i = 0; i < n && caches > 1 && x[i] <= sizes[1]; i++) {
            bandwidth[i] *= usual / clocks[i];
        }
    }
    if (!known) { /* the OS reports no cache: every plateau but the last is one */
        struct carm_plateau p[CARM_LEVELS_MAX];
        size_t found = carm_levels_plateaus(x, bandwidth, n, p, CARM_LEVELS_MAX);
        for (; caches + 1 < found; caches++) {
            sizes[caches] = x[p[caches].last];
        }
    }
    size_t hidden = 0;
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
            choose_sets(l, below, dram ? 0.0 : sizes[i], dram, largest, threads);
            describe(l, dram, largest, reach);
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

bool carm_build_misses_cache(const struct carm_build *build, const struct carm_build_levels *levels)
{
    for (size_t i = 0; i + 1 < levels->n; i++) {
        const struct carm_build_level *l = &levels->levels[i];
        if (!l->range.resolved && carm_level_list_has(&build->config->levels, l->name)) {
            return true;
        }
    }
    return false;
}
