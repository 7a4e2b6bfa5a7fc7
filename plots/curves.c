/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
#include "base/text.h"
#include "models/latency.h"
#include "models/scaling.h"
#include "plots/panel.h"

enum {
    MARKS_MAX = 16,
    ROW_PX = 17, /* height of a row of size labels or of the key */
    KEY_EXTRA_PX = 26,
    KEY_MAX_PX = 220, /* width of a name in the key */
};

struct set {
    const struct carm_curve *curves[CARM_PLOT_CURVES_MAX];
    size_t n;
    double xmin, xmax, ymin, ymax;
    bool disturbed;
};

/* A level's size on the x axis: its knee or what the OS reports. */
struct mark {
    double bytes;
    char text[64];
    unsigned row; /* row of the label, from the top */
};

/* Takes the selected curves with the precision of the roofline's set, and with its ISA if the user
 * named none.
 * kind  the only kind to take, or NULL */
static void collect(const struct carm_plot_canvas *c, const struct carm_curve *curves,
                    size_t ncurves, const char *kind, struct set *s)
{
    const struct carm_roofs *best = carm_select_best(c->select, c->model);
    s->xmin = s->ymin = INFINITY;
    for (size_t i = 0; i < ncurves && s->n < CARM_PLOT_CURVES_MAX; i++) {
        const struct carm_curve *x = &curves[i];
        if (x->npoints == 0 || !carm_select_has(c->select, x->isa, x->threads) ||
            (kind && strcmp(kind, x->kind) != 0)) {
            continue;
        }
        if (best && (strcmp(best->precision, x->precision) != 0 ||
                     (c->select->nisa == 0 && strcmp(best->isa, x->isa) != 0))) {
            continue;
        }
        s->curves[s->n++] = x;
        for (size_t k = 0; k < x->npoints; k++) {
            const struct carm_curve_point *p = &x->points[k];
            s->xmin = fmin(s->xmin, p->x);
            s->xmax = fmax(s->xmax, p->x);
            s->ymin = fmin(s->ymin, p->value);
            s->ymax = fmax(s->ymax, p->value);
            s->disturbed = s->disturbed || p->disturbed;
        }
    }
}

/* The lowest value (log10) where the key is: x in [lo, hi], log10. */
static double lowest(const struct set *s, double lo, double hi)
{
    double low = s->ymax;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->curves[i]->npoints; k++) {
            const struct carm_curve_point *p = &s->curves[i]->points[k];
            if (log10(p->x) >= lo && log10(p->x) <= hi) {
                low = fmin(low, p->value);
            }
        }
    }
    return log10(low);
}

/* The y range with above_px above the highest value, and with enough below the lowest value for the
 * key to fit under the curves. */
static struct carm_plot_axis y_range(const struct set *s, double height_px, double above_px,
                                     double key_low)
{
    double key_px = KEY_EXTRA_PX + ROW_PX * (double)(s->n + (s->disturbed ? 1 : 0));
    /* limits the text, so that the curves keep a part of the panel */
    key_px = fmin(key_px, 0.5 * height_px);
    above_px = fmin(above_px, 0.35 * height_px);
    struct carm_plot_axis y = {log10(s->ymin) - 0.1, log10(s->ymax) + 0.1};
    for (int round = 0; round < 40; round++) {
        double decade = height_px / (y.hi - y.lo);
        y.lo = fmin(log10(s->ymin) - 16 / decade, key_low - key_px / decade);
        y.hi = log10(s->ymax) + above_px / decade;
    }
    return y;
}

static int by_x(const void *a, const void *b)
{
    double x = ((const struct carm_curve_point *)a)->x, y = ((const struct carm_curve_point *)b)->x;
    return (x > y) - (x < y);
}

