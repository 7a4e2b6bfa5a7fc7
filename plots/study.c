/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
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
    SLOPE_LABEL_OFF = 9, /* from a slope to the middle of its label */
    LABEL_OFF = 34,      /* from a step to its label, sideways */
    LABELS_APART = 17,
    NAME_PX = 40,  /* width of a name beside a point of a line */
    ARROW_GAP = 5, /* between an arrow's end and its point */
    SLOPES_MAX = 12,
};

/* Where the kinds differ. */
static const struct layout {
    enum carm_plot_model order[CARM_PLOT_MODELS]; /* of the panels, from left to right */
    double left, right[CARM_PLOT_MODELS];         /* decades beside the data */
    double above;                                 /* and above and below it */
    int key_entry, key_last;                      /* pixels of an entry of the key; of the last */
    const char *script;
} layouts[] = {
    [CARM_PLOT_STUDY_STEPS] = {.order = {CARM_PLOT_AWARE, CARM_PLOT_ORIGINAL},
                               .left = 0.5,
                               .right = {[CARM_PLOT_AWARE] = 0.3, [CARM_PLOT_ORIGINAL] = 0.6},
                               .above = 0.2,
                               .key_entry = 130,
                               .key_last = 90,
                               .script = carm_asset_plot_gemm},
    /* as the paper numbers them: figure 7, then figure 8 */
    [CARM_PLOT_STUDY_CLASSES] = {.order = {CARM_PLOT_ORIGINAL, CARM_PLOT_AWARE},
                                 .left = 0.3,
                                 .right = {0.3, 0.3},
                                 .above = 0.15,
                                 .key_entry = 90,
                                 .key_last = 60,
                                 .script = carm_asset_plot_classes},
};

struct slope {
    const char *name;
    double rate; /* byte/s */
};

struct panel {
    const struct carm_plot_study *study;
    const struct layout *layout;
    enum carm_plot_model model;
    bool steps;                      /* the kind */
    struct slope slopes[SLOPES_MAX]; /* fastest first */
    size_t nslopes;
    double peak, scale; /* flop/s; of the axis' unit */
    const char *peak_name, *prefix;
    struct carm_plot_axis x, y; /* y in the axis' unit */
    struct carm_plot_box box;
};

/* A point in pixels of the panel, from its bottom left corner. */
struct spot {
    double x, y;
};

static double intensity(const struct panel *v, const struct carm_plot_study_point *p)
{
    return p->intensity[v->model];
}

/* ---- roofs ----------------------------------------------------------------------------------------- */

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

static int find_roofs(struct panel *v, struct carm_err *err)
{
    const struct carm_model *m = v->study->model;
    const struct carm_roofs *roofs = v->study->roofs;
    const struct carm_compute_roof *peak = carm_roofs_find_peak(roofs);
    if (v->model == CARM_PLOT_ORIGINAL) {
        add_slope(v, "DRAM", carm_original_bandwidth(roofs, "DRAM", true, NULL));
    }
    for (size_t i = 0; v->model == CARM_PLOT_AWARE && i < m->nlevels; i++) {
        const struct carm_memory_roof *roof =
            carm_roofs_find_memory(roofs, m->levels[i].level, m->config.ldst);
        add_slope(v, m->levels[i].level, roof ? roof->bandwidth : 0.0);
    }
    if (v->nslopes == 0 || !peak || !(peak->rate > 0.0)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no %s for the picture; `carm build` measures them",
                         v->nslopes                       ? "compute roofs"
                         : v->model == CARM_PLOT_ORIGINAL ? "peak bandwidth of DRAM"
                                                          : "memory roofs with its own mix");
    }
    v->peak = peak->rate;
    v->peak_name = peak->op;
    v->scale = carm_plot_prefix(v->peak, &v->prefix);
    return 0;
}

/* ---- ranges ---------------------------------------------------------------------------------------- */

static void widen_to(struct panel *v, const struct carm_plot_study_point *points, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (intensity(v, &points[i]) > 0.0) {
            carm_plot_axis_widen(&v->x, intensity(v, &points[i]));
            carm_plot_axis_widen(&v->y, points[i].performance);
        }
    }
}

