/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/ceilings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
#include "base/text.h"

enum {
    LINES_MAX = 4 * CARM_CEILINGS_MAX,
    LABEL_PX = 10, /* from a line to the middle of the label above it */
    STACK_PX = 14, /* from one label to the next */
    BEGIN_PX = 34, /* in front of a slope's label */
    KERNEL_PX = 14,
    ROOM_PX = 16,  /* between slopes for a label */
    DASHES = 5,    /* that gnuplot's terminals have */
    ALONG_PX = 24, /* from the axis to the beginning of a slope's label */
    BESIDE_PX = 9, /* from a kernel's line to the middle of its name */
    NAME_PX = 14,  /* names of kernels stand at least so far apart */
    LETTER_PX = 7, /* of them, about */
    BOTTOM_PX = 6,
};

struct line {
    char name[CARM_TEXT_MAX];
    double value; /* of a slope: performance at 1 operation/byte */
    double limit; /* the roof of the other side, where a slope ends or a horizontal begins */
    unsigned rgb;
    int style; /* 0 = roof, 1 = ceiling, 2 = aside */
    int dash;  /* of a roof, 1 = none: tells sets apart, in grey and beyond six colours */
};

/* Each line has a label. Those of lines that lie together are stacked above the highest of them, in
 * the lines' order. */
struct label {
    size_t anchor; /* the line below this label */
    size_t level;  /* of the stack, 0 = next to the anchor */
    char text[CARM_TEXT_MAX];
};

struct lines {
    struct line lines[LINES_MAX]; /* highest first */
    size_t n;
    struct label labels[LINES_MAX]; /* [n] */
    size_t top;                     /* number of labels above the highest line */
};

struct layout {
    struct lines slopes, flats;
    struct carm_plot_axis x, y;
    double x_px, y_px; /* pixels of a decade */
    double cosine;     /* of the slopes' angle on the canvas */
    double scale;      /* axis unit */
    const char *prefix;
};

/* ---- the lines, the ranges and where labels stand ------------------------------------------------
 * Slopes are labelled at the left end, below the lowest horizontal and left of the kernels; horizontals
 * at the right end, right of slopes and kernels. */

/* The palette of plots/scripts/common.gp: memory, compute; of roofs on each other one for each set. */
static unsigned line_rgb(size_t set, size_t nsets, bool compute, int style)
{
    if (nsets > 1) {
        return carm_plot_rgb(set);
    }
    return style == 0 ? 0x000000 : style == 2 ? 0x707070 : compute ? 0x0072b2 : 0xb34700;
}

static void add_side(const struct carm_plot_pane *pane, size_t which, bool compute, double limit,
                     double scale, struct lines *out)
{
    const struct carm_ceilings *l = pane->sets[which];
    const struct carm_ceiling *list = compute ? l->compute : l->memory;
    const struct carm_ceiling *roof = compute ? carm_ceilings_peak(l) : carm_ceilings_slope(l);
    const size_t n = compute ? l->ncompute : l->nmemory;
    for (size_t i = 0; i < n && out->n < LINES_MAX; i++) {
        const bool wanted = pane->n > 1 ? &list[i] == roof : !list[i].aside || pane->aside;
        if (!wanted) {
            continue;
        }
        struct line *line = &out->lines[out->n++];
        snprintf(line->name, sizeof line->name, "%.100s", pane->n > 1 ? l->title : list[i].name);
        line->value = list[i].rate / scale;
        line->limit = limit / scale;
        line->style = &list[i] == roof ? 0 : list[i].aside ? 2 : 1;
        line->dash = pane->n > 1 ? 1 + (int)(which % DASHES) : 1;
        line->rgb = line_rgb(which, pane->n, compute, line->style);
    }
}

