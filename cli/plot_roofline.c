/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/assets.h"
#include "cli/plot_panel.h"
#include "cli/text.h"

enum {
    LINES_MAX = 24,
    LABEL_PX = 9,  /* from a line to the middle of the label above it */
    APART_PX = 19, /* lines closer than this share one label */
};

/* A slope (value = byte/s) or a ceiling (value = flop/s), in the unit of the axis. */
struct line {
    char name[2 * CARM_NAME_MAX];
    double value;
    unsigned rgb;
};

/* Several lines that one label names; lines are sorted, highest first. */
struct label {
    size_t first;
    char text[CARM_TEXT_MAX];
};

struct roofline {
    struct line slopes[LINES_MAX], ceilings[LINES_MAX]; /* ceilings[0] is the peak */
    size_t nslopes, nceilings;
    struct carm_plot_axis x, y;
    double x_px, y_px;   /* pixels of a decade */
    double cosine;       /* of the slopes' angle on the canvas */
    double label_max_px; /* a longer label gets no more room than this */
    const char *prefix;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct line *)a)->value, y = ((const struct line *)b)->value;
    return (x < y) - (x > y);
}

/* The palette of plots/common.gp. */
static unsigned level_rgb(size_t level)
{
    static const unsigned rgb[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9};
    return rgb[level % (sizeof rgb / sizeof *rgb)];
}

static void add_line(struct line *lines, size_t *n, double value, unsigned rgb, const char *name,
                     const char *tail)
{
    if (*n == LINES_MAX)
        return;
    struct line *l = &lines[(*n)++];
    (void)snprintf(l->name, sizeof l->name, "%.24s%s", name, tail);
    l->value = value;
    l->rgb = rgb;
}

static void collect(const struct carm_plot_canvas *c, const struct carm_roofs *set,
                    struct roofline *r)
{
    const struct carm_model *m = c->model;
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_memory_roof *x =
            carm_roofs_find_memory(set, m->levels[i].level, m->config.ldst);
        if (x)
            add_line(r->slopes, &r->nslopes, x->bandwidth, level_rgb(i), x->level,
                     !m->levels[i].resolved ? " (unresolved)"
                     : x->disturbed         ? " (disturbed)"
                                            : "");
    }
    for (size_t i = 0; i < set->ncompute; i++)
        add_line(r->ceilings, &r->nceilings, set->compute[i].rate, 0x404040, set->compute[i].op,
                 set->compute[i].disturbed ? " (disturbed)" : "");
    /* The peaks of the other instruction sets are ceilings too. */
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *o = &m->roofs[i];
        const struct carm_compute_roof *peak = carm_roofs_find_peak(o);
        char name[2 * CARM_NAME_MAX];
        if (o == set || !peak || o->threads != set->threads ||
            strcmp(o->precision, set->precision) != 0 ||
            !carm_select_has(c->select, o->isa, o->threads))
            continue;
        (void)snprintf(name, sizeof name, "%.12s %.11s", o->isa, peak->op);
        add_line(r->ceilings, &r->nceilings, peak->rate, 0x404040, name, "");
    }
    qsort(r->slopes, r->nslopes, sizeof *r->slopes, by_value);
    qsort(r->ceilings, r->nceilings, sizeof *r->ceilings, by_value);
}

/* "L1 625 GB/s"; "add, mul 55.8 Gflop/s" where lines lie together, "fma 57.1, mad 55.8" where their
 * values differ. Values are in prefix and unit; thousands of them take the next prefix. */
static void label_text(const struct line *lines, size_t n, char prefix, const char *unit,
                       struct label *label)
{
    static const char prefixes[] = "MGTP";
    size_t used = 0;
    double scale = lines[0].value >= 999.5 ? 1000 : 1;
    if (scale > 1)
        prefix = strchr(prefixes, prefix)[1];
    for (size_t i = 0; i < n; i++) {
        char value[CARM_TEXT_NUMBER_MAX] = "", next[CARM_TEXT_NUMBER_MAX] = "";
        (void)snprintf(value, sizeof value, "%.3g", lines[i].value / scale);
        if (i + 1 < n)
            (void)snprintf(next, sizeof next, "%.3g", lines[i + 1].value / scale);
        bool same = strcmp(value, next) == 0;
        int k = snprintf(label->text + used, sizeof label->text - used, "%s%s%s%s",
                         used ? ", " : "", lines[i].name, same ? "" : " ", same ? "" : value);
        if (k < 0 || used + (size_t)k >= sizeof label->text - 16)
            break;
        used += (size_t)k;
    }
    (void)snprintf(label->text + used, sizeof label->text - used, " %c%s", prefix, unit);
}