static void find_ranges(struct panel *v)
{
    const struct carm_plot_study *s = v->study;
    v->x = v->y = (struct carm_plot_axis){INFINITY, -INFINITY};
    carm_plot_axis_widen(&v->y, v->peak);
    carm_plot_axis_widen(&v->x, v->peak / v->slopes[v->nslopes - 1].rate);
    if (v->steps) { /* classes reach further to the left than any ridge point */
        carm_plot_axis_widen(&v->x, v->peak / v->slopes[0].rate);
    }
    widen_to(v, s->steps, s->nsteps);
    for (size_t i = 0; i < s->ngroups; i++) {
        widen_to(v, s->groups[i].points, s->groups[i].n);
    }
    v->x.lo -= v->layout->left;
    v->x.hi += v->layout->right[v->model];
    v->y.lo -= v->layout->above + log10(v->scale);
    v->y.hi += v->layout->above - log10(v->scale);
}

static double x_px(const struct panel *v)
{
    return v->box.width / (v->x.hi - v->x.lo);
}

static double y_px(const struct panel *v)
{
    return v->box.height / (v->y.hi - v->y.lo);
}

static struct spot spot_of(const struct panel *v, const struct carm_plot_study_point *p)
{
    return (struct spot){
        (log10(intensity(v, p)) - v->x.lo) * x_px(v),
        (log10(p->performance / v->scale) - v->y.lo) * y_px(v),
    };
}

static void put_spot(FILE *out, const struct panel *v, struct spot s, const char *end)
{
    fprintf(out, "%.9g %.9g%s", pow(10, v->x.lo + s.x / x_px(v)), pow(10, v->y.lo + s.y / y_px(v)),
            end);
}

/* ---- drawing roofs --------------------------------------------------------------------------------- */

/* Where a slope begins: log10 of the intensity at which it enters the panel of steps. */
static double entry(const struct panel *v, double rate)
{
    return v->steps ? fmax(v->x.lo, v->y.lo - log10(rate / v->scale)) : v->x.lo;
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

/* The names are above the slopes near their left ends; slopes that lie together share one. */
static void put_slope_labels(FILE *out, const struct panel *v)
{
    const double angle = atan2(y_px(v), x_px(v));
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
        /* Far enough along that a steep one's label is clear of the axis; with classes, right of the
         * names of the leftmost one. */
        const double rate = v->slopes[i].rate;
        const double along = v->steps
                                 ? entry(v, rate) + (8 + SLOPE_LABEL_OFF * sin(angle)) / x_px(v)
                                 : v->x.lo + v->layout->left + 50 / x_px(v);
        const double x = along - SLOPE_LABEL_OFF * sin(angle) / x_px(v);
        const double y = along + log10(rate / v->scale) + SLOPE_LABEL_OFF * cos(angle) / y_px(v);
        fprintf(out, "%.9g %.9g ", pow(10, x), pow(10, y));
        carm_plot_put_text(out, text);
        fputc('\n', out);
    }
    fputs("CARM_END\n", out);
}

/* The peak's name is above its right end. */
static void put_peak_label(FILE *out, const struct panel *v)
{
    char text[CARM_TEXT_MAX];
    snprintf(text, sizeof text, "%.24s %.3g %s%s", v->peak_name, v->peak / v->scale, v->prefix,
             carm_precision_rate(v->study->roofs->precision));
    fprintf(out, "$peak_label << CARM_END\n%.9g %.9g ", pow(10, v->x.hi - 4 / x_px(v)),
            pow(10, log10(v->peak / v->scale) + SLOPE_LABEL_OFF / y_px(v)));
    carm_plot_put_text(out, text);
    fputs("\nCARM_END\n", out);
}

/* ---- groups ---------------------------------------------------------------------------------------- */

/* The points of a group that get their name beside them: the last one, and each other that lies
 * on none of those before it.
 * named  [n] out */
static void choose_names(const struct panel *v, const struct carm_plot_study_group *group,
                         bool *named)
{
    for (size_t i = 0; i < group->n; i++) {
        const size_t at = i ? i - 1 : group->n - 1;
        const struct carm_plot_study_point *p = &group->points[at];
        bool apart = *p->name && intensity(v, p) > 0.0;
        for (size_t k = 0; k < group->n && apart; k++) {
            if (named[k]) {
                const struct carm_plot_study_point *q = &group->points[k];
                const double dx = log10(intensity(v, p) / intensity(v, q)) * x_px(v);
                const double dy = log10(p->performance / q->performance) * y_px(v);
                apart = fabs(dx) >= NAME_PX || fabs(dy) >= LABELS_APART;
            }
        }
        named[at] = apart;
    }
}