static int by_value(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

/* "Copy BW 13.9 GB/s"; thousands take the next prefix. */
static void label_text(const struct line *line, char prefix, const char *unit, struct label *label)
{
    static const char prefixes[] = "MGTP";
    const bool many = line->value >= 999.5;
    snprintf(label->text, sizeof label->text, "%.120s %.3g %c%s", line->name,
             many ? line->value / 1000 : line->value, many ? strchr(prefixes, prefix)[1] : prefix,
             unit);
}

/* Stacks labels from the lowest line upwards: as long as the next line leaves no room for the stack,
 * it joins. Above the highest line there is always room.
 * apart  decades that a label takes */
static void make_labels(struct lines *l, double apart, char prefix, const char *unit)
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

static double label_px(const struct label *label, double most_px)
{
    return fmin(carm_plot_text_px(label->text), most_px);
}

/* log10 of the least and the greatest intensity among the kernels; false without any. */
static bool kernel_range(const struct carm_plot_pane *pane, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < pane->nkernels; i++) {
        *low = fmin(*low, log10(pane->kernels[i].intensity));
        *high = fmax(*high, log10(pane->kernels[i].intensity));
    }
    return pane->nkernels > 0;
}

static double left_end(const struct carm_plot_pane *pane, const struct layout *l, double most_px)
{
    double first, last, lo = INFINITY;
    const bool kernels = kernel_range(pane, &first, &last);
    const double low = log10(l->flats.lines[l->flats.n - 1].value);
    /* Left of the steepest slope is nothing that a label could cross. */
    for (size_t i = l->slopes.top; i < l->slopes.n; i++) {
        const struct label *label = &l->slopes.labels[i];
        const double px = BEGIN_PX + label_px(label, most_px) * l->cosine;
        const double above = LABEL_PX + STACK_PX * (1 + (double)label->level);
        lo = fmin(lo, low - log10(l->slopes.lines[label->anchor].value) - (px + above) / l->x_px);
        if (kernels) {
            lo = fmin(lo, first - (px + 2 * KERNEL_PX) / l->x_px);
        }
    }
    return lo;
}

static double right_end(const struct carm_plot_pane *pane, const struct layout *l, double most_px)
{
    double first, last;
    const bool kernels = kernel_range(pane, &first, &last);
    const double slow = log10(l->slopes.lines[l->slopes.n - 1].value);
    double hi = log10(l->flats.lines[0].value) - slow + 40 / l->x_px;
    for (size_t i = 0; i < l->flats.n; i++) {
        const struct label *label = &l->flats.labels[i];
        const double px = label_px(label, most_px);
        const double above = LABEL_PX + STACK_PX * (1 + (double)label->level);
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

/* Layout from the x range: the lowest slope begins a little above the corner, the peak has room
 * for its label, and the axis with the longer decades gets more of them.
 * lines  decades of x that the lines take */
static void scale_axes(struct layout *l, struct carm_plot_box box, double lines)
{
    const double top_px = 20 + STACK_PX * (double)l->flats.top;
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
static void settle(const struct carm_plot_pane *pane, struct carm_plot_box box, struct layout *l,
                   const char *flat_unit)
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
        make_labels(&l->flats, STACK_PX / l->y_px, *l->prefix, flat_unit);
        const double lo = fmin(fmax(left_end(pane, l, most_px), least_lo - lines), least_lo);
        const double hi = fmax(fmin(right_end(pane, l, most_px), least_hi + lines), least_hi);
        /* By bisection: room that one end takes is missing for the labels at the other. */
        l->x.lo += 0.5 * (lo - l->x.lo);
        l->x.hi += 0.5 * (hi - l->x.hi);
    }
    scale_axes(l, box, lines);
}

static int make_layout(const struct carm_plot_pane *pane, struct carm_plot_box box,
                       struct layout *layout, struct carm_err *err)
{
    double most = 0;
    char unit[24];
    memset(layout, 0, sizeof *layout);
    for (size_t i = 0; i < pane->n; i++) {
        if (!pane->sets[i]) {
            continue;
        }
        const struct carm_ceiling *peak = carm_ceilings_peak(pane->sets[i]);
        if (!peak || !carm_ceilings_slope(pane->sets[i])) {
            return carm_fail(err, CARM_EINVAL,
                             "%.100s has no %s to draw; measure them with "
                             "`carm build --ceilings`",
                             pane->sets[i]->title, peak ? "memory ceilings" : "compute ceilings");
        }
        most = fmax(most, peak->rate);
    }
    layout->scale = carm_plot_prefix(most, &layout->prefix);
    for (size_t i = 0; i < pane->n; i++) {
        const struct carm_ceilings *l = pane->sets[i];
        if (!l) {
            continue;
        }
        add_side(pane, i, false, carm_ceilings_peak(l)->rate, layout->scale, &layout->slopes);
        add_side(pane, i, true, carm_ceilings_slope(l)->rate, layout->scale, &layout->flats);
    }
    qsort(layout->slopes.lines, layout->slopes.n, sizeof *layout->slopes.lines, by_value);
    qsort(layout->flats.lines, layout->flats.n, sizeof *layout->flats.lines, by_value);
    snprintf(unit, sizeof unit, "%s/s", pane->sets[0]->metric);
    settle(pane, box, layout, unit);
    return 0;
}

/* ---- a panel ------------------------------------------------------------------------------------ */

/* One block for each line of a style. returns how many */
static size_t put_lines(FILE *out, const struct layout *l, int style, const char *name)
{
    const double x0 = pow(10, l->x.lo), x1 = pow(10, l->x.hi);
    size_t n = 0;
    fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = 0; i < l->slopes.n; i++) {
        const struct line *s = &l->slopes.lines[i];
        if (s->style == style) {
            fprintf(out, "%s%.9g %.9g %u\n%.9g %.9g %u\n", n++ ? "\n\n" : "", x0, x0 * s->value,
                    s->rgb, s->limit / s->value, s->limit, s->rgb);
        }
    }
    for (size_t i = 0; i < l->flats.n; i++) {
        const struct line *s = &l->flats.lines[i];
        if (s->style == style) {
            fprintf(out, "%s%.9g %.9g %u\n%.9g %.9g %u\n", n++ ? "\n\n" : "", s->value / s->limit,
                    s->value, s->rgb, x1, s->value, s->rgb);
        }
    }
    fprintf(out, "CARM_END\n%s = %zu\n", name, n);
    return n;
}

