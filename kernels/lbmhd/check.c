/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of LBMHD: the quantities that it conserves, and single points against the published
 * equations. */
#include <math.h>
#include <stdio.h>

#include "kernels/lbmhd/step.h"

enum { SAMPLES = 2000 };

struct sums_job {
    const struct carm_lbmhd *c;
};

/* A row's share of density, momentum and field, array by array. */
static void add_row(const struct carm_lbmhd *c, const double *row,
                    long double sums[CARM_LBMHD_FIELDS])
{
    for (int i = 0; i < CARM_LBMHD_ARRAYS; i++) {
        const double *values = row + (size_t)i * c->stride;
        long double sum = 0.0L;
        for (size_t x = 0; x < c->n[0]; x++) {
            sum += values[x];
        }
        if (i >= CARM_LBMHD_Q) {
            sums[4 + (i - CARM_LBMHD_Q) % 3] += sum;
            continue;
        }
        sums[0] += sum;
        for (int a = 0; a < 3; a++) {
            sums[1 + a] += c->v.step[i][a] * sum;
        }
    }
}

/* Each thread puts its sums at the beginning of its scratch. */
static void sums_job(struct carm_worker *w, void *arg)
{
    const struct carm_lbmhd *c = ((const struct sums_job *)arg)->c;
    const size_t rows = c->n[1] * c->n[2];
    const size_t last = carm_dwarf_share(rows, w->index + 1, w->team->n);
    const double *lattice = carm_lbmhd_arrays(&c->lattice[c->current]);
    long double sums[CARM_LBMHD_FIELDS] = {0.0L};
    for (size_t r = carm_dwarf_share(rows, w->index, w->team->n); r < last; r++) {
        add_row(c, lattice + carm_lbmhd_row_at(c, r % c->n[1], r / c->n[1]), sums);
    }
    for (int k = 0; k < CARM_LBMHD_FIELDS; k++) {
        carm_lbmhd_scratch(c, w->index)[k] = (double)sums[k];
    }
}

void carm_lbmhd_sums(const struct carm_lbmhd *c, struct carm_team *team,
                     double sums[CARM_LBMHD_FIELDS])
{
    struct sums_job job = {c};
    carm_team_run(team, sums_job, &job);
    for (int k = 0; k < CARM_LBMHD_FIELDS; k++) {
        sums[k] = 0.0;
        for (int t = 0; t < team->n; t++) {
            sums[k] += carm_lbmhd_scratch(c, t)[k];
        }
    }
}

void carm_lbmhd_at(const struct carm_dwarf_case *base, const size_t at[3],
                   struct carm_lbmhd_state *s)
{
    const struct carm_lbmhd *c = (const struct carm_lbmhd *)base;
    const double *lattice = carm_lbmhd_arrays(&c->lattice[c->current]);
    const double *point = lattice + carm_lbmhd_row_at(c, at[1], at[2]) + at[0];
    *s = (struct carm_lbmhd_state){0};
    for (int i = 0; i < CARM_LBMHD_Q; i++) {
        const double f = point[(size_t)i * c->stride];
        s->rho += f;
        for (int a = 0; a < 3; a++) {
            s->u[a] += c->v.e[i][a] * f;
        }
    }
    for (int a = 0; a < 3; a++) {
        s->u[a] /= s->rho;
        for (int i = 0; i < CARM_LBMHD_QM; i++) {
            s->b[a] += point[(size_t)(CARM_LBMHD_Q + 3 * i + a) * c->stride];
        }
    }
}

/* Checks mass, momentum and field of an average point. Every step may add a rounding error to each. */
static int check_sums(const struct carm_lbmhd *c, struct carm_team *team, struct carm_err *err)
{
    static const char *const names[CARM_LBMHD_FIELDS] = {
        "mass",          "momentum along x", "momentum along y", "momentum along z",
        "field along x", "field along y",    "field along z"};
    const double points = (double)c->n[0] * (double)c->n[1] * (double)c->n[2];
    const double tolerance = 1e-13 + 4e-16 * c->steps_done;
    double sums[CARM_LBMHD_FIELDS];
    carm_lbmhd_sums(c, team, sums);
    for (int k = 0; k < CARM_LBMHD_FIELDS; k++) {
        const double drift = (sums[k] - c->sums[k]) / points;
        if (!(fabs(drift) <= tolerance)) {
            return carm_fail(err, CARM_EFORMAT,
                             "LBMHD does not conserve %s: %.3g a point after %.0f steps", names[k],
                             drift, c->steps_done);
        }
    }
    return 0;
}

/* The largest difference of one point from the equations, all arrays and fields. */
static double check_point(const struct carm_lbmhd *c, const size_t at[3])
{
    const double *previous = carm_lbmhd_arrays(&c->lattice[1 - c->current]);
    const double *now = carm_lbmhd_arrays(&c->lattice[c->current]);
    const double *fields_now = carm_lbmhd_arrays(&c->fields);
    const size_t point = carm_lbmhd_row_at(c, at[1], at[2]) + at[0];
    double in[CARM_LBMHD_ARRAYS];
    double out[CARM_LBMHD_ARRAYS];
    double fields[CARM_LBMHD_FIELDS];
    double worst = 0.0;
    carm_lbmhd_pull(c, previous, at, in);
    carm_lbmhd_collide(c, in, out, fields);
    for (size_t i = 0; i < CARM_LBMHD_ROWS; i++) {
        const double want = i < CARM_LBMHD_ARRAYS ? out[i] : fields[i - CARM_LBMHD_ARRAYS];
        const double got = i < CARM_LBMHD_ARRAYS
                               ? now[i * c->stride + point]
                               : fields_now[(i - CARM_LBMHD_ARRAYS) * c->stride + point];
        const double d = fabs(got - want);
        worst = d <= worst ? worst : d; /* a NaN becomes the worst */
    }
    return worst;
}

/* Checks the corners, then random points.
 * source of the constants: Knuth, The Art of Computer Programming 2, section 3.3.4 (MMIX) */
static double check_points(const struct carm_lbmhd *c)
{
    uint64_t state = 1;
    double worst = 0.0;
    for (unsigned s = 0; s < SAMPLES && !isnan(worst); s++) {
        size_t at[3];
        for (unsigned a = 0; a < 3; a++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            at[a] = s >= 8 ? (state >> 33) % c->n[a] : s >> a & 1 ? c->n[a] - 1 : 0;
        }
        const double d = check_point(c, at);
        worst = d <= worst ? worst : d;
    }
    return worst;
}

int carm_lbmhd_check(struct carm_dwarf_case *base, struct carm_team *team, double *error,
                     char by[96], struct carm_err *err)
{
    /* about the rounding error of a point's 27 additions, with a density near 1 */
    static const double tolerance = 1e-14;
    struct carm_lbmhd *c = (struct carm_lbmhd *)base;
    snprintf(by, 96, "conservation laws; published equations at %d points", SAMPLES);
    if (!c->previous) {
        /* counting has overwritten the state before the last step */
        int rc = base->ops->run(base, team, err);
        if (rc) {
            return rc;
        }
    }
    *error = check_points(c); /* the largest value is a density, about 1 */
    if (!(*error <= tolerance)) {
        return carm_fail(err, CARM_EFORMAT, "LBMHD (%s) differs by %.3g from its equations",
                         base->version, *error);
    }
    return check_sums(c, team, err);
}
