/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The optimised row for one vector width: a template that kernels/lbmhd/vector.c includes once for each
 * ISA, with LANES, TARGET (the function attribute), STREAM(p, v) (a store past the caches) and NAME(f).
 *
 * A block of a row goes through three phases, so that few streams are open at a time: each array's
 * points are copied to the scratch rows; then the equations, in vectors, inside the scratch, which
 * caches hold; then each array's points are written past the caches, whole lines.
 * Opposite velocities share the even and the odd terms of their equations, so that fewer operations are executed
 * than in the published form. */
#ifdef LANES

#include "kernels/lbmhd/step.h"

#define VECTOR NAME(vector)
#define INLINE TARGET static inline __attribute__((always_inline))

typedef double VECTOR __attribute__((vector_size(LANES * sizeof(double)), may_alias));
typedef double NAME(loose)
    __attribute__((vector_size(LANES * sizeof(double)), may_alias, aligned(8)));

INLINE VECTOR *NAME(row_of)(double *block, size_t row)
{
    return (VECTOR *)(block + row * CARM_LBMHD_BLOCK);
}

INLINE void NAME(relax)(VECTOR *at, VECTOR equilibrium, double omega)
{
    *at += omega * (equilibrium - *at);
}

/* Terms that the pairs of opposite velocities share. */
struct NAME(moments) {
    VECTOR base[4]; /* common + |e|^2 9/4 B^2, by |e|^2 */
    VECTOR rho3, rho45;
    VECTOR u[3], b[3];
    double omega, omega_m;
};

INLINE void NAME(fluid)(double *f, size_t pair, int e2, double w, VECTOR eu, VECTOR eb,
                        const struct NAME(moments) * m)
{
    const VECTOR even = m->base[e2] + m->rho45 * eu * eu - 4.5 * eb * eb;
    const VECTOR odd = m->rho3 * eu;
    NAME(relax)(NAME(row_of)(f, 2 * pair + 1), w * (even + odd), m->omega);
    NAME(relax)(NAME(row_of)(f, 2 * pair + 2), w * (even - odd), m->omega);
}

INLINE void NAME(field)(double *f, size_t pair, double w, VECTOR eu, VECTOR eb,
                        const struct NAME(moments) * m)
{
    const size_t plus = CARM_LBMHD_Q + 3 * (2 * pair + 1);
    for (size_t a = 0; a < 3; a++) {
        const VECTOR odd = 3.0 * (eu * m->b[a] - eb * m->u[a]);
        NAME(relax)(NAME(row_of)(f, plus + a), w * (m->b[a] + odd), m->omega_m);
        NAME(relax)(NAME(row_of)(f, plus + 3 + a), w * (m->b[a] - odd), m->omega_m);
    }
}

/* Sums over the arrays; the fields' rows are written. */
INLINE void NAME(sums)(double *f, struct NAME(moments) * m, double omega, double omega_m)
{
    VECTOR d[13]; /* differences of opposite velocities */
    VECTOR rho = *NAME(row_of)(f, 0);
    for (size_t p = 0; p < 13; p++) {
        const VECTOR plus = *NAME(row_of)(f, 2 * p + 1);
        const VECTOR minus = *NAME(row_of)(f, 2 * p + 2);
        d[p] = plus - minus;
        rho += plus + minus;
    }
    const VECTOR momentum[3] = {
        d[0] + d[3] + d[4] + d[5] - d[6] + d[7] + d[8] + d[9] + d[10],
        d[1] + d[3] + d[4] - d[5] + d[6] + d[7] - d[8] + d[11] + d[12],
        d[2] + d[3] - d[4] + d[5] + d[6] + d[9] - d[10] + d[11] - d[12],
    };
    const VECTOR inverse = 1.0 / rho;
    *NAME(row_of)(f, CARM_LBMHD_ARRAYS) = rho;
    for (size_t a = 0; a < 3; a++) {
        VECTOR b = *NAME(row_of)(f, CARM_LBMHD_Q + a);
        for (size_t i = 1; i < CARM_LBMHD_QM; i++) {
            b += *NAME(row_of)(f, CARM_LBMHD_Q + 3 * i + a);
        }
        m->b[a] = b;
        m->u[a] = momentum[a] * inverse;
        *NAME(row_of)(f, CARM_LBMHD_ARRAYS + 1 + a) = momentum[a];
        *NAME(row_of)(f, CARM_LBMHD_ARRAYS + 4 + a) = b;
    }
    const VECTOR bb = m->b[0] * m->b[0] + m->b[1] * m->b[1] + m->b[2] * m->b[2];
    const VECTOR mu = momentum[0] * m->u[0] + momentum[1] * m->u[1] + momentum[2] * m->u[2];
    m->base[0] = rho - 1.5 * mu - 0.75 * bb;
    for (int e2 = 1; e2 < 4; e2++) {
        m->base[e2] = m->base[e2 - 1] + 2.25 * bb;
    }
    m->rho3 = 3.0 * rho;
    m->rho45 = 4.5 * rho;
    m->omega = omega;
    m->omega_m = omega_m;
}

