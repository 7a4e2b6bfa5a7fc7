/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>

#include "harness/count/step/single.h"
#include "kernels/spmv/case.h"

enum {
    PIECES = 8,       /* of a matrix that is too large to be stepped, spread over it */
    NONZEROS = 20000, /* stepped, explicit zeros included: some 2 s with scalar code */
    INSTRUCTIONS = 2000000,
};

/* Nonzeros of a block. */
static uint64_t area(const struct carm_spmv *s)
{
    return s->optimised ? (uint64_t)s->blocks.r * s->blocks.c : 1;
}

/* ---- stepping -------------------------------------------------------------------------------------------- */

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
    e->flops = 0.0;
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        e->flops += (double)counts.flops[0][w];
    }
    return rc;
}

/* ---- what a row, a block and a call execute ------------------------------------------------------------------ */

/* Sums for the fit of e = per_row x rows + per_block x blocks. Plain code follows it exactly; kernels
 * with vectors may take a pointer more from the stack in some rows. */
struct fit {
    double rr, rb, bb;         /* products of rows and blocks */
    double re, be;             /* and of both with what was executed */
    double rows, blocks, done; /* sums */
};

struct rates {
    double row, block, call;
    bool apart; /* rows and blocks could be told apart */
};

static void fit_add(struct fit *f, double rows, double blocks, double executed)
{
    f->rr += rows * rows;
    f->rb += rows * blocks;
    f->bb += blocks * blocks;
    f->re += rows * executed;
    f->be += blocks * executed;
    f->rows += rows;
    f->blocks += blocks;
    f->done += executed;
}

static struct rates fit_solve(const struct fit *f)
{
    const double det = f->rr * f->bb - f->rb * f->rb;
    struct rates r = {.apart = det > 1e-9 * f->rr * f->bb};
    if (r.apart) {
        r.row = (f->bb * f->re - f->rb * f->be) / det;
        r.block = (f->rr * f->be - f->rb * f->re) / det;
    } else if (f->blocks > 0.0) { /* all rows as long: nothing to tell both apart by */
        r.block = f->done / f->blocks;
    }
    return r;
}

/* Two stretches from the same row: their difference has no call in it. */
struct piece {
    uint32_t first, middle, end;
};

/* Blocks, and rows, which may be empty: what bounds the instructions. */
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
        p->first++; /* a row alone is longer: others tell what it executes */
    }
    p->middle = take(start, rows, p->first, quota);
    p->end = take(start, rows, p->middle, quota);
    return p->end > p->middle && start[p->end] > start[p->first];
}

struct sample {
    struct fit bytes, flops;
    double call_rows, call_blocks; /* of the first stretches, */
    double calls;                  /* and their number */
    struct executed call;
    double stepped; /* blocks */
};

static int sample_piece(const struct carm_spmv *s, const uint32_t *start, const struct piece *p,
                        struct sample *to, struct carm_err *err)
{
    struct executed some;
    struct executed more;
    int rc = step_rows(s, p->first, p->middle, &some, err);
    rc = rc ? rc : step_rows(s, p->first, p->end, &more, err);
    if (rc) {
        return rc;
    }
    const double rows = p->end - p->middle;
    const double blocks = start[p->end] - start[p->middle];
    fit_add(&to->bytes, rows, blocks, more.bytes - some.bytes);
    fit_add(&to->flops, rows, blocks, more.flops - some.flops);
    to->call_rows += p->middle - p->first;
    to->call_blocks += start[p->middle] - start[p->first];
    to->call.bytes += some.bytes;
    to->calls += 1.0;
    to->stepped += start[p->end] - start[p->first];
    return 0;
}

/* So many pieces, of which all together have `limit` nonzeros at most. */
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
            rc = sample_piece(s, start, &p, to, err);
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
    if (!rc && !(sample.calls > 0.0)) { /* where rows are long, fewer and longer ones */
        rc = sample_pieces(s, 1, limit, &sample, err);
    }
    if (rc) {
        return rc;
    }
    if (!(sample.calls > 0.0)) {
        return carm_fail(err, CARM_ENOTSUP, "every row is too long to be stepped");
    }
    struct rates bytes = fit_solve(&sample.bytes);
    const struct rates flops = fit_solve(&sample.flops);
    bytes.call =
        (sample.call.bytes - bytes.row * sample.call_rows - bytes.block * sample.call_blocks) /
        sample.calls;
    /* where all rows are as long, any sample has as many nonzeros a row as the whole */
    const bool even = sample.bytes.rows * blocks == sample.bytes.blocks * rows;
    const bool exact = !s->optimised && (bytes.apart || even);
    work->core_bytes = round(bytes.row * rows + bytes.block * blocks + bytes.call * s->threads);
    work->core_flops = round(flops.row * rows + flops.block * blocks);
    (void)snprintf(work->core_note, sizeof work->core_note,
                   "%.0f of %.0f nonzeros of the very matrix stepped%s, scaled by %s%s%s",
                   sample.stepped * each, blocks * each,
                   each > 1.0 ? " (explicit zeros included)" : "", bytes.apart ? "rows and " : "",
                   each > 1.0 ? "blocks" : "nonzeros", exact ? "" : ", within 3%");
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
    (void)snprintf(work->core_note, sizeof work->core_note, "the whole run stepped");
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
        (void)snprintf(work->core_note, sizeof work->core_note, "%.159s", why.text);
    }
    return 0;
}
