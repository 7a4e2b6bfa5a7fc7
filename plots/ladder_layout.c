/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of a ladder and the ranges of its panel: slopes are labelled at the left end, below the lowest
 * horizontal and left of the kernels; horizontals at the right end, right of slopes and kernels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/ladder.h"
#include "base/text.h"

enum {
    BEGIN_PX = 34, /* in front of a slope's label */
    KERNEL_PX = 14,
    ROOM_PX = 16, /* between slopes for a label */
    DASHES = 5,   /* that gnuplot's terminals have */
};

/* The palette of plots/scripts/common.gp: memory, compute; of roofs on each other one for each ladder. */
static unsigned line_rgb(size_t ladder, size_t nladders, bool compute, int style)
{
    static const unsigned rgb[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9};
    if (nladders > 1) {
        return rgb[ladder % (sizeof rgb / sizeof *rgb)];
    }
    return style == 0 ? 0x000000 : style == 2 ? 0x707070 : compute ? 0x0072b2 : 0xb34700;
}

static void add_side(const struct carm_plot_ladder *pane, size_t which, bool compute, double limit,
                     double scale, struct carm_plot_lines *out)
{
    const struct carm_ladder *l = pane->ladders[which];
    const struct carm_rung *rungs = compute ? l->compute : l->memory;
    const struct carm_rung *roof = compute ? carm_ladder_peak(l) : carm_ladder_slope(l);
    const size_t n = compute ? l->ncompute : l->nmemory;
    for (size_t i = 0; i < n && out->n < CARM_PLOT_LINES_MAX; i++) {
        const bool wanted = pane->n > 1 ? &rungs[i] == roof : !rungs[i].aside || pane->aside;
        if (!wanted) {
            continue;
        }
        struct carm_plot_line *line = &out->lines[out->n++];
        (void)snprintf(line->name, sizeof line->name, "%.100s",
                       pane->n > 1 ? l->title : rungs[i].name);
        line->value = rungs[i].rate / scale;
        line->limit = limit / scale;
        line->style = &rungs[i] == roof ? 0 : rungs[i].aside ? 2 : 1;
        line->dash = pane->n > 1 ? 1 + (int)(which % DASHES) : 1;
        line->rgb = line_rgb(which, pane->n, compute, line->style);
    }
}

static int by_value(const void *a, const void *b)
{
    const struct carm_plot_line *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

/* "Copy BW 13.9 GB/s"; thousands take the next prefix. */
static void label_text(const struct carm_plot_line *line, char prefix, const char *unit,
                       struct carm_plot_label *label)
{
    static const char prefixes[] = "MGTP";
    const bool many = line->value >= 999.5;
    (void)snprintf(label->text, sizeof label->text, "%.120s %.3g %c%s", line->name,
                   many ? line->value / 1000 : line->value,
                   many ? strchr(prefixes, prefix)[1] : prefix, unit);
}

/* Stacks labels from the lowest line upwards: as long as the next line leaves no room for the stack,
 * it joins. Above the highest line there is always room.
 * apart  decades that a label takes */
static void make_labels(struct carm_plot_lines *l, double apart, char prefix, const char *unit)
{
    for (size_t end = l->n, first; end > 0; end = first) {
        first = end - 1;
        while (first > 0 && log10(l->lines[first - 1].value / l->lines[first].value) <
                                apart * (double)(end - first)) {
            first--;
        }
        for (size_t i = first; i < end; i++) {
            l->labels[i].anchor = first;
            l->labels[i].level = end - 1 - i;
            label_text(&l->lines[i], prefix, unit, &l->labels[i]);
        }
        if (first == 0) {
            l->top = end;
        }
    }
}

static double label_px(const struct carm_plot_label *label, double most_px)
{
    return fmin(carm_plot_text_px(label->text), most_px);
}

/* log10 of the least and the greatest intensity among the kernels; false without any. */
static bool kernel_range(const struct carm_plot_ladder *pane, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < pane->nkernels; i++) {
        *low = fmin(*low, log10(pane->kernels[i].intensity));
        *high = fmax(*high, log10(pane->kernels[i].intensity));
    }
    return pane->nkernels > 0;
}

static double left_end(const struct carm_plot_ladder *pane, const struct carm_plot_layout *l,
                       double most_px)
{
    double first, last, lo = INFINITY;
    const bool kernels = kernel_range(pane, &first, &last);
    const double low = log10(l->flats.lines[l->flats.n - 1].value);
    /* Left of the steepest slope is nothing that a label could cross. */
    for (size_t i = l->slopes.top; i < l->slopes.n; i++) {
        const struct carm_plot_label *label = &l->slopes.labels[i];
        const double px = BEGIN_PX + label_px(label, most_px) * l->cosine;
        const double above = CARM_PLOT_LABEL_PX + CARM_PLOT_STACK_PX * (1 + (double)label->level);
        lo = fmin(lo, low - log10(l->slopes.lines[label->anchor].value) - (px + above) / l->x_px);
        if (kernels) {
            lo = fmin(lo, first - (px + 2 * KERNEL_PX) / l->x_px);
        }
    }
    return lo;
}