/* Of the roofs, in the order of their blocks. */
static void put_dashes(FILE *out, const struct layout *l)
{
    fputs("roof_dashes = \"", out);
    for (size_t i = 0; i < l->slopes.n + l->flats.n; i++) {
        const struct line *s =
            i < l->slopes.n ? &l->slopes.lines[i] : &l->flats.lines[i - l->slopes.n];
        if (s->style == 0) {
            fprintf(out, "%d ", s->dash);
        }
    }
    fputs("\"\n", out);
}

static const struct line *lowest_of_chain(const struct lines *l)
{
    for (size_t i = l->n; i-- > 0;) {
        if (l->lines[i].style == 1) {
            return &l->lines[i];
        }
    }
    return NULL;
}

/* Figure 2c: between the lowest ceiling and the roof of each side, and where the two overlap. */
static void put_regions(FILE *out, const struct carm_plot_pane *pane, const struct layout *l)
{
    const struct line *memory = lowest_of_chain(&l->slopes), *compute = lowest_of_chain(&l->flats);
    const bool one = pane->n == 1;
    const double peak = carm_ceilings_peak(pane->sets[0])->rate / l->scale,
                 slope = carm_ceilings_slope(pane->sets[0])->rate / l->scale;
    const double x0 = pow(10, l->x.lo), x1 = pow(10, l->x.hi), ridge = peak / slope;
    fputs("$memory_region << CARM_END\n", out);
    if (one && memory) {
        const double m = memory->value;
        fprintf(out, "%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n", x0, m * x0, x0, slope * x0,
                ridge, peak, peak / m, peak);
    }
    fputs("CARM_END\n$compute_region << CARM_END\n", out);
    if (one && compute) {
        const double c = compute->value;
        fprintf(out, "%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n", c / slope, c, ridge, peak, x1,
                peak, x1, c);
    }
    fputs("CARM_END\n$both_region << CARM_END\n", out);
    if (one && memory && compute) {
        const double m = memory->value, c = compute->value;
        fprintf(out, "%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n", c / slope, c, ridge, peak,
                peak / m, peak, c / m, c);
    }
    fprintf(out, "CARM_END\nregions = %d\n", (one && memory ? 1 : 0) | (one && compute ? 2 : 0));
}

