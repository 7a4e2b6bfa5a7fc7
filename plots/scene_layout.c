/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of a panel, and places of its roofs' labels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/scene.h"

enum {
    TEXT_PX = 12,  /* height of a text */
    ABOVE_PX = 11, /* from a line to the middle of the label above it */
    BELOW_PX = 12,
    JOIN_PX = 5,           /* lines closer than this share one label */
    NEAR_PX = 22,          /* these do where a label has no room between them, */
    CROWDED = 90,          /* which it has at less than this cost */
    OF_SEVERAL = 0x404040, /* colour of the label of lines of different ones */
    STEP_PX = 8,           /* from one candidate to the next */
    ENTRY_PX = 8,          /* from the axis to a slope's label */
    MARK_PX = 8,           /* of a point */
};

/* Decades: from a slope's ridge to the axis, so that its label has room. */
static const double beside = 0.45;

/* An axis may be this much longer than its contents need, so that decades are as long on both. */
static const double slack = 2.4;

double carm_scene_x(const struct carm_scene *scene, double intensity)
{
    return (log10(intensity) - scene->x.lo) * scene->x_px;
}

double carm_scene_y(const struct carm_scene *scene, double performance)
{
    return (log10(performance) - scene->y.lo) * scene->y_px;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void widen(struct carm_plot_axis *axis, double v)
{
    axis->lo = fmin(axis->lo, log10(v));
    axis->hi = fmax(axis->hi, log10(v));
}

static void need(const struct carm_scene *s, struct carm_plot_axis *x, struct carm_plot_axis *y)
{
    *x = *y = (struct carm_plot_axis){INFINITY, -INFINITY};
    for (size_t i = 0; i < s->slopes.n; i++) {
        widen(x, s->slopes.lines[i].limit / s->slopes.lines[i].value);
    }
    for (size_t i = 0; i < s->flats.n; i++) {
        widen(x, s->flats.lines[i].value / s->flats.lines[i].limit);
        widen(y, s->flats.lines[i].value);
    }
    x->lo -= beside;
    x->hi += beside;
    /* the lowest ceiling has something of each slope below it */
    y->lo -= 2 * beside;
    for (size_t i = 0; i < s->npoints; i++) {
        const struct carm_scene_point *p = &s->points[i];
        widen(y, p->y);
        x->lo = fmin(x->lo, log10(p->x) - 0.1);
        x->hi = fmax(x->hi, log10(p->x) + 0.1);
    }
}

void carm_scene_find_ranges(struct carm_scene *scene, struct carm_plot_box box)
{
    const double above = 34, below = 16;
    struct carm_plot_axis x, y;
    scene->box = box;
    need(scene, &x, &y);
    const double wide = x.hi - x.lo, high = y.hi - y.lo;
    const double tall = fmax(box.height - above - below, 0.3 * box.height);
    /* One to one: the scarcer axis says how long a decade is; the other one gets more of them. */
    const double both = fmin(box.width / wide, tall / high);
    scene->x_px = fmax(both, box.width / (slack * wide));
    scene->y_px = fmax(both, tall / (slack * high));
    scene->x.lo = x.lo - 0.5 * (box.width / scene->x_px - wide);
    scene->x.hi = scene->x.lo + box.width / scene->x_px;
    scene->y.hi = y.hi + above / scene->y_px;
    scene->y.lo = scene->y.hi - box.height / scene->y_px;
    scene->cosine = scene->x_px / hypot(scene->x_px, scene->y_px);
    scene->sine = scene->y_px / hypot(scene->x_px, scene->y_px);
}

/* ---- labels of roofs ------------------------------------------------------------------------- */

/* "L1 625 GB/s"; "add, mul 55.8 Gflop/s" where lines lie together, "fma 57.1, mad 55.8" where their
 * values differ. Values are in prefix and unit; thousands of them take the next prefix. */
static void label_text(const struct carm_scene_line *lines, size_t n, char prefix, const char *unit,
                       struct carm_scene_label *label)
{
    static const char prefixes[] = "MGTP";
    size_t used = 0;
    const double scale = lines[0].value >= 999.5 ? 1000 : 1;
    const char *at = strchr(prefixes, prefix);
    prefix = scale > 1 && at ? at[1] : prefix;
    for (size_t i = 0; i < n; i++) {
        char value[24] = "", next[24] = "";
        (void)snprintf(value, sizeof value, "%.3g", lines[i].value / scale);
        if (i + 1 < n) {
            (void)snprintf(next, sizeof next, "%.3g", lines[i + 1].value / scale);
        }
        const bool same = strcmp(value, next) == 0;
        const int k = snprintf(label->text + used, sizeof label->text - used, "%s%s%s%s",
                               used ? ", " : "", lines[i].name, same ? "" : " ", same ? "" : value);
        if (k < 0 || used + (size_t)k >= sizeof label->text - 16) {
            break;
        }
        used += (size_t)k;
    }
    (void)snprintf(label->text + used, sizeof label->text - used, " %c%s", prefix, unit);
}

/* How much worse a place gets: by what it covers, its distance from the usual one, its side. */
static double place_cost(const struct carm_plot_grid *grid, const struct carm_grid_box *box,
                         double along, int side)
{
    return carm_plot_grid_cost(grid, box) + 0.05 * along + (side < 0 ? 4.0 : 0.0);
}

/* The best place takes the label, unless it would lie on another. */
static void settle(struct carm_plot_grid *grid, const struct carm_grid_box *best, double cost,
                   struct carm_scene_label *label)
{
    if (cost >= CARM_GRID_LABEL) {
        label->x = -1.0;
        return;
    }
    label->x = best->x;
    label->y = best->y;
    label->px = best->length;
    struct carm_grid_box taken = *best;
    taken.x -= 2 * taken.cosine;
    taken.y -= 2 * taken.sine;
    taken.length += 4;
    carm_plot_grid_box(grid, &taken, CARM_GRID_LABEL);
}

/* How many candidates a length holds beside its first. */
static int steps_of(double px)
{
    return px > 0.0 ? (int)fmin(px / STEP_PX, 10000.0) : 0;
}

/* Along a slope from where it enters the panel, above it or below the lowest that it names. */
static double place_slope(const struct carm_scene *s, const struct carm_scene_line *line,
                          const struct carm_scene_line *lowest, const struct carm_plot_grid *grid,
                          struct carm_scene_label *label, struct carm_grid_box *best)
{
    const double under = BELOW_PX + log10(line->value / lowest->value) * s->y_px * s->cosine;
    struct carm_grid_box box = {.length = carm_plot_text_px(label->text),
                                .height = TEXT_PX,
                                .cosine = s->cosine,
                                .sine = s->sine};
    double least = INFINITY;
    *best = box;
    const double x0 = fmax(0.0, carm_scene_x(s, pow(10, s->y.lo) / line->value));
    const double y0 = carm_scene_y(s, pow(10, s->x.lo + x0 / s->x_px) * line->value);
    const double x1 = carm_scene_x(s, line->limit / line->value);
    const double whole = (x1 - x0) / s->cosine;
    const int steps = steps_of(whole - box.length - ENTRY_PX);
    for (int i = 0; i <= steps; i++) {
        const double along = ENTRY_PX + STEP_PX * (double)i;
        for (int side = 1; side >= -1; side -= 2) {
            const double off = side > 0 ? ABOVE_PX : -under;
            /* what stands off to the left begins that much further along the axis */
            const double from = along + (side > 0 ? off * s->sine / s->cosine : 0.0);
            box.x = x0 + from * s->cosine - off * s->sine;
            box.y = y0 + from * s->sine + off * s->cosine;
            const double cost = place_cost(grid, &box, along, side);
            if (cost < least) {
                least = cost;
                *best = box;
            }
        }
    }
    return least;
}

/* From the right end of a horizontal to the left. */
static double place_flat(const struct carm_scene *s, const struct carm_scene_line *line,
                         const struct carm_scene_line *lowest, const struct carm_plot_grid *grid,
                         struct carm_scene_label *label, struct carm_grid_box *best)
{
    const double under = BELOW_PX + log10(line->value / lowest->value) * s->y_px;
    struct carm_grid_box box = {
        .length = carm_plot_text_px(label->text), .height = TEXT_PX, .cosine = 1.0};
    double least = INFINITY;
    *best = box;
    const double x0 = carm_scene_x(s, line->value / line->limit);
    const double x1 = s->box.width - 6, y = carm_scene_y(s, line->value);
    const int steps = steps_of(x1 - box.length - x0);
    for (int i = 0; i <= steps; i++) {
        const double along = STEP_PX * (double)i;
        for (int side = 1; side >= -1; side -= 2) {
            box.x = x1 - along - box.length;
            box.y = y + (side > 0 ? ABOVE_PX : -under);
            const double cost = place_cost(grid, &box, along, side);
            if (cost < least) {
                least = cost;
                *best = box;
            }
        }
    }
    label->align = CARM_SCENE_RIGHT;
    return least;
}

/* returns what the best place costs */
typedef double place_fn(const struct carm_scene *s, const struct carm_scene_line *line,
                        const struct carm_scene_line *lowest, const struct carm_plot_grid *grid,
                        struct carm_scene_label *label, struct carm_grid_box *best);

/* Whether a line shares the label of the ones before it, from px apart on not. */
static bool joins(const struct carm_scene *s, const struct carm_scene_line *l, size_t first,
                  size_t i, double decade_px, double px)
{
    return (s->input->nmodels == 1 || l[i].rgb == l[first].rgb) &&
           log10(l[i - 1].value / l[i].value) * decade_px < px;
}

/* A label of the lines [first, end) and the best place for it. */
struct proposal {
    struct carm_scene_label label;
    struct carm_grid_box box;
    size_t end;
    double cost;
};

/* Lines that lie together have one label, and those between which no other has room unless it finds a
 * worse place.
 * decade_px  pixels between values of one decade */
static void place_side(const struct carm_scene *s, struct carm_scene_side *side, double decade_px,
                       const char *unit, place_fn *place, struct carm_plot_grid *grid)
{
    const struct carm_scene_line *l = side->lines;
    side->nlabels = 0;
    for (size_t i = 0; i < side->n;) {
        struct proposal best = {.cost = INFINITY}, p = {.end = i + 1};
        double px = JOIN_PX;
        do {
            while (p.end < side->n && joins(s, l, i, p.end, decade_px, px)) {
                p.end++;
                px = JOIN_PX;
            }
            label_text(l + i, p.end - i, *s->prefix, unit, &p.label);
            p.cost = place(s, &l[i], &l[p.end - 1], grid, &p.label, &p.box);
            best = p.cost < best.cost || best.end == 0 ? p : best;
            px = NEAR_PX;
        } while (p.cost >= CROWDED && p.end < side->n && joins(s, l, i, p.end, decade_px, px));
        best.label.rgb = l[i].rgb == l[best.end - 1].rgb || l[i].rgb == 0 ? l[i].rgb : OF_SEVERAL;
        settle(grid, &best.box, best.cost, &best.label);
        side->labels[side->nlabels++] = best.label;
        i = best.end;
    }
}

/* What is uncertain of a point. */
static void draw_bars(const struct carm_scene *s, const struct carm_scene_point *p,
                      struct carm_plot_grid *grid)
{
    const double x = carm_scene_x(s, p->x), y = carm_scene_y(s, p->y);
    carm_plot_grid_line(grid, carm_scene_x(s, p->x_low), y, carm_scene_x(s, p->x_high), y,
                        4 * CARM_GRID_LINE);
    carm_plot_grid_line(grid, x, carm_scene_y(s, p->y_low), x, carm_scene_y(s, p->y_high),
                        4 * CARM_GRID_LINE);
}

/* What labels keep off: lines a little, points more. */
static void draw_obstacles(const struct carm_scene *s, struct carm_plot_grid *grid)
{
    for (size_t i = 0; i < s->slopes.n; i++) {
        const struct carm_scene_line *l = &s->slopes.lines[i];
        const double x0 = pow(10, s->x.lo), ridge = l->limit / l->value;
        carm_plot_grid_line(grid, 0, carm_scene_y(s, x0 * l->value), carm_scene_x(s, ridge),
                            carm_scene_y(s, l->limit), CARM_GRID_LINE);
    }
    for (size_t i = 0; i < s->flats.n; i++) {
        const struct carm_scene_line *l = &s->flats.lines[i];
        const double y = carm_scene_y(s, l->value);
        carm_plot_grid_line(grid, carm_scene_x(s, l->value / l->limit), y, s->box.width, y,
                            CARM_GRID_LINE);
    }
    for (size_t i = 0; i < s->npoints; i++) {
        const double x = carm_scene_x(s, s->points[i].x), y = carm_scene_y(s, s->points[i].y);
        const struct carm_grid_box mark = {x - MARK_PX / 2.0, y, MARK_PX, MARK_PX, 1.0, 0.0};
        carm_plot_grid_box(grid, &mark, CARM_GRID_MARK);
        draw_bars(s, &s->points[i], grid);
    }
    for (size_t i = 0; i + 1 < s->narrows; i++) {
        const struct carm_scene_point *a = &s->points[s->arrows[i]];
        const struct carm_scene_point *b = &s->points[s->arrows[i + 1]];
        carm_plot_grid_line(grid, carm_scene_x(s, a->x), carm_scene_y(s, a->y),
                            carm_scene_x(s, b->x), carm_scene_y(s, b->y), 2 * CARM_GRID_LINE);
    }
}

int carm_scene_layout(struct carm_scene *scene, struct carm_plot_box box,
                      enum carm_scene_naming naming, struct carm_err *err)
{
    struct carm_plot_grid grid;
    carm_scene_find_ranges(scene, box);
    if (carm_plot_grid_open(&grid, box.width, box.height)) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    draw_obstacles(scene, &grid);
    place_side(scene, &scene->flats, scene->y_px, "flop/s", place_flat, &grid);
    place_side(scene, &scene->slopes, scene->y_px * scene->cosine, "B/s", place_slope, &grid);
    carm_scene_name_points(scene, &grid, naming);
    carm_plot_grid_close(&grid);
    return 0;
}
