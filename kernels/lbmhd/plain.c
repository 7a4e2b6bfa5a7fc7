/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The equations as they are published, velocity by velocity, and the plain version: one point after
 * another, all arrays at once.
 *
 * Equilibrium of the fluid (Dellar 2002, section 4; Maxwell's stress takes the place of the Lorentz
 * force), with S = rho u u + B^2/2 - B B and a speed of sound of 1/sqrt(3):
 *   f_i = w_i (rho + 3 rho e_i.u + 9/2 (e_i e_i - 1/3):S)
 * where, in three dimensions,
 *   (e e - 1/3):S = rho (e.u)^2 - (e.B)^2 + B^2 e^2 / 2 - rho u^2 / 3 - B^2 / 6
 * Equilibrium of the field (the same paper, section 5), each component b:
 *   g_ib = W_i (B_b + 3 ((e_i.u) B_b - (e_i.B) u_b))
 *
 * Flops of a point, all of them by loops over the velocities' components:
 *   density and momentum       27 x 7                 = 189
 *   magnetic field             15 x 3                 =  45
 *   velocity, squares, common                         =  20
 *   equilibrium and relaxation 27 x 24 + 15 x 3 x 9   = 1053
 *                                                 sum = 1307 */
#include "kernels/lbmhd/step.h"

_Static_assert(27 * 7 + 15 * 3 + 20 + 27 * 24 + 15 * 3 * 9 == CARM_LBMHD_FLOPS, "the sum above");

/* Terms that the equilibria of all velocities share. */
struct moments {
    double rho, rho3;
    double u[3], b[3];
    double common;  /* rho - 3/2 rho u^2 - 3/4 B^2 */
    double quarter; /* 9/4 B^2 */
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static struct moments moments_of(double rho, const double momentum[3], const double b[3])
{
    struct moments m = {.rho = rho, .rho3 = 3.0 * rho, .b = {b[0], b[1], b[2]}};
    const double inverse = 1.0 / rho;
    for (int a = 0; a < 3; a++) {
        m.u[a] = momentum[a] * inverse;
    }
    const double bb = dot(b, b);
    m.common = rho - 1.5 * dot(momentum, m.u) - 0.75 * bb;
    m.quarter = 2.25 * bb;
    return m;
}

static double fluid(const struct moments *m, double w, double e2, double eu, double eb)
{
    return w * (m->common + e2 * m->quarter + m->rho3 * eu + 4.5 * (m->rho * eu * eu - eb * eb));
}

static double field(const struct moments *m, double w, int a, double eu, double eb)
{
    return w * (m->b[a] + 3.0 * (eu * m->b[a] - eb * m->u[a]));
}

void carm_lbmhd_collide(const struct carm_lbmhd *c, const double in[CARM_LBMHD_ARRAYS],
                        double out[CARM_LBMHD_ARRAYS], double fields[CARM_LBMHD_FIELDS])
{
    const struct carm_lbmhd_velocities *v = &c->v;
    const double *g = in + CARM_LBMHD_Q;
    double *to = out + CARM_LBMHD_Q;
    for (int k = 0; k < CARM_LBMHD_FIELDS; k++) {
        fields[k] = 0.0;
    }
    for (int i = 0; i < CARM_LBMHD_Q; i++) {
        fields[0] += in[i];
        for (int a = 0; a < 3; a++) {
            fields[1 + a] += v->e[i][a] * in[i];
        }
    }
    for (int i = 0; i < CARM_LBMHD_QM; i++) {
        for (int a = 0; a < 3; a++) {
            fields[4 + a] += g[3 * i + a];
        }
    }
    const struct moments m = moments_of(fields[0], fields + 1, fields + 4);
    for (int i = 0; i < CARM_LBMHD_Q; i++) {
        const double eu = dot(v->e[i], m.u);
        const double eb = dot(v->e[i], m.b);
        out[i] = in[i] + c->omega * (fluid(&m, v->w[i], v->e2[i], eu, eb) - in[i]);
        for (int a = 0; a < 3 && i < CARM_LBMHD_QM; a++) {
            const double old = g[3 * i + a];
            to[3 * i + a] = old + c->omega_m * (field(&m, v->wm[i], a, eu, eb) - old);
        }
    }
}

void carm_lbmhd_equilibrium(const struct carm_lbmhd *c, const struct carm_lbmhd_state *s,
                            double out[CARM_LBMHD_ARRAYS])
{
    const struct carm_lbmhd_velocities *v = &c->v;
    const double momentum[3] = {s->rho * s->u[0], s->rho * s->u[1], s->rho * s->u[2]};
    const struct moments m = moments_of(s->rho, momentum, s->b);
    for (int i = 0; i < CARM_LBMHD_Q; i++) {
        const double eu = dot(v->e[i], m.u);
        const double eb = dot(v->e[i], m.b);
        out[i] = fluid(&m, v->w[i], v->e2[i], eu, eb);
        for (int a = 0; a < 3 && i < CARM_LBMHD_QM; a++) {
            out[CARM_LBMHD_Q + 3 * i + a] = field(&m, v->wm[i], a, eu, eb);
        }
    }
}

void carm_lbmhd_pull(const struct carm_lbmhd *c, const double *from, const size_t at[3],
                     double in[CARM_LBMHD_ARRAYS])
{
    for (int i = 0; i < CARM_LBMHD_Q; i++) {
        const int *step = c->v.step[i];
        const size_t x = carm_lbmhd_upwind(at[0], step[0], c->n[0]);
        const size_t y = carm_lbmhd_upwind(at[1], step[1], c->n[1]);
        const size_t z = carm_lbmhd_upwind(at[2], step[2], c->n[2]);
        const double *source = from + carm_lbmhd_row_at(c, y, z) + x;
        in[i] = source[(size_t)i * c->stride];
        for (int a = 0; a < 3 && i < CARM_LBMHD_QM; a++) {
            const size_t array = CARM_LBMHD_Q + 3 * (size_t)i + (size_t)a;
            in[array] = source[array * c->stride];
        }
    }
}

void carm_lbmhd_plain_row(const struct carm_lbmhd_row *r)
{
    const struct carm_lbmhd *c = r->c;
    double in[CARM_LBMHD_ARRAYS];
    double out[CARM_LBMHD_ARRAYS];
    double fields[CARM_LBMHD_FIELDS];
    for (size_t x = r->first; x < r->last; x++) {
        const size_t at[3] = {x, r->y, r->z};
        const size_t point = carm_lbmhd_row_at(c, r->y, r->z) + x;
        carm_lbmhd_pull(c, r->from, at, in);
        carm_lbmhd_collide(c, in, out, fields);
        for (size_t i = 0; i < CARM_LBMHD_ARRAYS; i++) {
            r->to[i * c->stride + point] = out[i];
        }
        for (size_t k = 0; k < CARM_LBMHD_FIELDS; k++) {
            r->fields[k * c->stride + point] = fields[k];
        }
    }
}
