/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/roofline.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
#include "base/text.h"
#include "models/latency.h"
#include "models/place/levels.h"
#include "models/roofline.h"

enum { DASHES = 5, NAME_LETTERS = 14 };

const struct carm_roofs *carm_scene_roofs(const struct carm_plot_input *input, size_t model,
                                          const struct carm_select *select, size_t *others)
{
    const struct carm_model *m = input->models[model];
    char note[CARM_TEXT_MAX];
    size_t best = 0, total = 0, most = 0;
    size_t *votes = calloc(m->nroofs + 1, sizeof *votes);
    *others = 0;
    for (size_t i = 0; i < input->npoints && votes; i++) {
        const struct carm_plot_point *p = &input->points[i];
        const struct carm_roofs *r =
            p->model == model ? carm_place_roofs_of(m, "", p->precision, p->threads, note) : NULL;
        if (r) {
            const size_t k = (size_t)(r - m->roofs);
            total++;
            if (++votes[k] > most) {
                most = votes[k];
                best = k;
            }
        }
    }
    free(votes);
    if (select->nisa > 0 || select->nthreads > 0 || *select->precision || most == 0) {
        return carm_select_best(select, m);
    }
    *others = total - most;
    return &m->roofs[best];
}

/* The precision of the roofs that a scene shows; the unit of its axes depends on it. "" = no roofs */
static const char *precision_of_scene(const struct carm_scene *scene)
{
    for (size_t i = 0; i < scene->input->nmodels; i++) {
        if (scene->roofs[i]) {
            return scene->roofs[i]->precision;
        }
    }
    return "";
}

/* ---- lines of the scene ---- */

static void add_line(struct carm_scene_side *side, const struct carm_scene_line *line)
{
    if (side->n < CARM_SCENE_LINES_MAX && line->value > 0.0) {
        side->lines[side->n++] = *line;
    }
}

/* Sets a line's name. If there are several models, also the model's colour and dashes, and its name
 * in front. */
static void dress(const struct carm_scene *s, size_t model, struct carm_scene_line *line,
                  const char *name, const char *tail)
{
    char machine[64] = "";
    const bool several = s->input->nmodels > 1;
    if (several) {
        carm_plot_input_name(s->input, model, machine, sizeof machine);
        line->rgb = carm_plot_rgb(model);
        line->dash = line->print_dash = 1 + (int)(model % DASHES);
    }
    snprintf(line->name, sizeof line->name, "%.*s%s%s%.24s%s", NAME_LETTERS, machine,
             carm_text_width(machine) > NAME_LETTERS ? "\u2026" : "", several ? " " : "", name,
             tail);
}

/* "L1", or "avx2 L1" if the roof is of a narrower ISA */
static char *name_of(char name[2 * CARM_NAME_MAX], const struct carm_roofs *set,
                     const struct carm_roofs *whose, const char *what)
{
    snprintf(name, (size_t)2 * CARM_NAME_MAX, "%.12s%s%.11s", whose != set ? whose->isa : "",
             whose != set ? " " : "", what);
    return name;
}

static void add_levels(struct carm_scene *s, size_t model, const struct carm_select *select,
                       double peak)
{
    const struct carm_model *m = s->input->models[model];
    const struct carm_roofs *whose = NULL;
    char name[2 * CARM_NAME_MAX];
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_memory_roof *x =
            carm_select_best_memory(select, m, s->roofs[model], m->levels[i].level, &whose);
        if (!x) {
            continue;
        }
        struct carm_scene_line line = {.value = x->bandwidth,
                                       .low = x->ci95.lo,
                                       .high = x->ci95.hi,
                                       .limit = peak,
                                       .rgb = carm_plot_rgb(i),
                                       .width = s->input->nmodels > 1 ? 1.4 : 2.4,
                                       .dash = 1,
                                       .print_dash = 1 + (int)(i % DASHES)};
        dress(s, model, &line, name_of(name, s->roofs[model], whose, x->level),
              !m->levels[i].resolved ? " (unresolved)"
              : x->disturbed         ? " (disturbed)"
                                     : "");
        add_line(&s->slopes, &line);
    }
}

