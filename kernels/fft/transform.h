/* SPDX-License-Identifier: GPL-3.0-or-later */
/* 3-D FFT of n^3 complex doubles, in place, forward, by FFTW's transforms in this team's threads.
 *
 * Operations are counted as 5 N log2 N, N = n^3, whatever FFTW executes (Cooley-Tukey's radix 2; the
 * convention of FFTW's own benchmark and of the Roofline paper).
 * Compulsory bytes are those of the passes over the cube, each of which reads and writes 16 bytes a
 * point; in place no line is filled only to be overwritten. One pass for each dimension makes three;
 * where a plane stays in cache, its two dimensions are one pass, which makes two. So the intensity is
 * 5 log2 N / (32 x passes), the Roofline paper's
 *   128^3, three passes  5 x 21 / 96 = 1.09 flop/byte
 *   512^3, three passes  5 x 27 / 96 = 1.41
 *   128^3, two passes    5 x 21 / 64 = 1.64
 * source: Williams, Waterman, Patterson 2009, section 6.3.4; the derivation is ours: the paper prints
 * the three values alone. */
#pragma once

#include "kernels/context.h"
#include "kernels/fft/cube.h"

enum { CARM_FFT_N_MAX = 1024 };

enum carm_fft_version {
    CARM_FFT_PLAIN,     /* three passes of 1-D transforms, estimated plans, no padding */
    CARM_FFT_OPTIMISED, /* measured plans, padded rows; planes then columns, or one 3-D plan */
};

struct carm_fft_params {
    size_t n; /* points along each axis, any number >= 1 */
    enum carm_fft_version version;
    struct carm_team *team;  /* touches the memory first; runs take teams up to its size */
    double cache_bytes;      /* of the last level that one thread has; 0: unknown */
    double planning_seconds; /* optimised: for all its plans, about; 0 = 4 s */
};

/* Makes plans and, for the optimised version, times both ways and keeps the faster one (above 256^3 a
 * 3-D plan would take too long to measure: planes). No two threads may open cases at a time: FFTW's
 * planner allows only one.
 * ops->count makes plans, too, and overwrites the data; ops->check fills in its own data.
 * returns 0, -CARM_EINVAL (n), -CARM_ENOMEM (refused before it is taken), -CARM_ENOTSUP (no FFTW) */
int carm_fft_open(struct carm_dwarf_case **out, const struct carm_fft_params *p,
                  struct carm_err *err);

/* Passes over the cube: 2 for the optimised version where a plane is at most cache_bytes, else 3. */
int carm_fft_passes(enum carm_fft_version version, size_t n, double cache_bytes);
double carm_fft_operations(size_t n);        /* flops: 5 N log2 N */
double carm_fft_bytes(size_t n, int passes); /* compulsory ones: 32 N x passes */

/* ---- inside ----------------------------------------------------------------------------------- */

struct carm_fft {
    struct carm_dwarf_case base;
    struct carm_fftw fftw;
    struct carm_fft_cube cube;
    enum carm_fft_version version;
    int threads;
    carm_fftw_complex *roots; /* [n] exp(2 pi i j / n) */
    int runs;                 /* since the data were filled in: a transform makes values larger */
};

/* Fills in data whose transform the check knows; this is the first touch, too. */
void carm_fft_fill(struct carm_fft *f, struct carm_team *team);

int carm_fft_check(struct carm_dwarf_case *base, struct carm_team *team, double *error, char by[96],
                   struct carm_err *err);
int carm_fft_count(struct carm_dwarf_case *base, struct carm_dwarf_work *work,
                   struct carm_err *err);
