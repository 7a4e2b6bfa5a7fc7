/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures 7 and 8 of the cache-aware paper: both models side by side. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/assets.h"
#include "cli/study/output.h"
#include "kernels/classes/study.h"
#include "models/roofline.h"
#include "plots/gnuplot.h"
#include "plots/panel.h"

/* Pixels. A panel's margins hold its ticks, its labels and its title. */
enum {
    PANEL_WIDTH = 720,
    HEIGHT = 560,
    MARGIN_LEFT = 84,
    MARGIN_RIGHT = 24,
    MARGIN_BOTTOM = 60,
    MARGIN_TOP = 66,
    KEY_ROW = 22,
    KEY_ENTRY = 90,
    LABEL_OFF = 9, /* from a slope to the middle of its label */
    LABELS_APART = 17,
    NAME_PX = 40, /* width of a point's number */
    SLOPES_MAX = 12,
};

struct slope {
    const char *name;
    double rate; /* byte/s */
};

struct panel {
    const struct carm_classes *study;
    bool original;
    struct slope slopes[SLOPES_MAX]; /* fastest first */
    size_t nslopes;
    double peak, scale; /* flop/s; of the axis' unit */
    const char *prefix;
    struct carm_plot_axis x, y; /* y in the axis' unit */
    struct carm_plot_box box;
    size_t classes[CARM_CLASS_COUNT]; /* those that have points */
    size_t nclasses;
};

/* 0 where there is no such point */
static double intensity(const struct panel *v, const struct carm_classes_point *p)
{
    return p->known ? p->flops / (v->original ? p->dram_bytes : p->bytes) : 0.0;
}

static void find_slopes(struct panel *v)
{
    const struct carm_model *m = v->study->base.model;
    if (v->original) {
        v->slopes[0].name = "DRAM";
        v->slopes[0].rate = carm_original_bandwidth(v->study->base.roofs, "DRAM", true, NULL);
        v->nslopes = v->slopes[0].rate > 0.0 ? 1 : 0;
        return;
    }
    for (size_t i = 0; i < m->nlevels && v->nslopes < SLOPES_MAX; i++) {
        const struct carm_memory_roof *roof =
            carm_roofs_find_memory(v->study->base.roofs, m->levels[i].level, m->config.ldst);
        if (roof) {
            size_t at = v->nslopes++;
            for (; at > 0 && v->slopes[at - 1].rate < roof->bandwidth; at--) {
                v->slopes[at] = v->slopes[at - 1];
            }
            v->slopes[at] = (struct slope){roof->level, roof->bandwidth};
        }
    }
}

static void widen(struct carm_plot_axis *axis, double v)
{
    axis->lo = fmin(axis->lo, log10(v));
    axis->hi = fmax(axis->hi, log10(v));
}

static void find_ranges(struct panel *v)
{
    v->x = v->y = (struct carm_plot_axis){INFINITY, -INFINITY};
    widen(&v->y, v->peak);
    widen(&v->x, v->peak / v->slopes[v->nslopes - 1].rate);
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        bool any = false;
        for (size_t k = 0; k < CARM_CLASSES_K; k++) {
            const struct carm_classes_point *p = &v->study->sides[c].points[k];
            if (p->known) {
                widen(&v->x, intensity(v, p));
                widen(&v->y, p->flops / p->seconds);
                any = true;
            }
        }
        if (any) {
            v->classes[v->nclasses++] = c;
        }
    }
    v->x.lo -= 0.3;
    v->x.hi += 0.3;
    v->y.lo -= 0.15 + log10(v->scale);
    v->y.hi += 0.15 - log10(v->scale);
}

static double x_px(const struct panel *v)
{
    return v->box.width / (v->x.hi - v->x.lo);
}

static double y_px(const struct panel *v)
{
    return v->box.height / (v->y.hi - v->y.lo);
}

static void put_slopes(FILE *out, const struct panel *v)
{
    const double x0 = pow(10, v->x.lo);
    fprintf(out, "slopes = %zu\n$slopes << CARM_END\n", v->nslopes);
    for (size_t i = 0; i < v->nslopes; i++) {
        const double b = v->slopes[i].rate;
        fprintf(out, "%s%.9g %.9g\n%.9g %.9g\n", i ? "\n\n" : "", x0, x0 * b / v->scale,
                v->peak / b, v->peak / v->scale);
    }
    fprintf(out, "CARM_END\n$peak << CARM_END\n%.9g %.9g\n%.9g %.9g\nCARM_END\n",
            v->peak / v->slopes[0].rate, v->peak / v->scale, pow(10, v->x.hi), v->peak / v->scale);
}

