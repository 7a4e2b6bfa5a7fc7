/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of the transpose: its instructions (some rows are stepped), and the order of its memory
 * accesses. */
#include <immintrin.h>
#include <stdio.h>

#include "harness/count/step/trap.h"
#include "kernels/transpose/exchange.h"

enum { POINTS = 8192, BUDGET = 4000000 };

/* Rows of a plane that are stepped: whole bands of tiles, or all of them. */
static size_t rows_of(const struct carm_transpose *t)
{
    const size_t bands = POINTS / (t->n * CARM_TRANSPOSE_TILE);
    const size_t rows = (bands ? bands : 1) * CARM_TRANSPOSE_TILE;
    return rows < t->n ? rows : t->n;
}

int carm_transpose_count(struct carm_dwarf_case *base, struct carm_dwarf_work *work,
                         struct carm_err *err)
{
    const struct carm_transpose *t = (const struct carm_transpose *)base;
    const struct carm_transpose_part part = {.t = t, .z = t->n / 2, .first = 0, .last = rows_of(t)};
    void (*const step)(const struct carm_transpose_part *) =
        t->vector ? t->vector->rows : carm_transpose_plain_rows;
    struct carm_step_counts counts = {0};
    bool complete = false;
    int rc = carm_step_begin(BUDGET, err);
    if (!rc) {
        step(&part);
        rc = carm_step_end(&counts, &complete, err);
    }
    if (rc || !complete) {
        snprintf(work->core_note, sizeof work->core_note, "%.150s",
                 rc && err ? err->text : "stepping did not come to an end");
        return 0;
    }
    const double factor = work->operations / ((double)part.last * (double)t->n);
    carm_dwarf_scale(work, &counts, factor);
    snprintf(work->core_note, sizeof work->core_note,
             "%zu rows of a plane stepped, x %.6g; %.0f flops", part.last, factor,
             work->core_flops / factor);
    return 0;
}

struct tracer {
    const struct carm_transpose *t;
    size_t z;
    carm_dwarf_access *access;
    void *context;
};

static void load(const struct tracer *r, size_t y, size_t x, unsigned points)
{
    const struct carm_transpose_point *at = carm_transpose_in(r->t, r->z, y) + x;
    r->access(r->context, (uint64_t)(uintptr_t)at, points * (unsigned)sizeof *at, false, false);
}

static void store(const struct tracer *r, size_t x, size_t y, unsigned points)
{
    const struct carm_transpose_point *at = carm_transpose_out(r->t, x, r->z) + y;
    r->access(r->context, (uint64_t)(uintptr_t)at, points * (unsigned)sizeof *at, true,
              r->t->vector);
}

static void move(const struct tracer *r, size_t y, size_t x)
{
    load(r, y, x, 1);
    store(r, x, y, 1);
}

/* Traces a tile like kernels/transpose/vector.c: a square with a vector's points along an edge. */
static void trace_tile(const struct tracer *r, size_t y, size_t x)
{
    const unsigned v = r->t->vector->points;
    for (size_t i = 0; i < CARM_TRANSPOSE_LINE; i += v) {
        for (size_t j = 0; j < CARM_TRANSPOSE_LINE; j += v) {
            for (size_t k = 0; k < v; k++) {
                load(r, y + j + k, x + i, v);
            }
            for (size_t k = 0; k < v; k++) {
                store(r, x + i + k, y + j, v);
            }
        }
    }
}

static void trace_band(const struct tracer *r, size_t band, size_t rows)
{
    const size_t n = r->t->n;
    const size_t whole = n / CARM_TRANSPOSE_LINE * CARM_TRANSPOSE_LINE;
    const size_t end = band + rows / CARM_TRANSPOSE_LINE * CARM_TRANSPOSE_LINE;
    for (size_t x = 0; x < whole; x += CARM_TRANSPOSE_LINE) {
        for (size_t y = band; y < end; y += CARM_TRANSPOSE_LINE) {
            trace_tile(r, y, x);
        }
    }
    for (size_t x = 0; x < n; x++) {
        for (size_t y = x < whole ? end : band; y < band + rows; y++) {
            move(r, y, x);
        }
    }
}

static void trace_plane(const struct tracer *r)
{
    const size_t n = r->t->n;
    for (size_t y = 0; y < n && !r->t->vector; y++) {
        for (size_t x = 0; x < n; x++) {
            move(r, y, x);
        }
    }
    for (size_t y = 0; y < n && r->t->vector; y += CARM_TRANSPOSE_TILE) {
        trace_band(r, y, n - y < CARM_TRANSPOSE_TILE ? n - y : CARM_TRANSPOSE_TILE);
    }
}

void carm_transpose_trace(const struct carm_dwarf_case *base, carm_dwarf_access *access,
                          void *context)
{
    const struct carm_transpose *t = (const struct carm_transpose *)base;
    struct tracer r = {t, 0, access, context};
    for (; r.z < carm_dwarf_share(t->n, 1, t->threads); r.z++) {
        trace_plane(&r);
    }
}