/* Adds the slopes of the hierarchical view. */
static void add_hierarchy(struct carm_scene *s, size_t model, double peak)
{
    for (int at = 0; at < CARM_AT_COUNT; at++) {
        const double rate = carm_levels_bandwidth(s->input->models[model], s->roofs[model], at);
        struct carm_scene_line line = {.value = rate,
                                       .low = rate,
                                       .high = rate,
                                       .limit = peak,
                                       .rgb = carm_plot_rgb((size_t)at),
                                       .width = s->input->nmodels > 1 ? 1.4 : 2.4,
                                       .dash = 1,
                                       .print_dash = 1 + at % DASHES};
        dress(s, model, &line, carm_levels_name(at), "");
        add_line(&s->slopes, &line);
    }
}

/* Adds, for a single model, a slope for each memory domain's own memory, with all its cores. */
static void add_domains(struct carm_scene *s, size_t model, double peak)
{
    const struct carm_model *m = s->input->models[model];
    for (size_t i = 0; i < m->nnuma && s->input->nmodels == 1; i++) {
        const struct carm_numa_pair *p = &m->numa[i];
        struct carm_scene_line line = {.value = p->bandwidth,
                                       .low = p->bandwidth_ci95.lo,
                                       .high = p->bandwidth_ci95.hi,
                                       .limit = peak,
                                       .rgb = carm_plot_rgb(1 + i),
                                       .width = 1.4,
                                       .dash = 2,
                                       .print_dash = 1 + (int)(i % DASHES)};
        char name[40];
        if (p->from == p->to && p->from >= 0) {
            carm_numa_name(name, p);
            dress(s, model, &line, name, p->disturbed ? " (disturbed)" : "");
            add_line(&s->slopes, &line);
        }
    }
}

static void add_dram(struct carm_scene *s, size_t model, double peak)
{
    const double rate = carm_original_bandwidth(s->roofs[model], "DRAM", true, NULL);
    struct carm_scene_line line = {.value = rate,
                                   .low = rate,
                                   .high = rate,
                                   .limit = peak,
                                   .rgb = carm_plot_rgb(0),
                                   .width = 2.4,
                                   .dash = 1,
                                   .print_dash = 1};
    dress(s, model, &line, "DRAM", "");
    add_line(&s->slopes, &line);
    add_domains(s, model, peak);
}

static void add_peak(struct carm_scene *s, size_t model, const struct carm_compute_roof *c,
                     const char *name, bool roof, double fastest)
{
    struct carm_scene_line line = {.value = c->rate,
                                   .low = c->ci95.lo,
                                   .high = c->ci95.hi,
                                   .limit = fastest,
                                   .rgb = roof ? 0x000000 : 0x404040,
                                   .width = roof ? 2.8 : 1.2,
                                   .dash = roof ? 1 : 2,
                                   .print_dash = roof ? 1 : 2};
    dress(s, model, &line, name, c->disturbed ? " (disturbed)" : "");
    add_line(&s->flats, &line);
}