static int put_curves(FILE *out, const struct set *s, double scale, bool name_kind, bool name_isa,
                      struct carm_err *err)
{
    fputs("$curves << CARM_END\n", out);
    for (size_t i = 0; i < s->n; i++) {
        size_t n = s->curves[i]->npoints;
        struct carm_curve_point *p = malloc(n * sizeof *p);
        if (!p) {
            return carm_fail(err, CARM_ENOMEM, "out of memory");
        }
        memcpy(p, s->curves[i]->points, n * sizeof *p);
        qsort(p, n, sizeof *p, by_x);
        fputs(i ? "\n\n" : "", out);
        for (size_t k = 0; k < n; k++) {
            fprintf(out, "%.9g %.9g %.9g %.9g %d\n", p[k].x, p[k].value / scale,
                    p[k].ci95.lo / scale, p[k].ci95.hi / scale, p[k].disturbed);
        }
        free(p);
    }
    fputs("CARM_END\n$names << CARM_END\n", out);
    for (size_t i = 0; i < s->n; i++) {
        const struct carm_curve *c = s->curves[i];
        char name[3 * CARM_NAME_MAX];
        char threads[32] = ""; /* "" for latencies, which are of one thread */
        if (c->threads > 0) {
            snprintf(threads, sizeof threads, "%s%d thread%s", name_kind ? ", " : "", c->threads,
                     c->threads == 1 ? "" : "s");
        }
        snprintf(name, sizeof name, "%.24s%s%.24s%s", name_isa ? c->isa : "", name_isa ? " " : "",
                 name_kind ? c->kind : "", threads);
        carm_plot_put_line(out, name, KEY_MAX_PX);
    }
    fprintf(out, "CARM_END\ncurves = %zu\ndisturbed = %d\n", s->n, s->disturbed);
    return 0;
}

static void add_mark(struct mark *marks, size_t *n, const char *level, const char *what,
                     uint64_t bytes, struct carm_plot_axis x)
{
    double at = bytes ? log10((double)bytes) : x.lo;
    char size[CARM_TEXT_NUMBER_MAX];
    if (*n == MARKS_MAX || !bytes || at <= x.lo || at >= x.hi) {
        return;
    }
    struct mark *m = &marks[(*n)++];
    m->bytes = (double)bytes;
    snprintf(m->text, sizeof m->text, "%.16s %s %s", level, what,
             carm_text_bytes(size, sizeof size, bytes));
}

/* The centre of a mark's label, in pixels: at its mark, but inside the panel. */
static double centre(const struct mark *m, struct carm_plot_axis x, double width_px)
{
    double half = carm_plot_text_px(m->text) / 2;
    double px = (log10(m->bytes) - x.lo) / (x.hi - x.lo) * width_px;
    return fmin(fmax(px, half + 4), width_px - half - 4);
}

/* Places labels from `first` on, each in the highest row from `row` on in which it touches no other
 * label. returns the number of rows used so far */
static unsigned place(struct mark *marks, size_t first, size_t n, unsigned row,
                      struct carm_plot_axis x, double width_px)
{
    unsigned rows = row;
    for (size_t i = first; i < n; i++) {
        bool hit = true;
        marks[i].row = row;
        while (hit) {
            hit = false;
            for (size_t k = first; k < i && !hit; k++) {
                double room =
                    (carm_plot_text_px(marks[i].text) + carm_plot_text_px(marks[k].text)) / 2;
                double apart =
                    fabs(centre(&marks[i], x, width_px) - centre(&marks[k], x, width_px));
                hit = marks[k].row == marks[i].row && apart < room + 6;
            }
            if (hit) {
                marks[i].row++;
            }
        }
        rows = marks[i].row + 1 > rows ? marks[i].row + 1 : rows;
    }
    return rows;
}

/* Writes the lines of the marks in [first, last) as a named data block. */
static void put_marks(FILE *out, const char *name, const struct mark *marks, size_t first,
                      size_t last, struct carm_plot_axis y, double top)
{
    fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = first; i < last; i++) {
        fprintf(out, "%s%.9g %.9g\n%.9g %.9g\n", i > first ? "\n\n" : "", marks[i].bytes,
                pow(10, y.lo), marks[i].bytes, pow(10, top));
    }
    fprintf(out, "CARM_END\n%s = %zu\n", name, last - first);
}

