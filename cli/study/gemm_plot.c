/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures 9 and 10 of the cache-aware paper: the steps on both models side by side. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
#include "cli/study/output.h"
#include "kernels/gemm/study.h"
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
    KEY_ENTRY = 130,
    SLOPE_LABEL_OFF = 9, /* from a slope to the middle of its label */
    SLOPE_LABELS_APART = 17,
    LABEL_OFF = 34, /* from a point to its label, sideways */
    LABELS_APART = 17,
    ARROW_GAP = 5, /* between an arrow's end and its point */
    SLOPES_MAX = 12,
    GROUPS = 3, /* enum carm_gemm_access */
};

struct slope {
    const char *name;
    double rate; /* byte/s */
};

struct panel {
    const struct carm_gemm_study *study;
    bool original;
    struct slope slopes[SLOPES_MAX]; /* fastest first */
    size_t nslopes;
    double peak, scale; /* flop/s; of the axis' unit */
    const char *prefix;
    struct carm_plot_axis x, y; /* y in the axis' unit */
    struct carm_plot_box box;
};

/* A point in pixels of the panel, from its bottom left corner. */
struct spot {
    double x, y;
};

/* flop/byte; 0 where there is no such point */
static double intensity(const struct panel *v, const struct carm_gemm_point *p)
{
    const double bytes = v->original ? p->dram_bytes : p->bytes;
    return p->known && bytes > 0.0 ? p->flops / bytes : 0.0;
}

static void add_slope(struct panel *v, const char *name, double rate)
{
    if (rate > 0.0 && v->nslopes < SLOPES_MAX) {
        size_t at = v->nslopes++;
        for (; at > 0 && v->slopes[at - 1].rate < rate; at--) {
            v->slopes[at] = v->slopes[at - 1];
        }
        v->slopes[at] = (struct slope){name, rate};
    }
}

static void find_slopes(struct panel *v)
{
    const struct carm_model *m = v->study->base.model;
    if (v->original) {
        add_slope(v, "DRAM", carm_original_bandwidth(v->study->base.roofs, "DRAM", true, NULL));
        return;
    }
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_memory_roof *roof =
            carm_roofs_find_memory(v->study->base.roofs, m->levels[i].level, m->config.ldst);
        add_slope(v, m->levels[i].level, roof ? roof->bandwidth : 0.0);
    }
}

/* ---- ranges ---------------------------------------------------------------------------------------- */

static void widen(struct carm_plot_axis *axis, double v)
{
    axis->lo = fmin(axis->lo, log10(v));
    axis->hi = fmax(axis->hi, log10(v));
}

static void widen_to(struct panel *v, const struct carm_gemm_point *p)
{
    if (intensity(v, p) > 0.0) {
        widen(&v->x, intensity(v, p));
        widen(&v->y, carm_gemm_performance(p));
    }
}

static void find_ranges(struct panel *v)
{
    const struct carm_gemm_study *s = v->study;
    v->x = v->y = (struct carm_plot_axis){INFINITY, -INFINITY};
    widen(&v->y, v->peak);
    widen(&v->x, v->peak / v->slopes[0].rate);
    widen(&v->x, v->peak / v->slopes[v->nslopes - 1].rate);
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        widen_to(v, &s->steps[i]);
    }
    for (size_t i = 0; i < s->nvariants; i++) {
        widen_to(v, &s->variants[i]);
    }
    v->x.lo -= 0.5;
    v->x.hi += v->original ? 0.6 : 0.3;
    v->y.lo -= 0.2 + log10(v->scale);
    v->y.hi += 0.2 - log10(v->scale);
}

static double x_px(const struct panel *v)
{
    return v->box.width / (v->x.hi - v->x.lo);
}

static double y_px(const struct panel *v)
{
    return v->box.height / (v->y.hi - v->y.lo);
}

static struct spot spot_of(const struct panel *v, const struct carm_gemm_point *p)
{
    return (struct spot){
        (log10(intensity(v, p)) - v->x.lo) * x_px(v),
        (log10(carm_gemm_performance(p) / v->scale) - v->y.lo) * y_px(v),
    };
}

static void put_spot(FILE *out, const struct panel *v, struct spot s, const char *end)
{
    fprintf(out, "%.9g %.9g%s", pow(10, v->x.lo + s.x / x_px(v)), pow(10, v->y.lo + s.y / y_px(v)),
            end);
}