/* Adds the peak; for a single model also the other operations and instruction sets, as ceilings. */
static void add_flats(struct carm_scene *s, size_t model, const struct carm_select *select,
                      double fastest)
{
    const struct carm_model *m = s->input->models[model];
    const struct carm_roofs *set = s->roofs[model];
    const struct carm_roofs *whose = NULL;
    const struct carm_compute_roof *peak = carm_select_best_peak(select, m, set, &whose);
    char name[2 * CARM_NAME_MAX];
    add_peak(s, model, peak, name_of(name, set, whose, peak->op), true, fastest);
    for (size_t i = 0; i < set->ncompute && s->input->nmodels == 1; i++) {
        if (&set->compute[i] != peak) {
            add_peak(s, model, &set->compute[i], set->compute[i].op, false, fastest);
        }
    }
    for (size_t i = 0; i < m->nroofs && s->input->nmodels == 1; i++) {
        const struct carm_roofs *o = &m->roofs[i];
        const struct carm_compute_roof *other = carm_roofs_find_peak(o);
        if (o != set && other && other != peak && o->threads == set->threads &&
            strcmp(o->precision, set->precision) == 0 &&
            carm_select_has(select, o->isa, o->threads)) {
            add_peak(s, model, other, name_of(name, set, o, other->op), false, fastest);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const struct carm_scene_line *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

static void add_model(struct carm_scene *s, size_t model, const struct carm_select *select)
{
    const struct carm_roofs *whose = NULL;
    const struct carm_compute_roof *peak =
        carm_select_best_peak(select, s->input->models[model], s->roofs[model], &whose);
    const size_t first = s->slopes.n;
    if (!peak || !(peak->rate > 0.0)) {
        return;
    }
    if (s->view == CARM_SCENE_ORIGINAL) {
        add_dram(s, model, peak->rate);
    } else if (s->view == CARM_SCENE_LEVELS) {
        add_hierarchy(s, model, peak->rate);
    } else {
        add_levels(s, model, select, peak->rate);
    }
    size_t fastest = first;
    for (size_t i = first; i < s->slopes.n; i++) {
        fastest = s->slopes.lines[i].value > s->slopes.lines[fastest].value ? i : fastest;
    }
    if (s->slopes.n > first) {
        s->slopes.lines[fastest].width = 2.4; /* the roof itself */
        add_flats(s, model, select, s->slopes.lines[fastest].value);
    }
}

void carm_scene_sort(struct carm_scene_side *side)
{
    qsort(side->lines, side->n, sizeof *side->lines, by_value);
}

static void scale_side(struct carm_scene_side *side, double scale)
{
    for (size_t i = 0; i < side->n; i++) {
        struct carm_scene_line *l = &side->lines[i];
        l->value /= scale;
        l->low = l->low > 0.0 ? fmin(l->low / scale, l->value) : l->value;
        l->high = fmax(l->high / scale, l->value);
        l->limit /= scale;
    }
}

/* ---- points ---- */

/* Adds a point. The first file's points are black, as only the peak is. With several models they
 * have the model's colour. Files differ by their marks. */
static void add_point(struct carm_scene *s, const struct carm_plot_point *p, double bytes)
{
    const bool exact_bytes = s->view != CARM_SCENE_AWARE;
    if (!(bytes > 0.0) || !(p->flops > 0.0) || !(p->seconds > 0.0)) {
        s->left_out++;
        return;
    }
    const double flops_low = p->flops_low > 0.0 ? p->flops_low : p->flops;
    const double flops_high = fmax(p->flops_high, p->flops);
    const bool exact = exact_bytes || !(p->bytes_low > 0.0) || !(p->bytes_high > 0.0);
    const double unit = p->seconds * s->scale;
    static const unsigned colours[] = {0x000000, 0xe69f00, 0x56b4e9};
    static const unsigned variants[] = {0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7};
    s->points[s->npoints++] =
        (struct carm_scene_point){.x = p->flops / bytes,
                                  .y = p->flops / unit,
                                  .x_low = flops_low / (exact ? bytes : p->bytes_high),
                                  .x_high = flops_high / (exact ? bytes : p->bytes_low),
                                  .y_low = flops_low / unit,
                                  .y_high = flops_high / unit,
                                  .from = p,
                                  .step = p->step,
                                  .rgb = s->input->nmodels > 1     ? carm_plot_rgb(p->model)
                                         : s->path && p->step <= 0 ? variants[p->file % 4]
                                                                   : colours[p->file % 3],
                                  .mark = (int)p->file,
                                  .small = s->path && p->step <= 0,
                                  .binds = "",
                                  .label = {.x = -1.0}};
}

/* Adds a mark for each level of a point, in the colour of its slope. The binding level's mark is the main one; if the
 * peak binds, the first level's. */
static void add_levels_of(struct carm_scene *s, const struct carm_plot_point *p)
{
    const struct carm_roofs *roofs = s->roofs[p->model];
    const struct carm_levels_input in = {
        .flops = p->flops,
        .seconds = p->seconds,
        .bytes = {p->bytes, p->level_bytes[0], p->level_bytes[1], p->dram_bytes},
        .unused = {-1.0, -1.0, -1.0, -1.0}};
    struct carm_levels levels;
    if (!(p->level_bytes[0] > 0.0 || p->level_bytes[1] > 0.0) || !roofs || !(p->flops > 0.0) ||
        !carm_levels_place(s->input->models[p->model], roofs, &in, &levels)) {
        s->left_out++;
        return;
    }
    const size_t binds = levels.binds < 0 ? 0 : (size_t)levels.binds;
    for (size_t i = 0; i < levels.n; i++) {
        struct carm_scene_point *to = &s->points[s->npoints];
        add_point(s, p, p->flops / levels.at[i].intensity);
        to->rest = to->small = i != binds;
        to->binds = levels.binds < 0 ? "peak" : levels.at[binds].name;
        if (s->input->nmodels == 1) {
            to->rgb = carm_plot_rgb((size_t)levels.at[i].level);
        }
    }
}

size_t carm_scene_named(const struct carm_scene *scene)
{
    size_t n = 0;
    for (size_t i = 0; i < scene->npoints; i++) {
        n += !scene->points[i].rest;
    }
    return n;
}

static void add_arrow(struct carm_scene *s, const struct carm_scene_point *from,
                      const struct carm_scene_point *to)
{
    if (s->narrows < CARM_SCENE_ARROWS_MAX) {
        s->arrows[s->narrows++] =
            (struct carm_scene_arrow){(size_t)(from - s->points), (size_t)(to - s->points)};
    }
}

/* Finds the path: the fastest point of each step, in order (also one of the libraries). */
static void find_path(struct carm_scene *s)
{
    const struct carm_scene_point *last = NULL;
    for (int step = 1; step <= 6 && s->path; step++) {
        const struct carm_scene_point *best = NULL;
        for (size_t i = 0; i < s->npoints; i++) {
            const struct carm_scene_point *p = &s->points[i];
            if (p->step == step && (!best || p->y > best->y)) {
                best = p;
            }
        }
        if (best && last) {
            add_arrow(s, last, best);
        }
        last = best ? best : last;
    }
}

/* Adds arrows from each point of a file to the point of the same name in the next file: from before
 * to after. */
static void find_changes(struct carm_scene *s)
{
    for (size_t i = 0; i < s->npoints && s->input->arrows; i++) {
        const struct carm_scene_point *to = NULL;
        for (size_t k = 0; k < s->npoints && !to; k++) {
            const struct carm_scene_point *p = &s->points[k];
            assert(p->from && s->points[i].from);
            to = p->from->file == s->points[i].from->file + 1 && !p->rest && !s->points[i].rest &&
                         strcmp(p->from->name, s->points[i].from->name) == 0
                     ? p
                     : NULL;
        }
        if (to) {
            add_arrow(s, &s->points[i], to);
        }
    }
}

int carm_scene_open(struct carm_scene *scene, const struct carm_plot_input *input,
                    const struct carm_select *select, enum carm_scene_view view, bool path,
                    struct carm_err *err)
{
    memset(scene, 0, sizeof *scene);
    scene->input = input;
    scene->view = view;
    scene->path = path;
    for (size_t i = 0; i < input->nmodels; i++) {
        size_t others = 0;
        scene->roofs[i] = carm_scene_roofs(input, i, select, &others);
        if (scene->roofs[i]) {
            add_model(scene, i, select);
        }
    }
    snprintf(scene->rate, sizeof scene->rate, "%s", carm_precision_rate(precision_of_scene(scene)));
    snprintf(scene->operation, sizeof scene->operation, "%s",
             carm_precision_operation(precision_of_scene(scene)));
    const char *by = view == CARM_SCENE_ORIGINAL && input->traffic_by ? input->traffic_by : "";
    snprintf(scene->bytes, sizeof scene->bytes, "%s%s%s%s",
             view == CARM_SCENE_ORIGINAL ? " of DRAM traffic"
             : view == CARM_SCENE_LEVELS ? " of each level's bytes"
                                         : "",
             *by ? " (" : "", by, *by ? ")" : "");
    if (scene->slopes.n == 0 || scene->flats.n == 0) {
        const bool peak = scene->roofs[0] && carm_roofs_find_peak(scene->roofs[0]);
        return carm_fail(err, CARM_EINVAL,
                         "the model has no %s for a roofline; `carm build` measures them",
                         !peak                         ? "compute roofs"
                         : view == CARM_SCENE_ORIGINAL ? "peak bandwidth of DRAM"
                                                       : "memory roofs with its own mix");
    }
    carm_scene_sort(&scene->slopes);
    carm_scene_sort(&scene->flats);
    scene->scale = carm_plot_prefix(scene->flats.lines[0].value, &scene->prefix);
    scale_side(&scene->slopes, scene->scale);
    scale_side(&scene->flats, scene->scale);
    const size_t each = view == CARM_SCENE_LEVELS ? CARM_AT_COUNT : 1;
    scene->points = calloc(each * input->npoints + 1, sizeof *scene->points);
    if (!scene->points) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < input->npoints; i++) {
        const struct carm_plot_point *p = &input->points[i];
        if (view == CARM_SCENE_LEVELS) {
            add_levels_of(scene, p);
        } else {
            add_point(scene, p, view == CARM_SCENE_ORIGINAL ? p->dram_bytes : p->bytes);
        }
    }
    find_path(scene);
    find_changes(scene);
    return 0;
}

void carm_scene_close(struct carm_scene *scene)
{
    free(scene->points);
    scene->points = NULL;
}

/* A roofline panel as gnuplot text: data blocks and plots/scripts/roofline.gp. */

/* ---- the script ---- */

double carm_scene_x(const struct carm_scene *scene, double intensity)
{
    return (log10(intensity) - scene->x.lo) * scene->x_px;
}

double carm_scene_roof(const struct carm_scene *scene, double intensity)
{
    return fmin(scene->slopes.lines[0].limit, scene->flats.lines[0].limit * intensity);
}

double carm_scene_y(const struct carm_scene *scene, double performance)
{
    return (log10(performance) - scene->y.lo) * scene->y_px;
}

/* ---- ranges ---- */

enum {
    BAND_PX = 2,    /* narrower intervals are invisible */
    BAR_PX = 5,     /* a point's mark covers shorter bars */
    ARROW_GAP = 6,  /* between an arrow's end and its point */
    LEADER_GAP = 4, /* between a leader and its label */
    MANY_POINTS = 100,
};

static void put_spot(FILE *out, const struct carm_scene *s, double x, double y, const char *end)
{
    fprintf(out, "%.9g %.9g%s", pow(10, s->x.lo + x / s->x_px), pow(10, s->y.lo + y / s->y_px),
            end);
}

/* ---- roofs ---- */

static void put_line(FILE *out, const struct carm_scene *s, const struct carm_scene_line *l,
                     bool slope)
{
    const double x0 = pow(10, s->x.lo), x1 = pow(10, s->x.hi);
    if (slope) {
        fprintf(out, "# %.9g %sB/s\n%.9g %.9g %u\n%.9g %.9g %u\n\n\n", l->value, s->prefix, x0,
                x0 * l->value, l->rgb, l->limit / l->value, l->limit, l->rgb);
    } else {
        fprintf(out, "# %.9g %s%s\n%.9g %.9g %u\n%.9g %.9g %u\n\n\n", l->value, s->prefix, s->rate,
                l->value / l->limit, l->value, l->rgb, x1, l->value, l->rgb);
    }
}

static void put_corner(FILE *out, const struct carm_scene *s, double x, double y, unsigned rgb)
{
    const double low = pow(10, s->y.lo), high = pow(10, s->y.hi);
    fprintf(out, "%.9g %.9g %u\n", x, fmin(fmax(y, low), high), rgb);
}

/* The intensity at which a slope enters the panel: at its left or lower edge. */
static double entry(const struct carm_scene *s, double rate)
{
    return fmax(pow(10, s->x.lo), pow(10, s->y.lo) / rate);
}

/* Writes the area between two slopes up to a performance, clipped to the panel (gnuplot distorts areas that leave
 * it). */
static void put_wedge(FILE *out, const struct carm_scene *s, double low, double high, double limit,
                      unsigned rgb)
{
    const double x0 = pow(10, s->x.lo), x1 = pow(10, s->x.hi);
    const double enters = entry(s, low), before = entry(s, high);
    put_corner(out, s, enters, enters * low, rgb);
    if (enters > x0) {
        put_corner(out, s, before > x0 ? before : x0, pow(10, s->y.lo), rgb);
    }
    put_corner(out, s, before, before * high, rgb);
    put_corner(out, s, limit / high, limit, rgb);
    put_corner(out, s, fmin(limit / low, x1), limit, rgb);
}

/* Writes the interval of a line as a closed shape, if it is wide enough to be seen. */
static bool put_band(FILE *out, const struct carm_scene *s, const struct carm_scene_line *l,
                     bool slope)
{
    const double x = l->value / l->limit, x1 = pow(10, s->x.hi);
    if (log10(l->high / l->low) * s->y_px * (slope ? s->cosine : 1.0) < BAND_PX) {
        return false;
    }
    if (slope) {
        put_wedge(out, s, l->low, l->high, l->limit, l->rgb);
    } else {
        put_corner(out, s, x, l->low, l->rgb);
        put_corner(out, s, x, l->high, l->rgb);
        put_corner(out, s, x1, l->high, l->rgb);
        put_corner(out, s, x1, l->low, l->rgb);
    }
    fputs("\n\n", out);
    return true;
}

static void put_words(FILE *out, const char *name, const struct carm_scene *s, int what)
{
    fprintf(out, "%s = \"", name);
    for (size_t i = 0; i < s->flats.n + s->slopes.n; i++) {
        const struct carm_scene_line *l =
            i < s->flats.n ? &s->flats.lines[s->flats.n - 1 - i]
                           : &s->slopes.lines[s->slopes.n - 1 - (i - s->flats.n)];
        fprintf(out, "%s%g", i ? " " : "",
                what == 0   ? l->width
                : what == 1 ? (double)l->dash
                            : (double)l->print_dash);
    }
    fputs("\"\n", out);
}

/* Writes lines, the slowest first, so that the roof is drawn over its ceilings. */
static void put_lines(FILE *out, const struct carm_scene *s)
{
    size_t bands = 0;
    fputs("$lines << CARM_END\n", out);
    for (size_t i = s->flats.n; i-- > 0;) {
        put_line(out, s, &s->flats.lines[i], false);
    }
    for (size_t i = s->slopes.n; i-- > 0;) {
        put_line(out, s, &s->slopes.lines[i], true);
    }
    fprintf(out, "CARM_END\nlines = %zu\n", s->flats.n + s->slopes.n);
    put_words(out, "line_widths", s, 0);
    put_words(out, "line_dashes", s, 1);
    put_words(out, "print_dashes", s, 2);
    fputs("$bands << CARM_END\n", out);
    for (size_t i = 0; i < s->flats.n; i++) {
        bands += put_band(out, s, &s->flats.lines[i], false);
    }
    for (size_t i = 0; i < s->slopes.n; i++) {
        bands += put_band(out, s, &s->slopes.lines[i], true);
    }
    fprintf(out, "CARM_END\nbands = %zu\n", bands);
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
    fprintf(out, " %u\n", l->rgb);
    return 1;
}

static void put_side_labels(FILE *out, const struct carm_scene *s, const char *name,
                            const struct carm_scene_side *side)
{
    size_t n = 0;
    fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = 0; i < side->nlabels; i++) {
        n += put_label(out, s, &side->labels[i]);
    }
    fprintf(out, "CARM_END\n%s = %zu\n", name, n);
}

/* ---- points ---- */

static bool is_long(double low, double high, double px)
{
    return log10(high / low) * px >= BAR_PX;
}

static void put_bars(FILE *out, const struct carm_scene *s)
{
    size_t n = 0;
    fputs("$bars << CARM_END\n", out);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct carm_scene_point *p = &s->points[i];
        if (is_long(p->x_low, p->x_high, s->x_px)) {
            fprintf(out, "%.9g %.9g %u\n%.9g %.9g %u\n\n", p->x_low, p->y, p->rgb, p->x_high, p->y,
                    p->rgb);
            n++;
        }
        if (is_long(p->y_low, p->y_high, s->y_px)) {
            fprintf(out, "%.9g %.9g %u\n%.9g %.9g %u\n\n", p->x, p->y_low, p->rgb, p->x, p->y_high,
                    p->rgb);
            n++;
        }
    }
    fprintf(out, "CARM_END\nbars = %zu\n", n);
}

