/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

double carm_sol_flops(const struct carm_sol_counts *counts)
{
    return 2.0 * (double)counts->macs + (double)counts->other;
}

const struct carm_sol_estimate *carm_sol_view_graph(const struct carm_sol_view *view,
                                                    enum carm_sol_model model)
{
    const struct carm_sol_result *r = view->result;
    return r->has_cached ? &r->cached[model] : &r->models[model];
}

struct carm_sol_estimate carm_sol_view_layer(const struct carm_sol_view *view, uint32_t i,
                                             enum carm_sol_model model)
{
    struct carm_sol_estimate estimate;
    carm_sol_estimate_layer(view->result, i, model, view->result->has_cached, &estimate);
    return estimate;
}

uint32_t carm_sol_view_layers(const struct carm_sol_view *view)
{
    return view->result->has_layers ? view->result->n : 0;
}

bool carm_sol_view_works(const struct carm_sol_view *view, uint32_t i)
{
    const struct carm_sol_counts *c = &view->analysis->layers[i];
    return c->macs > 0 || c->other > 0 || c->unfused > 0;
}

const char *carm_sol_view_layer_name(const struct carm_sol_view *view, uint32_t i)
{
    if (view->graph) {
        return carm_sol_text(view->graph, view->graph->layers[i].id);
    }
    return view->analysis->ids && view->analysis->ids[i] ? view->analysis->ids[i] : "";
}

const char *carm_sol_view_layer_type(const struct carm_sol_view *view, uint32_t i)
{
    return view->graph ? carm_sol_text(view->graph, view->graph->layers[i].type) : "";
}

double carm_sol_speedup(const struct carm_sol_estimate *a, const struct carm_sol_estimate *b)
{
    if (b->cycles > 0.0) {
        return a->cycles / b->cycles;
    }
    return a->cycles > 0.0 ? INFINITY : 1.0;
}

const char *carm_sol_bound_word(const struct carm_sol_arch *arch,
                                const struct carm_sol_estimate *estimate)
{
    switch (estimate->bound) {
    case CARM_SOL_BY_COMPUTE:
        return "compute";
    case CARM_SOL_BY_MEMORY:
        return "memory";
    case CARM_SOL_BY_LEVEL:
        return estimate->level >= 0 && (size_t)estimate->level < arch->nlevels
                   ? arch->levels[estimate->level].name
                   : "storage";
    case CARM_SOL_BY_NOTHING:
        break;
    }
    return "nothing";
}

const struct carm_sol_level *carm_sol_last_level(const struct carm_sol_arch *arch)
{
    for (size_t i = arch->nlevels; i-- > 0;) {
        if (arch->levels[i].capacity > 0) {
            return &arch->levels[i];
        }
    }
    return NULL;
}

/* Four significant digits, never as 1e+03. */
static int digits(double v)
{
    return v < 9.9995 ? 3 : v < 99.995 ? 2 : v < 999.95 ? 1 : 0;
}

char *carm_sol_text_time(char *dst, size_t size, double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1.0, "s"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && seconds >= 999.95 * units[i].unit) {
        i++;
    }
    const double v = seconds / units[i].unit;
    if (v >= 1e7 || (v > 0.0 && v < 0.001)) {
        (void)snprintf(dst, size, "%.3g %s", v, units[i].name);
    } else {
        (void)snprintf(dst, size, "%.*f %s", v == 0.0 ? 0 : digits(v), v, units[i].name);
    }
    return dst;
}

char *carm_sol_text_count(char *dst, size_t size, double count)
{
    if (count < 9999999.5) {
        const bool small = count < 99.95 && count != floor(count);
        (void)snprintf(dst, size, small ? "%.3g" : "%.0f", count);
        return dst;
    }
    (void)carm_text_si(dst, size, count, "");
    const size_t n = strlen(dst);
    if (n > 0 && dst[n - 1] == ' ') {
        dst[n - 1] = '\0';
    }
    return dst;
}

char *carm_sol_text_ratio(char *dst, size_t size, double v)
{
    if (!isfinite(v)) {
        (void)snprintf(dst, size, "inf");
    } else if (v >= 9999.5) {
        (void)snprintf(dst, size, "%.3g", v);
    } else if (v < 0.001 && v > 0.0) {
        (void)snprintf(dst, size, "%.2g", v);
    } else {
        (void)snprintf(dst, size, "%.*f", v == 0.0 ? 0 : digits(v), v);
    }
    return dst;
}

char *carm_sol_text_factor(char *dst, size_t size, double v)
{
    if (!isfinite(v)) {
        (void)snprintf(dst, size, "inf");
    } else {
        (void)snprintf(dst, size, v < 9.995 ? "%.2f" : v < 999.5 ? "%.1f" : "%.3g", v);
    }
    return dst;
}

char *carm_sol_text_bytes(char *dst, size_t size, uint64_t bytes)
{
    if (bytes == 0) {
        (void)snprintf(dst, size, "0");
        return dst;
    }
    return carm_text_bytes(dst, size, bytes);
}

char *carm_sol_text_cut(char *dst, size_t size, const char *s, size_t columns, bool ascii)
{
    (void)carm_text_clean(dst, size, s, ascii);
    if (carm_text_width(dst) <= columns) {
        return dst;
    }
    const char *mark = ascii ? "..." : "\u2026";
    const size_t keep = columns - carm_text_width(mark);
    char *at = dst;
    for (size_t n = 0; *at; at++) {
        const bool begins = ((unsigned char)*at & 0xc0) != 0x80;
        if (begins && n++ == keep) {
            break;
        }
    }
    (void)snprintf(at, size - (size_t)(at - dst), "%s", mark);
    return dst;
}