/* Gives each group of lines that are less than apart decades from one another one label.
 * returns the number of labels */
static size_t make_labels(const struct line *lines, size_t n, double apart, char prefix,
                          const char *unit, struct label *labels)
{
    size_t nlabels = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && log10(lines[end - 1].value / lines[end].value) < apart)
            end++;
        labels[nlabels].first = i;
        label_text(lines + i, end - i, prefix, unit, &labels[nlabels++]);
    }
    return nlabels;
}

static double label_px(const struct roofline *r, const struct label *label)
{
    return fmin(carm_plot_text_px(label->text), r->label_max_px);
}

/* The left end of the x range at which each slope's label ends below the lowest ceiling. */
static double left_end(const struct roofline *r, const struct label *labels, size_t n)
{
    double low = log10(r->ceilings[r->nceilings - 1].value), lo = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double px = 30 + label_px(r, &labels[i]) * r->cosine;
        lo = fmin(lo, low - log10(r->slopes[labels[i].first].value) - px / r->x_px);
    }
    return lo;
}

/* The right end at which each ceiling's label begins right of the lowest slope; above the peak are
 * no slopes. */
static double right_end(const struct roofline *r, const struct label *labels, size_t n)
{
    double slow = log10(r->slopes[r->nslopes - 1].value);
    double hi = log10(r->ceilings[0].value) - slow + 50 / r->x_px;
    for (size_t i = 1; i < n; i++) {
        double y = log10(r->ceilings[labels[i].first].value) + 2 * LABEL_PX / r->y_px;
        hi = fmax(hi, y - slow + (12 + label_px(r, &labels[i])) / r->x_px);
    }
    return hi;
}

/* What follows from the x range: the lowest slope begins in the corner, the peak has room for its
 * label above it. */
static void scale_axes(struct roofline *r, struct carm_plot_box box)
{
    double high = log10(r->ceilings[0].value), above = 34 / box.height;
    r->y.lo = log10(r->slopes[r->nslopes - 1].value) + r->x.lo;
    r->y.hi = high + above * (high - r->y.lo) / (1 - above);
    r->x_px = box.width / (r->x.hi - r->x.lo);
    r->y_px = box.height / (r->y.hi - r->y.lo);
    r->cosine = r->x_px / hypot(r->x_px, r->y_px);
}

/* Finds the ranges: labels of slopes fit below the lowest ceiling, those of ceilings right of the
 * slopes. Both depend on the ranges; a few rounds settle them. */
static void layout(struct roofline *r, struct carm_plot_box box, struct label *slope_labels,
                   size_t *nslope_labels, struct label *ceiling_labels, size_t *nceiling_labels)
{
    r->label_max_px = 0.45 * box.width;
    double fast = log10(r->slopes[0].value), slow = log10(r->slopes[r->nslopes - 1].value);
    double high = log10(r->ceilings[0].value), low = log10(r->ceilings[r->nceilings - 1].value);
    /* However long the labels are, the lines keep a good part of the panel. */
    double lines = fmax(high - slow - (low - fast), 0.5);
    r->x = (struct carm_plot_axis){low - fast - lines, high - slow + lines};
    for (int round = 0; round < 60; round++) {
        scale_axes(r, box);
        *nslope_labels = make_labels(r->slopes, r->nslopes, APART_PX / r->cosine / r->y_px,
                                     *r->prefix, "B/s", slope_labels);
        *nceiling_labels = make_labels(r->ceilings, r->nceilings, APART_PX / r->y_px, *r->prefix,
                                       "flop/s", ceiling_labels);
        double lo = left_end(r, slope_labels, *nslope_labels);
        double hi = right_end(r, ceiling_labels, *nceiling_labels);
        r->x.lo = fmin(fmax(lo, low - fast - lines), low - fast - 0.25);
        r->x.hi = fmax(fmin(hi, high - slow + lines), high - slow + 0.25);
    }
    scale_axes(r, box);
}

static void put_lines(FILE *out, const struct roofline *r)
{
    double x0 = pow(10, r->x.lo), x1 = pow(10, r->x.hi), peak = r->ceilings[0].value;
    double fast = r->slopes[0].value;
    (void)fputs("$slopes << CARM_END\n", out);
    for (size_t i = 0; i < r->nslopes; i++) {
        const struct line *l = &r->slopes[i];
        (void)fprintf(out, "%s%.9g %.9g %u\n%.9g %.9g %u\n", i ? "\n\n" : "", x0, x0 * l->value,
                      l->rgb, peak / l->value, peak, l->rgb);
    }
    (void)fprintf(out, "CARM_END\n$peak << CARM_END\n%.9g %.9g\n%.9g %.9g\nCARM_END\n", peak / fast,
                  peak, x1, peak);
    (void)fputs("$ceilings << CARM_END\n", out);
    for (size_t i = 1; i < r->nceilings; i++)
        (void)fprintf(out, "%s%.9g %.9g\n%.9g %.9g\n", i > 1 ? "\n\n" : "",
                      r->ceilings[i].value / fast, r->ceilings[i].value, x1, r->ceilings[i].value);
    (void)fputs("CARM_END\n", out);
}

