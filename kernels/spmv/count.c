/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>

#include "harness/count/step/trap.h"
#include "kernels/spmv/product.h"

enum {
    PIECES = 8,       /* sampled pieces of a matrix that is too large to be stepped */
    NONZEROS = 20000, /* stepped nonzeros, explicit zeros included: some 2 s with scalar code */
    INSTRUCTIONS = 2000000,
};

/* Nonzeros of a block. */
static uint64_t area(const struct carm_spmv *s)
{
    return s->optimised ? (uint64_t)s->blocks.r * s->blocks.c : 1;
}

struct executed {
    double bytes, flops;
};

static int step_rows(const struct carm_spmv *s, uint32_t first, uint32_t end, struct executed *e,
                     struct carm_err *err)
{
    struct carm_step_counts counts = {0};
    bool complete = false;
    int rc = carm_step_begin(INSTRUCTIONS, err);
    if (rc) {
        return rc;
    }
    carm_spmv_rows(s, first, end);
    rc = carm_step_end(&counts, &complete, err);
    if (!rc && (!complete || counts.unknown > 0)) {
        rc = carm_fail(err, CARM_ENOTSUP, "a part of SpMV executes more than was expected");
    }
    e->bytes = (double)(counts.load_bytes + counts.store_bytes);
    e->flops = carm_dwarf_stepped_flops(&counts);
    return rc;
}

/* Terms of the fit: a stretch executes the sum of rate x number. Plain code follows blocks and rows exactly;
 * kernels with vectors may load one more pointer from the stack in some rows, mostly in rows that are long
 * enough for a vector. */
enum term { BLOCKS, ROWS, VECTOR_ROWS, TERMS };

struct extent {
    double of[TERMS];
};

struct fit {
    double products[TERMS][TERMS]; /* normal equations */
    double executed[TERMS];
};

struct rates {
    double of[TERMS], call;
    bool apart; /* the fit could separate rows and blocks */
};

static struct extent extent_of(const struct carm_spmv *s, uint32_t first, uint32_t end)
{
    uint32_t rows = 0;
    const uint32_t *start = carm_spmv_start(s, &rows);
    const uint32_t vector = area(s) > 1 ? 1 : s->kernel.lanes;
    struct extent x = {.of = {[BLOCKS] = start[end] - start[first], [ROWS] = end - first}};
    for (uint32_t row = first; row < end && s->optimised; row++) {
        x.of[VECTOR_ROWS] += start[row + 1] - start[row] >= vector ? 1.0 : 0.0;
    }
    return x;
}

static double sum_of(const struct rates *r, const struct extent *x)
{
    double sum = 0.0;
    for (int i = 0; i < TERMS; i++) {
        sum += r->of[i] * x->of[i];
    }
    return sum;
}

static void fit_add(struct fit *f, const struct extent *x, double executed)
{
    for (int i = 0; i < TERMS; i++) {
        for (int j = 0; j < TERMS; j++) {
            f->products[i][j] += x->of[i] * x->of[j];
        }
        f->executed[i] += x->of[i] * executed;
    }
}

/* Solves by elimination in the order of the terms: a term that depends on earlier ones (rows, if all are equally
 * long) gets no rate. */
static struct rates fit_solve(const struct fit *fit)
{
    struct fit f = *fit;
    struct rates r = {.call = 0.0};
    bool has[TERMS];
    for (int k = 0; k < TERMS; k++) {
        has[k] = f.products[k][k] > 1e-9 * fit->products[k][k];
        for (int i = 0; i < TERMS && has[k]; i++) {
            const double part = i == k ? 0.0 : f.products[i][k] / f.products[k][k];
            for (int j = 0; j < TERMS; j++) {
                f.products[i][j] -= part * f.products[k][j];
            }
            f.executed[i] -= part * f.executed[k];
        }
    }
    for (int k = 0; k < TERMS; k++) {
        r.of[k] = has[k] ? f.executed[k] / f.products[k][k] : 0.0;
    }
    r.apart = has[ROWS];
    return r;
}

/* Two stretches from the same row: their difference contains no call. */
struct piece {
    uint32_t first, middle, end;
};

/* Number of blocks plus number of rows, which may be empty: a measure of the instructions. */
static uint64_t work_of(const uint32_t *start, uint32_t first, uint32_t end)
{
    return (uint64_t)(start[end] - start[first]) + (end - first);
}

static uint32_t take(const uint32_t *start, uint32_t rows, uint32_t first, uint64_t quota)
{
    uint32_t end = first;
    while (end < rows && work_of(start, first, end + 1) <= quota) {
        end++;
    }
    return end;
}

static bool find_piece(const uint32_t *start, uint32_t rows, int i, int pieces, uint64_t quota,
                       struct piece *p)
{
    p->first = carm_spmv_split(start, rows, i, pieces);
    while (p->first < rows && work_of(start, p->first, p->first + 1) > quota) {
        p->first++; /* passes a row that is longer than the stretch: other rows determine the rates */
    }
    p->middle = take(start, rows, p->first, quota);
    p->end = take(start, rows, p->middle, quota);
    return p->end > p->middle && start[p->end] > start[p->first];
}

