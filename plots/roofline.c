/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A roofline panel as gnuplot text: data blocks and plots/scripts/roofline.gp. */
#include <math.h>
#include <string.h>

#include "base/assets.h"
#include "plots/scene.h"

enum {
    BAND_PX = 2,    /* intervals narrower than this are not seen */
    BAR_PX = 5,     /* of a point: its mark covers less */
    ARROW_GAP = 6,  /* between an arrow's end and its point */
    LEADER_GAP = 4, /* between a leader and its label */
    MANY_POINTS = 100,
};

static void put_spot(FILE *out, const struct carm_scene *s, double x, double y, const char *end)
{
    (void)fprintf(out, "%.9g %.9g%s", pow(10, s->x.lo + x / s->x_px),
                  pow(10, s->y.lo + y / s->y_px), end);
}

/* ---- roofs ----------------------------------------------------------------------------------- */

static void put_line(FILE *out, const struct carm_scene *s, const struct carm_scene_line *l,
                     bool slope)
{
    const double x0 = pow(10, s->x.lo), x1 = pow(10, s->x.hi);
    if (slope) {
        (void)fprintf(out, "# %.9g %sB/s\n%.9g %.9g %u\n%.9g %.9g %u\n\n\n", l->value, s->prefix,
                      x0, x0 * l->value, l->rgb, l->limit / l->value, l->limit, l->rgb);
    } else {
        (void)fprintf(out, "# %.9g %sflop/s\n%.9g %.9g %u\n%.9g %.9g %u\n\n\n", l->value, s->prefix,
                      l->value / l->limit, l->value, l->rgb, x1, l->value, l->rgb);
    }
}

static void put_corner(FILE *out, const struct carm_scene *s, double x, double y, unsigned rgb)
{
    const double low = pow(10, s->y.lo), high = pow(10, s->y.hi);
    (void)fprintf(out, "%.9g %.9g %u\n", x, fmin(fmax(y, low), high), rgb);
}

/* Where a slope enters the panel: at its left end or its lower one. */
static double entry(const struct carm_scene *s, double rate)
{
    return fmax(pow(10, s->x.lo), pow(10, s->y.lo) / rate);
}

/* The interval of a line as a closed shape inside the panel (gnuplot bends what leaves it), where it
 * is wide enough to be seen. */
static bool put_band(FILE *out, const struct carm_scene *s, const struct carm_scene_line *l,
                     bool slope)
{
    const double x0 = pow(10, s->x.lo), x1 = pow(10, s->x.hi);
    if (log10(l->high / l->low) * s->y_px * (slope ? s->cosine : 1.0) < BAND_PX) {
        return false;
    }
    if (slope) {
        const double low = entry(s, l->low), high = entry(s, l->high);
        put_corner(out, s, low, low * l->low, l->rgb);
        if (low > x0) {
            put_corner(out, s, high > x0 ? high : x0, pow(10, s->y.lo), l->rgb);
        }
        put_corner(out, s, high, high * l->high, l->rgb);
        put_corner(out, s, l->limit / l->high, l->limit, l->rgb);
        put_corner(out, s, fmin(l->limit / l->low, x1), l->limit, l->rgb);
    } else {
        const double x = l->value / l->limit;
        put_corner(out, s, x, l->low, l->rgb);
        put_corner(out, s, x, l->high, l->rgb);
        put_corner(out, s, x1, l->high, l->rgb);
        put_corner(out, s, x1, l->low, l->rgb);
    }
    (void)fputs("\n\n", out);
    return true;
}

static void put_words(FILE *out, const char *name, const struct carm_scene *s, int what)
{
    (void)fprintf(out, "%s = \"", name);
    for (size_t i = 0; i < s->flats.n + s->slopes.n; i++) {
        const struct carm_scene_line *l =
            i < s->flats.n ? &s->flats.lines[s->flats.n - 1 - i]
                           : &s->slopes.lines[s->slopes.n - 1 - (i - s->flats.n)];
        (void)fprintf(out, "%s%g", i ? " " : "",
                      what == 0   ? l->width
                      : what == 1 ? (double)l->dash
                                  : (double)l->print_dash);
    }
    (void)fputs("\"\n", out);
}

