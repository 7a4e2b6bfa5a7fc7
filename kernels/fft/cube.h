/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cube in memory and the plans of the passes over it. */
#pragma once

#include "harness/machine/buffer.h"
#include "kernels/context.h"
#include "kernels/fft/fftw.h"

enum carm_fft_way {
    CARM_FFT_LINES,  /* along x, then y, then z: three passes */
    CARM_FFT_PLANES, /* each plane in both its dimensions, then along z */
    CARM_FFT_WHOLE,  /* one plan of FFTW's for all */
};

enum { CARM_FFT_PLANS = 3 };

struct carm_fft_cube {
    size_t n;
    size_t row, plane; /* points from row to row (x is contiguous) and from plane to plane */
    struct carm_buffer data;
    enum carm_fft_way way;
    void *plans[CARM_FFT_PLANS]; /* by pass; NULL: none */
};

/* Layout and bytes of a cube; no memory is allocated.
 * padded  neither steps from row to row nor from plane to plane are a power of two, which would bring a
 *         whole column into one set of a cache */
void carm_fft_layout(struct carm_fft_cube *cube, size_t n, bool padded);
double carm_fft_cube_bytes(const struct carm_fft_cube *cube);

/* Makes the plans for one way, and destroys the cube's earlier plans. The data are lost.
 * threads  of FFTW's own, for one plan of all
 * seconds  for measuring; 0: estimated
 * returns 0 or -CARM_EIO (FFTW makes no plan) */
int carm_fft_plan(const struct carm_fftw *fftw, struct carm_fft_cube *cube, enum carm_fft_way way,
                  int threads, double seconds, struct carm_err *err);
void carm_fft_unplan(const struct carm_fftw *fftw, struct carm_fft_cube *cube);

/* A plan for `many` neighbouring lines along x, y or z (axis 0, 1, 2) alone; the caller destroys it.
 * The data are lost. returns 0 or -CARM_EIO */
int carm_fft_plan_lines(const struct carm_fftw *fftw, const struct carm_fft_cube *cube, int axis,
                        size_t many, double seconds, void **plan, struct carm_err *err);

/* The share of thread i of n: carm_fft_in_planes executes the passes that stay in planes of one z;
 * carm_fft_across, once all threads have finished these, the pass along z. With CARM_FFT_WHOLE, thread 0
 * executes the plan in carm_fft_in_planes. */
void carm_fft_in_planes(const struct carm_fftw *fftw, const struct carm_fft_cube *cube, int i,
                        int n);
void carm_fft_across(const struct carm_fftw *fftw, const struct carm_fft_cube *cube, int i, int n);

static inline carm_fftw_complex *carm_fft_at(const struct carm_fft_cube *cube, size_t z, size_t y)
{
    return (carm_fftw_complex *)cube->data.start + z * cube->plane + y * cube->row;
}