struct sample {
    struct fit bytes, flops;
    struct extent all;  /* of the stretches in the fits */
    struct extent call; /* of the first stretches, with the call */
    double call_bytes, calls;
    double stepped; /* blocks */
};

static int sample_piece(const struct carm_spmv *s, const struct piece *p, struct sample *to,
                        struct carm_err *err)
{
    struct executed some;
    struct executed more;
    int rc = step_rows(s, p->first, p->middle, &some, err);
    rc = rc ? rc : step_rows(s, p->first, p->end, &more, err);
    if (rc) {
        return rc;
    }
    const struct extent call = extent_of(s, p->first, p->middle);
    const struct extent rest = extent_of(s, p->middle, p->end);
    fit_add(&to->bytes, &rest, more.bytes - some.bytes);
    fit_add(&to->flops, &rest, more.flops - some.flops);
    for (int i = 0; i < TERMS; i++) {
        to->all.of[i] += rest.of[i];
        to->call.of[i] += call.of[i];
    }
    to->call_bytes += some.bytes;
    to->calls += 1.0;
    to->stepped += call.of[BLOCKS] + rest.of[BLOCKS];
    return 0;
}

/* Steps `pieces` pieces, with at most `limit` nonzeros together. */
static int sample_pieces(const struct carm_spmv *s, int pieces, uint64_t limit, struct sample *to,
                         struct carm_err *err)
{
    uint32_t rows = 0;
    const uint32_t *start = carm_spmv_start(s, &rows);
    const uint64_t quota = limit / area(s) / (uint64_t)pieces / 3;
    int rc = 0;
    for (int i = 0; i < pieces && !rc; i++) {
        struct piece p;
        if (find_piece(start, rows, i, pieces, quota, &p)) {
            rc = sample_piece(s, &p, to, err);
        }
    }
    return rc;
}

static int count_sample(const struct carm_spmv *s, uint64_t limit, struct carm_dwarf_work *work,
                        struct carm_err *err)
{
    struct sample sample = {.calls = 0.0};
    uint32_t rows = 0;
    const uint32_t *start = carm_spmv_start(s, &rows);
    const double blocks = start[rows];
    const double each = (double)area(s);
    int rc = sample_pieces(s, PIECES, limit, &sample, err);
    if (!rc && !(sample.calls > 0.0)) { /* with long rows: one longer piece */
        rc = sample_pieces(s, 1, limit, &sample, err);
    }
    if (rc) {
        return rc;
    }
    if (!(sample.calls > 0.0)) {
        return carm_fail(err, CARM_ENOTSUP, "every row is too long to be stepped");
    }
    const struct extent whole = extent_of(s, 0, rows);
    struct rates bytes = fit_solve(&sample.bytes);
    const struct rates flops = fit_solve(&sample.flops);
    bytes.call = (sample.call_bytes - sum_of(&bytes, &sample.call)) / sample.calls;
    /* if all rows are equally long, any sample has as many nonzeros a row as the whole */
    const bool even = sample.all.of[ROWS] * blocks == sample.all.of[BLOCKS] * rows;
    const bool exact = !s->optimised && (bytes.apart || even);
    work->core_bytes = round(sum_of(&bytes, &whole) + bytes.call * s->threads);
    work->core_flops = round(sum_of(&flops, &whole));
    snprintf(work->core_note, sizeof work->core_note,
             "%.0f of %.0f nonzeros of the very matrix stepped%s, scaled by %s%s%s",
             sample.stepped * each, blocks * each, each > 1.0 ? " (explicit zeros included)" : "",
             bytes.apart ? "rows and " : "", each > 1.0 ? "blocks" : "nonzeros",
             exact ? "" : ", within 3%");
    return 0;
}

static int count_all(const struct carm_spmv *s, struct carm_dwarf_work *work, struct carm_err *err)
{
    struct executed sum = {0.0, 0.0};
    for (int t = 0; t < s->threads; t++) {
        struct executed e;
        const int rc = step_rows(s, s->split[t], s->split[t + 1], &e, err);
        if (rc) {
            return rc;
        }
        sum.bytes += e.bytes;
        sum.flops += e.flops;
    }
    work->core_bytes = sum.bytes;
    work->core_flops = sum.flops;
    snprintf(work->core_note, sizeof work->core_note, "the whole run stepped");
    return 0;
}

int carm_spmv_count_some(const struct carm_spmv *s, uint64_t nonzeros, struct carm_dwarf_work *work,
                         struct carm_err *err)
{
    uint32_t rows = 0;
    const uint32_t *start = carm_spmv_start(s, &rows);
    int rc = carm_step_check(err);
    if (!rc) {
        rc = rows <= nonzeros && start[rows] * area(s) <= nonzeros
                 ? count_all(s, work, err)
                 : count_sample(s, nonzeros, work, err);
    }
    work->core_by = rc ? CARM_COUNTED_NOT : CARM_COUNTED_STEPPED;
    return rc;
}