static int put_points(FILE *out, const struct panel *v, struct carm_err *err)
{
    fputs("$points << CARM_END\n", out);
    for (size_t i = 0; i < v->study->ngroups; i++) {
        const struct carm_plot_study_group *group = &v->study->groups[i];
        bool *named = calloc(group->n + 1, sizeof *named), any = false;
        if (!named) {
            return carm_fail(err, CARM_ENOMEM, "out of memory");
        }
        fputs(i ? "\n\n" : "", out);
        choose_names(v, group, named);
        for (size_t k = 0; k < group->n; k++) {
            const struct carm_plot_study_point *p = &group->points[k];
            if (intensity(v, p) > 0.0) {
                fprintf(out, "%.9g %.9g ", intensity(v, p), p->performance / v->scale);
                carm_plot_put_text(out, named[k] ? p->name : "");
                fputc('\n', out);
                any = true;
            }
        }
        fputs(any ? "" : "NaN NaN \"\"\n", out); /* an empty block would give its number away */
        free(named);
    }
    fputs("CARM_END\n", out);
    return 0;
}

static void put_key(FILE *out, const struct panel *v)
{
    const struct carm_plot_study *s = v->study;
    const int entry_px = v->layout->key_entry;
    const double left =
        (v->box.width - entry_px * ((double)s->ngroups - 1) - v->layout->key_last) / 2;
    fprintf(out, "groups = %zu\n$names << CARM_END\n", s->ngroups);
    for (size_t i = 0; i < s->ngroups; i++) {
        carm_plot_put_line(out, s->groups[i].name, entry_px);
    }
    fputs("CARM_END\nids = \"", out);
    for (size_t i = 0; i < s->ngroups; i++) {
        fprintf(out, "%s%zu", i ? " " : "", s->groups[i].colour);
    }
    fputs("\"\nkey_at = \"", out);
    for (size_t i = 0; i < s->ngroups; i++) {
        fprintf(out, "%s%.5f", i ? " " : "", (left + entry_px * (double)i) / v->box.width);
    }
    fprintf(out, "\"\nkey_row = %.5f\n", s->ngroups ? KEY_ROW / 2.0 / v->box.height : 0.0);
}

/* Where a name is beside its point, in characters: right of it in a group that goes up at one
 * intensity, below it in one that moves to the right. */
static void put_offsets(FILE *out, const struct panel *v)
{
    for (int axis = 0; axis < 2; axis++) {
        fprintf(out, "label_%c = \"", axis ? 'y' : 'x');
        for (size_t i = 0; i < v->study->ngroups; i++) {
            const bool moves = v->model == CARM_PLOT_ORIGINAL && v->study->groups[i].shifts;
            fprintf(out, "%s%g", i ? " " : "", axis ? (moves ? -0.9 : -0.4) : (moves ? -0.5 : 1.0));
        }
        fputs("\"\n", out);
    }
}

/* ---- steps ----------------------------------------------------------------------------------------- */

struct label {
    const char *text;
    struct spot point, at; /* left end, middle */
    double width;
};

/* The steps that have a place on this panel, in order. returns how many */
static size_t collect(const struct panel *v, struct label *labels)
{
    size_t n = 0;
    for (size_t i = 0; i < v->study->nsteps; i++) {
        const struct carm_plot_study_point *p = &v->study->steps[i];
        if (intensity(v, p) > 0.0) {
            labels[n++] = (struct label){.text = p->name, .point = spot_of(v, p)};
        }
    }
    return n;
}

