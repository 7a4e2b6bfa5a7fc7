/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/lbmhd/step.h"

#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

double carm_lbmhd_point_bytes(bool nontemporal)
{
    const double written = CARM_LBMHD_ARRAYS + CARM_LBMHD_FIELDS;
    return sizeof(double) * (CARM_LBMHD_ARRAYS + (nontemporal ? 1.0 : 2.0) * written);
}

/* Weights of D3Q15 and D3Q27. source: Qian, d'Humieres, Lallemand, Lattice BGK Models for
 * Navier-Stokes Equation, Europhys. Lett. 17 (1992) */
static void set_velocities(struct carm_lbmhd_velocities *v)
{
    static const int positive[13][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1}, {1, 1, 1},  {1, 1, -1},
                                        {1, -1, 1}, {-1, 1, 1}, {1, 1, 0}, {1, -1, 0}, {1, 0, 1},
                                        {1, 0, -1}, {0, 1, 1},  {0, 1, -1}};
    static const double w[4] = {8.0 / 27, 2.0 / 27, 1.0 / 54, 1.0 / 216};
    static const double wm[4] = {2.0 / 9, 1.0 / 9, 0.0, 1.0 / 72};
    for (int i = 0; i < CARM_LBMHD_Q; i++) {
        int length = 0;
        for (int a = 0; a < 3; a++) {
            const int step = i ? positive[(i - 1) / 2][a] * (i % 2 ? 1 : -1) : 0;
            v->step[i][a] = step;
            v->e[i][a] = step;
            length += step * step;
        }
        v->e2[i] = length;
        v->w[i] = w[length];
        if (i < CARM_LBMHD_QM) {
            v->wm[i] = wm[length];
        }
    }
}

static double lattice_bytes(const struct carm_lbmhd *c, double arrays)
{
    return sizeof(double) * (arrays * (double)c->stride + 2.0 * CARM_LBMHD_LINE);
}

static size_t scratch_bytes(const struct carm_lbmhd *c)
{
    return (size_t)c->threads * CARM_LBMHD_ROWS * CARM_LBMHD_BLOCK * sizeof(double);
}

/* In the plain version arrays follow each other directly; at powers of two they all use the same sets of a cache.
 * The optimised version shifts each array by 9 lines more. */
static void set_layout(struct carm_lbmhd *c)
{
    c->pitch = (c->n[0] + CARM_LBMHD_LINE - 1) / CARM_LBMHD_LINE * CARM_LBMHD_LINE;
    size_t lines = c->pitch / CARM_LBMHD_LINE * c->n[1] * c->n[2];
    if (c->vector) {
        while (lines % 64 != 9) {
            lines++;
        }
    }
    c->stride = lines * CARM_LBMHD_LINE;
    c->base.bytes = (uint64_t)(2.0 * lattice_bytes(c, CARM_LBMHD_ARRAYS) +
                               lattice_bytes(c, CARM_LBMHD_FIELDS)) +
                    scratch_bytes(c);
}

/* source: Mininni, Pouquet, Montgomery, Small-scale structures in three-dimensional
 * magnetohydrodynamic turbulence, Phys. Rev. Lett. 97 (2006): the vortex of Orszag and Tang in three
 * dimensions; both fields are free of divergence. Amplitudes are small against the speed of sound. */
static void vortex(void *context, const size_t at[3], struct carm_lbmhd_state *s)
{
    static const double amplitude = 0.02;
    const struct carm_lbmhd *c = context;
    double k[3];
    for (int a = 0; a < 3; a++) {
        k[a] = 2.0 * pi * (double)at[a] / (double)c->n[a];
    }
    s->rho = 1.0;
    s->u[0] = -2.0 * amplitude * sin(k[1]);
    s->u[1] = 2.0 * amplitude * sin(k[0]);
    s->u[2] = 0.0;
    s->b[0] = 0.8 * amplitude * (-2.0 * sin(2.0 * k[1]) + sin(k[2]));
    s->b[1] = 0.8 * amplitude * (2.0 * sin(k[0]) + sin(k[2]));
    s->b[2] = 0.8 * amplitude * (sin(k[0]) + sin(k[1]));
}

