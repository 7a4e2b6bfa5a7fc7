/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm/image.h"
#include "harness/machine/stats.h"
#include "models/latency.h"
#include "validation/latency/latency.h"
#include "validation/latency/order.h"

#define MIB ((uint64_t)1 << 20)

enum {
    STEPS = 8,        /* rates of the streams */
    REPS = 9,         /* of the chase beside each */
    WINDOW = 1 << 16, /* bytes of a stream between two looks at the time */
    THREADS_MAX = 256,
};

/* Pauses of a stream after each window, in units of the window's time at full speed; INFINITY =
 * no stream. The steps go from 6% to 100% of the streams' rate. */
static const double waits[STEPS] = {INFINITY, 16.0, 8.0, 4.0, 2.0, 1.0, 0.4, 0.0};
static const double chase_seconds = 200e-6; /* of one repetition of the chase: some 2000 loads
                                             * from DRAM */
static const double ramp_seconds = 100e-6;  /* until the streams run */

/* Mixes of the streams: built-in codes, so that no nasm is needed, with vectors of 16 bytes,
 * which every CPU has. */
static const char *const mixes[][2] = {
    {"1:0", "A.sse.dp.1:0.u24"}, {"2:1", "A.sse.dp.2:1.u8"}, {"nt", "A.sse.dp.nt.u24"}};
enum { MIXES = sizeof mixes / sizeof *mixes };

/* One step: streams at one rate beside the chase. */
struct load {
    const struct carm_code *stream;
    const struct carm_chain *chase;
    const uint32_t *sequence;
    size_t lines;
    uint64_t *window;      /* the chase's pointer */
    uint64_t stream_bytes; /* of each stream's buffer */
    double wait;           /* times a window's time */
    _Atomic bool stop;
    double rates[THREADS_MAX]; /* byte/s of each stream */
    double seconds;            /* of one load of the chase */
    struct carm_ci ci95;
    bool disturbed;
};

static void stream(struct carm_worker *w, struct load *l)
{
    const double hz = w->team->clock->tsc_hz;
    const struct carm_account *a = &l->stream->account;
    const uint64_t iterations = WINDOW / a->stride_bytes;
    const uint64_t step = iterations * a->stride_bytes;
    const uint64_t begin = carm_clock_now();
    uint64_t at = 0;
    uint64_t bytes = 0;
    while (!atomic_load_explicit(&l->stop, memory_order_relaxed)) {
        const uint64_t from = carm_clock_now();
        if (!isinf(l->wait)) {
            l->stream->run((char *)w->buffer.start + at, iterations, 1, 0);
            bytes += iterations * (a->load_bytes + a->store_bytes);
            at = at + 2 * step <= l->stream_bytes ? at + step : 0;
        }
        const double took = (double)(carm_clock_now() - from);
        const uint64_t until =
            carm_clock_now() + (uint64_t)(isinf(l->wait) ? 1e-5 * hz : l->wait * took);
        while (carm_clock_now() < until) {
            __asm__ volatile("pause");
        }
    }
    l->rates[w->index] = (double)bytes / ((double)(carm_clock_now() - begin) / hz);
}

static void chase(struct carm_worker *w, struct load *l)
{
    const double hz = w->team->clock->tsc_hz;
    const double units = (double)l->chase->units;
    double seconds[REPS];
    double once = 0.0;
    struct carm_stats s;
    const uint64_t until = carm_clock_now() + (uint64_t)(ramp_seconds * hz);
    while (carm_clock_now() < until) {
        __asm__ volatile("pause");
    }
    carm_latency_cycles(w, l->chase, l->window, 8, 0, &once);
    const uint64_t n = 1 + (uint64_t)(chase_seconds / fmax(once / 8.0, 1e-9));
    for (size_t i = 0; i < REPS; i++) {
        carm_latency_cycles(w, l->chase, l->window, n, 0, &seconds[i]);
        seconds[i] /= units * (double)n;
    }
    atomic_store_explicit(&l->stop, true, memory_order_relaxed);
    carm_stats_describe(seconds, REPS, &s);
    l->seconds = s.median;
    l->ci95 = (struct carm_ci){s.ci_lo, s.ci_hi};
    l->disturbed = s.p95 > 1.5 * s.median;
}

static void load_job(struct carm_worker *w, void *arg)
{
    if (w->index == 0) {
        chase(w, arg);
    } else {
        stream(w, arg);
    }
}

static void layout_job(struct carm_worker *w, void *arg)
{
    struct load *l = arg;
    if (w->index == 0) {
        carm_chase_order((uint32_t *)(uintptr_t)l->sequence, CARM_LATENCY_RANDOM, 2 * MIB,
                         l->lines * CARM_LINE_BYTES, SIZE_MAX, 1);
        carm_chase_link(w->buffer.start, l->sequence, l->lines);
    }
}

