/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of LBMHD: its instructions (a row is stepped), and the order of its memory accesses. */
#include <immintrin.h>
#include <stdio.h>

#include "harness/count/step/trap.h"
#include "kernels/lbmhd/step.h"

/* Most points of a row that are stepped: the plain version takes some 4000 instructions a point. */
enum { PLAIN_POINTS = 48, VECTOR_POINTS = 1024, BUDGET = 4000000 };

int carm_lbmhd_count(struct carm_dwarf_case *base, struct carm_dwarf_work *work,
                     struct carm_err *err)
{
    struct carm_lbmhd *c = (struct carm_lbmhd *)base;
    const size_t most = c->vector ? VECTOR_POINTS : PLAIN_POINTS;
    struct carm_step_counts counts = {0};
    bool complete = false;
    struct carm_lbmhd_row row = carm_lbmhd_row(c, c->current, 0);
    row.y = c->n[1] / 2;
    row.z = c->n[2] / 2;
    row.last = c->n[0] < most ? c->n[0] : most;
    void (*const step)(const struct carm_lbmhd_row *) =
        c->vector ? c->vector->row : carm_lbmhd_plain_row;
    c->previous = false;
    int rc = carm_step_begin(BUDGET, err);
    if (!rc) {
        step(&row);
        rc = carm_step_end(&counts, &complete, err);
    }
    if (rc || !complete) {
        snprintf(work->core_note, sizeof work->core_note, "%.150s",
                 rc && err ? err->text : "stepping did not come to an end");
        return 0;
    }
    const double points = (double)c->n[0] * (double)c->n[1] * (double)c->n[2] * c->steps;
    const double factor = points / (double)row.last;
    carm_dwarf_scale(work, &counts, factor);
    snprintf(work->core_note, sizeof work->core_note,
             "%zu points of a row stepped, x %.6g; published form: %d flops a point", row.last,
             factor, CARM_LBMHD_FLOPS);
    return 0;
}

struct tracer {
    const struct carm_lbmhd_row *row;
    carm_dwarf_access *access;
    void *context;
    unsigned vector; /* bytes */
};

static void emit(const struct tracer *t, const double *at, unsigned bytes, bool store, bool nt)
{
    t->access(t->context, (uint64_t)(uintptr_t)at, bytes, store, nt);
}

/* The first element of the row from which an array's points stream. */
static const double *source_row(const struct carm_lbmhd_row *r, size_t array)
{
    const struct carm_lbmhd *c = r->c;
    const int *step = c->v.step[carm_lbmhd_velocity((int)array)];
    const size_t y = carm_lbmhd_upwind(r->y, step[1], c->n[1]);
    const size_t z = carm_lbmhd_upwind(r->z, step[2], c->n[2]);
    return r->from + array * c->stride + carm_lbmhd_row_at(c, y, z);
}

static const double *target(const struct carm_lbmhd_row *r, size_t array)
{
    const size_t row = carm_lbmhd_row_at(r->c, r->y, r->z);
    return row + (array < CARM_LBMHD_ARRAYS
                      ? r->to + array * r->c->stride
                      : r->fields + (array - CARM_LBMHD_ARRAYS) * r->c->stride);
}

/* Traces velocity by velocity, field components with their velocity. Small tables, and a point's values on the stack,
 * never leave the first cache and are left out. */
static void trace_plain(const struct tracer *t)
{
    const struct carm_lbmhd *c = t->row->c;
    for (size_t x = t->row->first; x < t->row->last; x++) {
        for (int i = 0; i < CARM_LBMHD_Q; i++) {
            const size_t from = carm_lbmhd_upwind(x, c->v.step[i][0], c->n[0]);
            emit(t, source_row(t->row, (size_t)i) + from, 8, false, false);
            for (int a = 0; a < 3 && i < CARM_LBMHD_QM; a++) {
                const size_t array = CARM_LBMHD_Q + 3 * (size_t)i + (size_t)a;
                emit(t, source_row(t->row, array) + from, 8, false, false);
            }
        }
        for (size_t i = 0; i < CARM_LBMHD_ROWS; i++) {
            emit(t, target(t->row, i) + x, 8, true, false);
        }
    }
}

