/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "base/assets.h"
#include "base/text.h"
#include "models/roofline.h"
#include "models/validation.h"
#include "plots/panel.h"

enum {
    LEVELS_MAX = 7,   /* colours of plots/scripts/common.gp */
    KEY_ROW_PX = 22,  /* height of the key between title and panel */
    KEY_MARK_PX = 30, /* width of an entry's mark and of the gap behind the entry */
};

/* Percent: larger residuals are drawn at the panel's edge; none is below -100. Chosen by hand. */
static const double residual_most = 50;

/* One of the two models with the points of one validation. */
struct panel {
    const struct carm_model *model;
    const struct carm_validation_set *set;
    bool original;
    size_t levels[LEVELS_MAX];    /* indices of the model's levels that have points */
    double bandwidth[LEVELS_MAX]; /* byte/s of the levels' roofs */
    size_t nlevels;
    double peak; /* flop/s */
    struct carm_plot_axis x, y;
    double residual_lo, residual_hi; /* percent */
    bool disturbed, beyond;
};

/* flop/byte as the model counts bytes; 0 = unknown, or no bytes at all */
static double intensity(const struct panel *v, const struct carm_validation_point *p)
{
    double bytes = !v->original ? p->bytes : p->ntraffic ? p->traffic[p->ntraffic - 1] : 0;
    return bytes > 0 ? p->flops / bytes : 0;
}

/* The intensity of a point of level i of the panel; 0 for other points. */
static double belongs(const struct panel *v, const struct carm_validation_point *p, size_t i)
{
    return carm_validation_set_equal(&p->set, v->set) &&
                   strcmp(p->level, v->model->levels[v->levels[i]].level) == 0
               ? intensity(v, p)
               : 0;
}

/* Deviation of a performance from the model, percent */
static double residual(double performance, double at, double bandwidth, double peak)
{
    return 100 * (performance / fmin(bandwidth * at, peak) - 1);
}

/* Chooses the set of points to draw: of the selected roofs with points those with the highest peak;
 * of several operations the first. returns the roofs, or NULL */
static const struct carm_roofs *choose(const struct carm_plot_canvas *c,
                                       const struct carm_validation_set **set)
{
    const struct carm_roofs *best = NULL;
    const struct carm_validation_set *last = NULL;
    double best_rate = -1;
    for (size_t i = 0; i < c->model->nvalidation_points; i++) {
        const struct carm_validation_set *s = &c->model->validation_points[i].set;
        if (last && carm_validation_set_equal(s, last)) {
            continue;
        }
        last = s;
        const struct carm_roofs *r = carm_select_has(c->select, s->isa, s->threads)
                                         ? carm_validation_find_roofs(c->model, s)
                                         : NULL;
        const struct carm_compute_roof *peak = r ? carm_roofs_find_peak(r) : NULL;
        if (peak && peak->rate > best_rate) {
            best = r;
            best_rate = peak->rate;
            *set = s;
        }
    }
    return best;
}

static bool has_points(const struct panel *v, size_t i)
{
    for (size_t k = 0; k < v->model->nvalidation_points; k++) {
        if (belongs(v, &v->model->validation_points[k], i) > 0) {
            return true;
        }
    }
    return false;
}

static void find_ranges(struct panel *v)
{
    struct carm_plot_axis none = {INFINITY, -INFINITY};
    v->x = v->y = none;
    v->residual_lo = -15;
    v->residual_hi = 15;
    carm_plot_axis_widen(&v->y, v->peak);
    for (size_t i = 0; i < v->nlevels; i++) {
        carm_plot_axis_widen(&v->x, v->peak / v->bandwidth[i]);
        for (size_t k = 0; k < v->model->nvalidation_points; k++) {
            const struct carm_validation_point *p = &v->model->validation_points[k];
            double at = belongs(v, p, i), performance = p->flops / p->seconds;
            if (!(at > 0)) {
                continue;
            }
            double percent = residual(performance, at, v->bandwidth[i], v->peak);
            carm_plot_axis_widen(&v->x, at);
            carm_plot_axis_widen(&v->y, performance);
            v->residual_lo = fmin(v->residual_lo, percent - 4);
            v->residual_hi = fmax(v->residual_hi, percent + 4);
            v->beyond = v->beyond || percent > residual_most;
            v->disturbed = v->disturbed || p->disturbed;
        }
    }
    v->residual_hi = fmin(v->residual_hi, residual_most);
    v->x.lo -= 0.15;
    v->x.hi += 0.15;
    v->y.lo -= 0.1;
    v->y.hi += 0.1;
}