bool carm_scene_joins(const struct carm_scene *scene, size_t i)
{
    const struct carm_plot_point *a = scene->points[i - 1].from, *b = scene->points[i].from;
    return a == b || (scene->input->lines && a->file == b->file);
}

static void put_joins(FILE *out, const struct carm_scene *s)
{
    size_t n = 0;
    fputs("$joins << CARM_END\n", out);
    for (size_t i = 1; i < s->npoints; i++) {
        const struct carm_scene_point *a = &s->points[i - 1], *b = &s->points[i];
        if (carm_scene_joins(s, i)) {
            fprintf(out, "%.9g %.9g\n%.9g %.9g\n\n", a->x, a->y, b->x, b->y);
            n++;
        }
    }
    fprintf(out, "CARM_END\njoins = %zu\n", n);
}

/* Writes points, a block for each file and size of mark. */
static void put_points(FILE *out, const struct carm_scene *s)
{
    char marks[8 * 2 * CARM_PLOT_FILES_MAX] = "", sizes[8 * 2 * CARM_PLOT_FILES_MAX] = "";
    size_t groups = 0, used = 0, sized = 0;
    const double usual = s->npoints > MANY_POINTS && !s->path ? 0.5 : 0.8;
    fputs("$points << CARM_END\n", out);
    for (size_t g = 0; g < 2 * s->input->nfiles; g++) {
        bool any = false;
        for (size_t i = 0; i < s->npoints; i++) {
            const struct carm_scene_point *p = &s->points[i];
            if (p->from->file == g / 2 && p->small == (g % 2 == 0)) {
                fprintf(out, "%.9g %.9g %u\n", p->x, p->y, p->rgb);
                any = true;
            }
        }
        if (any) {
            fputs("\n\n", out);
            groups++;
            used += (size_t)snprintf(marks + used, sizeof marks - used, "%zu ",
                                     g / 2 + (g % 2 == 0 && s->path ? 4 : 0));
            sized += (size_t)snprintf(sizes + sized, sizeof sizes - sized, "%.2g ",
                                      g % 2 == 0 ? 0.5 : usual);
        }
    }
    fprintf(out, "CARM_END\ngroups = %zu\ngroup_marks = \"%s\"\ngroup_sizes = \"%s\"\n", groups,
            groups ? marks : "0", groups ? sizes : "0");
}

