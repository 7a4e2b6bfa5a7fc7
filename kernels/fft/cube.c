/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fft/cube.h"

void carm_fft_layout(struct carm_fft_cube *cube, size_t n, bool padded)
{
    cube->n = n;
    cube->row = n + (padded ? 4 : 0); /* 4 points fill a cache line */
    cube->plane = cube->row * (n + (padded ? 1 : 0));
}

double carm_fft_cube_bytes(const struct carm_fft_cube *cube)
{
    return (double)cube->n * (double)cube->plane * sizeof(carm_fftw_complex);
}

/* Plans are made for one place and executed at others. */
static unsigned flags_of(const struct carm_fftw *fftw, const struct carm_fft_cube *cube,
                         double seconds)
{
    const int first = fftw->alignment_of(carm_fft_at(cube, 0, 0)[0]);
    const bool same = fftw->alignment_of(carm_fft_at(cube, 0, 0)[cube->row]) == first &&
                      fftw->alignment_of(carm_fft_at(cube, 0, 0)[cube->plane]) == first;
    return (seconds > 0.0 ? CARM_FFTW_MEASURE : CARM_FFTW_ESTIMATE) |
           (same ? 0u : CARM_FFTW_UNALIGNED);
}

static void limit_planner(const struct carm_fftw *fftw, int threads, double seconds)
{
    fftw->set_timelimit(seconds > 0.0 ? seconds : -1.0);
    if (fftw->plan_with_nthreads) {
        fftw->plan_with_nthreads(threads);
    }
}

static void plan_lines(const struct carm_fftw *fftw, const struct carm_fft_cube *cube, int axis,
                       size_t many, unsigned flags, void **plan)
{
    const int n = (int)cube->n;
    const size_t steps[3] = {1, cube->row, cube->plane};
    const int step = (int)steps[axis];
    const int next = axis == 0 ? (int)cube->row : 1;
    carm_fftw_complex *data = carm_fft_at(cube, 0, 0);
    *plan = fftw->plan_many(1, &n, (int)many, data, NULL, step, next, data, NULL, step, next,
                            CARM_FFTW_FORWARD, flags);
}

int carm_fft_plan_lines(const struct carm_fftw *fftw, const struct carm_fft_cube *cube, int axis,
                        size_t many, double seconds, void **plan, struct carm_err *err)
{
    limit_planner(fftw, 1, seconds);
    plan_lines(fftw, cube, axis, many, flags_of(fftw, cube, seconds), plan);
    if (!*plan) {
        return carm_fail(err, CARM_EIO, "FFTW makes no plan for %zu lines", many);
    }
    return 0;
}

/* One transform in the innermost `rank` dimensions. */
static void plan_box(const struct carm_fftw *fftw, const struct carm_fft_cube *cube, int rank,
                     unsigned flags, void **plan)
{
    const int n = (int)cube->n;
    const int size[3] = {n, n, n};
    const int room[3] = {n, (int)(cube->plane / cube->row), (int)cube->row};
    carm_fftw_complex *data = carm_fft_at(cube, 0, 0);
    *plan = fftw->plan_many(rank, size + 3 - rank, 1, data, room + 3 - rank, 1, 0, data,
                            room + 3 - rank, 1, 0, CARM_FFTW_FORWARD, flags);
}

static int passes_of(enum carm_fft_way way)
{
    return way == CARM_FFT_LINES ? 3 : way == CARM_FFT_PLANES ? 2 : 1;
}

int carm_fft_plan(const struct carm_fftw *fftw, struct carm_fft_cube *cube, enum carm_fft_way way,
                  int threads, double seconds, struct carm_err *err)
{
    const int passes = passes_of(way);
    const unsigned flags = flags_of(fftw, cube, seconds);
    carm_fft_unplan(fftw, cube);
    cube->way = way;
    limit_planner(fftw, way == CARM_FFT_WHOLE ? threads : 1, seconds / passes);
    if (way == CARM_FFT_LINES) {
        plan_lines(fftw, cube, 0, cube->n, flags, &cube->plans[0]);
        plan_lines(fftw, cube, 1, cube->n, flags, &cube->plans[1]);
    } else {
        plan_box(fftw, cube, way == CARM_FFT_WHOLE ? 3 : 2, flags, &cube->plans[0]);
    }
    if (way != CARM_FFT_WHOLE) {
        plan_lines(fftw, cube, 2, cube->n, flags, &cube->plans[passes - 1]);
    }
    for (int p = 0; p < passes; p++) {
        if (!cube->plans[p]) {
            carm_fft_unplan(fftw, cube);
            return carm_fail(err, CARM_EIO, "FFTW makes no plan for %zu^3 points", cube->n);
        }
    }
    return 0;
}

void carm_fft_unplan(const struct carm_fftw *fftw, struct carm_fft_cube *cube)
{
    for (int p = 0; p < CARM_FFT_PLANS; p++) {
        if (cube->plans[p]) {
            fftw->destroy(cube->plans[p]);
            cube->plans[p] = NULL;
        }
    }
}

void carm_fft_in_planes(const struct carm_fftw *fftw, const struct carm_fft_cube *cube, int i,
                        int n)
{
    const size_t first = carm_dwarf_share(cube->n, i, n);
    const size_t last = carm_dwarf_share(cube->n, i + 1, n);
    const int passes = passes_of(cube->way);
    if (cube->way == CARM_FFT_WHOLE) {
        if (i == 0) {
            fftw->execute(cube->plans[0], carm_fft_at(cube, 0, 0), carm_fft_at(cube, 0, 0));
        }
        return;
    }
    for (int p = 0; p < passes - 1; p++) {
        for (size_t z = first; z < last; z++) {
            fftw->execute(cube->plans[p], carm_fft_at(cube, z, 0), carm_fft_at(cube, z, 0));
        }
    }
}

void carm_fft_across(const struct carm_fftw *fftw, const struct carm_fft_cube *cube, int i, int n)
{
    const size_t last = carm_dwarf_share(cube->n, i + 1, n);
    if (cube->way == CARM_FFT_WHOLE) {
        return;
    }
    const void *plan = cube->plans[passes_of(cube->way) - 1];
    for (size_t y = carm_dwarf_share(cube->n, i, n); y < last; y++) {
        fftw->execute(plan, carm_fft_at(cube, 0, y), carm_fft_at(cube, 0, y));
    }
}