static int prepare(const struct carm_plot_canvas *c, bool original, struct panel *v,
                   struct carm_err *err)
{
    const struct carm_model *m = c->model;
    memset(v, 0, sizeof *v);
    v->model = m;
    v->original = original;
    if (m->nvalidation_points == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no validation; `carm validate` makes one");
    }
    const struct carm_roofs *roofs = choose(c, &v->set);
    if (!roofs) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no validation for this choice; `carm validate` makes one");
    }
    const struct carm_compute_roof *peak = carm_roofs_find_compute(roofs, v->set->op);
    v->peak = peak ? peak->rate : 0;
    for (size_t i = 0; v->peak > 0 && i < m->nlevels && v->nlevels < LEVELS_MAX; i++) {
        const struct carm_memory_roof *roof =
            carm_roofs_find_memory(roofs, m->levels[i].level, m->config.ldst);
        double bandwidth = original ? roofs->dram_peak.bandwidth : roof ? roof->bandwidth : 0;
        v->levels[v->nlevels] = i;
        v->bandwidth[v->nlevels] = bandwidth;
        if (bandwidth > 0 && has_points(v, v->nlevels)) {
            v->nlevels++;
        }
    }
    if (v->nlevels == 0) {
        return carm_fail(
            err, CARM_EINVAL,
            "the model has no roofs of its own mix, or no traffic, for its validation points; "
            "`carm build` and `carm validate` measure them again");
    }
    find_ranges(v);
    return 0;
}

/* Writes " 96.3%", or "" if the model has no such score. */
static void fitness_text(char *dst, size_t size, const struct panel *v, const char *level)
{
    const char *name = v->original ? "original" : "cache-aware";
    *dst = 0;
    const struct carm_validation *s = carm_validation_find_score(v->model, v->set, name, level);
    if (s) {
        snprintf(dst, size, " %.1f%%", s->fitness);
    }
}

/* Writes entry i of the key: a level, or "disturbed" behind the levels.
 * full  all facts of a level, not only name and fitness */
static void key_text(char *dst, size_t size, const struct panel *v, size_t i, bool full)
{
    char fitness[CARM_TEXT_NUMBER_MAX];
    if (i == v->nlevels) {
        snprintf(dst, size, "disturbed");
        return;
    }
    const struct carm_level *level = &v->model->levels[v->levels[i]];
    fitness_text(fitness, sizeof fitness, v, level->level);
    snprintf(dst, size, full ? "%.16s%s%s" : "%.5s%s%s", level->level,
             full && !level->resolved ? " (unresolved)" : "", fitness);
}

/* returns the pixels of the row of entries */
static double key_px(const struct panel *v, size_t n, bool full)
{
    char text[CARM_TEXT_MAX];
    double px = 0;
    for (size_t i = 0; i < n; i++) {
        key_text(text, sizeof text, v, i, full);
        px += carm_plot_text_px(text) + KEY_MARK_PX;
    }
    return px;
}

/* Writes the key, a row between title and panel, each entry as wide as its text. */
static void put_key(FILE *out, const struct panel *v, struct carm_plot_box box)
{
    char text[CARM_TEXT_MAX];
    size_t n = v->nlevels + (v->disturbed ? 1 : 0);
    bool full = key_px(v, n, true) <= box.width;
    double px = fmin(key_px(v, n, full), box.width), at[LEVELS_MAX + 1];
    /* many entries have equal widths, so that none covers another */
    bool even = key_px(v, n, full) > box.width;
    at[0] = (box.width - px) / 2 + 10;
    fputs("$names << CARM_END\n", out);
    for (size_t i = 0; i < n; i++) {
        key_text(text, sizeof text, v, i, full);
        double own = carm_plot_text_px(text);
        double most = even ? px / (double)n - KEY_MARK_PX : own;
        carm_plot_put_line(out, text, most);
        if (i + 1 < n) {
            at[i + 1] = at[i] + most + KEY_MARK_PX;
        }
    }
    fputs("CARM_END\nkey_at = \"", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s%.5f", i ? " " : "", at[i] / box.width);
    }
    fprintf(out, "\"\nkey_row = %.5f\n", KEY_ROW_PX / 2.0 / box.height);
}

/* Writes properties of the points that both panels use. */
static void put_common(FILE *out, const struct panel *v)
{
    fprintf(out, "intensity_label = \"operational intensity%s, flop/byte\"\n",
            v->original ? " of DRAM traffic" : "");
    fprintf(out, "levels = %zu\ndisturbed = %d\nids = \"", v->nlevels, v->disturbed);
    for (size_t i = 0; i < v->nlevels; i++) {
        fprintf(out, "%s%zu", i ? " " : "", v->levels[i]);
    }
    fputs("\"\n", out);
}

/* scale  divisor of performance; 0 = residuals in percent instead */
static void put_points(FILE *out, const struct panel *v, double scale)
{
    fputs("$points << CARM_END\n", out);
    for (size_t i = 0; i < v->nlevels; i++) {
        fputs(i ? "\n\n" : "", out);
        for (size_t k = 0; k < v->model->nvalidation_points; k++) {
            const struct carm_validation_point *p = &v->model->validation_points[k];
            double at = belongs(v, p, i);
            double y[] = {p->flops / p->seconds, p->ci95.lo, p->ci95.hi};
            if (!(at > 0)) {
                continue;
            }
            if (scale > 0) {
                fprintf(out, "%.9g %.9g %d\n", at, y[0] / scale, p->disturbed);
                continue;
            }
            for (size_t j = 0; j < 3; j++) {
                y[j] = fmin(residual(y[j], at, v->bandwidth[i], v->peak), v->residual_hi);
            }
            fprintf(out, "%.9g %.9g %d %.9g %.9g\n", at, y[0], p->disturbed, y[1], y[2]);
        }
    }
    fputs("CARM_END\n", out);
}