int carm_plot_bandwidth(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                        struct carm_err *err)
{
    const struct carm_model *m = canvas->model;
    struct set s = {.n = 0};
    collect(canvas, m->curves, m->ncurves, m->config.ldst, &s);
    if (s.n == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no curve of bandwidth over working set for this choice; "
                         "`carm build` measures it");
    }
    const char *prefix;
    double scale = carm_plot_prefix(s.ymax, &prefix);
    struct carm_plot_axis x = {log10(s.xmin) - 0.05, log10(s.xmax) + 0.05};
    struct mark marks[MARKS_MAX];
    size_t nknees = 0;
    for (size_t i = 0; i < m->nlevels; i++) {
        if (m->levels[i].resolved) {
            add_mark(marks, &nknees, m->levels[i].level, "knee", m->levels[i].knee_bytes, x);
        }
    }
    size_t nmarks = nknees;
    for (size_t i = 0; i < m->nlevels; i++) {
        add_mark(marks, &nmarks, m->levels[i].level, "OS", m->levels[i].os_size_bytes, x);
    }
    unsigned rows = place(marks, 0, nknees, 0, x, box.width);
    rows = place(marks, nknees, nmarks, rows, x, box.width);

    double key_low = lowest(&s, x.lo, x.lo + 0.4 * (x.hi - x.lo)) - log10(scale);
    s.ymin /= scale;
    s.ymax /= scale;
    double above = 14 + ROW_PX * (double)rows;
    struct carm_plot_axis y = y_range(&s, box.height, above, key_low);
    double row = ROW_PX * (y.hi - y.lo) / box.height;
    bool name_isa = canvas->select->nisa > 1;
    char title[CARM_TEXT_MAX];
    snprintf(title, sizeof title, "Bandwidth over working set, %.24s%s%.24s, %.24s loads:stores",
             name_isa ? "" : s.curves[0]->isa, name_isa ? "" : " ", s.curves[0]->precision,
             m->config.ldst);
    carm_plot_put_box(canvas, box, x, y, title);
    carm_plot_put_size_ticks(canvas->out, x, box.width);
    carm_plot_put_decimal_ticks(canvas->out, 'y', y, box.height);
    fprintf(canvas->out, "bandwidth_label = \"bandwidth, %sB/s\"\n", prefix);
    put_marks(canvas->out, "knees", marks, 0, nknees, y, y.hi - row * rows);
    put_marks(canvas->out, "sizes", marks, nknees, nmarks, y, y.hi - row * rows);
    fputs("$size_labels << CARM_END\n", canvas->out);
    for (size_t i = 0; i < nmarks; i++) {
        double at = x.lo + centre(&marks[i], x, box.width) / box.width * (x.hi - x.lo);
        fprintf(canvas->out, "%.9g %.9g ", pow(10, at), pow(10, y.hi - row * (marks[i].row + 0.5)));
        carm_plot_put_text(canvas->out, marks[i].text);
        fprintf(canvas->out, " %u\n", i < nknees ? 0u : 0x606060u);
    }
    fputs("CARM_END\n", canvas->out);
    int rc = put_curves(canvas->out, &s, scale, false, name_isa, err);
    if (rc == 0) {
        fputs(carm_asset_plot_bandwidth, canvas->out);
    }
    return rc;
}