/* ---- roofs ----------------------------------------------------------------------------------------- */

/* Where a slope enters the panel: log10 of the intensity. */
static double entry(const struct panel *v, double rate)
{
    return fmax(v->x.lo, v->y.lo - log10(rate / v->scale));
}

static void put_slopes(FILE *out, const struct panel *v)
{
    fprintf(out, "slopes = %zu\n$slopes << CARM_END\n", v->nslopes);
    for (size_t i = 0; i < v->nslopes; i++) {
        const double b = v->slopes[i].rate;
        const double x0 = pow(10, entry(v, b));
        fprintf(out, "%s%.9g %.9g\n%.9g %.9g\n", i ? "\n\n" : "", x0, x0 * b / v->scale,
                v->peak / b, v->peak / v->scale);
    }
    fprintf(out, "CARM_END\n$peak << CARM_END\n%.9g %.9g\n%.9g %.9g\nCARM_END\n",
            v->peak / v->slopes[0].rate, v->peak / v->scale, pow(10, v->x.hi), v->peak / v->scale);
}

/* Names stand above the slopes where these enter; slopes that lie together share one. The peak's name
 * stands above its right end. */
static void put_roof_labels(FILE *out, const struct panel *v)
{
    const double angle = atan2(y_px(v), x_px(v));
    fprintf(out, "slope_angle = %.2f\n$slope_labels << CARM_END\n", angle * 180 / M_PI);
    for (size_t i = 0, end; i < v->nslopes; i = end) {
        char text[CARM_TEXT_MAX];
        size_t used = 0;
        for (end = i; end < v->nslopes; end++) {
            const double apart = log10(v->slopes[i].rate / v->slopes[end].rate) * y_px(v);
            if (end > i && apart * cos(angle) >= SLOPE_LABELS_APART) {
                break;
            }
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%.16s %.3g", used ? ", " : "",
                                 v->slopes[end].name, v->slopes[end].rate * 1e-9);
        }
        snprintf(text + used, sizeof text - used, " GB/s");
        /* far enough along that a steep one's label stands clear of the axis */
        const double off = 8 + SLOPE_LABEL_OFF * sin(angle);
        const double along = entry(v, v->slopes[i].rate) + off / x_px(v);
        const double x = along - SLOPE_LABEL_OFF * sin(angle) / x_px(v);
        const double y =
            along + log10(v->slopes[i].rate / v->scale) + SLOPE_LABEL_OFF * cos(angle) / y_px(v);
        fprintf(out, "%.9g %.9g ", pow(10, x), pow(10, y));
        carm_plot_put_text(out, text);
        fputc('\n', out);
    }
    const struct carm_compute_roof *peak = carm_roofs_find_peak(v->study->base.roofs);
    char text[CARM_TEXT_MAX];
    snprintf(text, sizeof text, "%.24s %.3g %sflop/s", peak->op, v->peak / v->scale, v->prefix);
    fprintf(out, "CARM_END\n$peak_label << CARM_END\n%.9g %.9g ", pow(10, v->x.hi - 4 / x_px(v)),
            pow(10, log10(v->peak / v->scale) + SLOPE_LABEL_OFF / y_px(v)));
    carm_plot_put_text(out, text);
    fputs("\nCARM_END\n", out);
}

/* ---- points ---------------------------------------------------------------------------------------- */

/* The steps that have a place on this panel, in order; other libraries than the best follow.
 * returns how many */
static size_t collect(const struct panel *v, const struct carm_gemm_point **path, int *numbers)
{
    size_t n = 0;
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        if (intensity(v, &v->study->steps[i]) > 0.0) {
            numbers[n] = i < CARM_GEMM_VERSIONS ? i + 1 : 6;
            path[n++] = &v->study->steps[i];
        }
    }
    return n;
}

static void put_path(FILE *out, const struct panel *v, const struct carm_gemm_point **path,
                     size_t n)
{
    fputs("$path << CARM_END\n", out);
    for (size_t i = 0; i < n; i++) {
        put_spot(out, v, spot_of(v, path[i]), "\n");
    }
    fputs(n ? "CARM_END\n$arrows << CARM_END\n" : "NaN NaN\nCARM_END\n$arrows << CARM_END\n", out);
    size_t arrows = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const struct spot a = spot_of(v, path[i]);
        const struct spot b = spot_of(v, path[i + 1]);
        const double len = hypot(b.x - a.x, b.y - a.y);
        if (len > 3 * ARROW_GAP) { /* a shorter one would be all head */
            const double dx = (b.x - a.x) / len * ARROW_GAP;
            const double dy = (b.y - a.y) / len * ARROW_GAP;
            put_spot(out, v, (struct spot){a.x + dx, a.y + dy}, " ");
            put_spot(out, v, (struct spot){b.x - dx, b.y - dy}, "\n");
            arrows++;
        }
    }
    fputs(arrows ? "CARM_END\n" : "NaN NaN NaN NaN\nCARM_END\n", out);
}

