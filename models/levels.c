/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/levels.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum { POINTS_MAX = 512, PLATEAUS_MAX = 32 };

/* Largest over smallest bandwidth of a plateau. Noise from other users of a shared cache is some
 * percent; the step to the next level is a quarter or more. */
static const double flat = 1.12;
/* smallest ratio of a plateau's largest to smallest working set: nearly an octave */
static const double span_min = 1.9;
/* Neighbouring plateaus with a smaller ratio of bandwidths are one plateau. Half of `flat`. */
static const double same = 1.06;
/* A plateau of the curve ends where the bandwidth is below this share of the plateau's. Chosen by hand. */
static const double left_share = 0.90;
/* A plateau behind the reported caches is a cache of its own from this factor over memory on. Chosen by hand. */
static const double hidden_share = 1.5;

static double median_of(const double *values, size_t n)
{
    double copy[POINTS_MAX];
    memcpy(copy, values, n * sizeof *copy);
    gsl_sort(copy, 1, n);
    return gsl_stats_median_from_sorted_data(copy, 1, n);
}

/* Whether points first..last are flat: all points except one in six are within the factor, both ends too. */
static bool is_flat(const double *b, size_t first, size_t last)
{
    double copy[POINTS_MAX];
    size_t n = last - first + 1;
    memcpy(copy, b + first, n * sizeof *copy);
    gsl_sort(copy, 1, n);
    const size_t strays = n / 6;
    const double low_end = fmin(b[first], b[last]);
    const double high_end = fmax(b[first], b[last]);
    /* strays may be above or below: the tightest n - strays neighbours count */
    for (size_t skip = 0; skip <= strays; skip++) {
        const double lo = copy[skip];
        const double hi = copy[n - 1 - (strays - skip)];
        if (hi <= flat * lo && low_end >= lo && high_end <= hi) {
            return true;
        }
    }
    return false;
}

/* Joins neighbouring plateaus of the same height. */
static size_t merge(const double *b, struct carm_plateau *p, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct carm_plateau *before = kept ? &p[kept - 1] : NULL;
        if (before && p[i].first - before->last <= 3 &&
            fmax(p[i].bandwidth, before->bandwidth) <
                same * fmin(p[i].bandwidth, before->bandwidth)) {
            before->last = p[i].last;
            before->bandwidth = median_of(b + before->first, before->last - before->first + 1);
        } else {
            p[kept++] = p[i];
        }
    }
    return kept;
}

size_t carm_levels_plateaus(const double *x, const double *bandwidth, size_t n,
                            struct carm_plateau *out, size_t max)
{
    /* Among all ways to lay disjoint flat stretches over the curve, the one that covers most octaves
     * with fewest stretches: best[i] is its score for the first i points. */
    double best[POINTS_MAX + 1] = {0.0};
    size_t from[POINTS_MAX + 1]; /* begin of the stretch that ends before i, or i = none */
    const double price = 0.6;    /* octaves that a stretch costs; chosen by hand */
    if (n > POINTS_MAX) {
        n = POINTS_MAX;
    }
    from[0] = 0;
    for (size_t i = 1; i <= n; i++) {
        best[i] = best[i - 1];
        from[i] = i;
        for (size_t k = 0; k + 2 < i; k++) {
            if (x[i - 1] < span_min * x[k] || !is_flat(bandwidth, k, i - 1)) {
                continue;
            }
            double score = best[k] + log2(x[i - 1] / x[k]) - price;
            if (score > best[i]) {
                best[i] = score;
                from[i] = k;
            }
        }
    }
    struct carm_plateau found[PLATEAUS_MAX];
    size_t count = 0;
    for (size_t i = n; i > 0 && count < PLATEAUS_MAX;) {
        if (from[i] == i) {
            i--;
            continue;
        }
        size_t k = from[i];
        found[count++] = (struct carm_plateau){k, i - 1, median_of(bandwidth + k, i - k)};
        i = k;
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct carm_plateau t = found[i];
        found[i] = found[count - 1 - i];
        found[count - 1 - i] = t;
    }
    count = merge(bandwidth, found, count);
    count = count < max ? count : max;
    memcpy(out, found, count * sizeof *out);
    return count;
}

/* Settles memory without a plateau, which other users of the machine changed during the measurement.
 * Where the curve ends at least four times beyond the last cache's knee and twice beyond its
 * reported size, the curve's last octave is memory; four times beyond its reported size, if the last cache has no
 * plateau either. */