int carm_plot_flops(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                    struct carm_err *err)
{
    const struct carm_model *m = canvas->model;
    struct set s = {.n = 0};
    collect(canvas, m->flop_curves, m->nflop_curves, NULL, &s);
    if (s.n == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no curve of performance over flops for this choice; "
                         "`carm build` measures it");
    }
    const char *prefix;
    double scale = carm_plot_prefix(s.ymax, &prefix);
    struct carm_plot_axis x = {log10(s.xmin) - 0.05, log10(s.xmax) + 0.05};
    double key_low = lowest(&s, x.hi - 0.4 * (x.hi - x.lo), x.hi) - log10(scale);
    s.ymin /= scale;
    s.ymax /= scale;
    struct carm_plot_axis y = y_range(&s, box.height, 20, key_low);
    bool name_isa = canvas->select->nisa > 1;
    char title[CARM_TEXT_MAX];
    snprintf(title, sizeof title, "Performance over flops, %.24s%s%.24s",
             name_isa ? "" : s.curves[0]->isa, name_isa ? "" : " ", s.curves[0]->precision);
    carm_plot_put_box(canvas, box, x, y, title);
    carm_plot_put_decimal_ticks(canvas->out, 'x', x, box.width);
    carm_plot_put_decimal_ticks(canvas->out, 'y', y, box.height);
    fprintf(canvas->out, "performance_label = \"performance, %s%s\"\n", prefix,
            carm_precision_rate(s.curves[0]->precision));
    int rc = put_curves(canvas->out, &s, scale, true, name_isa, err);
    if (rc == 0) {
        fputs(carm_asset_plot_flops, canvas->out);
    }
    return rc;
}

/* Adds a curve with room for n points, to be filled by add_point. returns NULL when out of
 * memory */
static struct carm_curve *add_copy(struct set *s, struct carm_curve *to, size_t n)
{
    to->points = calloc(n + 1, sizeof *to->points);
    if (to->points && n > 0) {
        s->curves[s->n++] = to;
    }
    return to->points ? to : NULL;
}

static void add_point(struct set *s, struct carm_curve *to, struct carm_curve_point point)
{
    to->points[to->npoints++] = point;
    s->xmin = fmin(s->xmin, point.x);
    s->xmax = fmax(s->xmax, point.x);
    s->ymin = fmin(s->ymin, point.value);
    s->ymax = fmax(s->ymax, point.value);
    s->disturbed = s->disturbed || point.disturbed;
}

static void free_copies(struct carm_curve *copies, size_t n)
{
    for (size_t i = 0; copies && i < n; i++) {
        free(copies[i].points);
    }
    free(copies);
}

static int refuse_latencies(struct carm_err *err, const char *what)
{
    return carm_fail(
        err, CARM_EINVAL,
        "the model has no %s; `carm build` measures them, with --quick where --latency "
        "yes is given",
        what);
}

/* Takes the curves of latencies as seconds over working set. *copies [nlatency_curves] are to be released with
 * free_copies. */
static int collect_latencies(const struct carm_model *m, struct carm_curve **copies, struct set *s,
                             struct carm_err *err)
{
    s->xmin = s->ymin = INFINITY;
    *copies = calloc(m->nlatency_curves + 1, sizeof **copies);
    for (size_t i = 0; *copies && i < m->nlatency_curves && s->n < CARM_PLOT_CURVES_MAX; i++) {
        const struct carm_latency_curve *from = &m->latency_curves[i];
        char size[CARM_TEXT_NUMBER_MAX];
        struct carm_curve *to = add_copy(s, &(*copies)[i], from->npoints);
        if (!to) {
            return carm_fail(err, CARM_ENOMEM, "out of memory");
        }
        snprintf(to->kind, sizeof to->kind, "%s, %s pages", carm_latency_order_name(from->order),
                 carm_text_bytes(size, sizeof size, from->page_bytes));
        for (size_t k = 0; k < from->npoints; k++) {
            const struct carm_latency_point *p = &from->points[k];
            add_point(s, to,
                      (struct carm_curve_point){(double)p->working_set_bytes, p->seconds, p->ci95,
                                                p->disturbed});
        }
    }
    return !*copies    ? carm_fail(err, CARM_ENOMEM, "out of memory")
           : s->n == 0 ? refuse_latencies(err, "latencies")
                       : 0;
}