struct label {
    char text[CARM_GEMM_WHAT_MAX + 8];
    struct spot point, at; /* left end, middle */
    double width;
};

static int by_height(const void *a, const void *b)
{
    const double x = ((const struct label *)a)->at.y;
    const double y = ((const struct label *)b)->at.y;
    return (x > y) - (x < y);
}

static bool beside(const struct label *a, const struct label *b)
{
    return a->at.x < b->at.x + b->width && b->at.x < a->at.x + a->width;
}

/* Labels stand right of their points, left where there is no room, and are pushed up until none
 * lies on another; what leaves the panel pushes the others down again. */
static void lay_out(const struct panel *v, struct label *labels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct label *l = &labels[i];
        l->width = carm_plot_text_px(l->text);
        l->at = (struct spot){l->point.x + LABEL_OFF, l->point.y};
        if (l->at.x + l->width > v->box.width) {
            l->at.x = l->point.x - LABEL_OFF - l->width;
        }
    }
    qsort(labels, n, sizeof *labels, by_height);
    for (size_t i = 1; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (beside(&labels[i], &labels[k])) {
                labels[i].at.y = fmax(labels[i].at.y, labels[k].at.y + LABELS_APART);
            }
        }
    }
    double most = v->box.height - 8;
    for (size_t i = n; i-- > 0;) {
        labels[i].at.y = fmin(labels[i].at.y, most);
        most = fmin(most,
                    labels[i].at.y - (i && beside(&labels[i], &labels[i - 1]) ? LABELS_APART : 0));
    }
}

static void put_labels(FILE *out, const struct panel *v, const struct carm_gemm_point **path,
                       const int *numbers, size_t n)
{
    struct label labels[CARM_GEMM_STEPS] = {0};
    for (size_t i = 0; i < n; i++) {
        /* among variants the numbers alone */
        snprintf(labels[i].text, sizeof labels[i].text, "%d%s%s", numbers[i],
                 v->study->nvariants ? "" : " ", v->study->nvariants ? "" : path[i]->what);
        labels[i].point = spot_of(v, path[i]);
    }
    lay_out(v, labels, n);
    fputs("$leaders << CARM_END\n", out);
    for (size_t i = 0; i < n; i++) {
        const struct label *l = &labels[i];
        const bool right = l->at.x > l->point.x;
        fputs(i ? "\n" : "", out);
        put_spot(out, v, l->point, "\n");
        put_spot(out, v, (struct spot){right ? l->at.x - 4 : l->at.x + l->width + 4, l->at.y},
                 "\n");
    }
    fputs(n ? "CARM_END\n$labels << CARM_END\n" : "NaN NaN\nCARM_END\n$labels << CARM_END\n", out);
    for (size_t i = 0; i < n; i++) {
        put_spot(out, v, labels[i].at, " ");
        carm_plot_put_text(out, labels[i].text);
        fputc('\n', out);
    }
    fputs(n ? "CARM_END\n" : "NaN NaN \"\"\nCARM_END\n", out);
}

