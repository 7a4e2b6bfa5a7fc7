/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- occupied places of a panel, in small cells, so that a label finds a free place
 * ----------------
 * Places are in pixels from the panel's bottom left corner. */

/* The cost of covering a cell with a label. */
enum {
    COST_LINE = 6,
    COST_MARK = 400,
    COST_LABEL = 20000,
    COST_OUTSIDE = 40000,
};

/* The highest cost of a place that counts as free. Chosen by hand. */
enum { COST_FREE = 390 };

struct grid {
    int columns, rows;
    unsigned short *cost;
};

/* A text's rectangle: from the middle of its left end, turned by an angle. */
struct box {
    double x, y, length, height;
    double cosine, sine; /* 1, 0 = level */
};

enum { CELL_PX = 4, MOST = 60000 };

static int grid_open(struct grid *grid, double width, double height)
{
    grid->columns = (int)ceil(fmax(width, 1.0) / CELL_PX);
    grid->rows = (int)ceil(fmax(height, 1.0) / CELL_PX);
    grid->cost = calloc((size_t)grid->columns * (size_t)grid->rows, sizeof *grid->cost);
    return grid->cost ? 0 : -1;
}

static void grid_close(struct grid *grid)
{
    free(grid->cost);
    grid->cost = NULL;
}

/* The cell at a place, or NULL outside. */
static unsigned short *cell(const struct grid *grid, double x, double y)
{
    const double column = floor(x / CELL_PX), row = floor(y / CELL_PX);
    if (!(column >= 0.0 && column < grid->columns && row >= 0.0 && row < grid->rows)) {
        return NULL;
    }
    return &grid->cost[(size_t)row * (size_t)grid->columns + (size_t)column];
}

static void raise_to(unsigned short *at, int cost)
{
    if (at && *at < cost && cost <= MOST) {
        *at = (unsigned short)cost;
    }
}

static void grid_line(struct grid *grid, double x0, double y0, double x1, double y1, int cost)
{
    const double length = hypot(x1 - x0, y1 - y0);
    const int steps = (int)fmin(ceil(length / CELL_PX * 2.0), 100000.0);
    for (int i = 0; i <= steps; i++) {
        const double t = steps ? (double)i / steps : 0.0;
        raise_to(cell(grid, x0 + t * (x1 - x0), y0 + t * (y1 - y0)), cost);
    }
}

static double grid_line_cost(const struct grid *grid, double x0, double y0, double x1, double y1)
{
    const int steps = (int)fmin(ceil(hypot(x1 - x0, y1 - y0) / CELL_PX), 100000.0);
    double sum = 0.0;
    for (int i = 0; i <= steps; i++) {
        const double t = steps ? (double)i / steps : 0.0;
        const unsigned short *at = cell(grid, x0 + t * (x1 - x0), y0 + t * (y1 - y0));
        sum += at ? *at : 0.0; /* outside of the panel only labels cost, not leaders */
    }
    return sum;
}

/* Numbers of steps along and across a box; a step is at most a cell. */
struct walk {
    int along, across;
};

static struct walk walk_of(const struct box *b)
{
    return (struct walk){(int)ceil(fmax(b->length, 1.0) / CELL_PX),
                         (int)ceil(fmax(b->height, 1.0) / CELL_PX)};
}

static unsigned short *cell_of(const struct grid *grid, const struct box *b, struct walk n, int i,
                               int k)
{
    const double u = b->length * i / n.along, v = b->height * ((double)k / n.across - 0.5);
    return cell(grid, b->x + u * b->cosine - v * b->sine, b->y + u * b->sine + v * b->cosine);
}

static void grid_box(struct grid *grid, const struct box *box, int cost)
{
    const struct walk n = walk_of(box);
    for (int i = 0; i <= n.along; i++) {
        for (int k = 0; k <= n.across; k++) {
            raise_to(cell_of(grid, box, n, i, k), cost);
        }
    }
}

static double grid_cost(const struct grid *grid, const struct box *box)
{
    const struct walk n = walk_of(box);
    double sum = 0.0;
    for (int i = 0; i <= n.along; i++) {
        for (int k = 0; k <= n.across; k++) {
            const unsigned short *at = cell_of(grid, box, n, i, k);
            sum += at ? *at : COST_OUTSIDE;
        }
    }
    return sum;
}

/* Names or numbers beside the points of a panel. */

enum {
    TEXT_PX = 12, /* height of a text */
    LETTERS = 28, /* of a name; longer names are cut */
    DIRECTIONS = 16,
    LEADER_PX = 20, /* from this distance on, a line leads from the point to its label */
    OWN_PX = 8,     /* radius of a point's mark */
};