/* One vector of points, in place. Weights: source: Qian, d'Humieres, Lallemand 1992 (D3Q15, D3Q27). */
INLINE void NAME(collide)(double *f, double omega, double omega_m)
{
    static const double face = 2.0 / 27;
    static const double edge = 1.0 / 54;
    static const double corner = 1.0 / 216;
    static const double face_m = 1.0 / 9;
    static const double corner_m = 1.0 / 72;
    struct NAME(moments) m;
    NAME(sums)(f, &m, omega, omega_m);
    NAME(relax)(NAME(row_of)(f, 0), 8.0 / 27 * m.base[0], omega);
    for (size_t a = 0; a < 3; a++) {
        NAME(relax)(NAME(row_of)(f, CARM_LBMHD_Q + a), 2.0 / 9 * m.b[a], omega_m);
        NAME(fluid)(f, a, 1, face, m.u[a], m.b[a], &m);
        NAME(field)(f, a, face_m, m.u[a], m.b[a], &m);
    }
    /* (1 1 0) (1 -1 0) (1 0 1) (1 0 -1) (0 1 1) (0 1 -1) */
    VECTOR eu[6];
    VECTOR eb[6];
    for (size_t p = 0; p < 6; p++) {
        const size_t a = p < 4 ? 0 : 1;
        const size_t b = p < 2 ? 1 : 2;
        eu[p] = p % 2 ? m.u[a] - m.u[b] : m.u[a] + m.u[b];
        eb[p] = p % 2 ? m.b[a] - m.b[b] : m.b[a] + m.b[b];
        NAME(fluid)(f, 7 + p, 2, edge, eu[p], eb[p], &m);
    }
    /* (1 1 1) (1 1 -1) (1 -1 1) (-1 1 1) */
    const VECTOR ceu[4] = {eu[0] + m.u[2], eu[0] - m.u[2], eu[1] + m.u[2], m.u[2] - eu[1]};
    const VECTOR ceb[4] = {eb[0] + m.b[2], eb[0] - m.b[2], eb[1] + m.b[2], m.b[2] - eb[1]};
    for (size_t p = 0; p < 4; p++) {
        NAME(fluid)(f, 3 + p, 3, corner, ceu[p], ceb[p], &m);
        NAME(field)(f, 3 + p, corner_m, ceu[p], ceb[p], &m);
    }
}

/* Copies whole vectors, also past the last point; lanes after it are never stored. */
INLINE void NAME(gather)(const struct carm_lbmhd_row *r, size_t array, size_t x, size_t len)
{
    const struct carm_lbmhd *c = r->c;
    const int *step = c->v.step[carm_lbmhd_velocity((int)array)];
    const size_t y = carm_lbmhd_upwind(r->y, step[1], c->n[1]);
    const size_t z = carm_lbmhd_upwind(r->z, step[2], c->n[2]);
    const double *row = r->from + array * c->stride + carm_lbmhd_row_at(c, y, z);
    const double *from = row + (ptrdiff_t)x - step[0];
    double *to = r->scratch + array * CARM_LBMHD_BLOCK;
    for (size_t i = 0; i < len; i += LANES) {
        *(VECTOR *)(to + i) = *(const NAME(loose) *)(from + i);
    }
    if (step[0] > 0 && x == 0) {
        to[0] = row[c->n[0] - 1];
    }
    if (step[0] < 0 && x + len == c->n[0]) {
        to[len - 1] = row[0];
    }
}

INLINE void NAME(scatter)(const struct carm_lbmhd_row *r, size_t array, size_t x, size_t len)
{
    const struct carm_lbmhd *c = r->c;
    const double *from = r->scratch + array * CARM_LBMHD_BLOCK;
    double *to = (array < CARM_LBMHD_ARRAYS ? r->to + array * c->stride
                                            : r->fields + (array - CARM_LBMHD_ARRAYS) * c->stride) +
                 carm_lbmhd_row_at(c, r->y, r->z) + x;
    size_t i = 0;
    for (; i + LANES <= len; i += LANES) {
        STREAM(to + i, *(const VECTOR *)(from + i));
    }
    for (; i < len; i++) {
        to[i] = from[i];
    }
}

/* Blocks begin at multiples of CARM_LBMHD_BLOCK. */
TARGET static void NAME(row)(const struct carm_lbmhd_row *r)
{
    for (size_t x = r->first; x < r->last; x += CARM_LBMHD_BLOCK) {
        const size_t len = r->last - x < CARM_LBMHD_BLOCK ? r->last - x : CARM_LBMHD_BLOCK;
        for (size_t i = 0; i < CARM_LBMHD_ARRAYS; i++) {
            NAME(gather)(r, i, x, len);
        }
        for (size_t i = 0; i < len; i += LANES) {
            NAME(collide)(r->scratch + i, r->c->omega, r->c->omega_m);
        }
        for (size_t i = 0; i < CARM_LBMHD_ROWS; i++) {
            NAME(scatter)(r, i, x, len);
        }
    }
}

#undef VECTOR
#undef INLINE
#undef LANES
#undef TARGET
#undef STREAM
#undef NAME
#endif
