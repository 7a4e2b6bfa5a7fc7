/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fft/transform.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Up to WHOLE_N_MAX, one plan for the whole cube is tried: measuring larger plans takes too long. */
enum { WHOLE_N_MAX = 256, TRIES = 3 };

int carm_fft_passes(enum carm_fft_version version, size_t n, double cache_bytes)
{
    const double plane = (double)n * (double)n * sizeof(carm_fftw_complex);
    return version == CARM_FFT_OPTIMISED && plane <= cache_bytes ? 2 : 3;
}

double carm_fft_operations(size_t n)
{
    return 5.0 * pow((double)n, 3.0) * 3.0 * log2((double)n);
}

double carm_fft_bytes(size_t n, int passes)
{
    return 2.0 * sizeof(carm_fftw_complex) * pow((double)n, 3.0) * passes;
}

struct job {
    const struct carm_fft *f;
    pthread_barrier_t *planes;
};

static void run_job(struct carm_worker *w, void *arg)
{
    const struct job *job = arg;
    const struct carm_fft *f = job->f;
    carm_fft_in_planes(&f->fftw, &f->cube, w->index, w->team->n);
    pthread_barrier_wait(job->planes);
    carm_fft_across(&f->fftw, &f->cube, w->index, w->team->n);
}

/* Whether the data must be filled in again before they overflow: two transforms multiply them by N. */
static bool too_large(const struct carm_fft *f)
{
    const double doublings = 3.0 * log2((double)f->cube.n); /* of two runs */
    return (f->runs / 2.0 + 1.0) * doublings > 900.0;
}

/* Threads of FFTW would inherit a worker's pinning: with several threads, the calling thread calls FFTW. */
static bool by_fftw_threads(const struct carm_fft *f)
{
    return f->cube.way == CARM_FFT_WHOLE && f->threads > 1;
}

static int run(struct carm_dwarf_case *base, struct carm_team *team, struct carm_err *err)
{
    struct carm_fft *f = (struct carm_fft *)base;
    pthread_barrier_t planes;
    struct job job = {f, &planes};
    if (too_large(f)) {
        carm_fft_fill(f, team);
    }
    f->runs++;
    if (by_fftw_threads(f)) {
        carm_fft_in_planes(&f->fftw, &f->cube, 0, 1);
        return 0;
    }
    if (pthread_barrier_init(&planes, NULL, (unsigned)team->n) != 0) {
        return carm_fail(err, CARM_EIO, "cannot make a barrier for %d threads", team->n);
    }
    carm_team_run(team, run_job, &job);
    pthread_barrier_destroy(&planes);
    return 0;
}

static void close_case(struct carm_dwarf_case *base)
{
    struct carm_fft *f = (struct carm_fft *)base;
    if (!f) {
        return;
    }
    carm_fft_unplan(&f->fftw, &f->cube);
    carm_fftw_close(&f->fftw);
    carm_buffer_close(&f->cube.data);
    free(f->roots);
    free(f);
}

static const struct carm_dwarf_ops ops = {
    .run = run,
    .check = carm_fft_check,
    .count = carm_fft_count,
    .trace = NULL,
    .close = close_case,
};

static double best_seconds(struct carm_fft *f, struct carm_team *team, struct carm_err *err)
{
    double best = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t begin = carm_clock_now();
        if (run(&f->base, team, err)) {
            return INFINITY;
        }
        const double ticks = (double)(carm_clock_now() - begin);
        best = ticks < best ? ticks : best;
    }
    return best / team->clock->tsc_hz;
}

/* Whether FFTW can have as many threads as the team, each on a processor. */
static bool can_be_whole(const struct carm_fft *f)
{
    cpu_set_t set;
    if (f->cube.n > WHOLE_N_MAX) {
        return false;
    }
    if (f->threads == 1) {
        return true;
    }
    return f->fftw.threads && sched_getaffinity(0, sizeof set, &set) == 0 &&
           CPU_COUNT(&set) >= f->threads;
}

/* Times both ways, and plans the faster one again, which FFTW does from its memory (wisdom). */
static int plan_faster(struct carm_fft *f, struct carm_team *team, double seconds,
                       struct carm_err *err)
{
    const double share = can_be_whole(f) ? seconds / 2.0 : seconds;
    int rc = carm_fft_plan(&f->fftw, &f->cube, CARM_FFT_PLANES, 1, share, err);
    if (rc || !can_be_whole(f)) {
        return rc;
    }
    carm_fft_fill(f, team);
    const double planes = best_seconds(f, team, err);
    if (carm_fft_plan(&f->fftw, &f->cube, CARM_FFT_WHOLE, f->threads, share, NULL) == 0) {
        carm_fft_fill(f, team);
        if (best_seconds(f, team, err) < planes) {
            return 0;
        }
    }
    return carm_fft_plan(&f->fftw, &f->cube, CARM_FFT_PLANES, 1, share, err);
}

static int make_roots(struct carm_fft *f, struct carm_err *err)
{
    static const double pi = 3.14159265358979323846;
    const size_t n = f->cube.n;
    f->roots = calloc(n, sizeof *f->roots);
    if (!f->roots) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for 3-D FFT");
    }
    for (size_t j = 0; j < n; j++) {
        const double angle = 2.0 * pi * (double)j / (double)n;
        f->roots[j][0] = cos(angle);
        f->roots[j][1] = sin(angle);
    }
    return 0;
}

static int open_cube(struct carm_fft *f, const struct carm_fft_params *p, struct carm_err *err)
{
    const double bytes = carm_fft_cube_bytes(&f->cube);
    int rc = carm_dwarf_fits("3-D FFT", bytes, err);
    rc = rc ? rc : carm_fftw_open(&f->fftw, err);
    rc = rc ? rc : make_roots(f, err);
    rc = rc ? rc : carm_buffer_open(&f->cube.data, (size_t)bytes, err);
    if (rc) {
        return rc;
    }
    f->base.bytes = (uint64_t)bytes;
    carm_fft_fill(f, p->team); /* places each thread's pages; planning overwrites the data */
    rc = p->version == CARM_FFT_PLAIN
             ? carm_fft_plan(&f->fftw, &f->cube, CARM_FFT_LINES, 1, 0.0, err)
             : plan_faster(f, p->team, p->planning_seconds > 0.0 ? p->planning_seconds : 4.0, err);
    carm_fft_fill(f, p->team);
    return rc;
}

int carm_fft_open(struct carm_dwarf_case **out, const struct carm_fft_params *p,
                  struct carm_err *err)
{
    if (p->n < 1 || p->n > CARM_FFT_N_MAX) {
        return carm_fail(err, CARM_EINVAL, "3-D FFT takes n from 1 to %d, not %zu", CARM_FFT_N_MAX,
                         p->n);
    }
    struct carm_fft *f = calloc(1, sizeof *f);
    if (!f) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for 3-D FFT");
    }
    f->version = p->version;
    f->threads = p->team->n;
    carm_fft_layout(&f->cube, p->n, p->version == CARM_FFT_OPTIMISED);
    int rc = open_cube(f, p, err);
    if (rc) {
        close_case(&f->base);
        return rc;
    }
    const int passes = carm_fft_passes(p->version, p->n, p->cache_bytes);
    f->base.ops = &ops;
    f->base.version = p->version == CARM_FFT_PLAIN ? "plain" : "optimised";
    snprintf(f->base.size, sizeof f->base.size, "%zu^3", p->n);
    f->base.work.metric = "flop";
    f->base.work.operations = carm_fft_operations(p->n);
    f->base.work.compulsory_bytes = carm_fft_bytes(p->n, passes);
    *out = &f->base;
    return 0;
}