static const double rings[] = {10, 15, 22, 32, 45, 60, 80};

/* Cuts a name, with an ellipsis for omitted letters. */
static void cut(char *dst, size_t size, const char *name)
{
    const char *end = name;
    size_t letters = 0;
    while (*end && letters < LETTERS) {
        end++;
        while (((unsigned char)*end & 0xc0) == 0x80) {
            end++;
        }
        letters++;
    }
    snprintf(dst, size, "%.*s%s", (int)(end - name), name, *end ? "\u2026" : "");
}

static bool is_cut(const char *name)
{
    return carm_text_width(name) > LETTERS;
}

bool carm_scene_is_ambiguous(const struct carm_scene *scene)
{
    for (size_t i = 0; i < scene->npoints; i++) {
        char one[CARM_TEXT_MAX];
        cut(one, sizeof one, scene->points[i].from->name);
        for (size_t k = 0; k < i && !scene->points[i].rest; k++) {
            char other[CARM_TEXT_MAX];
            cut(other, sizeof other, scene->points[k].from->name);
            if (scene->points[k].rest) {
                continue;
            }
            /* equal cut names may differ in their cut parts, even if the stored name has no more
             * letters */
            if (strcmp(one, other) == 0 && is_cut(scene->points[i].from->name)) {
                return true;
            }
        }
    }
    return false;
}

static void name_point(const struct carm_scene *s, struct carm_scene_point *p,
                       enum carm_scene_naming naming)
{
    const size_t number = (size_t)(p->from - s->input->points) + 1;
    p->label.text[0] = '\0';
    p->label.x = -1.0;
    p->label.rgb = p->rgb;
    p->leader = false;
    if (p->small || p->rest || naming == CARM_SCENE_FILES || !*p->from->name) {
        return;
    }
    if (s->path) {
        snprintf(p->label.text, sizeof p->label.text, "%d", p->step);
    } else if (naming == CARM_SCENE_NUMBERS) {
        snprintf(p->label.text, sizeof p->label.text, "%zu", number);
    } else {
        cut(p->label.text, sizeof p->label.text, p->from->name);
    }
    if (*p->binds && naming == CARM_SCENE_NAMES) {
        carm_text_append(p->label.text, sizeof p->label.text, ": %s", p->binds);
    }
    p->label.px = carm_plot_text_px(p->label.text);
}

/* The box of a label in a direction from its point: right, left, or centred above or below. */
static struct box spot(const struct carm_scene *s, const struct carm_scene_point *p, double angle,
                       double ring)
{
    const double x = carm_scene_x(s, p->x) + ring * cos(angle);
    const double y = carm_scene_y(s, p->y) + ring * sin(angle);
    const double left = cos(angle) > 0.3    ? x
                        : cos(angle) < -0.3 ? x - p->label.px
                                            : x - p->label.px / 2;
    const double lift = fabs(cos(angle)) <= 0.3 ? (sin(angle) > 0 ? 2 : -2) : 0;
    return (struct box){left, y + lift, p->label.px, TEXT_PX, 1.0, 0.0};
}

/* The cost of the cells that a leader crosses between the point's mark and the label. */
static double leader_cost(const struct carm_scene *s, const struct grid *grid,
                          const struct carm_scene_point *p, const struct box *at)
{
    const double x = carm_scene_x(s, p->x), y = carm_scene_y(s, p->y);
    const double dx = fmin(fmax(x, at->x), at->x + at->length) - x, dy = at->y - y;
    const double length = hypot(dx, dy);
    const double t = length > 0.0 ? fmin(OWN_PX / length, 1.0) : 1.0;
    return grid_line_cost(grid, x + t * dx, y + t * dy, x + dx, y + dy);
}

/* Finds the cheapest free place on the nearest ring with free places; false = none. */
static bool find_place(const struct carm_scene *s, const struct grid *grid,
                       const struct carm_scene_point *p, struct box *best, double *ring)
{
    double least = INFINITY;
    for (size_t r = 0; r < sizeof rings / sizeof *rings; r++) {
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct box at = spot(s, p, 2 * M_PI * d / DIRECTIONS, rings[r]);
            const double cost = grid_cost(grid, &at) + 0.8 * rings[r] + 0.3 * d +
                                (rings[r] >= LEADER_PX ? leader_cost(s, grid, p, &at) : 0.0);
            if (cost < least) {
                least = cost;
                *best = at;
                *ring = rings[r];
            }
        }
        if (least < 24) {
            break; /* larger rings are no better */
        }
    }
    return least < COST_FREE + 0.8 * rings[sizeof rings / sizeof *rings - 1];
}