/* Takes the curves of latencies beside streams as seconds over GB/s; copies [nloaded]. */
static int collect_loaded(const struct carm_model *m, struct carm_curve **copies, struct set *s,
                          struct carm_err *err)
{
    s->xmin = s->ymin = INFINITY;
    *copies = calloc(m->nloaded + 1, sizeof **copies);
    for (size_t i = 0; *copies && i < m->nloaded && s->n < CARM_PLOT_CURVES_MAX; i++) {
        const struct carm_loaded *from = &m->loaded[i];
        struct carm_curve *to = add_copy(s, &(*copies)[i], from->npoints);
        if (!to) {
            return carm_fail(err, CARM_ENOMEM, "out of memory");
        }
        to->threads = from->threads;
        snprintf(to->kind, sizeof to->kind, "%.24s", from->ldst);
        for (size_t k = 0; k < from->npoints; k++) {
            const struct carm_loaded_point *p = &from->points[k];
            add_point(
                s, to,
                (struct carm_curve_point){p->bandwidth / 1e9, p->seconds, p->ci95, p->disturbed});
        }
    }
    return !*copies    ? carm_fail(err, CARM_ENOMEM, "out of memory")
           : s->n == 0 ? refuse_latencies(err, "latencies beside streaming threads")
                       : 0;
}

/* Draws the panel of latencies: over sizes with the caches' marks, or over bandwidth. */
static int put_latencies(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                         struct set *s, bool sizes, struct carm_err *err)
{
    static const double nanosecond = 1e-9;
    const struct carm_model *m = canvas->model;
    struct carm_plot_axis x = {log10(s->xmin) - 0.05, log10(s->xmax) + 0.05};
    struct mark marks[MARKS_MAX];
    size_t n = 0;
    for (size_t i = 0; sizes && i < m->machine.ncaches; i++) {
        char level[16];
        snprintf(level, sizeof level, "L%d", m->machine.caches[i].level);
        add_mark(marks, &n, level, "OS", m->machine.caches[i].size_bytes, x);
    }
    const unsigned rows = place(marks, 0, n, 0, x, box.width);
    const double low = lowest(s, x.hi - 0.4 * (x.hi - x.lo), x.hi) - log10(nanosecond);
    s->ymin /= nanosecond;
    s->ymax /= nanosecond;
    const struct carm_plot_axis y = y_range(s, box.height, 14 + ROW_PX * (double)rows, low);
    const double row = ROW_PX * (y.hi - y.lo) / box.height;
    carm_plot_put_box(canvas, box, x, y,
                      sizes ? "Latency of dependent loads over working set, 1 thread"
                            : "Latency of dependent loads beside streams in the other threads");
    if (sizes) {
        carm_plot_put_size_ticks(canvas->out, x, box.width);
    } else {
        carm_plot_put_decimal_ticks(canvas->out, 'x', x, box.width);
    }
    carm_plot_put_decimal_ticks(canvas->out, 'y', y, box.height);
    fprintf(canvas->out, "curve_label = \"latency, ns\"\nlatency_over = \"%s\"\n",
            sizes ? "working set" : "bandwidth of all threads, GB/s");
    put_marks(canvas->out, "sizes", marks, 0, n, y, y.hi - row * rows);
    fputs("$size_labels << CARM_END\n", canvas->out);
    for (size_t i = 0; i < n; i++) {
        const double at = x.lo + centre(&marks[i], x, box.width) / box.width * (x.hi - x.lo);
        fprintf(canvas->out, "%.9g %.9g ", pow(10, at), pow(10, y.hi - row * (marks[i].row + 0.5)));
        carm_plot_put_text(canvas->out, marks[i].text);
        fprintf(canvas->out, " %u\n", 0x606060u);
    }
    fputs("CARM_END\n", canvas->out);
    const int rc = put_curves(canvas->out, s, nanosecond, true, false, err);
    if (rc == 0) {
        fputs(carm_asset_plot_latency, canvas->out);
    }
    return rc;
}

