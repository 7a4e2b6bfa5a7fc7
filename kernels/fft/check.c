/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of the 3-D FFT. The data are one point and a few waves, whose transforms are known for
 * every coefficient. The transform of the transform is the data, mirrored, times N. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/fft/transform.h"

/* Places (z, y, x) of the point and the waves, before they are taken modulo n. */
static const size_t point[3] = {3, 1, 5};
enum { WAVES = 3 };
static const size_t waves[WAVES][3] = {{1, 2, 0}, {5, 0, 11}, {63, 7, 29}};

/* Amplitude of each wave, 1/sqrt(N): the waves together are as strong as the point's flat transform. */
static double amplitude(size_t n)
{
    return pow((double)n, -1.5);
}

static size_t modulo(size_t a, size_t n)
{
    return n ? a % n : 0; /* n is never 0 */
}

/* Adds factor x exp(+-2 pi i k.(z, y, x) / n). */
static void add_wave(const struct carm_fft *f, const size_t k[3], size_t z, size_t y, double factor,
                     double sign, carm_fftw_complex *out)
{
    const size_t n = f->cube.n;
    const size_t step = modulo(k[2], n);
    size_t turn = modulo(modulo(k[0], n) * z + modulo(k[1], n) * y, n);
    for (size_t x = 0; x < n; x++) {
        out[x][0] += factor * f->roots[turn][0];
        out[x][1] += sign * factor * f->roots[turn][1];
        turn += step;
        turn -= turn >= n ? n : 0;
    }
}

/* Adds a value where (z, y, x) is p. */
static void add_point(const struct carm_fft *f, const size_t p[3], size_t z, size_t y, double value,
                      carm_fftw_complex *out)
{
    const size_t n = f->cube.n;
    if (modulo(p[0], n) == z && modulo(p[1], n) == y) {
        out[modulo(p[2], n)][0] += value;
    }
}

static void data_row(const struct carm_fft *f, size_t z, size_t y, carm_fftw_complex *out)
{
    memset(out, 0, f->cube.n * sizeof *out);
    add_point(f, point, z, y, 1.0, out);
    for (int w = 0; w < WAVES; w++) {
        add_wave(f, waves[w], z, y, amplitude(f->cube.n), 1.0, out);
    }
}

static void transform_row(const struct carm_fft *f, size_t z, size_t y, carm_fftw_complex *out)
{
    const double all = pow((double)f->cube.n, 3.0);
    memset(out, 0, f->cube.n * sizeof *out);
    add_wave(f, point, z, y, 1.0, -1.0, out);
    for (int w = 0; w < WAVES; w++) {
        add_point(f, waves[w], z, y, all * amplitude(f->cube.n), out);
    }
}

/* The transform's transform. */
static void mirrored_row(const struct carm_fft *f, size_t z, size_t y, carm_fftw_complex *out)
{
    const size_t n = f->cube.n;
    const double all = pow((double)n, 3.0);
    carm_fftw_complex row[CARM_FFT_N_MAX];
    data_row(f, z ? n - z : 0, y ? n - y : 0, row);
    for (size_t x = 0; x < n; x++) {
        out[x][0] = all * row[x ? n - x : 0][0];
        out[x][1] = all * row[x ? n - x : 0][1];
    }
}

static void fill_job(struct carm_worker *w, void *arg)
{
    const struct carm_fft *f = arg;
    const size_t last = carm_dwarf_share(f->cube.n, w->index + 1, w->team->n);
    for (size_t z = carm_dwarf_share(f->cube.n, w->index, w->team->n); z < last; z++) {
        for (size_t y = 0; y < f->cube.n; y++) {
            data_row(f, z, y, carm_fft_at(&f->cube, z, y));
        }
    }
}

void carm_fft_fill(struct carm_fft *f, struct carm_team *team)
{
    carm_team_run(team, fill_job, f);
    f->runs = 0;
}

/* One row of the data, of their transform, or of the transform of the transform: [cube.n] points of out. */
typedef void row_fn(const struct carm_fft *f, size_t z, size_t y, carm_fftw_complex *out);

struct compared {
    const struct carm_fft *f;
    row_fn *want;
    pthread_mutex_t lock;
    double worst, largest; /* squares, like all members */
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
        c->worst = error <= c->worst ? c->worst : error; /* a NaN becomes the worst */
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
    const size_t last = carm_dwarf_share(n, w->index + 1, w->team->n);
    for (size_t z = carm_dwarf_share(n, w->index, w->team->n); z < last; z++) {
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

/* Runs the transform once more, and compares every coefficient.
 * error  in: the largest so far; out: with this run's */
static int compare(struct carm_fft *f, struct carm_team *team, row_fn *want, int runs,
                   double *error, struct carm_err *err)
{
    /* FFTW's accuracy: errors of a small multiple of eps sqrt(log N) in the root mean square
     * source: fftw.org/accuracy, and Schatzman, SIAM J. Sci. Comput. 17 (1996) */
    const double doublings = 3.0 * log2((double)f->cube.n);
    const double tolerance = 2.0 * DBL_EPSILON * sqrt(1.0 + doublings) * runs;
    struct compared c = {.f = f, .want = want, .lock = PTHREAD_MUTEX_INITIALIZER};
    int rc = f->base.ops->run(&f->base, team, err);
    if (rc) {
        return rc;
    }
    carm_team_run(team, compare_job, &c);
    *error = fmax(*error, sqrt(c.worst / c.largest));
    if (!(sqrt(c.error / c.sum) <= tolerance)) {
        return carm_fail(err, CARM_EFORMAT,
                         "3-D FFT (%s) of %s is wrong by %.3g (root mean square) after %d "
                         "transforms; FFTW's accuracy is %.3g",
                         f->base.version, f->base.size, sqrt(c.error / c.sum), runs, tolerance);
    }
    return 0;
}

int carm_fft_check(struct carm_dwarf_case *base, struct carm_team *team, double *error, char by[96],
                   struct carm_err *err)
{
    struct carm_fft *f = (struct carm_fft *)base;
    snprintf(by, 96, "transform of a point and %d waves; its transform, mirrored", WAVES);
    *error = 0.0;
    carm_fft_fill(f, team);
    int rc = compare(f, team, transform_row, 1, error, err);
    rc = rc ? rc : compare(f, team, mirrored_row, 2, error, err);
    carm_fft_fill(f, team);
    return rc;
}
