/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "harness/count/step/trap.h"
#include "kernels/stencil/sweep.h"

enum {
    POINTS = 20000, /* most points of a sweep that is stepped whole: some 2 s with scalar code */
    INSTRUCTIONS = 4000000,
};

struct executed {
    double bytes, flops;
};

static int step_range(const struct carm_stencil *s, const struct carm_stencil_range *r,
                      struct executed *e, struct carm_err *err)
{
    struct carm_step_counts counts = {0};
    bool complete = false;
    /* repeats the last sweep, if there was one: it writes equal values */
    const double *from = s->grid[s->steps > 0 ? s->now ^ 1 : s->now];
    double *to = s->grid[s->steps > 0 ? s->now : s->now ^ 1];
    int rc = carm_step_begin(INSTRUCTIONS, err);
    if (rc) {
        return rc;
    }
    carm_stencil_sweep(s, from, to, r);
    rc = carm_step_end(&counts, &complete, err);
    if (!rc && (!complete || counts.unknown > 0)) {
        rc = carm_fail(err, CARM_ENOTSUP, "a part of the stencil executes more than was expected");
    }
    e->bytes = (double)(counts.load_bytes + counts.store_bytes);
    e->flops = carm_dwarf_stepped_flops(&counts);
    return rc;
}

typedef int visit_fn(void *arg, const struct carm_stencil_range *r, struct carm_err *err);

/* Visits all ranges of all threads in a sweep. */
static int each_range(const struct carm_stencil *s, visit_fn *visit, void *arg,
                      struct carm_err *err)
{
    int rc = 0;
    for (int t = 0; t < s->threads && !rc; t++) {
        struct carm_stencil_range r = carm_stencil_share(s, t);
        for (uint32_t y = 0; y < s->n && r.z < r.z_end && !rc; y = r.y_end) {
            r.y = y;
            r.y_end = s->n - y < s->block ? s->n : y + s->block;
            rc = visit(arg, &r, err);
        }
    }
    return rc;
}

struct total {
    const struct carm_stencil *s;
    struct executed line, plane, call; /* counts of one of each, if sampled */
    struct executed sum;
};

static int step_one(void *arg, const struct carm_stencil_range *r, struct carm_err *err)
{
    struct total *t = arg;
    struct executed e;
    const int rc = step_range(t->s, r, &e, err);
    if (!rc) {
        t->sum.bytes += e.bytes;
        t->sum.flops += e.flops;
    }
    return rc;
}

static double linear(double call, double plane, double line, const struct carm_stencil_range *r)
{
    return call + (r->z_end - r->z) * (plane + (r->y_end - r->y) * line);
}

static int scale_one(void *arg, const struct carm_stencil_range *r, struct carm_err *err)
{
    struct total *t = arg;
    (void)err;
    t->sum.bytes += linear(t->call.bytes, t->plane.bytes, t->line.bytes, r);
    t->sum.flops += linear(t->call.flops, t->plane.flops, t->line.flops, r);
    return 0;
}

/* Finds the instructions of a call, a plane and a line, from sweeps over one line, two lines, and one line of
 * two planes. All lines have the same length, so the result is exact. */
static int sample(struct total *t, struct carm_err *err)
{
    static const struct carm_stencil_range ranges[] = {{0, 1, 0, 1}, {0, 1, 0, 2}, {0, 2, 0, 1}};
    struct executed e[3];
    for (int i = 0; i < 3; i++) {
        const int rc = step_range(t->s, &ranges[i], &e[i], err);
        if (rc) {
            return rc;
        }
    }
    t->line.bytes = e[1].bytes - e[0].bytes;
    t->line.flops = e[1].flops - e[0].flops;
    t->plane.bytes = e[2].bytes - e[0].bytes - t->line.bytes;
    t->plane.flops = e[2].flops - e[0].flops - t->line.flops;
    t->call.bytes = e[0].bytes - t->plane.bytes - t->line.bytes;
    t->call.flops = e[0].flops - t->plane.flops - t->line.flops;
    return 0;
}

