/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/layout.h"

#include <stdlib.h>

/* A layout whose factors are grouped by the dimensions of a shape. */
struct grouped {
    struct carm_sol_layout layout;
    unsigned first[CARM_SOL_RANK_MAX + 1]; /* index of a dimension's first factor */
};

struct carm_sol_layout carm_sol_layout_run(uint64_t offset, uint64_t elements)
{
    struct carm_sol_layout layout = {.offset = offset};
    if (elements > 1) {
        layout.f[layout.n++] = (struct carm_sol_factor){.n = elements, .stride = 1};
    }
    return layout;
}

/* Joins neighbouring factors that are one factor. */
static void merge(struct carm_sol_layout *layout)
{
    unsigned n = 0;
    for (unsigned i = 0; i < layout->n; i++) {
        const struct carm_sol_factor f = layout->f[i];
        if (f.n == 1) {
            continue;
        }
        if (n > 0 && layout->f[n - 1].stride == f.n * f.stride) {
            layout->f[n - 1] =
                (struct carm_sol_factor){.n = layout->f[n - 1].n * f.n, .stride = f.stride};
        } else {
            layout->f[n++] = f;
        }
    }
    layout->n = n;
}

/* Groups factors by dimensions, from the last to the first. A factor in which a dimension begins is split. returns
 * false if it cannot be split there */
static bool group(const struct carm_sol_layout *layout, struct carm_sol_shape shape,
                  struct grouped *g)
{
    struct carm_sol_layout rest = *layout;
    struct carm_sol_factor taken[CARM_SOL_FACTORS_MAX]; /* in reverse order */
    unsigned end[CARM_SOL_RANK_MAX];                    /* end of each dimension in taken */
    unsigned n = 0;
    merge(&rest);
    for (unsigned d = shape.rank; d-- > 0;) {
        uint64_t need = shape.extents[d];
        while (need > 1) {
            if (rest.n == 0 || n == CARM_SOL_FACTORS_MAX) {
                return false;
            }
            struct carm_sol_factor *f = &rest.f[rest.n - 1];
            if (need % f->n == 0) {
                need /= f->n;
                taken[n] = *f;
                n++;
                rest.n--;
            } else if (f->n % need == 0) {
                taken[n] = (struct carm_sol_factor){.n = need, .stride = f->stride};
                n++;
                *f = (struct carm_sol_factor){.n = f->n / need, .stride = f->stride * need};
                need = 1;
            } else {
                return false;
            }
        }
        end[d] = n;
    }
    if (rest.n > 0) {
        return false;
    }
    g->layout.offset = layout->offset;
    g->layout.n = n;
    for (unsigned i = 0; i < n; i++) {
        g->layout.f[i] = taken[n - 1 - i];
    }
    for (unsigned d = 0; d < shape.rank; d++) {
        g->first[d] = n - end[d];
    }
    g->first[shape.rank] = n;
    return true;
}

/* Appends factors. returns false if there are too many */
static bool append(struct carm_sol_layout *layout, const struct carm_sol_factor *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (layout->n == CARM_SOL_FACTORS_MAX) {
            return false;
        }
        layout->f[layout->n++] = f[i];
    }
    return true;
}

bool carm_sol_layout_permute(struct carm_sol_layout *layout, struct carm_sol_shape shape,
                             const unsigned *order)
{
    struct grouped g;
    if (!group(layout, shape, &g)) {
        return false;
    }
    struct carm_sol_layout result = {.offset = layout->offset};
    for (unsigned i = 0; i < shape.rank; i++) {
        const unsigned d = order[i];
        append(&result, g.layout.f + g.first[d], g.first[d + 1] - g.first[d]);
    }
    merge(&result);
    *layout = result;
    return true;
}

/* Cuts the factors of a dimension, the most significant first.
 * out  the remaining factors are appended */
static bool cut_factors(const struct carm_sol_factor *f, unsigned n, uint64_t from, uint64_t count,
                        uint64_t step, struct carm_sol_layout *out)
{
    uint64_t minor = 1; /* product of the factors behind the first */
    for (unsigned i = 1; i < n; i++) {
        minor *= f[i].n;
    }
    if (n == 0) {
        return count == 1;
    }
    if (from % minor == 0 && count % minor == 0 && step == 1) {
        const struct carm_sol_factor left = {.n = count / minor, .stride = f->stride};
        out->offset += from / minor * f->stride;
        return (left.n == 1 || append(out, &left, 1)) && append(out, f + 1, n - 1);
    }
    if (n == 1) {
        const struct carm_sol_factor left = {.n = count, .stride = f->stride * step};
        out->offset += from * f->stride;
        return count == 1 || append(out, &left, 1);
    }
    if (from / minor == (from + (count - 1) * step) / minor) {
        out->offset += from / minor * f->stride;
        return cut_factors(f + 1, n - 1, from % minor, count, step, out);
    }
    return false;
}

bool carm_sol_layout_cut(struct carm_sol_layout *layout, struct carm_sol_shape shape, unsigned dim,
                         uint64_t from, uint64_t count, uint64_t step)
{
    struct grouped g;
    if (count == 0 || !group(layout, shape, &g)) {
        return false;
    }
    struct carm_sol_layout result = {.offset = layout->offset};
    append(&result, g.layout.f, g.first[dim]);
    if (!cut_factors(g.layout.f + g.first[dim], g.first[dim + 1] - g.first[dim], from, count, step,
                     &result) ||
        !append(&result, g.layout.f + g.first[dim + 1], g.layout.n - g.first[dim + 1])) {
        return false;
    }
    merge(&result);
    *layout = result;
    return true;
}

bool carm_sol_layout_expand(struct carm_sol_layout *layout, struct carm_sol_shape shape,
                            struct carm_sol_shape to)
{
    struct grouped g;
    if (to.rank < shape.rank || !group(layout, shape, &g)) {
        return false;
    }
    struct carm_sol_layout result = {.offset = layout->offset};
    const unsigned before = to.rank - shape.rank;
    for (unsigned i = 0; i < to.rank; i++) {
        const uint64_t extent = i < before ? 1 : shape.extents[i - before];
        const struct carm_sol_factor repeat = {.n = to.extents[i], .stride = 0};
        const struct carm_sol_factor *f = &repeat;
        unsigned n = repeat.n > 1;
        if (extent == to.extents[i] && i >= before) {
            f = g.layout.f + g.first[i - before];
            n = g.first[i - before + 1] - g.first[i - before];
        } else if (extent != 1) {
            return false;
        }
        if (!append(&result, f, n)) {
            return false;
        }
    }
    merge(&result);
    *layout = result;
    return true;
}

static int by_stride(const void *a, const void *b)
{
    const struct carm_sol_factor *x = a;
    const struct carm_sol_factor *y = b;
    return x->stride < y->stride ? 1 : x->stride > y->stride ? -1 : 0;
}

struct carm_sol_layout carm_sol_layout_set(const struct carm_sol_layout *layout)
{
    struct carm_sol_layout set = {.offset = layout->offset};
    for (unsigned i = 0; i < layout->n; i++) {
        if (layout->f[i].stride > 0) {
            set.f[set.n++] = layout->f[i];
        }
    }
    qsort(set.f, set.n, sizeof *set.f, by_stride);
    merge(&set);
    return set;
}

uint64_t carm_sol_layout_size(const struct carm_sol_layout *layout)
{
    uint64_t size = 1;
    for (unsigned i = 0; i < layout->n; i++) {
        size *= layout->f[i].stride > 0 ? layout->f[i].n : 1;
    }
    return size;
}