static void name_points(struct carm_scene *scene, struct grid *grid, enum carm_scene_naming naming)
{
    scene->unplaced = 0;
    for (size_t i = 0; i < scene->npoints; i++) {
        struct carm_scene_point *p = &scene->points[i];
        struct box at = {0};
        double ring = 0;
        name_point(scene, p, naming);
        if (!p->label.text[0]) {
            continue;
        }
        if (!find_place(scene, grid, p, &at, &ring)) {
            scene->unplaced++;
            continue;
        }
        p->label.x = at.x;
        p->label.y = at.y;
        const double x = carm_scene_x(scene, p->x);
        p->label.align = at.x >= x               ? CARM_SCENE_LEFT
                         : at.x + at.length <= x ? CARM_SCENE_RIGHT
                                                 : CARM_SCENE_CENTRE;
        p->leader = ring >= LEADER_PX;
        struct box taken = at;
        taken.x -= 3;
        taken.length += 6;
        grid_box(grid, &taken, COST_LABEL);
        if (p->leader) {
            grid_line(grid, carm_scene_x(scene, p->x), carm_scene_y(scene, p->y),
                      at.x + at.length / 2, at.y, COST_MARK);
        }
    }
}

/* Ranges of a panel, and places of its roofs' labels. */

enum {
    ABOVE_PX = 11, /* from a line to the middle of its label above */
    BELOW_PX = 12,
    JOIN_PX = 5,           /* lines closer than this share one label */
    NEAR_PX = 22,          /* lines closer than this share one if a label between them has no
                            * room, */
    CROWDED = 90,          /* which means a cost of at least this */
    OF_SEVERAL = 0x404040, /* colour of a label for lines of different colours */
    STEP_PX = 8,           /* distance of candidate places */
    ENTRY_PX = 8,          /* from the axis to a slope's label */
    MARK_PX = 8,           /* radius of a point's mark */
    FOOT_PX = 6,           /* from the axis to the name of a kernel's line */
    KEY_PX = 180,          /* width of the regions' key, lower right (plots/scripts/roofline.gp) */
};

/* Decades between a slope's ridge and the axis, so that the slope's label has room. Chosen by
 * hand. */
static const double beside = 0.45;

/* Largest ratio of an axis to its contents, so that decades are equally long on both axes. Chosen
 * by hand. */
static const double slack = 2.4;

static void need(const struct carm_scene *s, struct carm_plot_axis *x, struct carm_plot_axis *y)
{
    *x = *y = (struct carm_plot_axis){INFINITY, -INFINITY};
    for (size_t i = 0; i < s->slopes.n; i++) {
        carm_plot_axis_widen(x, s->slopes.lines[i].limit / s->slopes.lines[i].value);
    }
    for (size_t i = 0; i < s->flats.n; i++) {
        carm_plot_axis_widen(x, s->flats.lines[i].value / s->flats.lines[i].limit);
        carm_plot_axis_widen(y, s->flats.lines[i].value);
    }
    x->lo -= beside;
    x->hi += beside;
    /* so that each slope is visible below the lowest ceiling */
    y->lo -= 2 * beside;
    for (size_t i = 0; i < s->npoints; i++) {
        const struct carm_scene_point *p = &s->points[i];
        carm_plot_axis_widen(y, p->y);
        x->lo = fmin(x->lo, log10(p->x) - 0.1);
        x->hi = fmax(x->hi, log10(p->x) + 0.1);
    }
    for (size_t i = 0; i < s->nuprights; i++) {
        const struct carm_scene_upright *u = &s->uprights[i];
        carm_plot_axis_widen(y, u->y > 0.0 ? u->y : s->flats.lines[0].value);
        x->lo = fmin(x->lo, log10(u->x) - beside);
        x->hi = fmax(x->hi, log10(u->x) + beside);
    }
}