static int by_bandwidth(const void *a, const void *b)
{
    const double left = ((const struct carm_loaded_point *)a)->bandwidth;
    const double right = ((const struct carm_loaded_point *)b)->bandwidth;
    return (left > right) - (left < right);
}

/* Measures the curve of one mix. */
static int measure_mix(struct carm_latency_run *run, struct carm_team *team, struct load *l,
                       const char *mix, struct carm_err *err)
{
    struct carm_loaded *out = &run->model->loaded[run->model->nloaded];
    out->points = calloc(STEPS, sizeof *out->points);
    if (!out->points) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    run->model->nloaded++;
    (void)snprintf(out->ldst, sizeof out->ldst, "%s", mix);
    out->threads = team->n;
    out->page_bytes = carm_buffer_page_bytes(&team->workers[0].buffer);
    for (size_t i = 0; i < STEPS && !carm_team_is_over(team); i++) {
        l->wait = waits[i];
        atomic_store(&l->stop, false);
        carm_team_run(team, load_job, l);
        double sum = CARM_LINE_BYTES / l->seconds;
        for (int t = 1; t < team->n; t++) {
            sum += l->rates[t];
        }
        out->points[out->npoints++] =
            (struct carm_loaded_point){sum, l->seconds, l->ci95, l->disturbed};
    }
    if (out->npoints == 0) { /* ended by the deadline */
        free(out->points);
        *out = (struct carm_loaded){0};
        run->model->nloaded--;
        return carm_observer_check(run->host->observer, err);
    }
    qsort(out->points, out->npoints, sizeof *out->points, by_bandwidth);
    return carm_observer_check(run->host->observer, err);
}

/* Chooses the number of threads, and the bytes of the chase and of each stream. returns false
 * with too little memory, or one core */
static bool choose(const struct carm_latency_run *run, int *threads, uint64_t *chase_bytes,
                   uint64_t *stream_bytes)
{
    const struct carm_topo *t = run->host->topo;
    const uint64_t cache = t->ncaches ? t->caches[t->ncaches - 1].size_bytes : MIB;
    const uint64_t most =
        run->options.memory_bytes ? run->options.memory_bytes : carm_memory_available() / 4;
    const int cores = carm_topo_cores(t);
    *threads = cores < THREADS_MAX ? cores : THREADS_MAX;
    const uint64_t want = 4 * cache, least = 128 * MIB;
    *chase_bytes = want > least ? want : least;
    *stream_bytes =
        2 * cache / (uint64_t)(*threads > 1 ? *threads - 1 : 1) / (2 * MIB) * 2 * MIB + 2 * MIB;
    return *threads > 1 &&
           *chase_bytes + *stream_bytes * (uint64_t)(*threads - 1) + *chase_bytes / 16 <= most;
}

int carm_latency_loaded(struct carm_latency_run *run, struct carm_err *err)
{
    struct load l = {.chase = carm_chain_image_find(run->image, "P.k1")};
    struct carm_code_spec specs[MIXES];
    struct carm_image *image = NULL;
    struct carm_team *team = NULL;
    size_t bytes[THREADS_MAX];
    uint64_t chase_bytes = 0;
    int threads = 0;
    uint32_t *sequence = NULL;
    if (!choose(run, &threads, &chase_bytes, &l.stream_bytes) ||
        !carm_latency_has_time(run, chase_bytes / CARM_LINE_BYTES)) {
        return 0;
    }
    for (int i = 0; i < threads; i++) {
        bytes[i] = i ? l.stream_bytes : chase_bytes;
    }
    l.lines = chase_bytes / CARM_LINE_BYTES;
    sequence = malloc(l.lines * sizeof *sequence);
    l.sequence = sequence;
    l.window = aligned_alloc(4096, CARM_CHAIN_WINDOW_BYTES);
    run->model->loaded = calloc(MIXES, sizeof *run->model->loaded);
    int rc = sequence && l.window && run->model->loaded
                 ? 0
                 : carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    for (size_t i = 0; i < MIXES && !rc; i++) {
        rc = carm_code_parse(mixes[i][1], &specs[i], err);
    }
    rc = rc ? rc : carm_image_open(&image, specs, MIXES, err);
    rc = rc ? rc
            : carm_team_open_sized(&team, run->host->topo, &run->host->clock, threads, bytes, 64,
                                   err);
    if (!rc) {
        team->deadline = run->team->deadline;
    }
    if (!rc && carm_team_touch(team, chase_bytes > l.stream_bytes ? chase_bytes : l.stream_bytes)) {
        carm_team_run(team, layout_job, &l);
        l.window[0] = (uint64_t)(uintptr_t)team->workers[0].buffer.start +
                      (uint64_t)sequence[0] * CARM_LINE_BYTES;
    }
    for (size_t i = 0; i < MIXES && !rc; i++) {
        l.stream = &image->codes[i];
        rc = measure_mix(run, team, &l, mixes[i][0], err);
    }
    carm_team_close(team);
    carm_image_close(image);
    free(sequence);
    free(l.window);
    return rc;
}