/* Slowest first, so that the roof lies on its ceilings. */
static void put_lines(FILE *out, const struct carm_scene *s)
{
    size_t bands = 0;
    (void)fputs("$lines << CARM_END\n", out);
    for (size_t i = s->flats.n; i-- > 0;) {
        put_line(out, s, &s->flats.lines[i], false);
    }
    for (size_t i = s->slopes.n; i-- > 0;) {
        put_line(out, s, &s->slopes.lines[i], true);
    }
    (void)fprintf(out, "CARM_END\nlines = %zu\n", s->flats.n + s->slopes.n);
    put_words(out, "line_widths", s, 0);
    put_words(out, "line_dashes", s, 1);
    put_words(out, "print_dashes", s, 2);
    (void)fputs("$bands << CARM_END\n", out);
    for (size_t i = 0; i < s->flats.n; i++) {
        bands += put_band(out, s, &s->flats.lines[i], false);
    }
    for (size_t i = 0; i < s->slopes.n; i++) {
        bands += put_band(out, s, &s->slopes.lines[i], true);
    }
    (void)fprintf(out, "CARM_END\nbands = %zu\n", bands);
}

static size_t put_label(FILE *out, const struct carm_scene *s, const struct carm_scene_label *l)
{
    if (l->x < 0.0) {
        return 0;
    }
    const double share = l->align == CARM_SCENE_LEFT    ? 0.0
                         : l->align == CARM_SCENE_RIGHT ? 1.0
                                                        : 0.5;
    put_spot(out, s, l->x + share * l->px, l->y, " ");
    carm_plot_put_text(out, l->text);
    (void)fprintf(out, " %u\n", l->rgb);
    return 1;
}

static void put_side_labels(FILE *out, const struct carm_scene *s, const char *name,
                            const struct carm_scene_side *side)
{
    size_t n = 0;
    (void)fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = 0; i < side->nlabels; i++) {
        n += put_label(out, s, &side->labels[i]);
    }
    (void)fprintf(out, "CARM_END\n%s = %zu\n", name, n);
}

/* ---- points ---------------------------------------------------------------------------------- */

static bool is_long(double low, double high, double px)
{
    return log10(high / low) * px >= BAR_PX;
}

static void put_bars(FILE *out, const struct carm_scene *s)
{
    size_t n = 0;
    (void)fputs("$bars << CARM_END\n", out);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct carm_scene_point *p = &s->points[i];
        if (is_long(p->x_low, p->x_high, s->x_px)) {
            (void)fprintf(out, "%.9g %.9g %u\n%.9g %.9g %u\n\n", p->x_low, p->y, p->rgb, p->x_high,
                          p->y, p->rgb);
            n++;
        }
        if (is_long(p->y_low, p->y_high, s->y_px)) {
            (void)fprintf(out, "%.9g %.9g %u\n%.9g %.9g %u\n\n", p->x, p->y_low, p->rgb, p->x,
                          p->y_high, p->rgb);
            n++;
        }
    }
    (void)fprintf(out, "CARM_END\nbars = %zu\n", n);
}

/* One block for each file and size of mark. */
static void put_points(FILE *out, const struct carm_scene *s)
{
    char marks[8 * 2 * CARM_PLOT_FILES_MAX] = "", sizes[8 * 2 * CARM_PLOT_FILES_MAX] = "";
    size_t groups = 0, used = 0, sized = 0;
    const double usual = s->npoints > MANY_POINTS && !s->path ? 0.5 : 0.8;
    (void)fputs("$points << CARM_END\n", out);
    for (size_t g = 0; g < 2 * s->input->nfiles; g++) {
        bool any = false;
        for (size_t i = 0; i < s->npoints; i++) {
            const struct carm_scene_point *p = &s->points[i];
            if (p->from->file == g / 2 && p->small == (g % 2 == 0)) {
                (void)fprintf(out, "%.9g %.9g %u\n", p->x, p->y, p->rgb);
                any = true;
            }
        }
        if (any) {
            (void)fputs("\n\n", out);
            groups++;
            used += (size_t)snprintf(marks + used, sizeof marks - used, "%zu ",
                                     g / 2 + (g % 2 == 0 && s->path ? 4 : 0));
            sized += (size_t)snprintf(sizes + sized, sizeof sizes - sized, "%.2g ",
                                      g % 2 == 0 ? 0.5 : usual);
        }
    }
    (void)fprintf(out, "CARM_END\ngroups = %zu\ngroup_marks = \"%s\"\ngroup_sizes = \"%s\"\n",
                  groups, groups ? marks : "0", groups ? sizes : "0");
}