int carm_stencil_count_some(const struct carm_stencil *s, uint64_t points,
                            struct carm_dwarf_work *work, struct carm_err *err)
{
    struct total t = {.s = s};
    const uint64_t all = (uint64_t)s->n * s->n * s->n;
    const bool whole = s->n < 2 || all <= points;
    int rc = carm_step_check(err);
    if (!rc && whole) {
        rc = each_range(s, step_one, &t, err);
    } else if (!rc) {
        rc = sample(&t, err);
        rc = rc ? rc : each_range(s, scale_one, &t, err);
    }
    work->core_by = rc ? CARM_COUNTED_NOT : CARM_COUNTED_STEPPED;
    work->core_bytes = rc ? 0.0 : t.sum.bytes * s->sweeps;
    work->core_flops = rc ? 0.0 : t.sum.flops * s->sweeps;
    snprintf(work->core_note, sizeof work->core_note, "%s",
             whole ? "a whole sweep stepped"
                   : "4 lines of the very grid stepped, scaled by calls, planes and lines");
    return rc;
}

int carm_stencil_count(struct carm_dwarf_case *c, struct carm_dwarf_work *work,
                       struct carm_err *err)
{
    struct carm_err why;
    (void)err;
    *work = c->work;
    if (carm_stencil_count_some((const struct carm_stencil *)c, POINTS, work, &why) != 0) {
        snprintf(work->core_note, sizeof work->core_note, "%.159s", why.text);
    }
    return 0;
}

struct listener {
    carm_dwarf_access *access;
    void *context;
};

/* Traces points in the kernels' order, `doubles` at a time: neighbours along x, y and z, the point itself, the
 * result. */
static void trace_points(const struct carm_stencil *s, const struct listener *l, const double *from,
                         const double *to, unsigned doubles, bool nontemporal)
{
    const ptrdiff_t away[] = {-1, 1, -s->pitch, s->pitch, -s->plane, s->plane, 0};
    const unsigned bytes = doubles * (unsigned)sizeof *from;
    for (size_t i = 0; i < sizeof away / sizeof *away; i++) {
        l->access(l->context, (uintptr_t)(from + away[i]), bytes, false, false);
    }
    l->access(l->context, (uintptr_t)to, bytes, true, nontemporal);
}

static void trace_line(const struct carm_stencil *s, const struct listener *l, const double *from,
                       const double *to)
{
    const uint32_t lanes = s->kernel->lanes;
    uint32_t x = 0;
    for (; s->n - x >= lanes; x += lanes) {
        trace_points(s, l, from + x, to + x, lanes, s->streamed);
    }
    for (; x < s->n; x++) {
        trace_points(s, l, from + x, to + x, 1, false);
    }
}

static void trace_block(const struct carm_stencil *s, const struct listener *l, int from,
                        const struct carm_stencil_range *r)
{
    for (uint32_t z = r->z; z < r->z_end; z++) {
        for (uint32_t y = r->y; y < r->y_end; y++) {
            const ptrdiff_t line = z * s->plane + y * s->pitch;
            trace_line(s, l, s->grid[from] + line, s->grid[from ^ 1] + line);
        }
    }
}

void carm_stencil_trace(const struct carm_dwarf_case *c, carm_dwarf_access *access, void *context)
{
    const struct carm_stencil *s = (const struct carm_stencil *)c;
    const struct listener l = {access, context};
    int from = s->now;
    for (uint32_t i = 0; i < s->sweeps; i++) {
        struct carm_stencil_range r = carm_stencil_share(s, 0);
        /* with more threads than planes, the first thread may have no plane; the last one always has */
        r = r.z < r.z_end ? r : carm_stencil_share(s, s->threads - 1);
        for (uint32_t y = 0; y < s->n; y = r.y_end) {
            r.y = y;
            r.y_end = s->n - y < s->block ? s->n : y + s->block;
            trace_block(s, &l, from, &r);
        }
        from ^= 1;
    }
}