static double right_end(const struct carm_plot_ladder *pane, const struct carm_plot_layout *l,
                        double most_px)
{
    double first, last;
    const bool kernels = kernel_range(pane, &first, &last);
    const double slow = log10(l->slopes.lines[l->slopes.n - 1].value);
    double hi = log10(l->flats.lines[0].value) - slow + 40 / l->x_px;
    for (size_t i = 0; i < l->flats.n; i++) {
        const struct carm_plot_label *label = &l->flats.labels[i];
        const double px = label_px(label, most_px);
        const double above = CARM_PLOT_LABEL_PX + CARM_PLOT_STACK_PX * (1 + (double)label->level);
        if (i >= l->flats.top) { /* above the highest are neither slopes nor kernels */
            hi = fmax(hi, log10(l->flats.lines[label->anchor].value) + above / l->y_px - slow +
                              (12 + px) / l->x_px);
        }
        if (kernels && i >= l->flats.top) {
            hi = fmax(hi, last + (px + 2 * KERNEL_PX) / l->x_px);
        }
    }
    return hi;
}

/* An axis may become so much longer to make decades as long on both. */
static const double slack = 1.5;

/* What follows from the x range: the lowest slope begins a little above the corner, the peak has
 * room for its label; the axis whose decades are longer gets more of them.
 * lines  decades of x that the lines take */
static void scale_axes(struct carm_plot_layout *l, struct carm_plot_box box, double lines)
{
    const double top_px = 20 + CARM_PLOT_STACK_PX * (double)l->flats.top;
    const double high = log10(l->flats.lines[0].value), above = fmin(top_px / box.height, 0.4);
    l->y.lo = log10(l->slopes.lines[l->slopes.n - 1].value) + l->x.lo;
    l->y.hi = high + above * (high - l->y.lo) / (1 - above);
    const double one = box.width * (l->y.hi - l->y.lo) / box.height; /* to one: so many of x */
    l->x.hi = fmax(l->x.hi, l->x.lo + fmin(one, slack * lines));
    l->x_px = box.width / (l->x.hi - l->x.lo);
    l->y.lo = fmin(l->y.lo, l->y.hi - fmin(box.height / l->x_px, slack * (l->y.hi - l->y.lo)));
    l->y_px = box.height / (l->y.hi - l->y.lo);
    l->cosine = l->x_px / hypot(l->x_px, l->y_px);
}

/* Ranges and labels depend on each other; a few rounds settle them. */
static void settle(const struct carm_plot_ladder *pane, struct carm_plot_box box,
                   struct carm_plot_layout *l, const char *flat_unit)
{
    const double fast = log10(l->slopes.lines[0].value),
                 slow = log10(l->slopes.lines[l->slopes.n - 1].value);
    const double high = log10(l->flats.lines[0].value),
                 low = log10(l->flats.lines[l->flats.n - 1].value);
    const double beside = pane->n > 1 ? 0.6 : 0.25;
    double first, last, least_lo = low - fast - beside, least_hi = high - slow + beside;
    if (kernel_range(pane, &first, &last)) {
        least_lo = fmin(least_lo, first - 0.1);
        least_hi = fmax(least_hi, last + 0.1);
    }
    /* However long the labels are, the lines keep a good part of the panel. */
    const double lines = fmax(least_hi - least_lo, 0.5), most_px = 0.5 * box.width;
    /* From narrow to wide, so that no labels are joined that have room apart. */
    l->x = (struct carm_plot_axis){least_lo, least_hi};
    for (int round = 0; round < 60; round++) {
        scale_axes(l, box, lines);
        make_labels(&l->slopes, ROOM_PX / l->cosine / l->y_px, *l->prefix, "B/s");
        make_labels(&l->flats, CARM_PLOT_STACK_PX / l->y_px, *l->prefix, flat_unit);
        const double lo = fmin(fmax(left_end(pane, l, most_px), least_lo - lines), least_lo);
        const double hi = fmax(fmin(right_end(pane, l, most_px), least_hi + lines), least_hi);
        /* By halves: what one end takes is less for the labels at the other. */
        l->x.lo += 0.5 * (lo - l->x.lo);
        l->x.hi += 0.5 * (hi - l->x.hi);
    }
    scale_axes(l, box, lines);
}

int carm_plot_ladder_layout(const struct carm_plot_ladder *pane, struct carm_plot_box box,
                            struct carm_plot_layout *layout, struct carm_err *err)
{
    double most = 0;
    char unit[24];
    memset(layout, 0, sizeof *layout);
    for (size_t i = 0; i < pane->n; i++) {
        if (!pane->ladders[i]) {
            continue;
        }
        const struct carm_rung *peak = carm_ladder_peak(pane->ladders[i]);
        if (!peak || !carm_ladder_slope(pane->ladders[i])) {
            return carm_fail(err, CARM_EINVAL,
                             "%.100s has no %s to draw; measure them with "
                             "`carm build --ceilings`",
                             pane->ladders[i]->title,
                             peak ? "memory ceilings" : "compute ceilings");
        }
        most = fmax(most, peak->rate);
    }
    layout->scale = carm_plot_prefix(most, &layout->prefix);
    for (size_t i = 0; i < pane->n; i++) {
        const struct carm_ladder *l = pane->ladders[i];
        if (!l) {
            continue;
        }
        add_side(pane, i, false, carm_ladder_peak(l)->rate, layout->scale, &layout->slopes);
        add_side(pane, i, true, carm_ladder_slope(l)->rate, layout->scale, &layout->flats);
    }
    qsort(layout->slopes.lines, layout->slopes.n, sizeof *layout->slopes.lines, by_value);
    qsort(layout->flats.lines, layout->flats.n, sizeof *layout->flats.lines, by_value);
    (void)snprintf(unit, sizeof unit, "%s/s", pane->ladders[0]->metric);
    settle(pane, box, layout, unit);
    return 0;
}