/* Writes leaders, from a point to the nearer end of its label, or to its middle. */
static void put_leaders(FILE *out, const struct carm_scene *s)
{
    size_t n = 0;
    fputs("$leaders << CARM_END\n", out);
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
    fprintf(out, "CARM_END\nleaders = %zu\n", n);
}

static void put_arrows(FILE *out, const struct carm_scene *s)
{
    size_t n = 0;
    fputs("$arrows << CARM_END\n", out);
    for (size_t i = 0; i < s->narrows; i++) {
        const struct carm_scene_point *a = &s->points[s->arrows[i].from];
        const struct carm_scene_point *b = &s->points[s->arrows[i].to];
        const double x = carm_scene_x(s, a->x), y = carm_scene_y(s, a->y);
        const double dx = carm_scene_x(s, b->x) - x, dy = carm_scene_y(s, b->y) - y;
        const double length = hypot(dx, dy);
        if (length > 3 * ARROW_GAP) { /* a shorter arrow would be only a head */
            const double t = ARROW_GAP / length;
            put_spot(out, s, x + t * dx, y + t * dy, " ");
            put_spot(out, s, x + (1 - t) * dx, y + (1 - t) * dy, "\n");
            n++;
        }
    }
    fprintf(out, "CARM_END\narrows = %zu\n", n);
}

