/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heat map of lines handed from core to core. */
#include <stdlib.h>

#include "base/assets.h"
#include "models/latency.h"
#include "plots/panel.h"

enum {
    NUMBERS_MAX = 12, /* places in a row whose cells have room for a number */
    TICK_PX = 22,     /* of a place's number under the axis */
    SCALE_PX = 104,   /* of the colours' scale, beside the cells */
};

static int by_number(const void *a, const void *b)
{
    const int x = *(const int *)a;
    const int y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The hardware threads of all pairs, each once, ascending. ids  [2 * m->ncore_to_core] out. returns how many */
static size_t list_ids(const struct carm_model *m, int *ids)
{
    size_t n = 0;
    for (size_t i = 0; i < m->ncore_to_core; i++) {
        ids[2 * i] = m->core_to_core[i].from;
        ids[2 * i + 1] = m->core_to_core[i].to;
    }
    qsort(ids, 2 * m->ncore_to_core, sizeof *ids, by_number);
    for (size_t i = 0; i < 2 * m->ncore_to_core; i++) {
        if (n == 0 || ids[i] != ids[n - 1]) {
            ids[n++] = ids[i];
        }
    }
    return n;
}

static size_t place_of(const int *ids, size_t n, int id)
{
    return (size_t)((const int *)bsearch(&id, ids, n, sizeof *ids, by_number) - ids);
}

static void put_ticks(FILE *out, char axis, const int *ids, size_t n, double px)
{
    const size_t step = 1 + (size_t)(TICK_PX * (double)n / px);
    fprintf(out, "set %ctics (", axis);
    for (size_t i = 0; i < n; i += step) {
        fprintf(out, "%s\"%d\" %zu", i ? ", " : "", ids[i], i);
    }
    fputs(")\n", out);
}

/* Both cells of each pair; of the disturbed ones alone. */
static void put_cells(FILE *out, const char *name, const struct carm_model *m, const int *ids,
                      size_t n, bool disturbed)
{
    fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = 0; i < m->ncore_to_core; i++) {
        const struct carm_core_pair *p = &m->core_to_core[i];
        const size_t a = place_of(ids, n, p->from);
        const size_t b = place_of(ids, n, p->to);
        if (p->disturbed || !disturbed) {
            fprintf(out, "%zu %zu %.4g\n%zu %zu %.4g\n", a, b, 1e9 * p->seconds, b, a,
                    1e9 * p->seconds);
        }
    }
    fputs("CARM_END\n", out);
}

int carm_plot_core_to_core(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                           struct carm_err *err)
{
    const struct carm_model *m = canvas->model;
    double most = 0.0;
    if (m->ncore_to_core == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no times from core to core; `carm build` measures them on "
                         "two cores or more, with --quick where --latency yes is given");
    }
    int *ids = malloc(2 * m->ncore_to_core * sizeof *ids);
    if (!ids) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < m->ncore_to_core; i++) {
        most = fmax(most, m->core_to_core[i].seconds);
    }
    const size_t n = list_ids(m, ids);
    const struct carm_plot_axis none = {0.0, 0.0};
    box.width -= SCALE_PX;
    carm_plot_put_box(canvas, box, none, none, "A cache line from core to core, one way");
    fprintf(canvas->out, "unset logscale\nset xrange [-0.5:%zu.5]\nset yrange [-0.5:%zu.5]\n",
            n - 1, n - 1);
    put_ticks(canvas->out, 'x', ids, n, box.width);
    put_ticks(canvas->out, 'y', ids, n, box.height);
    fprintf(canvas->out,
            "heat_x = \"hardware thread\"\nheat_y = \"hardware thread\"\nheat_unit = \"ns\"\n"
            "heat_high = %.4g\nheat_numbers = %d\n",
            1e9 * most, n <= NUMBERS_MAX);
    put_cells(canvas->out, "cells", m, ids, n, false);
    put_cells(canvas->out, "marks", m, ids, n, true);
    fputs(carm_asset_plot_heat, canvas->out);
    free(ids);
    return 0;
}