/* Names stand above their slopes, right of the leftmost class's numbers; slopes that lie together
 * share one. */
static void put_slope_labels(FILE *out, const struct panel *v)
{
    const double angle = atan2(y_px(v), x_px(v));
    const double begin = v->x.lo + 0.3 + 50 / x_px(v);
    fprintf(out, "slope_angle = %.2f\n$slope_labels << CARM_END\n", angle * 180 / M_PI);
    for (size_t i = 0, end; i < v->nslopes; i = end) {
        char text[CARM_TEXT_MAX];
        size_t used = 0;
        for (end = i; end < v->nslopes; end++) {
            const double apart = log10(v->slopes[i].rate / v->slopes[end].rate) * y_px(v);
            if (end > i && apart * cos(angle) >= LABELS_APART) {
                break;
            }
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%.16s %.3g", used ? ", " : "",
                                 v->slopes[end].name, v->slopes[end].rate * 1e-9);
        }
        snprintf(text + used, sizeof text - used, " GB/s");
        const double x = begin - LABEL_OFF * sin(angle) / x_px(v);
        const double y =
            begin + log10(v->slopes[i].rate / v->scale) + LABEL_OFF * cos(angle) / y_px(v);
        fprintf(out, "%.9g %.9g ", pow(10, x), pow(10, y));
        carm_plot_put_text(out, text);
        fputc('\n', out);
    }
    fputs("CARM_END\n", out);
}

/* Which points of a class get their number beside them: the last, the first, and every fifth that
 * lies on none of those.
 * named  [CARM_CLASSES_K] out */
static void choose_names(const struct panel *v, const struct carm_classes_point *points,
                         bool *named)
{
    unsigned order[CARM_CLASSES_K + 2] = {0, 0};
    size_t n = 2;
    memset(named, 0, CARM_CLASSES_K * sizeof *named);
    for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
        order[0] = points[k].known ? k : order[0];
        if (k % 5 == 0) {
            order[n++] = k;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct carm_classes_point *p = &points[order[i]];
        bool apart = p->known;
        for (unsigned k = 0; k < CARM_CLASSES_K && apart; k++) {
            if (named[k]) {
                const double dx = log10(intensity(v, p) / intensity(v, &points[k])) * x_px(v);
                const double dy =
                    log10(p->flops / p->seconds / points[k].flops * points[k].seconds) * y_px(v);
                apart = fabs(dx) >= NAME_PX || fabs(dy) >= LABELS_APART;
            }
        }
        named[order[i]] = named[order[i]] || apart;
    }
}

static void put_points(FILE *out, const struct panel *v)
{
    fputs("$points << CARM_END\n", out);
    for (size_t i = 0; i < v->nclasses; i++) {
        const struct carm_classes_point *points = v->study->sides[v->classes[i]].points;
        bool named[CARM_CLASSES_K];
        fputs(i ? "\n\n" : "", out);
        choose_names(v, points, named);
        for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
            char text[16] = "";
            if (!points[k].known) {
                continue;
            }
            if (named[k]) {
                snprintf(text, sizeof text, k ? "2^%u" : "1st", k);
            }
            fprintf(out, "%.9g %.9g \"%s\"\n", intensity(v, &points[k]),
                    points[k].flops / points[k].seconds / v->scale, text);
        }
    }
    fputs("CARM_END\n", out);
}

/* Where a number stands beside its point, in characters: right of it in a class that goes up at one
 * intensity, below it in one that moves to the right. */
static void put_offsets(FILE *out, const struct panel *v)
{
    const struct carm_classes *study = v->study;
    for (int axis = 0; axis < 2; axis++) {
        fprintf(out, "label_%c = \"", axis ? 'y' : 'x');
        for (size_t i = 0; i < v->nclasses; i++) {
            const bool moves =
                v->original && study->sides[v->classes[i]].home + 1 < study->base.model->nlevels;
            fprintf(out, "%s%g", i ? " " : "", axis ? (moves ? -0.9 : -0.4) : (moves ? -0.5 : 1.0));
        }
        fputs("\"\n", out);
    }
}

