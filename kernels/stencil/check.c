/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/stencil/sweep.h"

enum {
    ROUNDINGS = 16
}; /* roundings in a sweep, with a margin: 8 operations, and the sines' errors */

/* The larger number; a NaN stays. */
static double worse(double a, double b)
{
    return isnan(a) || b <= a ? a : b;
}

/* Computes a line of the last sweep again with plain loops. returns the largest difference */
static double repeated(const struct carm_stencil *s, ptrdiff_t line, double *scratch)
{
    const double *got = s->grid[s->now] + line;
    const struct carm_stencil_piece p = {.in = s->grid[s->now ^ 1] + line,
                                         .out = scratch,
                                         .n = s->n,
                                         .lines = 1,
                                         .planes = 1,
                                         .pitch = s->pitch,
                                         .plane = s->plane,
                                         .alpha = CARM_STENCIL_ALPHA,
                                         .beta = CARM_STENCIL_BETA};
    double worst = 0.0;
    carm_stencil_scalar.stored(&p);
    for (uint32_t x = 0; x < s->n; x++) {
        worst = worse(worst, fabs(got[x] - scratch[x]));
    }
    return worst;
}

/* The largest difference from the solution, whose points have all shrunk to `left` of their first values. */
static double from_solution(const struct carm_stencil *s, uint32_t y, uint32_t z, double left)
{
    const double *got = s->grid[s->now] + z * s->plane + y * s->pitch;
    const size_t n = s->n;
    const double scale = s->axis[n + y] * s->axis[2 * n + z] * left;
    double worst = 0.0;
    for (uint32_t x = 0; x < s->n; x++) {
        worst = worse(worst, fabs(got[x] - s->axis[x] * scale));
    }
    return worst;
}

/* The largest rounding error: a sweep's is proportional to the values before it, and errors do not grow. */
static double rounding(const struct carm_stencil *s)
{
    double sum = 1.0;
    double left = 1.0;
    for (uint64_t i = 0; i < s->steps; i++) {
        sum += left;
        left *= fabs(s->factor);
    }
    return ROUNDINGS * DBL_EPSILON * sum;
}

int carm_stencil_check(struct carm_dwarf_case *c, struct carm_team *team, double *error,
                       char by[96], struct carm_err *err)
{
    const struct carm_stencil *s = (const struct carm_stencil *)c;
    (void)team;
    if (s->steps == 0) {
        return carm_fail(err, CARM_EINVAL, "the stencil has not been run yet");
    }
    const double left = pow(s->factor, (double)s->steps);
    /* the largest value before the last sweep, to which the sweep's rounding error is proportional */
    const double before = fabs(left / s->factor);
    double *scratch = calloc(s->n, sizeof *scratch);
    if (!scratch) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to check a line");
    }
    double solution = 0.0;
    double again = 0.0;
    for (uint32_t z = 0; z < s->n; z++) {
        for (uint32_t y = 0; y < s->n; y++) {
            solution = worse(solution, from_solution(s, y, z, left));
            again = worse(again, repeated(s, z * s->plane + y * s->pitch, scratch));
        }
    }
    free(scratch);
    snprintf(by, 96, "sine products, which shrink to %.6g of themselves in a sweep", s->factor);
    *error = solution / fabs(left);
    const double noise = rounding(s);
    if (!(solution <= noise)) {
        return carm_fail(err, CARM_EFORMAT,
                         "%s stencil is wrong: %.3g from the solution after %llu sweeps, and "
                         "rounding explains %.3g",
                         c->version, solution, (unsigned long long)s->steps, noise);
    }
    if (!(again <= ROUNDINGS * DBL_EPSILON * (before + noise))) {
        return carm_fail(err, CARM_EFORMAT,
                         "%s stencil is wrong: %.3g from the same sweep with plain loops",
                         c->version, again);
    }
    return 0;
}
