/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names or numbers beside the points of a panel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plots/scene.h"
#include "base/text.h"

enum {
    TEXT_PX = 12,
    LETTERS = 28, /* of a name; more are cut */
    DIRECTIONS = 16,
    LEADER_PX = 20, /* from here on a line leads from the point to its label */
    OWN_PX = 8,     /* so far a point's own mark reaches */
};

static const double rings[] = {10, 15, 22, 32, 45, 60, 80};

/* The first letters, with an ellipsis where some are left out. */
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
    (void)snprintf(dst, size, "%.*s%s", (int)(end - name), name, *end ? "\u2026" : "");
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
        for (size_t k = 0; k < i; k++) {
            char other[CARM_TEXT_MAX];
            cut(other, sizeof other, scene->points[k].from->name);
            /* what is cut may differ behind its end, which even the whole name here may lack */
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
    if (p->small || naming == CARM_SCENE_FILES) {
        return;
    }
    if (s->path) {
        (void)snprintf(p->label.text, sizeof p->label.text, "%d", p->step);
    } else if (naming == CARM_SCENE_NUMBERS) {
        (void)snprintf(p->label.text, sizeof p->label.text, "%zu", number);
    } else {
        cut(p->label.text, sizeof p->label.text, p->from->name);
    }
    p->label.px = carm_plot_text_px(p->label.text);
}

/* A label in a direction from its point: right of it, left of it, or over its middle. */
static struct carm_grid_box spot(const struct carm_scene *s, const struct carm_scene_point *p,
                                 double angle, double ring)
{
    const double x = carm_scene_x(s, p->x) + ring * cos(angle);
    const double y = carm_scene_y(s, p->y) + ring * sin(angle);
    const double left = cos(angle) > 0.3    ? x
                        : cos(angle) < -0.3 ? x - p->label.px
                                            : x - p->label.px / 2;
    const double lift = fabs(cos(angle)) <= 0.3 ? (sin(angle) > 0 ? 2 : -2) : 0;
    return (struct carm_grid_box){left, y + lift, p->label.px, TEXT_PX, 1.0, 0.0};
}

/* What a leader to a label crosses behind its point's own mark. */
static double leader_cost(const struct carm_scene *s, const struct carm_plot_grid *grid,
                          const struct carm_scene_point *p, const struct carm_grid_box *at)
{
    const double x = carm_scene_x(s, p->x), y = carm_scene_y(s, p->y);
    const double dx = fmin(fmax(x, at->x), at->x + at->length) - x, dy = at->y - y;
    const double length = hypot(dx, dy);
    const double t = length > 0.0 ? fmin(OWN_PX / length, 1.0) : 1.0;
    return carm_plot_grid_line_cost(grid, x + t * dx, y + t * dy, x + dx, y + dy);
}

/* The cheapest free place on the nearest ring that has one; false = none is free. */
static bool find_place(const struct carm_scene *s, const struct carm_plot_grid *grid,
                       const struct carm_scene_point *p, struct carm_grid_box *best, double *ring)
{
    double least = INFINITY;
    for (size_t r = 0; r < sizeof rings / sizeof *rings; r++) {
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct carm_grid_box at = spot(s, p, 2 * M_PI * d / DIRECTIONS, rings[r]);
            const double cost = carm_plot_grid_cost(grid, &at) + 0.8 * rings[r] + 0.3 * d +
                                (rings[r] >= LEADER_PX ? leader_cost(s, grid, p, &at) : 0.0);
            if (cost < least) {
                least = cost;
                *best = at;
                *ring = rings[r];
            }
        }
        if (least < 24) {
            break; /* further out is no better */
        }
    }
    return least < CARM_GRID_FREE + 0.8 * rings[sizeof rings / sizeof *rings - 1];
}

void carm_scene_name_points(struct carm_scene *scene, struct carm_plot_grid *grid,
                            enum carm_scene_naming naming)
{
    scene->unplaced = 0;
    for (size_t i = 0; i < scene->npoints; i++) {
        struct carm_scene_point *p = &scene->points[i];
        struct carm_grid_box at = {0};
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
        struct carm_grid_box taken = at;
        taken.x -= 3;
        taken.length += 6;
        carm_plot_grid_box(grid, &taken, CARM_GRID_LABEL);
        if (p->leader) {
            carm_plot_grid_line(grid, carm_scene_x(scene, p->x), carm_scene_y(scene, p->y),
                                at.x + at.length / 2, at.y, CARM_GRID_MARK);
        }
    }
}
