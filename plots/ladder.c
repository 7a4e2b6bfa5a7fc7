/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"

enum {
    ALONG_PX = 24, /* from the axis to the beginning of a slope's label */
    BESIDE_PX = 9, /* from a kernel's line to the middle of its name */
    NAME_PX = 14,  /* names of kernels stand at least so far apart */
    LETTER_PX = 7, /* of them, about */
    BOTTOM_PX = 6,
};

/* One block for each line of a style. returns how many */
static size_t put_lines(FILE *out, const struct carm_plot_layout *l, int style, const char *name)
{
    const double x0 = pow(10, l->x.lo), x1 = pow(10, l->x.hi);
    size_t n = 0;
    (void)fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = 0; i < l->slopes.n; i++) {
        const struct carm_plot_line *s = &l->slopes.lines[i];
        if (s->style == style) {
            (void)fprintf(out, "%s%.9g %.9g %u\n%.9g %.9g %u\n", n++ ? "\n\n" : "", x0,
                          x0 * s->value, s->rgb, s->limit / s->value, s->limit, s->rgb);
        }
    }
    for (size_t i = 0; i < l->flats.n; i++) {
        const struct carm_plot_line *s = &l->flats.lines[i];
        if (s->style == style) {
            (void)fprintf(out, "%s%.9g %.9g %u\n%.9g %.9g %u\n", n++ ? "\n\n" : "",
                          s->value / s->limit, s->value, s->rgb, x1, s->value, s->rgb);
        }
    }
    (void)fprintf(out, "CARM_END\n%s = %zu\n", name, n);
    return n;
}

/* Of the roofs, in the order of their blocks. */
static void put_dashes(FILE *out, const struct carm_plot_layout *l)
{
    (void)fputs("roof_dashes = \"", out);
    for (size_t i = 0; i < l->slopes.n + l->flats.n; i++) {
        const struct carm_plot_line *s =
            i < l->slopes.n ? &l->slopes.lines[i] : &l->flats.lines[i - l->slopes.n];
        if (s->style == 0) {
            (void)fprintf(out, "%d ", s->dash);
        }
    }
    (void)fputs("\"\n", out);
}

static const struct carm_plot_line *lowest_of_chain(const struct carm_plot_lines *l)
{
    for (size_t i = l->n; i-- > 0;) {
        if (l->lines[i].style == 1) {
            return &l->lines[i];
        }
    }
    return NULL;
}

/* Figure 2c: between the lowest ceiling and the roof of each side, and where the two overlap. */
static void put_regions(FILE *out, const struct carm_plot_ladder *pane,
                        const struct carm_plot_layout *l)
{
    const struct carm_plot_line *memory = lowest_of_chain(&l->slopes),
                                *compute = lowest_of_chain(&l->flats);
    const bool one = pane->n == 1;
    const double peak = carm_ladder_peak(pane->ladders[0])->rate / l->scale,
                 slope = carm_ladder_slope(pane->ladders[0])->rate / l->scale;
    const double x0 = pow(10, l->x.lo), x1 = pow(10, l->x.hi), ridge = peak / slope;
    (void)fputs("$memory_region << CARM_END\n", out);
    if (one && memory) {
        const double m = memory->value;
        (void)fprintf(out, "%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n", x0, m * x0, x0,
                      slope * x0, ridge, peak, peak / m, peak);
    }
    (void)fputs("CARM_END\n$compute_region << CARM_END\n", out);
    if (one && compute) {
        const double c = compute->value;
        (void)fprintf(out, "%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n", c / slope, c, ridge,
                      peak, x1, peak, x1, c);
    }
    (void)fputs("CARM_END\n$both_region << CARM_END\n", out);
    if (one && memory && compute) {
        const double m = memory->value, c = compute->value;
        (void)fprintf(out, "%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n", c / slope, c, ridge,
                      peak, peak / m, peak, c / m, c);
    }
    (void)fprintf(out, "CARM_END\nregions = %d\n",
                  (one && memory ? 1 : 0) | (one && compute ? 2 : 0));
}

static void put_label(FILE *out, double x, double y, const struct carm_plot_lines *lines, size_t i)
{
    (void)fprintf(out, "%.9g %.9g ", pow(10, x), pow(10, y));
    carm_plot_put_text(out, lines->labels[i].text);
    (void)fprintf(out, " %u\n", lines->lines[i].rgb);
}

/* A slope's label begins a little right of the axis and stands off its line. */
static void put_labels(FILE *out, const struct carm_plot_layout *l)
{
    const double sine = sqrt(1 - l->cosine * l->cosine);
    (void)fputs("$slope_labels << CARM_END\n", out);
    for (size_t i = 0; i < l->slopes.n; i++) {
        const struct carm_plot_label *label = &l->slopes.labels[i];
        const double off = CARM_PLOT_LABEL_PX + CARM_PLOT_STACK_PX * (double)label->level;
        /* A stack leans to the left: its labels begin further along. */
        const double along = ALONG_PX + off * sine / l->cosine;
        const double x = l->x.lo + (along * l->cosine - off * sine) / l->x_px;
        const double y = log10(l->slopes.lines[label->anchor].value) + l->x.lo +
                         (along * sine + off * l->cosine) / l->y_px;
        put_label(out, x, y, &l->slopes, i);
    }
    (void)fputs("CARM_END\n$flat_labels << CARM_END\n", out);
    for (size_t i = 0; i < l->flats.n; i++) {
        const struct carm_plot_label *label = &l->flats.labels[i];
        const double off = CARM_PLOT_LABEL_PX + CARM_PLOT_STACK_PX * (double)label->level;
        put_label(out, l->x.hi - 4 / l->x_px,
                  log10(l->flats.lines[label->anchor].value) + off / l->y_px, &l->flats, i);
    }
    (void)fputs("CARM_END\n", out);
}