/* Writes the slopes up to the peak, and the peak from the first slope on. */
static void put_roofs(FILE *out, const struct panel *v, double scale)
{
    double x0 = pow(10, v->x.lo), fast = v->bandwidth[0];
    size_t n = v->original ? 1 : v->nlevels; /* all slopes of the original model are one: DRAM's */
    fprintf(out, "slopes = %zu\nslope_ids = ", n);
    if (v->original) {
        fprintf(out, "\"%zu\"\n", v->model->nlevels - 1);
    } else {
        fputs("ids\n", out);
    }
    fputs("$slopes << CARM_END\n", out);
    for (size_t i = 0; i < n; i++) {
        double b = v->bandwidth[i];
        fast = fmax(fast, b);
        fprintf(out, "%s%.9g %.9g\n%.9g %.9g\n", i ? "\n\n" : "", x0, x0 * b / scale, v->peak / b,
                v->peak / scale);
    }
    fprintf(out, "CARM_END\n$peak << CARM_END\n%.9g %.9g\n%.9g %.9g\nCARM_END\n", v->peak / fast,
            v->peak / scale, pow(10, v->x.hi), v->peak / scale);
}

static int plot_points(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                       bool original, struct carm_err *err)
{
    struct panel v;
    int rc = prepare(canvas, original, &v, err);
    if (rc) {
        return rc;
    }
    FILE *out = canvas->out;
    const char *prefix;
    char title[CARM_TEXT_MAX], fitness[CARM_TEXT_NUMBER_MAX], bandwidth[CARM_TEXT_NUMBER_MAX];
    double scale = carm_plot_prefix(v.peak, &prefix);
    fitness_text(fitness, sizeof fitness, &v, "all");
    if (original) {
        snprintf(title, sizeof title, "Original roofline, DRAM %s%s%s",
                 carm_text_si(bandwidth, sizeof bandwidth, v.bandwidth[0], "B/s"),
                 *fitness ? ": fitness" : "", fitness);
    } else {
        snprintf(title, sizeof title,
                 "Cache-aware roofline, %.16s %.16s %.16s, %d thread%s, %.16s%s%s", v.set->isa,
                 v.set->precision, v.set->op, v.set->threads, v.set->threads == 1 ? "" : "s",
                 canvas->model->config.ldst, *fitness ? ": fitness" : "", fitness);
    }
    box.height -= KEY_ROW_PX;
    struct carm_plot_axis y = {v.y.lo - log10(scale), v.y.hi - log10(scale)};
    carm_plot_put_box(canvas, box, v.x, y, title);
    carm_plot_put_intensity_ticks(out, v.x, box.width);
    carm_plot_put_decimal_ticks(out, 'y', y, box.height);
    fprintf(out, "performance_label = \"performance, %sflop/s\"\n", prefix);
    put_common(out, &v);
    put_key(out, &v, box);
    put_points(out, &v, scale);
    put_roofs(out, &v, scale);
    fputs(carm_asset_plot_validation, out);
    return 0;
}

static int plot_residuals(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                          bool original, struct carm_err *err)
{
    struct panel v;
    int rc = prepare(canvas, original, &v, err);
    if (rc) {
        return rc;
    }
    FILE *out = canvas->out;
    struct carm_plot_axis any = {0, 1}; /* the script sets a linear y range */
    carm_plot_put_box(canvas, box, v.x, any, "");
    carm_plot_put_intensity_ticks(out, v.x, box.width);
    put_common(out, &v);
    fprintf(out, "residual_lo = %.9g\nresidual_hi = %.9g\nbeyond = %d\n", v.residual_lo,
            v.residual_hi, v.beyond);
    fprintf(out, "$band << CARM_END\n%.9g -10 10\n%.9g -10 10\nCARM_END\n", pow(10, v.x.lo),
            pow(10, v.x.hi));
    put_points(out, &v, 0);
    fputs(carm_asset_plot_residuals, out);
    return 0;
}

int carm_plot_cache_aware(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                          struct carm_err *err)
{
    return plot_points(canvas, box, false, err);
}

int carm_plot_original(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                       struct carm_err *err)
{
    return plot_points(canvas, box, true, err);
}

int carm_plot_cache_aware_residuals(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                                    struct carm_err *err)
{
    return plot_residuals(canvas, box, false, err);
}

int carm_plot_original_residuals(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                                 struct carm_err *err)
{
    return plot_residuals(canvas, box, true, err);
}
