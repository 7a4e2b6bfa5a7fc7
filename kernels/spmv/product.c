/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/spmv/product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/clock.h"
#include "kernels/spmv/market.h"

enum {
    PAD = 16,      /* doubles behind x and y: the last block may reach beyond the matrix */
    TUNE_RUNS = 3, /* runs with each prefetch distance */
};

/* Prefetch distances for CARM_SPMV_TUNE, bytes: up to 32 lines. */
static const uint32_t distances[] = {0, 256, 512, 1024, 2048};

static void multiply_job(struct carm_worker *w, void *arg)
{
    const struct carm_spmv *s = arg;
    for (int t = w->index; t < s->threads; t += w->team->n) {
        carm_spmv_rows(s, s->split[t], s->split[t + 1]);
    }
}

static int run(struct carm_dwarf_case *c, struct carm_team *team, struct carm_err *err)
{
    (void)err;
    carm_team_run(team, multiply_job, c);
    return 0;
}

/* The matrix in CSR, written by the threads that will read it. */
struct copying {
    const struct carm_csr *from;
    struct carm_csr *to;
};

/* The first row of thread t of n in the plain version: equally many rows, however many nonzeros they have. */
static uint32_t even_rows(uint32_t rows, int t, int n)
{
    return (uint32_t)((uint64_t)rows * (uint64_t)t / (uint64_t)n);
}

static void copy_job(struct carm_worker *w, void *arg)
{
    const struct copying *c = arg;
    const uint32_t first = even_rows(c->from->rows, w->index, w->team->n);
    const uint32_t end = even_rows(c->from->rows, w->index + 1, w->team->n);
    const uint32_t at = c->from->start[first];
    const uint32_t n = c->from->start[end] - at;
    memcpy(c->to->start + first + 1, c->from->start + first + 1,
           (size_t)(end - first) * sizeof *c->to->start);
    memcpy(c->to->column + at, c->from->column + at, n * sizeof *c->to->column);
    memcpy(c->to->value + at, c->from->value + at, n * sizeof *c->to->value);
}

static int store_plain(struct carm_spmv *s, const struct carm_csr *a, struct carm_team *team,
                       struct carm_err *err)
{
    struct copying c = {a, &s->csr};
    const int rc = carm_csr_open(&s->csr, "its copy", a->rows, a->columns, a->nonzeros, err);
    if (!rc) {
        carm_team_run(team, copy_job, &c);
    }
    return rc;
}

static int store_blocked(struct carm_spmv *s, const struct carm_csr *a,
                         const struct carm_spmv_params *p, struct carm_err *err)
{
    unsigned r = p->block_rows;
    unsigned c = p->block_columns;
    if (r == 0 && c == 0) {
        carm_bcsr_choose(a, &r, &c);
    }
    if (!carm_bcsr_shape(r, c)) {
        return carm_fail(err, CARM_EINVAL,
                         "no code for blocks of %u x %u: 1, 2, 3, 4 or 8 rows and 1 to 4 columns",
                         r, c);
    }
    const int rc = carm_bcsr_open(&s->blocks, a, r, c, p->team, err);
    if (!rc && !carm_spmv_kernel_find(p->cpu, &s->blocks, &s->kernel)) {
        return carm_fail(err, CARM_ENOTSUP, "no code for blocks of %u x %u on this processor", r,
                         c);
    }
    return rc;
}

static void vectors_job(struct carm_worker *w, void *arg)
{
    const struct carm_spmv *s = arg;
    const uint32_t unit = s->optimised ? s->blocks.r : 1;
    const uint64_t y_first = (uint64_t)s->split[w->index] * unit;
    const uint64_t y_end = (uint64_t)s->split[w->index + 1] * unit;
    carm_spmv_fill_x(s->x, even_rows(s->columns, w->index, w->team->n),
                     even_rows(s->columns, w->index + 1, w->team->n));
    for (uint64_t i = y_first; i < y_end; i++) {
        s->y[i] = NAN; /* a value that is never computed must not pass for a result */
    }
}

/* Makes the threads' shares, and x and y. */
static int take_vectors(struct carm_spmv *s, struct carm_team *team, struct carm_err *err)
{
    uint32_t rows = 0;
    const uint32_t *start = carm_spmv_start(s, &rows);
    s->split = calloc((size_t)s->threads + 1, sizeof *s->split);
    if (!s->split) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %d threads", s->threads);
    }
    for (int t = 0; t <= s->threads; t++) {
        s->split[t] = s->optimised ? carm_spmv_split(start, rows, t, s->threads)
                                   : even_rows(rows, t, s->threads);
    }
    const size_t x_bytes = ((size_t)s->columns + PAD) * sizeof *s->x / 64 * 64 + 64;
    const size_t y_bytes = ((size_t)s->rows + PAD) * sizeof *s->y;
    int rc = carm_dwarf_fits("the vectors", (double)(x_bytes + y_bytes), err);
    rc = rc ? rc : carm_buffer_open(&s->vectors, x_bytes + y_bytes, err);
    if (!rc) {
        s->x = s->vectors.start;
        s->y = (void *)((char *)s->vectors.start + x_bytes);
        carm_team_run(team, vectors_job, s);
    }
    return rc;
}