static void put_variants(FILE *out, const struct panel *v)
{
    static const char *const names[GROUPS] = {"B as it is", "B transposed", "both packed"};
    const struct carm_gemm_study *s = v->study;
    fprintf(out, "arrow_rgb = \"%s\"\n", s->nvariants ? "#b0b0b0" : "#d55e00");
    fprintf(out, "groups = %d\n$groups << CARM_END\n", s->nvariants ? GROUPS : 0);
    for (int g = 0; g < GROUPS; g++) {
        bool any = false;
        fputs(g ? "\n\n" : "", out);
        for (size_t i = 0; i < s->nvariants; i++) {
            if (s->variants[i].access == (enum carm_gemm_access)g &&
                intensity(v, &s->variants[i]) > 0.0) {
                put_spot(out, v, spot_of(v, &s->variants[i]), "\n");
                any = true;
            }
        }
        fputs(any ? "" : "NaN NaN\n", out); /* an empty block would give its number away */
    }
    fputs("CARM_END\n$names << CARM_END\n", out);
    const double left = (v->box.width - KEY_ENTRY * GROUPS + 40) / 2;
    for (int g = 0; g < GROUPS; g++) {
        carm_plot_put_line(out, names[g], KEY_ENTRY);
    }
    fputs("CARM_END\nkey_at = \"", out);
    for (int g = 0; g < GROUPS; g++) {
        fprintf(out, "%s%.5f", g ? " " : "", (left + KEY_ENTRY * g) / v->box.width);
    }
    fprintf(out, "\"\nkey_row = %.5f\n", s->nvariants ? KEY_ROW / 2.0 / v->box.height : 0.0);
}

/* ---- panels ---------------------------------------------------------------------------------------- */

static int put_panel(const struct carm_plot_canvas *canvas, const struct carm_gemm_study *study,
                     bool original, struct carm_err *err)
{
    FILE *out = canvas->out;
    struct panel v = {.study = study, .original = original};
    const struct carm_gemm_point *path[CARM_GEMM_STEPS];
    int numbers[CARM_GEMM_STEPS];
    v.peak = carm_roofs_find_peak(study->base.roofs)->rate; /* the study was refused without */
    find_slopes(&v);
    if (v.nslopes == 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no %s for the picture; `carm build` measures them",
                         original ? "peak bandwidth of DRAM" : "memory roofs with its own mix");
    }
    v.scale = carm_plot_prefix(v.peak, &v.prefix);
    v.box = (struct carm_plot_box){MARGIN_LEFT + (original ? PANEL_WIDTH : 0), MARGIN_BOTTOM,
                                   PANEL_WIDTH - MARGIN_LEFT - MARGIN_RIGHT,
                                   HEIGHT - MARGIN_BOTTOM - MARGIN_TOP -
                                       (study->nvariants ? KEY_ROW : 0)};
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
            v.prefix,
            !original                 ? ""
            : *study->base.dram_lacks ? " of DRAM traffic (estimated)"
                                      : " of DRAM traffic");
    const size_t n = collect(&v, path, numbers);
    put_slopes(out, &v);
    put_roof_labels(out, &v);
    put_variants(out, &v);
    put_path(out, &v, path, n);
    put_labels(out, &v, path, numbers, n);
    fputs(carm_asset_plot_gemm, out);
    return 0;
}

static int put_script(FILE *out, const struct carm_gemm_study *study, const char *format,
                      struct carm_err *err)
{
    const struct carm_machine *m = &study->base.model->machine;
    const struct carm_plot_canvas canvas = {out, 2.0 * PANEL_WIDTH, HEIGHT, study->base.model,
                                            NULL};
    char title[2 * CARM_TEXT_MAX + 64];
    fprintf(out,
            "# Made by carm study gemm.\nformat = \"%s\"\ncanvas_width = %d\n"
            "canvas_height = %d\n$title << CARM_END\n",
            format, 2 * PANEL_WIDTH, HEIGHT);
    snprintf(title, sizeof title, "Matrix multiplication, n = %zu, %s%s%s", study->n, m->hostname,
             *m->hostname && *m->cpu ? ": " : "", m->cpu);
    /* its font is larger than the others: 14 to 12 (plots/scripts/common.gp) */
    carm_plot_put_line(out, title, (2 * PANEL_WIDTH - 40) * 12 / 14.0);
    fprintf(out, "CARM_END\n%s", carm_asset_plot_common);
    int rc = put_panel(&canvas, study, false, err);
    rc = rc ? rc : put_panel(&canvas, study, true, err);
    fputs("unset multiplot\n", out);
    return rc;
}

int carm_gemm_plot(const struct carm_study *of, const char *path, struct carm_err *err)
{
    const struct carm_gemm_study *study = (const struct carm_gemm_study *)of;
    const char *format = carm_gnuplot_format(path);
    FILE *script = tmpfile();
    if (!script || !format) {
        return carm_fail(err, CARM_EIO, "cannot make a temporary file: %s", strerror(errno));
    }
    int rc = put_script(script, study, format, err);
    rc = rc ? rc : carm_gnuplot_draw(script, path, err);
    fclose(script);
    return rc;
}