static void put_label(FILE *out, double x, double y, const struct lines *lines, size_t i)
{
    fprintf(out, "%.9g %.9g ", pow(10, x), pow(10, y));
    carm_plot_put_text(out, lines->labels[i].text);
    fprintf(out, " %u\n", lines->lines[i].rgb);
}

/* A slope's label begins a little right of the axis and stands off its line. */
static void put_labels(FILE *out, const struct layout *l)
{
    const double sine = sqrt(1 - l->cosine * l->cosine);
    fputs("$slope_labels << CARM_END\n", out);
    for (size_t i = 0; i < l->slopes.n; i++) {
        const struct label *label = &l->slopes.labels[i];
        const double off = LABEL_PX + STACK_PX * (double)label->level;
        /* A stack leans to the left: its labels begin further along. */
        const double along = ALONG_PX + off * sine / l->cosine;
        const double x = l->x.lo + (along * l->cosine - off * sine) / l->x_px;
        const double y = log10(l->slopes.lines[label->anchor].value) + l->x.lo +
                         (along * sine + off * l->cosine) / l->y_px;
        put_label(out, x, y, &l->slopes, i);
    }
    fputs("CARM_END\n$flat_labels << CARM_END\n", out);
    for (size_t i = 0; i < l->flats.n; i++) {
        const struct label *label = &l->flats.labels[i];
        const double off = LABEL_PX + STACK_PX * (double)label->level;
        put_label(out, l->x.hi - 4 / l->x_px,
                  log10(l->flats.lines[label->anchor].value) + off / l->y_px, &l->flats, i);
    }
    fputs("CARM_END\n", out);
}

static int by_intensity(const void *a, const void *b)
{
    const struct carm_plot_kernel *x = a, *y = b;
    return (x->intensity > y->intensity) - (x->intensity < y->intensity);
}

/* The place of a kernel's name, pixels: its middle across, its ends upwards. */
struct spot {
    double x, low, high;
};

static bool is_free(const struct spot *spot, const struct spot *taken, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fabs(spot->x - taken[i].x) < NAME_PX && spot->low < taken[i].high &&
            taken[i].low < spot->high) {
            return false;
        }
    }
    return true;
}

/* To the left of its line, else to the right, else as low above the others as there is room. */
static struct spot find_room(double line, size_t letters, const struct spot *taken, size_t n)
{
    const double length = LETTER_PX * (double)(letters + 2);
    struct spot spot = {line - BESIDE_PX, 0, length};
    for (int up = 0; !is_free(&spot, taken, n); up++) {
        const double low = LETTER_PX * up;
        for (int side = -1; side <= 1 && !is_free(&spot, taken, n); side += 2) {
            spot = (struct spot){line + side * BESIDE_PX, low, low + length};
        }
    }
    return spot;
}