static void settle_memory(const double *x, const double *b, size_t n, double os_last,
                          const struct carm_level_range *last_cache,
                          struct carm_level_range *memory)
{
    const double end = x[n - 1];
    const double knee = last_cache->resolved ? last_cache->knee : os_last;
    if (knee <= 0.0 || end < 4.0 * knee || end < 2.0 * os_last) {
        return;
    }
    size_t first = n - 1;
    while (first > 0 && x[first - 1] >= 0.49 * end) {
        first--;
    }
    double bandwidth = median_of(b + first, n - first);
    if (!last_cache->resolved || bandwidth < left_share * last_cache->bandwidth) {
        *memory = (struct carm_level_range){true, x[first], end, 0.0, bandwidth};
    }
}

/* The working set, between two points, at which the curve falls below a plateau for good. */
static double find_knee(const double *x, const double *b, size_t n, const struct carm_plateau *p)
{
    for (size_t i = p->last + 1; i < n; i++) {
        bool below = b[i] < left_share * p->bandwidth;
        if (below && (i + 1 >= n || b[i + 1] < left_share * p->bandwidth)) {
            return sqrt(x[i - 1] * x[i]);
        }
    }
    return 0.0;
}

/* Octaves that a plateau and the interval (lo, hi] share. */
static double overlap(const double *x, const struct carm_plateau *p, double lo, double hi)
{
    double from = fmax(x[p->first], lo);
    double to = fmin(x[p->last], hi);
    return to > from ? log2(to / from) : 0.0;
}

void carm_levels_match(const double *x, const double *bandwidth, size_t n, const double *os_size,
                       size_t ncaches, struct carm_level_range *ranges, size_t *extra)
{
    struct carm_plateau p[PLATEAUS_MAX];
    size_t owner[PLATEAUS_MAX]; /* index of the level that the plateau belongs to */
    size_t count = carm_levels_plateaus(x, bandwidth, n, p, PLATEAUS_MAX);
    memset(ranges, 0, (ncaches + 1) * sizeof *ranges);
    *extra = 0;
    if (count == 0) {
        return;
    }
    /* assigns each plateau to the interval of working sets with the largest overlap; the order is
     * kept */
    size_t lowest = 0;
    for (size_t i = 0; i < count; i++) {
        double most = 0.0;
        owner[i] = lowest;
        for (size_t level = lowest; level <= ncaches; level++) {
            double lo = level == 0 ? 0.5 * x[0] : os_size[level - 1];
            double hi = level == ncaches ? 2.0 * x[n - 1] : os_size[level];
            double shared = overlap(x, &p[i], lo, hi);
            if (shared > most) {
                most = shared;
                owner[i] = level;
            }
        }
        lowest = owner[i];
    }
    /* A plateau at the end of the curve is DRAM's under three conditions. It is the slowest, and
     * it begins beyond the middle of the reported caches (their last size may include parts that
     * belong to others). Another plateau of the last cache precedes it. The curve continues beyond
     * all reported sizes: other users can split the last cache's plateau in two. */
    const size_t last = count - 1;
    if (ncaches > 0 && x[n - 1] >= 2.0 * os_size[ncaches - 1] && owner[last] == ncaches - 1 &&
        last > 0 && owner[last - 1] == ncaches - 1 && p[last].last + 2 >= n &&
        p[last].bandwidth < left_share * p[last - 1].bandwidth) {
        owner[last] = ncaches;
    }
    for (size_t i = 0; i < count; i++) {
        struct carm_level_range *r = &ranges[owner[i]];
        const bool dram = owner[i] == ncaches;
        if (dram && i != last) {
            /* a plateau beyond all reported caches before the last plateau is a hidden cache, if
             * clearly faster; else it is memory, whose plateau the curve approaches slowly */
            *extra += p[i].bandwidth > hidden_share * p[last].bandwidth ? 1 : 0;
            continue;
        }
        if (dram && p[i].last + 2 < n) {
            continue; /* the curve still falls: it did not reach memory's plateau */
        }
        if (!r->resolved || (dram ? true : p[i].bandwidth > r->bandwidth)) {
            /* several plateaus of one cache: the roof is the highest */
            double knee = dram ? 0.0 : find_knee(x, bandwidth, n, &p[i]);
            *r = (struct carm_level_range){true, x[p[i].first], x[p[i].last], knee, p[i].bandwidth};
        }
    }
    if (ncaches > 0 && !ranges[ncaches].resolved) {
        settle_memory(x, bandwidth, n, os_size[ncaches - 1], &ranges[ncaches - 1],
                      &ranges[ncaches]);
    }
    /* levels that cannot be separated are not two levels */
    const struct carm_level_range *above = &ranges[0];
    for (size_t level = 1; level <= ncaches; level++) {
        struct carm_level_range *r = &ranges[level];
        if (r->resolved && above->resolved && r->bandwidth > left_share * above->bandwidth) {
            memset(r, 0, sizeof *r);
        }
        above = r->resolved ? r : above;
    }
}