int carm_plot_latency(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                      struct carm_err *err)
{
    struct set s = {.n = 0};
    struct carm_curve *copies = NULL;
    int rc = collect_latencies(canvas->model, &copies, &s, err);
    rc = rc ? rc : put_latencies(canvas, box, &s, true, err);
    free_copies(copies, canvas->model->nlatency_curves);
    return rc;
}

int carm_plot_loaded(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                     struct carm_err *err)
{
    struct set s = {.n = 0};
    struct carm_curve *copies = NULL;
    int rc = collect_loaded(canvas->model, &copies, &s, err);
    rc = rc ? rc : put_latencies(canvas, box, &s, false, err);
    free_copies(copies, canvas->model->nloaded);
    return rc;
}

/* Takes the curves over threads. *copies [nscaling] are to be released with free_copies. */
static int collect_scaling(const struct carm_model *m, struct carm_curve **copies, struct set *s,
                           struct carm_err *err)
{
    bool several = false;
    s->xmin = s->ymin = INFINITY;
    *copies = calloc(m->nscaling + 1, sizeof **copies);
    for (size_t i = 0; i < m->nscaling; i++) {
        several = several || strcmp(m->scaling[i].layout, m->scaling[0].layout) != 0;
    }
    for (size_t i = 0; *copies && i < m->nscaling && s->n < CARM_PLOT_CURVES_MAX; i++) {
        const struct carm_scaling *from = &m->scaling[i];
        struct carm_curve *to = add_copy(s, &(*copies)[i], from->npoints);
        if (!to) {
            return carm_fail(err, CARM_ENOMEM, "out of memory");
        }
        snprintf(to->kind, sizeof to->kind, "%.16s %.16s%s%.24s", from->level, from->kind,
                 several ? ", " : "", several ? from->layout : "");
        for (size_t k = 0; k < from->npoints; k++) {
            const struct carm_scaling_point *p = &from->points[k];
            add_point(s, to, (struct carm_curve_point){p->threads, p->rate, p->ci95, p->disturbed});
        }
    }
    return !*copies    ? carm_fail(err, CARM_ENOMEM, "out of memory")
           : s->n == 0 ? carm_fail(err, CARM_EINVAL,
                                   "the model has no rates over the number of threads; `carm build "
                                   "--scaling` measures them")
                       : 0;
}

int carm_plot_scaling(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                      struct carm_err *err)
{
    struct set s = {.n = 0};
    struct carm_curve *copies = NULL;
    const char *prefix = "";
    int rc = collect_scaling(canvas->model, &copies, &s, err);
    if (!rc) {
        const double scale = carm_plot_prefix(s.ymax, &prefix);
        const struct carm_plot_axis x = {log10(s.xmin) - 0.04, log10(s.xmax) + 0.05};
        const double low = lowest(&s, x.hi - 0.4 * (x.hi - x.lo), x.hi) - log10(scale);
        s.ymin /= scale;
        s.ymax /= scale;
        const struct carm_plot_axis y = y_range(&s, box.height, 14, low);
        carm_plot_put_box(canvas, box, x, y,
                          "Bandwidth and peak over threads: marks measured, lines interpolated");
        carm_plot_put_decimal_ticks(canvas->out, 'x', x, box.width);
        carm_plot_put_decimal_ticks(canvas->out, 'y', y, box.height);
        fprintf(canvas->out,
                "curve_label = \"bandwidth, %sB/s; peak, %s%s\"\nlatency_over = \"threads\"\n"
                "$sizes << CARM_END\nCARM_END\nsizes = 0\n$size_labels << CARM_END\nCARM_END\n",
                prefix, prefix, carm_precision_rate(canvas->model->scaling->precision));
        rc = put_curves(canvas->out, &s, scale, true, false, err);
    }
    if (!rc) {
        fputs(carm_asset_plot_latency, canvas->out);
    }
    free_copies(copies, canvas->model->nscaling);
    return rc;
}
