/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/transpose/exchange.h"

#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Compulsory bytes of an exchange: 32, and 16 more where a line is read before it is stored to. */
static double point_bytes(bool nontemporal)
{
    return sizeof(struct carm_transpose_point) * (nontemporal ? 2.0 : 3.0);
}

/* Jobs: each thread moves planes of in, and touches and checks planes of out. */

/* The value at a point encodes the point's right place. */
static struct carm_transpose_point value_at(size_t n, size_t z, size_t y, size_t x)
{
    const double index = (double)((z * n + y) * n + x);
    return (struct carm_transpose_point){index, -index - 0.5};
}

static void fill_job(struct carm_worker *w, void *arg)
{
    const struct carm_transpose *t = arg;
    const size_t last = carm_dwarf_share(t->n, w->index + 1, w->team->n);
    for (size_t z = carm_dwarf_share(t->n, w->index, w->team->n); z < last; z++) {
        for (size_t y = 0; y < t->n; y++) {
            struct carm_transpose_point *in =
                (struct carm_transpose_point *)t->in.start + (z * t->n + y) * t->pitch;
            struct carm_transpose_point *out = carm_transpose_out(t, z, y);
            for (size_t x = 0; x < t->pitch; x++) {
                in[x] = value_at(t->n, z, y, x);
                out[x] = (struct carm_transpose_point){NAN, NAN};
            }
        }
    }
}

static void run_job(struct carm_worker *w, void *arg)
{
    const struct carm_transpose *t = arg;
    const size_t last = carm_dwarf_share(t->n, w->index + 1, w->team->n);
    struct carm_transpose_part part = {.t = t, .last = t->n};
    for (part.z = carm_dwarf_share(t->n, w->index, w->team->n); part.z < last; part.z++) {
        if (t->vector) {
            t->vector->rows(&part);
        } else {
            carm_transpose_plain_rows(&part);
        }
    }
    _mm_sfence(); /* afterwards, other threads see the stores past the caches */
}

static int run(struct carm_dwarf_case *base, struct carm_team *team, struct carm_err *err)
{
    (void)err;
    carm_team_run(team, run_job, base);
    return 0;
}

struct checked {
    const struct carm_transpose *t;
    pthread_mutex_t lock;
    size_t wrong;
};

static size_t wrong_of_plane(const struct carm_transpose *t, size_t x)
{
    size_t wrong = 0;
    for (size_t z = 0; z < t->n; z++) {
        const struct carm_transpose_point *out = carm_transpose_out(t, x, z);
        for (size_t y = 0; y < t->n; y++) {
            const struct carm_transpose_point want = value_at(t->n, z, y, x);
            wrong += !(out[y].re == want.re && out[y].im == want.im);
        }
    }
    return wrong;
}

static void check_job(struct carm_worker *w, void *arg)
{
    struct checked *c = arg;
    const size_t last = carm_dwarf_share(c->t->n, w->index + 1, w->team->n);
    size_t wrong = 0;
    for (size_t x = carm_dwarf_share(c->t->n, w->index, w->team->n); x < last; x++) {
        wrong += wrong_of_plane(c->t, x);
    }
    pthread_mutex_lock(&c->lock);
    c->wrong += wrong;
    pthread_mutex_unlock(&c->lock);
}

static int check(struct carm_dwarf_case *base, struct carm_team *team, double *error, char by[96],
                 struct carm_err *err)
{
    struct checked c = {.t = (const struct carm_transpose *)base,
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    snprintf(by, 96, "every point, exactly");
    carm_team_run(team, check_job, &c);
    *error = c.wrong ? 1.0 : 0.0;
    if (c.wrong) {
        return carm_fail(err, CARM_EFORMAT, "Transpose (%s) of %s has %zu points in a wrong place",
                         base->version, base->size, c.wrong);
    }
    return 0;
}

static void close_case(struct carm_dwarf_case *base)
{
    struct carm_transpose *t = (struct carm_transpose *)base;
    if (!t) {
        return;
    }
    carm_buffer_close(&t->in);
    carm_buffer_close(&t->out);
    free(t);
}

static const struct carm_dwarf_ops ops = {
    .run = run,
    .check = check,
    .count = carm_transpose_count,
    .trace = carm_transpose_trace,
    .close = close_case,
};

static void describe(struct carm_transpose *t)
{
    struct carm_dwarf_case *base = &t->base;
    const double n = (double)t->n;
    base->ops = &ops;
    base->version = t->vector ? "optimised" : "plain";
    snprintf(base->size, sizeof base->size, "%zu^3", t->n);
    snprintf(base->isa, sizeof base->isa, "%s", t->vector ? t->vector->isa : "sse");
    base->bytes = 2 * t->n * t->n * t->pitch * sizeof(struct carm_transpose_point);
    base->work.metric = "exchange";
    base->work.operations = n * n * n;
    base->work.compulsory_bytes = point_bytes(t->vector) * n * n * n;
}

int carm_transpose_open(struct carm_dwarf_case **out, const struct carm_transpose_params *p,
                        struct carm_err *err)
{
    if (p->n < 1 || p->n > CARM_TRANSPOSE_N_MAX) {
        return carm_fail(err, CARM_EINVAL, "Transpose takes n from 1 to %d, not %zu",
                         CARM_TRANSPOSE_N_MAX, p->n);
    }
    struct carm_transpose *t = calloc(1, sizeof *t);
    if (!t) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for Transpose");
    }
    t->n = p->n;
    t->pitch = (p->n + CARM_TRANSPOSE_LINE - 1) / CARM_TRANSPOSE_LINE * CARM_TRANSPOSE_LINE;
    t->threads = p->team->n;
    t->vector = p->version == CARM_TRANSPOSE_OPTIMISED ? carm_transpose_vector_of(p->cpu) : NULL;
    describe(t);
    int rc = carm_dwarf_fits("Transpose", (double)t->base.bytes, err);
    rc = rc ? rc : carm_buffer_open(&t->in, t->base.bytes / 2, err);
    rc = rc ? rc : carm_buffer_open(&t->out, t->base.bytes / 2, err);
    if (rc) {
        close_case(&t->base);
        return rc;
    }
    carm_team_run(p->team, fill_job, t);
    *out = &t->base;
    return 0;
}