struct fill {
    struct carm_lbmhd *c;
    carm_lbmhd_initial *initial;
    void *context;
};

static void fill_row(const struct fill *f, size_t y, size_t z)
{
    struct carm_lbmhd *c = f->c;
    const size_t row = carm_lbmhd_row_at(c, y, z);
    for (size_t x = 0; x < c->pitch; x++) {
        /* the padding of a row stays at rest, so vectors that include it compute with finite
         * values */
        struct carm_lbmhd_state s = {.rho = 1.0};
        double values[CARM_LBMHD_ARRAYS];
        if (x < c->n[0]) {
            f->initial(f->context, (const size_t[3]){x, y, z}, &s);
        }
        carm_lbmhd_equilibrium(c, &s, values);
        for (size_t i = 0; i < CARM_LBMHD_ARRAYS; i++) {
            carm_lbmhd_arrays(&c->lattice[0])[i * c->stride + row + x] = values[i];
            carm_lbmhd_arrays(&c->lattice[1])[i * c->stride + row + x] = values[i];
        }
        for (size_t k = 0; k < CARM_LBMHD_FIELDS; k++) {
            carm_lbmhd_arrays(&c->fields)[k * c->stride + row + x] = 0.0;
        }
    }
}

static void fill_job(struct carm_worker *w, void *arg)
{
    const struct fill *f = arg;
    const size_t rows = f->c->n[1] * f->c->n[2];
    const size_t last = carm_dwarf_share(rows, w->index + 1, w->team->n);
    double *scratch = carm_lbmhd_scratch(f->c, w->index);
    for (size_t i = 0; i < (size_t)CARM_LBMHD_ROWS * CARM_LBMHD_BLOCK; i++) {
        scratch[i] = 1.0; /* finite, as unused lanes read it */
    }
    for (size_t r = carm_dwarf_share(rows, w->index, w->team->n); r < last; r++) {
        fill_row(f, r % f->c->n[1], r / f->c->n[1]);
    }
}

struct job {
    struct carm_lbmhd *c;
    pthread_barrier_t *step;
};

static void run_job(struct carm_worker *w, void *arg)
{
    const struct job *job = arg;
    const struct carm_lbmhd *c = job->c;
    const size_t rows = c->n[1] * c->n[2];
    const size_t first = carm_dwarf_share(rows, w->index, w->team->n);
    const size_t last = carm_dwarf_share(rows, w->index + 1, w->team->n);
    for (int s = 0; s < c->steps; s++) {
        struct carm_lbmhd_row row = carm_lbmhd_row(c, (c->current + s) % 2, w->index);
        for (size_t r = first; r < last; r++) {
            row.y = r % c->n[1];
            row.z = r / c->n[1];
            if (c->vector) {
                c->vector->row(&row);
            } else {
                carm_lbmhd_plain_row(&row);
            }
        }
        _mm_sfence(); /* afterwards, other threads see the stores past the caches */
        pthread_barrier_wait(job->step);
    }
}

static int run(struct carm_dwarf_case *base, struct carm_team *team, struct carm_err *err)
{
    struct carm_lbmhd *c = (struct carm_lbmhd *)base;
    pthread_barrier_t step;
    struct job job = {c, &step};
    if (team->n > c->threads) {
        return carm_fail(err, CARM_EINVAL, "LBMHD was opened for %d threads, not %d", c->threads,
                         team->n);
    }
    if (pthread_barrier_init(&step, NULL, (unsigned)team->n) != 0) {
        return carm_fail(err, CARM_EIO, "cannot make a barrier for %d threads", team->n);
    }
    carm_team_run(team, run_job, &job);
    pthread_barrier_destroy(&step);
    c->current = (c->current + c->steps) % 2;
    c->steps_done += c->steps;
    c->previous = true;
    return 0;
}

static void close_case(struct carm_dwarf_case *base)
{
    struct carm_lbmhd *c = (struct carm_lbmhd *)base;
    if (!c) {
        return;
    }
    carm_buffer_close(&c->lattice[0]);
    carm_buffer_close(&c->lattice[1]);
    carm_buffer_close(&c->fields);
    carm_buffer_close(&c->scratch);
    free(c);
}