/* Writes the labels of one alignment: gnuplot aligns all labels of a plot alike. */
static void put_names(FILE *out, const struct carm_scene *s, const char *name,
                      enum carm_scene_align align)
{
    size_t n = 0;
    fprintf(out, "$%s << CARM_END\n", name);
    for (size_t i = 0; i < s->npoints; i++) {
        n += s->points[i].label.align == align ? put_label(out, s, &s->points[i].label) : 0;
    }
    fprintf(out, "CARM_END\n%s = %zu\n", name, n);
}

/* Writes the axis labels as data, so that gnuplot does not interpret a model's strings. */
static void put_axis_labels(FILE *out, const struct carm_scene *s)
{
    char text[CARM_TEXT_MAX];
    fputs("$axis_labels << CARM_END\n", out);
    snprintf(text, sizeof text, "operational intensity%s, %s/byte", s->bytes, s->operation);
    carm_plot_put_line(out, text, s->box.width + 40);
    snprintf(text, sizeof text, "performance, %s%s", s->prefix, s->rate);
    carm_plot_put_line(out, text, s->box.height + 40);
    fputs("CARM_END\nintensity_label = $axis_labels[1][2:*]\n"
          "performance_label = $axis_labels[2][2:*]\n",
          out);
}

/* Writes the regions as in figure 2c of the Roofline paper: between the lowest ceiling and the roof of each side, and
 * their overlap. */
