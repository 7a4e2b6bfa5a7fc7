/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A roofline panel: the roofs of one or several models on the cache-aware or the original model, and
 * points under them; or the hierarchical view, with a point for each level (models/place/levels.h). The panel is
 * collected and written here, and laid out by plots/labels.h. */
#pragma once

#include "models/file/select.h"
#include "plots/input.h"
#include "plots/panel.h"

enum {
    CARM_SCENE_LINES_MAX = 96,
    CARM_SCENE_NAMED_MAX = 12,    /* points with their names beside them */
    CARM_SCENE_NUMBERED_MAX = 40, /* points that have a number, and a line of the legend */
    CARM_SCENE_ARROWS_MAX = 64,
    CARM_SCENE_UPRIGHTS_MAX = 16,
};

enum carm_scene_view { CARM_SCENE_AWARE, CARM_SCENE_ORIGINAL, CARM_SCENE_LEVELS };

/* How points are distinguished. */
enum carm_scene_naming { CARM_SCENE_NAMES, CARM_SCENE_NUMBERS, CARM_SCENE_FILES };

/* A slope or a horizontal. Values are in the unit of the y axis. */
struct carm_scene_line {
    char name[2 * CARM_NAME_MAX + 32];
    double value;     /* of a slope: performance at 1 flop/byte */
    double low, high; /* its 95% confidence interval */
    double limit;     /* where a slope ends: at the peak; where a horizontal begins: at the steepest
                       * slope */
    unsigned rgb;     /* in the light theme */
    double width;
    int dash, print_dash;
};

enum carm_scene_align { CARM_SCENE_LEFT, CARM_SCENE_CENTRE, CARM_SCENE_RIGHT };

struct carm_scene_label {
    char text[CARM_TEXT_MAX];
    double x, y, px; /* pixels: middle of its left end, length; x < 0 = found no place */
    enum carm_scene_align align; /* the end that is drawn at its exact place: lengths are
                                  * estimates */
    unsigned rgb;
};

struct carm_scene_side {
    struct carm_scene_line lines[CARM_SCENE_LINES_MAX]; /* highest first */
    size_t n;
    struct carm_scene_label labels[CARM_SCENE_LINES_MAX];
    size_t nlabels;
};

struct carm_scene_point {
    double x, y; /* flop/byte, the y axis' unit */
    double x_low, x_high, y_low, y_high;
    const struct carm_plot_point *from;
    int step; /* as of from */
    unsigned rgb;
    int mark; /* point type of plots/scripts/common.gp */
    bool small;
    bool rest;         /* a level that does not bind its point; the binding level has the main
                        * mark */
    const char *binds; /* the level that binds, or "peak"; "" = not in a hierarchical view */
    struct carm_scene_label label; /* "" = none */
    bool leader;                   /* a line leads to the label */
};

/* An arrow between two points, by index. */
struct carm_scene_arrow {
    size_t from, to;
};

/* A kernel of a roofline with ceilings: a vertical line at its intensity, a cross at its performance. */
struct carm_scene_upright {
    double x, y; /* y 0 = no performance */
    struct carm_scene_label label;
};

struct carm_scene {
    const struct carm_plot_input *input;
    const struct carm_roofs *roofs[CARM_PLOT_MODELS_MAX]; /* roofs of each model; NULL = none */
    enum carm_scene_view view;
    bool path; /* arrows from step to step of carm study gemm */
    struct carm_scene_side slopes, flats;
    struct carm_scene_point *points; /* owned; in the order of the input; in a hierarchical view,
                                      * each point's levels in succession */
    size_t npoints, left_out;        /* left_out: points without the bytes of this view */
    struct carm_scene_arrow arrows[CARM_SCENE_ARROWS_MAX];
    size_t narrows;
    struct carm_scene_upright uprights[CARM_SCENE_UPRIGHTS_MAX];
    size_t nuprights;
    /* lowest ceiling of each side; below it, optimisations of the side are in reach; 0 = no region */
    double lowest_memory, lowest_compute;
    double scale; /* divisor of values on the y axis */
    const char *prefix;
    char rate[CARM_NAME_MAX + 3], operation[CARM_NAME_MAX]; /* "flop/s", "flop" */
    char bytes[CARM_NAME_MAX + 4]; /* bytes of the x axis: " of DRAM traffic" */
    struct carm_plot_axis x, y;
    struct carm_plot_box box;
    double x_px, y_px, cosine, sine; /* pixels of a decade; cosine and sine of the slopes' angle */
    size_t unplaced;                 /* labels of points that found no place */
};

/* The roofs of a model that its points stand under: the selected roofs; without a selection the
 * roofs that most of its points choose by threads and precision, as in carm place; without points
 * the roofs with the highest peak. NULL = none. others out: number of points that choose other
 * roofs */
const struct carm_roofs *carm_scene_roofs(const struct carm_plot_input *input, size_t model,
                                          const struct carm_select *select, size_t *others);

/* Collects lines and points.
 * returns 0, -CARM_EINVAL (no model has the selected roofs) or -CARM_ENOMEM; to be released with
 * carm_scene_close in any case */
int carm_scene_open(struct carm_scene *scene, const struct carm_plot_input *input,
                    const struct carm_select *select, enum carm_scene_view view, bool path,
                    struct carm_err *err);
void carm_scene_close(struct carm_scene *scene);

/* Brings the lines of a side into their order: highest first. */
void carm_scene_sort(struct carm_scene_side *side);

/* The number of points, without the marks (rest) of levels that do not bind. */
size_t carm_scene_named(const struct carm_scene *scene);

/* The place of a value, in pixels from the panel's left and lower end; valid after the layout. */
double carm_scene_x(const struct carm_scene *scene, double intensity);
double carm_scene_y(const struct carm_scene *scene, double performance);

/* The roof above an intensity, of slopes and horizontals of one set. */
double carm_scene_roof(const struct carm_scene *scene, double intensity);

/* Whether a line joins point i and the one before it: two levels of one point, or two points of a file. */
bool carm_scene_joins(const struct carm_scene *scene, size_t i);

/* Writes the panel. */
void carm_scene_put(const struct carm_plot_canvas *canvas, const struct carm_scene *scene,
                    const char *title);