static const struct carm_dwarf_ops ops = {
    .run = run,
    .check = carm_lbmhd_check,
    .count = carm_lbmhd_count,
    .trace = carm_lbmhd_trace,
    .close = close_case,
};

static int check_params(const struct carm_lbmhd_params *p, struct carm_err *err)
{
    for (int a = 0; a < 3; a++) {
        if (p->n[a] < 1 || p->n[a] > CARM_LBMHD_N_MAX) {
            return carm_fail(err, CARM_EINVAL,
                             "LBMHD takes 1 to %d points along each axis, not %zu",
                             CARM_LBMHD_N_MAX, p->n[a]);
        }
    }
    if (p->steps < 1) {
        return carm_fail(err, CARM_EINVAL, "LBMHD takes 1 time step or more, not %d", p->steps);
    }
    if ((p->tau != 0.0 && !(p->tau > 0.5)) || (p->tau_m != 0.0 && !(p->tau_m > 0.5))) {
        return carm_fail(err, CARM_EINVAL, "LBMHD's relaxation times are above 1/2: %g and %g",
                         p->tau, p->tau_m);
    }
    return 0;
}

static void describe(struct carm_lbmhd *c)
{
    struct carm_dwarf_case *base = &c->base;
    const double points = (double)c->n[0] * (double)c->n[1] * (double)c->n[2];
    if (c->n[0] == c->n[1] && c->n[1] == c->n[2]) {
        snprintf(base->size, sizeof base->size, "%zu^3", c->n[0]);
    } else {
        snprintf(base->size, sizeof base->size, "%zu x %zu x %zu", c->n[0], c->n[1], c->n[2]);
    }
    base->ops = &ops;
    base->version = c->vector ? "optimised" : "plain";
    snprintf(base->isa, sizeof base->isa, "%s", c->vector ? c->vector->isa : "scalar");
    base->work.metric = "flop";
    base->work.operations = CARM_LBMHD_FLOPS * points * c->steps;
    base->work.compulsory_bytes = carm_lbmhd_point_bytes(c->vector) * points * c->steps;
}

static int open_arrays(struct carm_lbmhd *c, struct carm_err *err)
{
    const size_t lattice = (size_t)lattice_bytes(c, CARM_LBMHD_ARRAYS);
    int rc = carm_dwarf_fits("LBMHD", (double)c->base.bytes, err);
    rc = rc ? rc : carm_buffer_open(&c->lattice[0], lattice, err);
    rc = rc ? rc : carm_buffer_open(&c->lattice[1], lattice, err);
    rc = rc ? rc : carm_buffer_open(&c->fields, (size_t)lattice_bytes(c, CARM_LBMHD_FIELDS), err);
    return rc ? rc : carm_buffer_open(&c->scratch, scratch_bytes(c), err);
}

int carm_lbmhd_open(struct carm_dwarf_case **out, const struct carm_lbmhd_params *p,
                    struct carm_err *err)
{
    int rc = check_params(p, err);
    if (rc) {
        return rc;
    }
    struct carm_lbmhd *c = calloc(1, sizeof *c);
    if (!c) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for LBMHD");
    }
    struct fill fill = {c, p->initial ? p->initial : vortex, p->initial ? p->context : c};
    memcpy(c->n, p->n, sizeof c->n);
    c->steps = p->steps;
    c->threads = p->team->n;
    c->omega = 1.0 / (p->tau != 0.0 ? p->tau : 0.8);
    c->omega_m = 1.0 / (p->tau_m != 0.0 ? p->tau_m : 0.8);
    c->vector = p->version == CARM_LBMHD_OPTIMISED ? carm_lbmhd_vector_of(p->cpu) : NULL;
    set_velocities(&c->v);
    set_layout(c);
    describe(c);
    rc = open_arrays(c, err);
    if (rc) {
        close_case(&c->base);
        return rc;
    }
    carm_team_run(p->team, fill_job, &fill);
    carm_lbmhd_sums(c, p->team, c->sums);
    *out = &c->base;
    return 0;
}