static void put_regions(FILE *out, const struct carm_scene *s)
{
    const double peak = s->slopes.lines[0].limit, slope = s->flats.lines[0].limit;
    const double m = s->lowest_memory, c = s->lowest_compute;
    const double x1 = pow(10, s->x.hi), ridge = peak / slope;
    static const char corners[] = "%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\n";
    fputs("$memory_region << CARM_END\n", out);
    if (m > 0.0) {
        put_wedge(out, s, m, slope, peak, 0);
    }
    fputs("CARM_END\n$compute_region << CARM_END\n", out);
    if (c > 0.0) {
        fprintf(out, corners, c / slope, c, ridge, peak, x1, peak, x1, c);
    }
    fputs("CARM_END\n$both_region << CARM_END\n", out);
    if (m > 0.0 && c > 0.0) {
        fprintf(out, corners, c / slope, c, ridge, peak, peak / m, peak, c / m, c);
    }
    fprintf(out, "CARM_END\nregions = %d\n", (m > 0.0 ? 1 : 0) | (c > 0.0 ? 2 : 0));
}

/* Writes kernels: vertical lines up to the roof with names at their lower end, and crosses. */
static void put_uprights(FILE *out, const struct carm_scene *s)
{
    size_t crosses = 0;
    fputs("$kernels << CARM_END\n", out);
    for (size_t i = 0; i < s->nuprights; i++) {
        const struct carm_scene_upright *u = &s->uprights[i];
        fprintf(out, "%s%.9g %.9g\n%.9g %.9g\n", i ? "\n\n" : "", u->x, pow(10, s->y.lo), u->x,
                carm_scene_roof(s, u->x));
    }
    fprintf(out, "CARM_END\nkernels = %zu\n$kernel_labels << CARM_END\n", s->nuprights);
    for (size_t i = 0; i < s->nuprights; i++) {
        put_label(out, s, &s->uprights[i].label);
    }
    fputs("CARM_END\n$crosses << CARM_END\n", out);
    for (size_t i = 0; i < s->nuprights; i++) {
        const struct carm_scene_upright *u = &s->uprights[i];
        if (u->y > 0.0) {
            fprintf(out, "%.9g %.9g\n", u->x, u->y);
            crosses++;
        }
    }
    fprintf(out, "CARM_END\ncrosses = %d\n", crosses > 0);
}

void carm_scene_put(const struct carm_plot_canvas *canvas, const struct carm_scene *scene,
                    const char *title)
{
    FILE *out = canvas->out;
    carm_plot_put_box(canvas, scene->box, scene->x, scene->y, title);
    carm_plot_put_intensity_ticks(out, scene->x, scene->box.width);
    carm_plot_put_decimal_ticks(out, 'y', scene->y, scene->box.height);
    put_axis_labels(out, scene);
    fprintf(out, "slope_angle = %.2f\n", atan2(scene->y_px, scene->x_px) * 180 / M_PI);
    put_regions(out, scene);
    put_uprights(out, scene);
    put_lines(out, scene);
    put_side_labels(out, scene, "slope_labels", &scene->slopes);
    put_side_labels(out, scene, "flat_labels", &scene->flats);
    put_bars(out, scene);
    put_joins(out, scene);
    put_points(out, scene);
    put_leaders(out, scene);
    put_arrows(out, scene);
    put_names(out, scene, "left_labels", CARM_SCENE_LEFT);
    put_names(out, scene, "centre_labels", CARM_SCENE_CENTRE);
    put_names(out, scene, "right_labels", CARM_SCENE_RIGHT);
    fputs(carm_asset_plot_roofline, out);
}