static void put_names(FILE *out, const struct panel *v)
{
    const double n = (double)v->nclasses;
    const double left = (v->box.width - KEY_ENTRY * (n - 1) - 60) / 2;
    fprintf(out, "classes = %zu\n$names << CARM_END\n", v->nclasses);
    for (size_t i = 0; i < v->nclasses; i++) {
        carm_plot_put_line(out, carm_classes[v->classes[i]].name, KEY_ENTRY);
    }
    fputs("CARM_END\nids = \"", out);
    for (size_t i = 0; i < v->nclasses; i++) {
        fprintf(out, "%s%zu", i ? " " : "", v->classes[i]);
    }
    fputs("\"\nkey_at = \"", out);
    for (size_t i = 0; i < v->nclasses; i++) {
        fprintf(out, "%s%.5f", i ? " " : "", (left + KEY_ENTRY * (double)i) / v->box.width);
    }
    fprintf(out, "\"\nkey_row = %.5f\n", KEY_ROW / 2.0 / v->box.height);
}

static int put_panel(const struct carm_plot_canvas *canvas, const struct carm_classes *study,
                     bool original, struct carm_err *err)
{
    FILE *out = canvas->out;
    struct panel v = {.study = study, .original = original};
    const struct carm_compute_roof *peak = carm_roofs_find_peak(study->base.roofs);
    v.peak = peak ? peak->rate : 0.0;
    find_slopes(&v);
    if (v.nslopes == 0 || !(v.peak > 0.0)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no %s for the picture; `carm build` measures them",
                         v.nslopes  ? "compute roofs"
                         : original ? "peak bandwidth of DRAM"
                                    : "memory roofs with its own mix");
    }
    v.scale = carm_plot_prefix(v.peak, &v.prefix);
    v.box = (struct carm_plot_box){MARGIN_LEFT + (original ? 0 : PANEL_WIDTH), MARGIN_BOTTOM,
                                   PANEL_WIDTH - MARGIN_LEFT - MARGIN_RIGHT,
                                   HEIGHT - MARGIN_BOTTOM - MARGIN_TOP - KEY_ROW};
    find_ranges(&v);
    char title[CARM_TEXT_MAX];
    snprintf(title, sizeof title, "%s roofline, %.16s %.16s, %d thread%s",
             original ? "Original (DRAM)" : "Cache-aware", study->base.roofs->isa,
             study->base.roofs->precision, study->base.roofs->threads,
             study->base.roofs->threads == 1 ? "" : "s");
    carm_plot_put_box(canvas, v.box, v.x, v.y, title);
    carm_plot_put_intensity_ticks(out, v.x, v.box.width);
    carm_plot_put_decimal_ticks(out, 'y', v.y, v.box.height);
    fprintf(out,
            "performance_label = \"performance, %sflop/s\"\n"
            "intensity_label = \"operational intensity%s, flop/byte\"\n",
            v.prefix, original ? " of DRAM traffic" : "");
    put_offsets(out, &v);
    put_names(out, &v);
    put_slopes(out, &v);
    put_slope_labels(out, &v);
    put_points(out, &v);
    fputs(carm_asset_plot_classes, out);
    return 0;
}

int carm_classes_plot_script(FILE *out, const struct carm_study *of, const char *format,
                             struct carm_err *err)
{
    const struct carm_classes *study = (const struct carm_classes *)of;
    const struct carm_machine *m = &study->base.model->machine;
    const struct carm_plot_canvas canvas = {out, 2.0 * PANEL_WIDTH, HEIGHT, study->base.model,
                                            NULL};
    char title[2 * CARM_TEXT_MAX + 64];
    fprintf(out,
            "# Made by carm study classes.\nformat = \"%s\"\ncanvas_width = %d\n"
            "canvas_height = %d\n$title << CARM_END\n",
            format, 2 * PANEL_WIDTH, HEIGHT);
    snprintf(title, sizeof title, "Application classes, %s%s%s", m->hostname,
             *m->hostname && *m->cpu ? ": " : "", m->cpu);
    /* its font is larger than the others: 14 to 12 (plots/scripts/common.gp) */
    carm_plot_put_line(out, title, (2 * PANEL_WIDTH - 40) * 12 / 14.0);
    fprintf(out, "CARM_END\n%s", carm_asset_plot_common);
    /* as the paper numbers them: figure 7, then figure 8 */
    int rc = put_panel(&canvas, study, true, err);
    rc = rc ? rc : put_panel(&canvas, study, false, err);
    fputs("unset multiplot\n", out);
    return rc;
}

int carm_classes_plot(const struct carm_study *of, const char *path, struct carm_err *err)
{
    const char *format = carm_gnuplot_format(path);
    FILE *script = tmpfile();
    if (!script || !format) {
        return carm_fail(err, CARM_EIO, "cannot make a temporary file: %s", strerror(errno));
    }
    int rc = carm_classes_plot_script(script, of, format, err);
    rc = rc ? rc : carm_gnuplot_draw(script, path, err);
    fclose(script);
    return rc;
}