static void trace_gather(const struct tracer *t, size_t array, size_t x, size_t len)
{
    const struct carm_lbmhd *c = t->row->c;
    const int step = c->v.step[carm_lbmhd_velocity((int)array)][0];
    const double *row = source_row(t->row, array);
    const double *scratch = t->row->scratch + array * CARM_LBMHD_BLOCK;
    for (size_t i = 0; i < len; i += c->vector->lanes) {
        emit(t, row + (ptrdiff_t)(x + i) - step, t->vector, false, false);
        emit(t, scratch + i, t->vector, true, false);
    }
    if (step > 0 && x == 0) {
        emit(t, row + c->n[0] - 1, 8, false, false);
        emit(t, scratch, 8, true, false);
    }
    if (step < 0 && x + len == c->n[0]) {
        emit(t, row, 8, false, false);
        emit(t, scratch + len - 1, 8, true, false);
    }
}

/* Each array's vector is read for the sums, then read and written for the relaxation. */
static void trace_collide(const struct tracer *t, size_t i)
{
    const double *scratch = t->row->scratch + i;
    for (size_t array = 0; array < CARM_LBMHD_ARRAYS; array++) {
        emit(t, scratch + array * CARM_LBMHD_BLOCK, t->vector, false, false);
    }
    for (size_t k = CARM_LBMHD_ARRAYS; k < CARM_LBMHD_ROWS; k++) {
        emit(t, scratch + k * CARM_LBMHD_BLOCK, t->vector, true, false);
    }
    for (size_t array = 0; array < CARM_LBMHD_ARRAYS; array++) {
        emit(t, scratch + array * CARM_LBMHD_BLOCK, t->vector, false, false);
        emit(t, scratch + array * CARM_LBMHD_BLOCK, t->vector, true, false);
    }
}

static void trace_scatter(const struct tracer *t, size_t array, size_t x, size_t len)
{
    const double *scratch = t->row->scratch + array * CARM_LBMHD_BLOCK;
    const double *to = target(t->row, array) + x;
    const size_t lanes = t->row->c->vector->lanes;
    for (size_t i = 0; i < len; i += i + lanes <= len ? lanes : 1) {
        const bool whole = i + lanes <= len;
        emit(t, scratch + i, whole ? t->vector : 8, false, false);
        emit(t, to + i, whole ? t->vector : 8, true, whole);
    }
}

static void trace_vector(const struct tracer *t)
{
    for (size_t x = t->row->first; x < t->row->last; x += CARM_LBMHD_BLOCK) {
        const size_t left = t->row->last - x;
        const size_t len = left < CARM_LBMHD_BLOCK ? left : CARM_LBMHD_BLOCK;
        for (size_t i = 0; i < CARM_LBMHD_ARRAYS; i++) {
            trace_gather(t, i, x, len);
        }
        for (size_t i = 0; i < len; i += t->row->c->vector->lanes) {
            trace_collide(t, i);
        }
        for (size_t i = 0; i < CARM_LBMHD_ROWS; i++) {
            trace_scatter(t, i, x, len);
        }
    }
}

/* Traces the first thread's accesses. */
void carm_lbmhd_trace(const struct carm_dwarf_case *base, carm_dwarf_access *access, void *context)
{
    const struct carm_lbmhd *c = (const struct carm_lbmhd *)base;
    const size_t rows = carm_dwarf_share(c->n[1] * c->n[2], 1, c->threads);
    for (int s = 0; s < c->steps; s++) {
        struct carm_lbmhd_row row = carm_lbmhd_row(c, (c->current + s) % 2, 0);
        const struct tracer t = {&row, access, context,
                                 c->vector ? c->vector->lanes * (unsigned)sizeof(double) : 8};
        for (size_t r = 0; r < rows; r++) {
            row.y = r % c->n[1];
            row.z = r / c->n[1];
            if (c->vector) {
                trace_vector(&t);
            } else {
                trace_plain(&t);
            }
        }
    }
}