/* Vertical lines up to the roof with the kernel's name at the bottom, and crosses. */
static void put_kernels(FILE *out, const struct carm_plot_pane *pane, const struct layout *l)
{
    struct carm_plot_kernel k[CARM_PLOT_KERNELS_MAX];
    size_t crosses = 0;
    const double peak = l->flats.lines[0].value, slope = l->slopes.lines[0].value;
    memcpy(k, pane->kernels, sizeof k);
    qsort(k, pane->nkernels, sizeof *k, by_intensity);
    fputs("$kernels << CARM_END\n", out);
    for (size_t i = 0; i < pane->nkernels; i++) {
        fprintf(out, "%s%.9g %.9g\n%.9g %.9g\n", i ? "\n\n" : "", k[i].intensity, pow(10, l->y.lo),
                k[i].intensity, fmin(peak, slope * k[i].intensity));
    }
    fprintf(out, "CARM_END\nkernels = %zu\n$kernel_labels << CARM_END\n", pane->nkernels);
    struct spot taken[CARM_PLOT_KERNELS_MAX];
    for (size_t i = 0; i < pane->nkernels; i++) {
        char text[2 * CARM_NAME_MAX];
        snprintf(text, sizeof text, "%.79s %.2f", k[i].name, k[i].intensity);
        taken[i] = find_room(log10(k[i].intensity) * l->x_px, strlen(text), taken, i);
        fprintf(out, "%.9g %.9g ", pow(10, taken[i].x / l->x_px),
                pow(10, l->y.lo + (BOTTOM_PX + taken[i].low) / l->y_px));
        carm_plot_put_text(out, text);
        fputs("\n", out);
    }
    fputs("CARM_END\n$crosses << CARM_END\n", out);
    for (size_t i = 0; i < pane->nkernels; i++) {
        if (k[i].performance > 0) {
            fprintf(out, "%.9g %.9g\n", k[i].intensity, k[i].performance / l->scale);
            crosses++;
        }
    }
    fprintf(out, "CARM_END\ncrosses = %d\n", crosses > 0);
}

/* As lines of data: nothing in a string of a model is gnuplot's. */
static void put_axis_labels(FILE *out, const struct carm_plot_pane *pane, struct carm_plot_box box,
                            const char *prefix)
{
    const char *metric = pane->sets[0]->metric;
    char text[CARM_TEXT_MAX];
    fputs("$axis_labels << CARM_END\n", out);
    snprintf(text, sizeof text, "operational intensity, %s/byte %s", metric,
             pane->bytes[0] ? pane->bytes : "of memory traffic");
    carm_plot_put_line(out, text, box.width + 40);
    snprintf(text, sizeof text, "performance, %s%s/s", prefix, metric);
    carm_plot_put_line(out, text, box.height + 40);
    fputs("CARM_END\nintensity_label = $axis_labels[1][2:*]\n"
          "performance_label = $axis_labels[2][2:*]\n",
          out);
}

/* returns 0, -CARM_EINVAL (ceilings without slope or peak) or -CARM_ENOMEM */
static int put_pane(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                    const struct carm_plot_pane *pane, struct carm_err *err)
{
    FILE *out = canvas->out;
    struct layout *l = malloc(sizeof *l);
    if (!l) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    int rc = make_layout(pane, box, l, err);
    if (rc == 0) {
        carm_plot_put_box(canvas, box, l->x, l->y, pane->title);
        carm_plot_put_intensity_ticks(out, l->x, box.width);
        carm_plot_put_power_ticks(out, l->y, box.height);
        put_axis_labels(out, pane, box, l->prefix);
        fprintf(out, "slope_angle = %.2f\n", atan2(l->y_px, l->x_px) * 180 / M_PI);
        put_lines(out, l, 0, "roofs");
        put_dashes(out, l);
        put_lines(out, l, 1, "ceilings");
        put_lines(out, l, 2, "asides");
        put_regions(out, pane, l);
        put_labels(out, l);
        put_kernels(out, pane, l);
        fputs(carm_asset_plot_ceilings, out);
    }
    free(l);
    return rc;
}

/* ---- a picture of panels ------------------------------------------------------------------------ */

/* Pixels. A panel's margins hold its ticks, its labels and its title. */
enum {
    PANEL_WIDTH = 720,
    PANEL_HEIGHT = 560,
    SINGLE_WIDTH = 960,
    HEAD_HEIGHT = 34, /* the picture's title */
    MARGIN_LEFT = 84,
    MARGIN_RIGHT = 24,
    MARGIN_BOTTOM = 60,
    MARGIN_TOP = 32,
};

static const char bottom_title[] = ", multiply/add balance at the bottom";

