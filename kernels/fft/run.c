/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One transform by the threads of a team. */
#include <math.h>

#include "kernels/fft/transform.h"

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

/* Two transforms multiply the data by N: before they overflow they are filled in again. */
static bool too_large(const struct carm_fft *f)
{
    const double doublings = 3.0 * log2((double)f->cube.n); /* of two runs */
    return (f->runs / 2.0 + 1.0) * doublings > 900.0;
}

/* FFTW's own threads would inherit a worker's pinning: it is called from here, where there are any. */
static bool by_fftw_threads(const struct carm_fft *f)
{
    return f->cube.way == CARM_FFT_WHOLE && f->threads > 1;
}

int carm_fft_run(struct carm_dwarf_case *base, struct carm_team *team, struct carm_err *err)
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
