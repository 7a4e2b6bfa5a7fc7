/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/looks.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "harness/machine/clock.h"
#include "harness/machine/probe.h"
#include "harness/machine/stats.h"

enum {
    PROBES = 5,      /* probes of one look; an interrupted probe does not count */
    IMUL_CYCLES = 3, /* latency of imul on every known core (carm_clock_ratio) */
    FEWEST = 3,
};

static uint64_t raw_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

void carm_looks_begin(struct carm_looks *looks)
{
    *looks = (struct carm_looks){.every = 1, .tsc = carm_clock_now(), .ns = raw_ns()};
}

static void drop_half(struct carm_looks *looks)
{
    looks->n = CARM_LOOKS_MAX / 2;
    for (size_t i = 0; i < looks->n; i++) {
        looks->of[i] = looks->of[2 * i];
    }
    looks->every += looks->every;
}

void carm_looks_take(struct carm_looks *looks, int cpu)
{
    cpu_set_t before, there;
    double clocks[PROBES], widths[PROBES];
    if (++looks->turn < looks->every || cpu < 0 || cpu >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof before, &before) != 0) {
        return;
    }
    CPU_ZERO(&there);
    CPU_SET((size_t)cpu, &there);
    if (sched_setaffinity(0, sizeof there, &there) != 0) {
        return;
    }
    looks->turn = 0;
    looks->overhead = looks->overhead > 0.0 ? looks->overhead : carm_clock_overhead();
    for (size_t i = 0; i < PROBES; i++) {
        clocks[i] = carm_clock_ratio(looks->overhead, IMUL_CYCLES);
        widths[i] = carm_probe_width(looks->overhead) / clocks[i];
    }
    (void)sched_setaffinity(0, sizeof before, &before);
    if (looks->n == CARM_LOOKS_MAX) {
        drop_half(looks);
    }
    looks->of[looks->n++] =
        (struct carm_look){carm_stats_median(clocks, PROBES), carm_stats_median(widths, PROBES)};
}

void carm_looks_end(struct carm_looks *looks)
{
    const double seconds = 1e-9 * (double)(raw_ns() - looks->ns);
    const double hz = (double)(carm_clock_now() - looks->tsc) / seconds;
    for (size_t i = 0; i < looks->n; i++) {
        looks->of[i].clock *= hz;
    }
}

bool carm_looks_sum(const struct carm_looks *looks, double full, struct carm_looks_sum *out)
{
    double clocks[CARM_LOOKS_MAX];
    const size_t n = looks->n;
    size_t shared = 0;
    memset(out, 0, sizeof *out);
    if (n < FEWEST) {
        return false;
    }
    double widest = 0.0;
    for (size_t i = 0; i < n; i++) {
        widest = fmax(widest, looks->of[i].width);
    }
    full = full > 0.0 ? full : widest;
    for (size_t i = 0; i < n; i++) {
        clocks[i] = looks->of[i].clock;
        shared += looks->of[i].width < CARM_WIDTH_OWN * full ? 1 : 0;
    }
    gsl_sort(clocks, 1, n);
    *out =
        (struct carm_looks_sum){.clock_hz = gsl_stats_median_from_sorted_data(clocks, 1, n),
                                .slowest = gsl_stats_quantile_from_sorted_data(clocks, 1, n, 0.1),
                                .fastest = gsl_stats_quantile_from_sorted_data(clocks, 1, n, 0.9),
                                .shared = (double)shared / (double)n};
    return true;
}