static int make_room(struct carm_plot_sheet *sheet, size_t rows, size_t columns, size_t nsets,
                     struct carm_err *err)
{
    memset(sheet, 0, sizeof *sheet);
    if (rows == 0 || columns == 0 || nsets == 0) {
        return carm_fail(err, CARM_EINVAL, "there is nothing to draw");
    }
    sheet->rows = rows;
    sheet->columns = columns;
    sheet->panes = calloc(rows * columns, sizeof *sheet->panes);
    sheet->sets = calloc(nsets, sizeof *sheet->sets);
    if (!sheet->panes || !sheet->sets) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    return 0;
}

/* The set of the highest peak among those with ceilings; NULL = none has any. */
static const struct carm_roofs *set_with_ceilings(const struct carm_model *model,
                                                  const struct carm_select *select)
{
    const struct carm_roofs *best = NULL;
    double most = -1;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *set = &model->roofs[i];
        const struct carm_compute_roof *peak = carm_roofs_find_peak(set);
        const double rate = peak ? peak->rate : 0;
        if (set->nceilings > 0 && rate > most && carm_select_has(select, set->isa, set->threads)) {
            best = set;
            most = rate;
        }
    }
    return best;
}

int carm_plot_sheet_of_model(const struct carm_model *model, const struct carm_select *select,
                             enum carm_plot_balance balance, bool aside,
                             struct carm_plot_sheet *sheet, struct carm_err *err)
{
    const struct carm_roofs *set = set_with_ceilings(model, select);
    const size_t rows = balance == CARM_PLOT_BALANCE_BOTH ? 2 : 1;
    int rc = make_room(sheet, rows, 1, rows, err);
    if (rc) {
        return rc;
    }
    if (!set) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no ceilings for this choice; `carm build --ceilings` "
                         "measures them");
    }
    snprintf(sheet->title, sizeof sheet->title, "%s%s%s", model->machine.hostname,
             *model->machine.hostname && *model->machine.cpu ? ": " : "", model->machine.cpu);
    for (size_t i = 0; i < rows && rc == 0; i++) {
        const bool bottom = balance == CARM_PLOT_BALANCE_BOTTOM || i == 1;
        struct carm_plot_pane *pane = &sheet->panes[i];
        rc = carm_ceilings_of_roofs(model, set, bottom ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP,
                                    &sheet->sets[i], err);
        pane->sets[0] = &sheet->sets[i];
        pane->n = 1;
        pane->aside = aside;
        snprintf(pane->title, sizeof pane->title,
                 "Roofline with ceilings, %.24s %.24s, %d thread%s%s", set->isa, set->precision,
                 set->threads, set->threads == 1 ? "" : "s", bottom ? bottom_title : "");
    }
    return rc;
}

/* The kernels of table 4 that a pane shows: all, or those that are balanced by nature or are not. */
static void take_kernels(const struct carm_published *published,
                         const struct carm_published_machine *m, bool all, bool balanced,
                         struct carm_plot_pane *pane)
{
    for (size_t i = 0; i < m->nresults && pane->nkernels < CARM_PLOT_KERNELS_MAX; i++) {
        const struct carm_published_result *res = &m->results[i];
        const struct carm_published_kernel *k = carm_published_kernel(published, res->kernel);
        if (!all && k && k->balanced != balanced) {
            continue;
        }
        struct carm_plot_kernel *to = &pane->kernels[pane->nkernels++];
        memcpy(to->name, res->kernel, sizeof to->name);
        to->intensity = res->intensity;
        to->performance = res->performance;
    }
}

/* The panes of one machine: in one row or two. */
static void put_machine(const struct carm_published *published,
                        const struct carm_published_machine *m, enum carm_plot_balance balance,
                        struct carm_plot_sheet *sheet, size_t column)
{
    const bool has_bottom = m->compute_balance_bottom.n > 0;
    for (size_t row = 0; row < sheet->rows; row++) {
        const bool bottom = has_bottom && (balance == CARM_PLOT_BALANCE_BOTTOM || row == 1);
        if (row == 1 && !has_bottom) {
            return; /* one roofline for all kernels, as figure 4 */
        }
        struct carm_plot_pane *pane = &sheet->panes[row * sheet->columns + column];
        struct carm_ceilings *ceilings = &sheet->sets[row * sheet->columns + column];
        carm_published_ceilings(m, bottom ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP, ceilings);
        pane->sets[0] = ceilings;
        pane->n = 1;
        take_kernels(published, m, balance != CARM_PLOT_BALANCE_BOTH || !has_bottom, bottom, pane);
        snprintf(pane->title, sizeof pane->title, "%s%s", m->title, bottom ? bottom_title : "");
    }
}

