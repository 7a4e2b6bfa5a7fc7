/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of rooflines of known truth, for the tests of fits. */
#pragma once

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "models/fit/ridge.h"
#include "tests/unit.h"

/* 2^-8 to 2^6 flop/byte at half octaves */
enum { POINTS = 29 };

/* Per cycle of 1 GHz: 64 byte from L1, 16 flop, 3 fused instructions. Fused multiply-adds of 8 flop
 * and loads of 32 byte: issue binds around the ridge, from 1/8 to 1/2 flop/byte. */
static const struct carm_ridge_params truth = {64e9, 16e9, INFINITY, 3e9};

static inline double intensity_at(size_t i)
{
    return pow(2.0, -8.0 + 0.5 * (double)i);
}

static inline double slots_at(double intensity)
{
    return 1.0 / 8.0 + 1.0 / (32.0 * intensity);
}

static inline struct carm_ridge_params sharpness(double p)
{
    struct carm_ridge_params t = truth;
    t.p = p;
    return t;
}

static inline void make_points(gsl_rng *rng, enum carm_ridge form, double p, double noise,
                               struct carm_ridge_point points[POINTS])
{
    const struct carm_ridge_params t = sharpness(p);
    for (size_t i = 0; i < POINTS; i++) {
        const double x = intensity_at(i);
        const double s = slots_at(x);
        const double factor = rng ? 1.0 + noise * gsl_ran_gaussian(rng, 1.0) : 1.0;
        points[i] = (struct carm_ridge_point){x, carm_ridge_eval(form, &t, x, s) * factor,
                                              noise > 0.0 ? noise : 1.0, s};
    }
}

static inline struct carm_ridge_fit fit(enum carm_ridge form, const struct carm_ridge_point *points,
                                        size_t n)
{
    struct carm_ridge_fit f;
    fail_if(carm_ridge_fit(form, points, n, truth.issue, &f, &err), "%s: %s", carm_ridge_name(form),
            err.text);
    return f;
}

static inline int covers(struct carm_estimate e, double value)
{
    return e.lo <= value && value <= e.hi ? 1 : 0;
}
