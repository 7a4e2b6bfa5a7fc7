/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTW 3 in double precision, loaded at run time: nothing links it. Calls and constants as in FFTW's
 * own fftw3.h and manual (3.3.10); sizes along an axis are below 2^31. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum {
    CARM_FFTW_FORWARD = -1,
    CARM_FFTW_BACKWARD = 1,
    CARM_FFTW_MEASURE = 0,
    CARM_FFTW_UNALIGNED = 1 << 1,
    CARM_FFTW_ESTIMATE = 1 << 6,
};

typedef double carm_fftw_complex[2]; /* real, imaginary */

/* Planning writes over the data and is not thread-safe; executing is. Plans are opaque. */
struct carm_fftw {
    char version[64]; /* FFTW's own version text: "fftw-3.3.10-sse2-avx-avx2-avx2_128" */
    void *handle;     /* libfftw3 */
    void *threads;    /* libfftw3_threads; NULL: not installed, its calls are NULL, too */
    void *(*plan_many)(int rank, const int *n, int howmany, carm_fftw_complex *in,
                       const int *inembed, int istride, int idist, carm_fftw_complex *out,
                       const int *onembed, int ostride, int odist, int sign, unsigned flags);
    void (*execute)(const void *plan, carm_fftw_complex *in, carm_fftw_complex *out);
    void (*destroy)(void *plan);
    void (*set_timelimit)(double seconds); /* of the plans that follow; -1: none */
    int (*alignment_of)(double *p);        /* plans take data of the same alignment only */
    int (*init_threads)(void);             /* returns 0 on error */
    void (*plan_with_nthreads)(int n);     /* of the plans that follow */
};

/* returns 0 or -CARM_ENOTSUP (not installed: says how to get it) */
int carm_fftw_open(struct carm_fftw *fftw, struct carm_err *err);
void carm_fftw_close(struct carm_fftw *fftw); /* a zeroed one is allowed */
