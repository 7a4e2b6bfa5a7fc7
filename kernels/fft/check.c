/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of the 3-D FFT. The data are one point and a few waves, whose transforms are known for
 * every coefficient. The transform of the transform is the data, mirrored, times N. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/fft/transform.h"

struct compared {
    const struct carm_fft *f;
    carm_fft_row_fn *want;
    pthread_mutex_t lock;
    double worst, largest; /* squares, as all here */
    double error, sum;
};

static void compare_row(struct compared *c, size_t z, size_t y)
{
    carm_fftw_complex want[CARM_FFT_N_MAX];
    const carm_fftw_complex *got = carm_fft_at(&c->f->cube, z, y);
    c->want(c->f, z, y, want);
    for (size_t x = 0; x < c->f->cube.n; x++) {
        const double re = got[x][0] - want[x][0];
        const double im = got[x][1] - want[x][1];
        const double error = re * re + im * im;
        const double size = want[x][0] * want[x][0] + want[x][1] * want[x][1];
        c->worst = error <= c->worst ? c->worst : error; /* takes a NaN, too */
        c->largest = size <= c->largest ? c->largest : size;
        c->error += error;
        c->sum += size;
    }
}

static void compare_job(struct carm_worker *w, void *arg)
{
    struct compared *all = arg;
    const size_t n = all->f->cube.n;
    struct compared own = {.f = all->f, .want = all->want};
    const size_t last = carm_fft_share(n, w->index + 1, w->team->n);
    for (size_t z = carm_fft_share(n, w->index, w->team->n); z < last; z++) {
        for (size_t y = 0; y < n; y++) {
            compare_row(&own, z, y);
        }
    }
    pthread_mutex_lock(&all->lock);
    all->worst = own.worst <= all->worst ? all->worst : own.worst;
    all->largest = fmax(all->largest, own.largest);
    all->error += own.error;
    all->sum += own.sum;
    pthread_mutex_unlock(&all->lock);
}

/* One more run, then every coefficient.
 * error  in: the largest so far; out: including this one's */
static int compare(struct carm_fft *f, struct carm_team *team, carm_fft_row_fn *want, int runs,
                   double *error, struct carm_err *err)
{
    /* FFTW's accuracy: errors of a small multiple of eps sqrt(log N) in the root mean square
     * source: fftw.org/accuracy, and Schatzman, SIAM J. Sci. Comput. 17 (1996) */
    const double doublings = 3.0 * log2((double)f->cube.n);
    const double tolerance = 2.0 * DBL_EPSILON * sqrt(1.0 + doublings) * runs;
    struct compared c = {.f = f, .want = want, .lock = PTHREAD_MUTEX_INITIALIZER};
    int rc = carm_fft_run(&f->base, team, err);
    if (rc) {
        return rc;
    }
    carm_team_run(team, compare_job, &c);
    *error = fmax(*error, sqrt(c.worst / c.largest));
    if (!(sqrt(c.error / c.sum) <= tolerance)) {
        return carm_fail(err, CARM_EFORMAT,
                         "3-D FFT (%s) of %s is wrong by %.3g (root mean square) after %d "
                         "transforms; FFTW's accuracy is %.3g",
                         f->base.ops->version, f->base.size, sqrt(c.error / c.sum), runs,
                         tolerance);
    }
    return 0;
}

int carm_fft_check(struct carm_dwarf_case *base, struct carm_team *team, double *error, char by[96],
                   struct carm_err *err)
{
    struct carm_fft *f = (struct carm_fft *)base;
    snprintf(by, 96, "transform of a point and %d waves; its transform, mirrored", CARM_FFT_WAVES);
    *error = 0.0;
    carm_fft_fill(f, team);
    int rc = compare(f, team, carm_fft_transform_row, 1, error, err);
    rc = rc ? rc : compare(f, team, carm_fft_mirrored_row, 2, error, err);
    carm_fft_fill(f, team);
    return rc;
}