static void put_overlay(const struct carm_published_machine *const *machines, size_t n,
                        struct carm_plot_sheet *sheet)
{
    struct carm_plot_pane *pane = &sheet->panes[0];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        carm_published_ceilings(machines[i], CARM_BALANCE_TOP, &sheet->sets[i]);
        pane->sets[pane->n++] = &sheet->sets[i];
        const int k = snprintf(pane->title + used, sizeof pane->title - used, "%s%s",
                               i ? ", " : "Rooflines of ", machines[i]->title);
        used += k > 0 && (size_t)k < sizeof pane->title - used ? (size_t)k : 0;
    }
}

int carm_plot_sheet_of_published(const struct carm_published *published,
                                 const struct carm_published_machine *const *machines, size_t n,
                                 enum carm_plot_balance balance, bool overlay,
                                 struct carm_plot_sheet *sheet, struct carm_err *err)
{
    bool bottom = false;
    for (size_t i = 0; i < n; i++) {
        bottom = bottom || machines[i]->compute_balance_bottom.n > 0;
    }
    const size_t rows = !overlay && bottom && balance == CARM_PLOT_BALANCE_BOTH ? 2 : 1;
    int rc = make_room(sheet, rows, overlay ? 1 : n, rows * n, err);
    if (rc) {
        return rc;
    }
    if (overlay) {
        put_overlay(machines, n, sheet);
    }
    for (size_t i = 0; i < n && !overlay; i++) {
        put_machine(published, machines[i], balance, sheet, i);
    }
    snprintf(sheet->title, sizeof sheet->title, "As published: %s", published->citation);
    return 0;
}

int carm_plot_sheet_put(FILE *out, const struct carm_plot_sheet *sheet, const char *format,
                        const char *title, struct carm_err *err)
{
    double width = sheet->columns == 1 ? SINGLE_WIDTH : PANEL_WIDTH * (double)sheet->columns;
    double height = HEAD_HEIGHT + PANEL_HEIGHT * (double)sheet->rows;
    carm_plot_look_size(sheet->look, &width, &height);
    const double panel = width / (double)sheet->columns;
    const double row_height = (height - HEAD_HEIGHT) / (double)sheet->rows;
    if (panel < 4 * MARGIN_LEFT || row_height < 4 * MARGIN_BOTTOM) {
        return carm_fail(
            err, CARM_EINVAL,
            "the picture is too small for its panels; give more pixels with --size, or smaller "
            "letters with --font NAME,SIZE");
    }
    const struct carm_plot_canvas canvas = {out, width, height, NULL, NULL};
    int rc = 0;
    carm_plot_put_head(out, sheet->look, width, height, format, title ? title : sheet->title);
    for (size_t i = 0; i < sheet->rows * sheet->columns && rc == 0; i++) {
        const int column = (int)(i % sheet->columns), row = (int)(i / sheet->columns);
        const struct carm_plot_box box = {
            panel * column + MARGIN_LEFT, row_height * ((int)sheet->rows - 1 - row) + MARGIN_BOTTOM,
            panel - MARGIN_LEFT - MARGIN_RIGHT, row_height - MARGIN_BOTTOM - MARGIN_TOP};
        if (sheet->panes[i].n > 0) {
            rc = put_pane(&canvas, box, &sheet->panes[i], err);
        }
    }
    fputs("unset multiplot\n", out);
    return rc;
}

void carm_plot_sheet_close(struct carm_plot_sheet *sheet)
{
    free(sheet->panes);
    free(sheet->sets);
    memset(sheet, 0, sizeof *sheet);
}