static int by_intensity(const void *a, const void *b)
{
    const struct carm_plot_kernel *x = a, *y = b;
    return (x->intensity > y->intensity) - (x->intensity < y->intensity);
}

/* Where the name of a kernel stands, pixels: its middle across, its ends upwards. */
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
static void put_kernels(FILE *out, const struct carm_plot_ladder *pane,
                        const struct carm_plot_layout *l)
{
    struct carm_plot_kernel k[CARM_PLOT_KERNELS_MAX];
    size_t crosses = 0;
    const double peak = l->flats.lines[0].value, slope = l->slopes.lines[0].value;
    memcpy(k, pane->kernels, sizeof k);
    qsort(k, pane->nkernels, sizeof *k, by_intensity);
    (void)fputs("$kernels << CARM_END\n", out);
    for (size_t i = 0; i < pane->nkernels; i++) {
        (void)fprintf(out, "%s%.9g %.9g\n%.9g %.9g\n", i ? "\n\n" : "", k[i].intensity,
                      pow(10, l->y.lo), k[i].intensity, fmin(peak, slope * k[i].intensity));
    }
    (void)fprintf(out, "CARM_END\nkernels = %zu\n$kernel_labels << CARM_END\n", pane->nkernels);
    struct spot taken[CARM_PLOT_KERNELS_MAX];
    for (size_t i = 0; i < pane->nkernels; i++) {
        char text[2 * CARM_NAME_MAX];
        (void)snprintf(text, sizeof text, "%.79s %.2f", k[i].name, k[i].intensity);
        taken[i] = find_room(log10(k[i].intensity) * l->x_px, strlen(text), taken, i);
        (void)fprintf(out, "%.9g %.9g ", pow(10, taken[i].x / l->x_px),
                      pow(10, l->y.lo + (BOTTOM_PX + taken[i].low) / l->y_px));
        carm_plot_put_text(out, text);
        (void)fputs("\n", out);
    }
    (void)fputs("CARM_END\n$crosses << CARM_END\n", out);
    for (size_t i = 0; i < pane->nkernels; i++) {
        if (k[i].performance > 0) {
            (void)fprintf(out, "%.9g %.9g\n", k[i].intensity, k[i].performance / l->scale);
            crosses++;
        }
    }
    (void)fprintf(out, "CARM_END\ncrosses = %d\n", crosses > 0);
}

/* As lines of data: nothing in a string of a model is gnuplot's. */
static void put_axis_labels(FILE *out, const struct carm_plot_ladder *pane,
                            struct carm_plot_box box, const char *prefix)
{
    const char *metric = pane->ladders[0]->metric;
    char text[CARM_TEXT_MAX];
    (void)fputs("$axis_labels << CARM_END\n", out);
    (void)snprintf(text, sizeof text, "operational intensity, %s/byte %s", metric,
                   pane->bytes[0] ? pane->bytes : "of memory traffic");
    carm_plot_put_line(out, text, box.width + 40);
    (void)snprintf(text, sizeof text, "performance, %s%s/s", prefix, metric);
    carm_plot_put_line(out, text, box.height + 40);
    (void)fputs("CARM_END\nintensity_label = $axis_labels[1][2:*]\n"
                "performance_label = $axis_labels[2][2:*]\n",
                out);
}

int carm_plot_ladder_panel(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                           const struct carm_plot_ladder *pane, struct carm_err *err)
{
    FILE *out = canvas->out;
    struct carm_plot_layout *l = malloc(sizeof *l);
    if (!l) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    int rc = carm_plot_ladder_layout(pane, box, l, err);
    if (rc == 0) {
        carm_plot_put_box(canvas, box, l->x, l->y, pane->title);
        carm_plot_put_intensity_ticks(out, l->x, box.width);
        carm_plot_put_power_ticks(out, l->y, box.height);
        put_axis_labels(out, pane, box, l->prefix);
        (void)fprintf(out, "slope_angle = %.2f\n", atan2(l->y_px, l->x_px) * 180 / M_PI);
        (void)put_lines(out, l, 0, "roofs");
        put_dashes(out, l);
        (void)put_lines(out, l, 1, "ceilings");
        (void)put_lines(out, l, 2, "asides");
        put_regions(out, pane, l);
        put_labels(out, l);
        put_kernels(out, pane, l);
        (void)fputs(carm_asset_plot_ceilings, out);
    }
    free(l);
    return rc;
}