static void find_ranges(struct carm_scene *scene, struct carm_plot_box box)
{
    const double above = 34, below = 16;
    struct carm_plot_axis x, y;
    scene->box = box;
    need(scene, &x, &y);
    const double wide = x.hi - x.lo, high = y.hi - y.lo;
    const double tall = fmax(box.height - above - below, 0.3 * box.height);
    /* One to one: the axis with less room sets the length of a decade; the other axis shows more
     * decades. */
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

/* ---- labels of roofs ---- */

/* "L1 625 GB/s"; "add, mul 55.8 Gflop/s" for equal lines, "fma 57.1, mad 55.8" for close lines.
 * Values have prefix and unit; from 1000 on the next prefix. */
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
        snprintf(value, sizeof value, "%.3g", lines[i].value / scale);
        if (i + 1 < n) {
            snprintf(next, sizeof next, "%.3g", lines[i + 1].value / scale);
        }
        const bool same = strcmp(value, next) == 0;
        const int k = snprintf(label->text + used, sizeof label->text - used, "%s%s%s%s",
                               used ? ", " : "", lines[i].name, same ? "" : " ", same ? "" : value);
        if (k < 0 || used + (size_t)k >= sizeof label->text - 16) {
            break;
        }
        used += (size_t)k;
    }
    snprintf(label->text + used, sizeof label->text - used, " %c%s", prefix, unit);
}

/* The cost of a place: the cells that it covers, its distance from the first candidate, its
 * side. */
static double place_cost(const struct grid *grid, const struct box *box, double along, int side)
{
    return grid_cost(grid, box) + 0.05 * along + (side < 0 ? 4.0 : 0.0);
}

/* Puts the label at its best place, unless it would cover another label. */
static void settle(struct grid *grid, const struct box *best, double cost,
                   struct carm_scene_label *label)
{
    if (cost >= COST_LABEL) {
        label->x = -1.0;
        return;
    }
    label->x = best->x;
    label->y = best->y;
    label->px = best->length;
    struct box taken = *best;
    taken.x -= 2 * taken.cosine;
    taken.y -= 2 * taken.sine;
    taken.length += 4;
    grid_box(grid, &taken, COST_LABEL);
}

/* The number of candidates in a length, without the first. */
static int steps_of(double px)
{
    return px > 0.0 ? (int)fmin(px / STEP_PX, 10000.0) : 0;
}

/* Tries places along a slope from its entry into the panel, above the line or below the lowest line
 * that the label names. */
