/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/spmv/case.h"

/* Who is told. */
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

/* Doubles of the vector that begins where `left` of them are to come. */
static unsigned vector(unsigned lanes, unsigned left)
{
    unsigned n = lanes;
    while (n > left) {
        n /= 2;
    }
    return n;
}

/* n doubles by vectors. */
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

/* One block: of a single row vectors along it, of several rows a column after the other. */
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

/* Blocks of 1 x 1: a vector of values at a time, then what is left one by one. */
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