static void put_path(FILE *out, const struct panel *v, const struct label *steps, size_t n)
{
    fprintf(out, "arrow_rgb = \"%s\"\n$path << CARM_END\n",
            v->study->ngroups ? "#b0b0b0" : "#d55e00");
    for (size_t i = 0; i < n; i++) {
        put_spot(out, v, steps[i].point, "\n");
    }
    fputs(n ? "CARM_END\n$arrows << CARM_END\n" : "NaN NaN\nCARM_END\n$arrows << CARM_END\n", out);
    size_t arrows = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const struct spot a = steps[i].point;
        const struct spot b = steps[i + 1].point;
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

/* Labels are right of their points, left where there is no room, and are pushed up until none
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

static void put_labels(FILE *out, const struct panel *v, struct label *labels, size_t n)
{
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

/* ---- the picture ----------------------------------------------------------------------------------- */

static void put_frame(const struct carm_plot_canvas *canvas, const struct panel *v)
{
    const struct carm_roofs *roofs = v->study->roofs;
    const bool original = v->model == CARM_PLOT_ORIGINAL;
    const char *traffic_by = original && v->study->traffic_by ? v->study->traffic_by : "";
    char title[CARM_TEXT_MAX];
    snprintf(title, sizeof title, "%s roofline, %.16s %.16s, %d thread%s",
             original ? "Original (DRAM)" : "Cache-aware", roofs->isa, roofs->precision,
             roofs->threads, roofs->threads == 1 ? "" : "s");
    carm_plot_put_box(canvas, v->box, v->x, v->y, title);
    carm_plot_put_intensity_ticks(canvas->out, v->x, v->box.width);
    carm_plot_put_decimal_ticks(canvas->out, 'y', v->y, v->box.height);
    fprintf(canvas->out,
            "performance_label = \"performance, %s%s\"\n"
            "intensity_label = \"operational intensity%s%s%s%s, %s/byte\"\n",
            v->prefix, carm_precision_rate(roofs->precision), original ? " of DRAM traffic" : "",
            *traffic_by ? " (" : "", traffic_by, *traffic_by ? ")" : "",
            carm_precision_operation(roofs->precision));
}

static int put_panel(const struct carm_plot_canvas *canvas, const struct carm_plot_study *study,
                     int place, struct carm_err *err)
{
    FILE *out = canvas->out;
    const struct layout *layout = &layouts[study->kind];
    struct panel v = {.study = study,
                      .layout = layout,
                      .model = layout->order[place],
                      .steps = study->kind == CARM_PLOT_STUDY_STEPS};
    int rc = find_roofs(&v, err);
    if (rc) {
        return rc;
    }
    v.box = (struct carm_plot_box){
        MARGIN_LEFT + place * PANEL_WIDTH, MARGIN_BOTTOM, PANEL_WIDTH - MARGIN_LEFT - MARGIN_RIGHT,
        HEIGHT - MARGIN_BOTTOM - MARGIN_TOP - (study->ngroups ? KEY_ROW : 0)};
    find_ranges(&v);
    put_frame(canvas, &v);
    put_slopes(out, &v);
    put_slope_labels(out, &v);
    put_key(out, &v);
    rc = put_points(out, &v, err);
    if (v.steps) {
        struct label labels[CARM_PLOT_STEPS_MAX];
        const size_t n = collect(&v, labels);
        put_peak_label(out, &v);
        put_path(out, &v, labels, n);
        put_labels(out, &v, labels, n);
    } else {
        put_offsets(out, &v);
    }
    fputs(layout->script, out);
    return rc;
}

int carm_plot_study_put(FILE *out, const struct carm_plot_study *study, const char *format,
                        struct carm_err *err)
{
    const struct carm_machine *m = &study->model->machine;
    const struct carm_plot_canvas canvas = {out, 2.0 * PANEL_WIDTH, HEIGHT, study->model, NULL};
    char title[3 * CARM_TEXT_MAX + 8];
    snprintf(title, sizeof title, "%s, %s%s%s", study->title, m->hostname,
             *m->hostname && *m->cpu ? ": " : "", m->cpu);
    carm_plot_put_head(out, NULL, canvas.width, canvas.height, format, title);
    int rc = 0;
    for (int place = 0; rc == 0 && place < CARM_PLOT_MODELS; place++) {
        rc = put_panel(&canvas, study, place, err);
    }
    fputs("unset multiplot\n", out);
    return rc;
}

int carm_plot_study_draw(const struct carm_plot_study *study, const char *path,
                         struct carm_err *err)
{
    FILE *script;
    int rc = carm_gnuplot_open(&script, err);
    if (rc) {
        return rc;
    }
    rc = carm_plot_study_put(script, study, carm_gnuplot_format(path), err);
    rc = rc ? rc : carm_gnuplot_draw(script, path, err);
    fclose(script);
    return rc;
}
