/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heat maps: lines handed from core to core; bandwidth and latency of memory domains. */
#include <stdlib.h>

#include "base/assets.h"
#include "models/latency.h"
#include "plots/panel.h"

enum {
    NUMBERS_MAX = 12, /* most places in a row for numbers in the cells */
    TICK_PX = 22,     /* height of a place's number under the axis */
    SCALE_PX = 104,   /* width of the colours' scale, beside the cells */
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

/* Writes both cells of each pair. disturbed: only of disturbed pairs */
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

/* Writes the nodes of an axis: columns are nodes with memory, rows nodes with cores. */
static void put_nodes(FILE *out, char axis, const struct carm_model *m, bool cores)
{
    size_t n = 0;
    fprintf(out, "set %ctics (", axis);
    for (size_t i = 0; i < m->nnuma_nodes; i++) {
        if (!cores || m->numa_nodes[i].cores > 0) {
            fprintf(out, "%s\"%d\" %zu", n ? ", " : "", m->numa_nodes[i].node, n);
            n++;
        }
    }
    fputs(")\n", out);
}

/* The place of a node on an axis. */
static size_t axis_place(const struct carm_model *m, int node, bool cores)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nnuma_nodes && m->numa_nodes[i].node != node; i++) {
        n += !cores || m->numa_nodes[i].cores > 0 ? 1 : 0;
    }
    return n;
}

static double figure_of(const struct carm_numa_pair *p, bool latency)
{
    return latency ? 1e9 * p->seconds : p->bandwidth / 1e9;
}

static void put_pairs(FILE *out, const char *name, const struct carm_model *m, bool latency,
                      bool disturbed)
{
    fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = 0; i < m->nnuma; i++) {
        const struct carm_numa_pair *p = &m->numa[i];
        if (p->from >= 0 && p->to >= 0 && figure_of(p, latency) > 0.0 &&
            (p->disturbed || !disturbed)) {
            fprintf(out, "%zu %zu %.4g\n", axis_place(m, p->to, false),
                    axis_place(m, p->from, true), figure_of(p, latency));
        }
    }
    fputs("CARM_END\n", out);
}

static int plot_numa(const struct carm_plot_canvas *canvas, struct carm_plot_box box, bool latency,
                     struct carm_err *err)
{
    const struct carm_model *m = canvas->model;
    const struct carm_plot_axis none = {0.0, 0.0};
    double most = 0.0;
    size_t rows = 0;
    for (size_t i = 0; i < m->nnuma; i++) {
        most = fmax(most, m->numa[i].from >= 0 ? figure_of(&m->numa[i], latency) : 0.0);
    }
    if (!(most > 0.0)) {
        return carm_fail(
            err, CARM_EINVAL,
            "the model has no %s of memory domains; `carm build` measures them on a machine "
            "with several NUMA nodes, with --quick where --latency yes is given",
            latency ? "latencies" : "bandwidths");
    }
    for (size_t i = 0; i < m->nnuma_nodes; i++) {
        rows += m->numa_nodes[i].cores > 0 ? 1 : 0;
    }
    box.width -= SCALE_PX;
    carm_plot_put_box(canvas, box, none, none,
                      latency ? "Latency of the memory of each NUMA node"
                              : "Bandwidth of the memory of each NUMA node");
    fprintf(canvas->out, "unset logscale\nset xrange [-0.5:%zu.5]\nset yrange [-0.5:%zu.5]\n",
            m->nnuma_nodes - 1, rows - 1);
    put_nodes(canvas->out, 'x', m, false);
    put_nodes(canvas->out, 'y', m, true);
    fprintf(
        canvas->out,
        "heat_x = \"memory of NUMA node\"\nheat_y = \"cores of NUMA node\"\nheat_unit = \"%s\"\n"
        "heat_high = %.4g\nheat_numbers = %d\n",
        latency ? "ns" : "GB/s", most, m->nnuma_nodes <= NUMBERS_MAX);
    put_pairs(canvas->out, "cells", m, latency, false);
    put_pairs(canvas->out, "marks", m, latency, true);
    fputs(carm_asset_plot_heat, canvas->out);
    return 0;
}

int carm_plot_numa_bandwidth(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                             struct carm_err *err)
{
    return plot_numa(canvas, box, false, err);
}

int carm_plot_numa_latency(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                           struct carm_err *err)
{
    return plot_numa(canvas, box, true, err);
}