static void tune(struct carm_spmv *s, struct carm_team *team)
{
    uint64_t best = UINT64_MAX;
    uint32_t chosen = 0;
    struct carm_err ignored;
    for (size_t d = 0; d < sizeof distances / sizeof *distances; d++) {
        s->blocks.prefetch_bytes = distances[d];
        for (int i = 0; i < TUNE_RUNS; i++) {
            const uint64_t begin = carm_clock_now();
            run(&s->base, team, &ignored);
            const uint64_t ticks = carm_clock_now() - begin;
            if (ticks < best) {
                best = ticks;
                chosen = distances[d];
            }
        }
    }
    s->blocks.prefetch_bytes = chosen;
}

static void close_case(struct carm_dwarf_case *c)
{
    struct carm_spmv *s = (struct carm_spmv *)c;
    if (s) {
        carm_csr_close(&s->csr);
        carm_bcsr_close(&s->blocks);
        carm_buffer_close(&s->vectors);
        carm_spmv_reference_free(&s->reference);
        free(s->split);
        free(s);
    }
}

static const struct carm_dwarf_ops ops = {
    .run = run,
    .check = carm_spmv_check,
    .count = carm_spmv_count,
    .trace = carm_spmv_trace,
    .close = close_case,
};

static void describe(struct carm_spmv *s)
{
    struct carm_dwarf_case *c = &s->base;
    const double matrix =
        s->optimised ? carm_bcsr_bytes(&s->blocks) : carm_csr_bytes(s->rows, s->nonzeros);
    c->ops = &ops;
    c->version = s->optimised ? "optimised" : "plain";
    c->bytes = (uint64_t)matrix + ((uint64_t)s->columns + s->rows) * sizeof(double);
    c->work.operations = 2.0 * s->nonzeros;
    c->work.metric = "flop";
    c->work.compulsory_bytes = matrix + sizeof(double) * (s->columns + 2.0 * s->rows);
    int n = snprintf(c->size, sizeof c->size, "n %u, %.1f nonzeros a row", s->rows,
                     (double)s->nonzeros / s->rows);
    if (s->optimised && n > 0 && (size_t)n < sizeof c->size) {
        snprintf(c->size + n, sizeof c->size - (size_t)n, ", %ux%u, %d-bit", s->blocks.r,
                 s->blocks.c, s->blocks.index16 ? 16 : 32);
    }
    snprintf(c->isa, sizeof c->isa, "%s",
             carm_isa_name(s->optimised ? s->kernel.isa : CARM_SCALAR));
}

/* Sets everything up from a, which the caller frees. */
static int set_up(struct carm_spmv *s, const struct carm_csr *a, const struct carm_spmv_params *p,
                  struct carm_err *err)
{
    s->optimised = p->optimised;
    s->threads = p->team->n;
    s->rows = a->rows;
    s->columns = a->columns;
    s->nonzeros = a->nonzeros;
    if (a->nonzeros == 0) {
        return carm_fail(err, CARM_EINVAL, "%s: the matrix has no entries: nothing to multiply",
                         p->file ? p->file : "generator");
    }
    int rc = p->optimised ? store_blocked(s, a, p, err) : store_plain(s, a, p->team, err);
    rc = rc ? rc : take_vectors(s, p->team, err);
    rc = rc ? rc : carm_spmv_reference_make(&s->reference, a, s->x, err);
    if (rc) {
        return rc;
    }
    describe(s);
    if (p->optimised && p->prefetch_bytes == CARM_SPMV_TUNE) {
        tune(s, p->team);
    } else {
        s->blocks.prefetch_bytes = p->prefetch_bytes;
    }
    return 0;
}

int carm_spmv_open(struct carm_dwarf_case **out, const struct carm_spmv_params *p,
                   struct carm_err *err)
{
    struct carm_csr a;
    struct carm_spmv *s = calloc(1, sizeof *s);
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a case");
    }
    int rc = p->file ? carm_matrix_market_read(p->file, &a, err)
                     : carm_matrix_generate(&p->matrix, &a, err);
    if (!rc) {
        rc = set_up(s, &a, p, err);
        carm_csr_close(&a);
    }
    if (rc) {
        close_case(&s->base);
        return rc;
    }
    *out = &s->base;
    return 0;
}
