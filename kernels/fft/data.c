/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data whose transform is known. */
#include <math.h>
#include <string.h>

#include "kernels/fft/transform.h"

/* Where the point and the waves are (z, y, x), before they are taken modulo n. */
static const size_t point[3] = {3, 1, 5};
static const size_t waves[CARM_FFT_WAVES][3] = {{1, 2, 0}, {5, 0, 11}, {63, 7, 29}};

/* Waves as strong together as the point's flat transform: 1/sqrt(N) each. */
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

void carm_fft_data_row(const struct carm_fft *f, size_t z, size_t y, carm_fftw_complex *out)
{
    memset(out, 0, f->cube.n * sizeof *out);
    add_point(f, point, z, y, 1.0, out);
    for (int w = 0; w < CARM_FFT_WAVES; w++) {
        add_wave(f, waves[w], z, y, amplitude(f->cube.n), 1.0, out);
    }
}

void carm_fft_transform_row(const struct carm_fft *f, size_t z, size_t y, carm_fftw_complex *out)
{
    const double all = pow((double)f->cube.n, 3.0);
    memset(out, 0, f->cube.n * sizeof *out);
    add_wave(f, point, z, y, 1.0, -1.0, out);
    for (int w = 0; w < CARM_FFT_WAVES; w++) {
        add_point(f, waves[w], z, y, all * amplitude(f->cube.n), out);
    }
}

/* The transform's transform. */
void carm_fft_mirrored_row(const struct carm_fft *f, size_t z, size_t y, carm_fftw_complex *out)
{
    const size_t n = f->cube.n;
    const double all = pow((double)n, 3.0);
    carm_fftw_complex row[CARM_FFT_N_MAX];
    carm_fft_data_row(f, z ? n - z : 0, y ? n - y : 0, row);
    for (size_t x = 0; x < n; x++) {
        out[x][0] = all * row[x ? n - x : 0][0];
        out[x][1] = all * row[x ? n - x : 0][1];
    }
}

static void fill_job(struct carm_worker *w, void *arg)
{
    const struct carm_fft *f = arg;
    const size_t last = carm_fft_share(f->cube.n, w->index + 1, w->team->n);
    for (size_t z = carm_fft_share(f->cube.n, w->index, w->team->n); z < last; z++) {
        for (size_t y = 0; y < f->cube.n; y++) {
            carm_fft_data_row(f, z, y, carm_fft_at(&f->cube, z, y));
        }
    }
}

void carm_fft_fill(struct carm_fft *f, struct carm_team *team)
{
    carm_team_run(team, fill_job, f);
    f->runs = 0;
}