static void put_labels(FILE *out, const struct roofline *r, const struct label *slope_labels,
                       size_t nslope_labels, const struct label *ceiling_labels,
                       size_t nceiling_labels)
{
    /* A slope's label begins a little right of the axis and stands off its line. */
    double sine = sqrt(1 - r->cosine * r->cosine), along = 24;
    (void)fputs("$slope_labels << CARM_END\n", out);
    for (size_t i = 0; i < nslope_labels; i++) {
        const struct line *l = &r->slopes[slope_labels[i].first];
        double x = r->x.lo + (along * r->cosine - LABEL_PX * sine) / r->x_px;
        double y = log10(l->value) + r->x.lo + (along * sine + LABEL_PX * r->cosine) / r->y_px;
        (void)fprintf(out, "%.9g %.9g ", pow(10, x), pow(10, y));
        carm_plot_put_text(out, slope_labels[i].text);
        (void)fprintf(out, " %u\n", l->rgb);
    }
    (void)fputs("CARM_END\n$ceiling_labels << CARM_END\n", out);
    for (size_t i = 0; i < nceiling_labels; i++) {
        const struct line *l = &r->ceilings[ceiling_labels[i].first];
        (void)fprintf(out, "%.9g %.9g ", pow(10, r->x.hi - 4 / r->x_px),
                      l->value * pow(10, LABEL_PX / r->y_px));
        carm_plot_put_text(out, ceiling_labels[i].text);
        (void)fprintf(out, " %u\n", ceiling_labels[i].first ? l->rgb : 0u);
    }
    (void)fputs("CARM_END\n", out);
}

int carm_plot_roofline(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                       struct carm_err *err)
{
    const struct carm_roofs *set = carm_select_best(canvas->select, canvas->model);
    struct roofline *r = calloc(1, sizeof *r);
    struct label *labels = calloc((size_t)2 * LINES_MAX, sizeof *labels);
    int rc = 0;
    if (!r || !labels) {
        rc = carm_fail(err, CARM_ENOMEM, "out of memory");
        goto out;
    }
    if (set)
        collect(canvas, set, r);
    if (r->nslopes == 0 || r->nceilings == 0) {
        rc = carm_fail(err, CARM_EINVAL,
                       "the model has no %s for a roofline; `carm build` measures them",
                       r->nslopes ? "compute roofs" : "memory roofs with its own mix");
        goto out;
    }
    double scale = carm_plot_prefix(r->ceilings[0].value, &r->prefix);
    for (size_t i = 0; i < r->nslopes; i++)
        r->slopes[i].value /= scale;
    for (size_t i = 0; i < r->nceilings; i++)
        r->ceilings[i].value /= scale;

    struct label *ceiling_labels = labels + LINES_MAX;
    size_t nslope_labels = 0, nceiling_labels = 0;
    layout(r, box, labels, &nslope_labels, ceiling_labels, &nceiling_labels);
    char title[CARM_TEXT_MAX];
    (void)snprintf(title, sizeof title,
                   "Cache-aware roofline, %.24s %.24s, %d thread%s, %.24s loads:stores", set->isa,
                   set->precision, set->threads, set->threads == 1 ? "" : "s",
                   canvas->model->config.ldst);
    carm_plot_put_box(canvas, box, r->x, r->y, title);
    carm_plot_put_intensity_ticks(canvas->out, r->x, box.width);
    carm_plot_put_decimal_ticks(canvas->out, 'y', r->y, box.height);
    (void)fprintf(canvas->out, "performance_label = \"performance, %sflop/s\"\n", r->prefix);
    (void)fprintf(canvas->out, "slope_angle = %.2f\n", atan2(r->y_px, r->x_px) * 180 / M_PI);
    (void)fprintf(canvas->out, "levels = %zu\nceilings = %zu\n", r->nslopes, r->nceilings - 1);
    put_lines(canvas->out, r);
    put_labels(canvas->out, r, labels, nslope_labels, ceiling_labels, nceiling_labels);
    (void)fputs(carm_asset_plot_roofline, canvas->out);
out:
    free(labels);
    free(r);
    return rc;
}