static double place_slope(const struct carm_scene *s, const struct carm_scene_line *line,
                          const struct carm_scene_line *lowest, const struct grid *grid,
                          struct carm_scene_label *label, struct box *best)
{
    const double under = BELOW_PX + log10(line->value / lowest->value) * s->y_px * s->cosine;
    struct box box = {.length = carm_plot_text_px(label->text),
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
            /* a label above starts further along the slope, so that it stays right of the axis */
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

/* Tries places from the right end of a horizontal to the left. */
static double place_flat(const struct carm_scene *s, const struct carm_scene_line *line,
                         const struct carm_scene_line *lowest, const struct grid *grid,
                         struct carm_scene_label *label, struct box *best)
{
    const double under = BELOW_PX + log10(line->value / lowest->value) * s->y_px;
    struct box box = {.length = carm_plot_text_px(label->text), .height = TEXT_PX, .cosine = 1.0};
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

/* returns the cost of the best place */
typedef double place_fn(const struct carm_scene *s, const struct carm_scene_line *line,
                        const struct carm_scene_line *lowest, const struct grid *grid,
                        struct carm_scene_label *label, struct box *best);

/* Whether a line is so close (less than px) to the lines before it that they share a label. */
static bool joins(const struct carm_scene *s, const struct carm_scene_line *l, size_t first,
                  size_t i, double decade_px, double px)
{
    return (s->input->nmodels == 1 || l[i].rgb == l[first].rgb) &&
           log10(l[i - 1].value / l[i].value) * decade_px < px;
}

/* A label of the lines [first, end) and the best place for it. */
struct proposal {
    struct carm_scene_label label;
    struct box box;
    size_t end;
    double cost;
};

/* Places the labels of a side. Close lines share a label, and so do lines between which another
 * label would only fit at a worse place.
 * decade_px  pixels between values of one decade */
static void place_side(const struct carm_scene *s, struct carm_scene_side *side, double decade_px,
                       const char *unit, place_fn *place, struct grid *grid)
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

/* Places the kernels' names upwards beside their lines, as low as there is room. */
static void place_uprights(struct carm_scene *s, struct grid *grid)
{
    for (size_t i = 0; i < s->nuprights; i++) {
        struct carm_scene_upright *u = &s->uprights[i];
        struct box box = {
            .length = carm_plot_text_px(u->label.text), .height = TEXT_PX, .sine = 1.0};
        struct box best = box;
        double least = INFINITY;
        const int steps = steps_of(s->box.height - box.length - FOOT_PX);
        for (int up = 0; up <= steps; up++) {
            for (int side = 1; side >= -1; side -= 2) {
                box.x = carm_scene_x(s, u->x) - side * ABOVE_PX;
                box.y = FOOT_PX + (double)STEP_PX * up;
                const double cost = place_cost(grid, &box, 10.0 * STEP_PX * up, side);
                if (cost < least) {
                    least = cost;
                    best = box;
                }
            }
        }
        settle(grid, &best, least, &u->label);
    }
}

/* Draws the bars of a point's uncertainty. */
static void draw_bars(const struct carm_scene *s, const struct carm_scene_point *p,
                      struct grid *grid)
{
    const double x = carm_scene_x(s, p->x), y = carm_scene_y(s, p->y);
    grid_line(grid, carm_scene_x(s, p->x_low), y, carm_scene_x(s, p->x_high), y, 4 * COST_LINE);
    grid_line(grid, x, carm_scene_y(s, p->y_low), x, carm_scene_y(s, p->y_high), 4 * COST_LINE);
}

/* Draws obstacles for labels: lines cost little, points more. */
static void draw_obstacles(const struct carm_scene *s, struct grid *grid)
{
    for (size_t i = 0; i < s->slopes.n; i++) {
        const struct carm_scene_line *l = &s->slopes.lines[i];
        const double x0 = pow(10, s->x.lo), ridge = l->limit / l->value;
        grid_line(grid, 0, carm_scene_y(s, x0 * l->value), carm_scene_x(s, ridge),
                  carm_scene_y(s, l->limit), COST_LINE);
    }
    for (size_t i = 0; i < s->flats.n; i++) {
        const struct carm_scene_line *l = &s->flats.lines[i];
        const double y = carm_scene_y(s, l->value);
        grid_line(grid, carm_scene_x(s, l->value / l->limit), y, s->box.width, y, COST_LINE);
    }
    for (size_t i = 0; i < s->npoints; i++) {
        const double x = carm_scene_x(s, s->points[i].x), y = carm_scene_y(s, s->points[i].y);
        const struct box mark = {x - MARK_PX / 2.0, y, MARK_PX, MARK_PX, 1.0, 0.0};
        grid_box(grid, &mark, COST_MARK);
        draw_bars(s, &s->points[i], grid);
    }
    for (size_t i = 1; i < s->npoints; i++) { /* lines between joined points */
        const struct carm_scene_point *a = &s->points[i - 1], *b = &s->points[i];
        if (carm_scene_joins(s, i)) {
            grid_line(grid, carm_scene_x(s, a->x), carm_scene_y(s, a->y), carm_scene_x(s, b->x),
                      carm_scene_y(s, b->y), COST_LINE);
        }
    }
    for (size_t i = 0; i < s->narrows; i++) {
        const struct carm_scene_point *a = &s->points[s->arrows[i].from];
        const struct carm_scene_point *b = &s->points[s->arrows[i].to];
        grid_line(grid, carm_scene_x(s, a->x), carm_scene_y(s, a->y), carm_scene_x(s, b->x),
                  carm_scene_y(s, b->y), 2 * COST_LINE);
    }
}

/* Draws, for a roofline with ceilings, the kernels' lines and crosses, and the key of the
 * regions. */
static void draw_uprights(const struct carm_scene *s, struct grid *grid)
{
    for (size_t i = 0; i < s->nuprights; i++) {
        const struct carm_scene_upright *u = &s->uprights[i];
        const double x = carm_scene_x(s, u->x);
        grid_line(grid, x, 0, x, carm_scene_y(s, carm_scene_roof(s, u->x)), COST_LINE);
        if (u->y > 0.0) {
            const struct box mark = {
                x - MARK_PX, carm_scene_y(s, u->y), 2 * MARK_PX, 2 * MARK_PX, 1.0, 0.0};
            grid_box(grid, &mark, COST_MARK);
        }
    }
    if (s->lowest_memory > 0.0 || s->lowest_compute > 0.0) {
        const double height = 0.23 * s->box.height;
        const struct box key = {s->box.width - KEY_PX, height / 2, KEY_PX, height, 1.0, 0.0};
        grid_box(grid, &key, COST_MARK);
    }
}

int carm_scene_layout(struct carm_scene *scene, struct carm_plot_box box,
                      enum carm_scene_naming naming, struct carm_err *err)
{
    struct grid grid;
    find_ranges(scene, box);
    if (grid_open(&grid, box.width, box.height)) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    draw_obstacles(scene, &grid);
    draw_uprights(scene, &grid);
    place_uprights(scene, &grid);
    place_side(scene, &scene->flats, scene->y_px, scene->rate, place_flat, &grid);
    place_side(scene, &scene->slopes, scene->y_px * scene->cosine, "B/s", place_slope, &grid);
    name_points(scene, &grid, naming);
    grid_close(&grid);
    return 0;
}