int carm_spmv_count(struct carm_dwarf_case *c, struct carm_dwarf_work *work, struct carm_err *err)
{
    struct carm_err why;
    (void)err;
    *work = c->work;
    if (carm_spmv_count_some((const struct carm_spmv *)c, NONZEROS, work, &why) != 0) {
        work->core_bytes = 0.0;
        work->core_flops = 0.0;
        snprintf(work->core_note, sizeof work->core_note, "%.159s", why.text);
    }
    return 0;
}

/* The receiver of the counts. */
struct listener {
    carm_dwarf_access *access;
    void *context;
};

static void load(const struct listener *l, const void *at, size_t bytes)
{
    l->access(l->context, (uintptr_t)at, (unsigned)bytes, false, false);
}

static void store(const struct listener *l, const void *at, size_t bytes)
{
    l->access(l->context, (uintptr_t)at, (unsigned)bytes, true, false);
}

static void trace_csr(const struct carm_spmv *s, const struct listener *l)
{
    const struct carm_csr *a = &s->csr;
    load(l, &a->start[s->split[0]], sizeof *a->start);
    for (uint32_t row = s->split[0]; row < s->split[1]; row++) {
        load(l, &a->start[row + 1], sizeof *a->start);
        for (uint32_t k = a->start[row]; k < a->start[row + 1]; k++) {
            load(l, &a->column[k], sizeof *a->column);
            load(l, &a->value[k], sizeof *a->value);
            load(l, &s->x[a->column[k]], sizeof *s->x);
        }
        store(l, &s->y[row], sizeof *s->y);
    }
}

/* Doubles of the next vector, if `left` doubles are left. */
static unsigned vector(unsigned lanes, unsigned left)
{
    unsigned n = lanes;
    while (n > left) {
        n /= 2;
    }
    return n;
}

/* Accesses n doubles by vectors. */
static void each_vector(const struct listener *l, const double *at, unsigned lanes, unsigned n,
                        void (*access)(const struct listener *, const void *, size_t))
{
    for (unsigned i = 0; i < n;) {
        const unsigned now = vector(lanes, n - i);
        access(l, at + i, now * sizeof *at);
        i += now;
    }
}

static uint32_t column_of(const struct carm_bcsr *b, const struct listener *l, uint32_t row,
                          uint32_t k)
{
    if (b->index16) {
        load(l, &b->index16[k], sizeof *b->index16);
        return b->base[row] + b->index16[k];
    }
    load(l, &b->index32[k], sizeof *b->index32);
    return b->index32[k];
}

/* Traces one block: with a single row, vectors along the row; with several rows, column after column. */
static void trace_block(const struct carm_spmv *s, const struct listener *l, uint32_t row,
                        uint32_t k)
{
    const struct carm_bcsr *b = &s->blocks;
    const double *v = b->value + (size_t)k * b->r * b->c;
    const double *x = s->x + (size_t)column_of(b, l, row, k) * b->c;
    if (b->r == 1) {
        each_vector(l, v, s->kernel.lanes, b->c, load);
        each_vector(l, x, s->kernel.lanes, b->c, load);
        return;
    }
    for (uint32_t j = 0; j < b->c; j++) {
        load(l, x + j, sizeof *x);
        each_vector(l, v + (size_t)j * b->r, s->kernel.lanes, b->r, load);
    }
}

/* Traces blocks of 1 x 1: a vector of values at a time, then the rest one by one. */
static void trace_single(const struct carm_spmv *s, const struct listener *l, uint32_t row)
{
    const struct carm_bcsr *b = &s->blocks;
    const unsigned lanes = s->kernel.lanes;
    for (uint32_t k = b->start[row]; k < b->start[row + 1];) {
        const uint32_t n = b->start[row + 1] - k >= lanes ? lanes : 1;
        load(l, &b->value[k], n * sizeof *b->value);
        for (uint32_t i = 0; i < n; i++, k++) {
            load(l, &s->x[column_of(b, l, row, k)], sizeof *s->x);
        }
    }
}

static void trace_blocks(const struct carm_spmv *s, const struct listener *l)
{
    const struct carm_bcsr *b = &s->blocks;
    load(l, &b->start[s->split[0]], sizeof *b->start);
    for (uint32_t row = s->split[0]; row < s->split[1]; row++) {
        load(l, &b->start[row + 1], sizeof *b->start);
        if (b->index16) {
            load(l, &b->base[row], sizeof *b->base);
        }
        if (b->r == 1 && b->c == 1) {
            trace_single(s, l, row);
        } else {
            for (uint32_t k = b->start[row]; k < b->start[row + 1]; k++) {
                trace_block(s, l, row, k);
            }
        }
        each_vector(l, s->y + (size_t)row * b->r, s->kernel.lanes, b->r, store);
    }
}

void carm_spmv_trace(const struct carm_dwarf_case *c, carm_dwarf_access *access, void *context)
{
    const struct carm_spmv *s = (const struct carm_spmv *)c;
    const struct listener l = {access, context};
    if (s->optimised) {
        trace_blocks(s, &l);
    } else {
        trace_csr(s, &l);
    }
}