/* From a point to the nearer end of its label, or its middle. */
static void put_leaders(FILE *out, const struct carm_scene *s)
{
    size_t n = 0;
    (void)fputs("$leaders << CARM_END\n", out);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct carm_scene_point *p = &s->points[i];
        if (!p->leader || p->label.x < 0.0) {
            continue;
        }
        const double x = carm_scene_x(s, p->x), y = carm_scene_y(s, p->y);
        const double left = p->label.x - LEADER_GAP, right = p->label.x + p->label.px + LEADER_GAP;
        const bool over = x > left && x < right;
        put_spot(out, s, x, y, "\n");
        put_spot(out, s,
                 over        ? x
                 : x <= left ? left
                             : right,
                 over ? p->label.y + (y > p->label.y ? 8 : -8) : p->label.y, "\n\n");
        n++;
    }
    (void)fprintf(out, "CARM_END\nleaders = %zu\n", n);
}

static void put_arrows(FILE *out, const struct carm_scene *s)
{
    size_t n = 0;
    (void)fputs("$arrows << CARM_END\n", out);
    for (size_t i = 0; i + 1 < s->narrows; i++) {
        const struct carm_scene_point *a = &s->points[s->arrows[i]];
        const struct carm_scene_point *b = &s->points[s->arrows[i + 1]];
        const double x = carm_scene_x(s, a->x), y = carm_scene_y(s, a->y);
        const double dx = carm_scene_x(s, b->x) - x, dy = carm_scene_y(s, b->y) - y;
        const double length = hypot(dx, dy);
        if (length > 3 * ARROW_GAP) { /* a shorter one would be all head */
            const double t = ARROW_GAP / length;
            put_spot(out, s, x + t * dx, y + t * dy, " ");
            put_spot(out, s, x + (1 - t) * dx, y + (1 - t) * dy, "\n");
            n++;
        }
    }
    (void)fprintf(out, "CARM_END\narrows = %zu\n", n);
}

/* gnuplot aligns all labels of a plot alike. */
static void put_names(FILE *out, const struct carm_scene *s, const char *name,
                      enum carm_scene_align align)
{
    size_t n = 0;
    (void)fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = 0; i < s->npoints; i++) {
        n += s->points[i].label.align == align ? put_label(out, s, &s->points[i].label) : 0;
    }
    (void)fprintf(out, "CARM_END\n%s = %zu\n", name, n);
}

void carm_scene_put(const struct carm_plot_canvas *canvas, const struct carm_scene *scene,
                    const char *title)
{
    FILE *out = canvas->out;
    carm_plot_put_box(canvas, scene->box, scene->x, scene->y, title);
    carm_plot_put_intensity_ticks(out, scene->x, scene->box.width);
    carm_plot_put_decimal_ticks(out, 'y', scene->y, scene->box.height);
    (void)fprintf(out,
                  "performance_label = \"performance, %sflop/s\"\n"
                  "intensity_label = \"operational intensity%s, flop/byte\"\nslope_angle = %.2f\n",
                  scene->prefix, scene->original ? " of DRAM traffic" : "",
                  atan2(scene->y_px, scene->x_px) * 180 / M_PI);
    put_lines(out, scene);
    put_side_labels(out, scene, "slope_labels", &scene->slopes);
    put_side_labels(out, scene, "flat_labels", &scene->flats);
    put_bars(out, scene);
    put_points(out, scene);
    put_leaders(out, scene);
    put_arrows(out, scene);
    put_names(out, scene, "left_labels", CARM_SCENE_LEFT);
    put_names(out, scene, "centre_labels", CARM_SCENE_CENTRE);
    put_names(out, scene, "right_labels", CARM_SCENE_RIGHT);
    (void)fputs(carm_asset_plot_roofline, out);
}
