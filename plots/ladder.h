/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A panel with one ladder of ceilings, or with the roofs of several on each other. */
#ifndef CARM_PLOTS_LADDER_H
#define CARM_PLOTS_LADDER_H

#include "plots/panel.h"
#include "models/ladder.h"

enum {
    CARM_PLOT_LADDERS_MAX = 8,
    CARM_PLOT_KERNELS_MAX = 16,
    CARM_PLOT_LINES_MAX = 4 * CARM_RUNGS_MAX,
};

/* A kernel: a vertical line at its intensity, a cross at what it achieved. */
struct carm_plot_kernel {
    char name[CARM_NAME_MAX];
    double intensity;   /* operation/byte, > 0 */
    double performance; /* operation/s; 0 = none */
};

struct carm_plot_ladder {
    /* Borrowed; after the first, NULL keeps the colour of a machine that this panel lacks. */
    const struct carm_ladder *ladders[CARM_PLOT_LADDERS_MAX];
    size_t n;   /* 1: with its ceilings and regions; more: their roofs */
    bool aside; /* rungs aside, too */
    struct carm_plot_kernel kernels[CARM_PLOT_KERNELS_MAX];
    size_t nkernels;
    char title[CARM_TEXT_MAX];
    char bytes[CARM_NAME_MAX]; /* whose bytes the x axis has; "" = "of memory traffic" */
};

/* returns 0, -CARM_EINVAL (a ladder without slope or peak) or -CARM_ENOMEM */
int carm_plot_ladder_panel(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                           const struct carm_plot_ladder *pane, struct carm_err *err);

enum {
    CARM_PLOT_LABEL_PX = 10, /* from a line to the middle of the label above it */
    CARM_PLOT_STACK_PX = 14, /* from one label to the next */
};

/* Parts of it: the lines and where their labels stand. Values are in the unit of the axis. */

struct carm_plot_line {
    char name[CARM_TEXT_MAX];
    double value; /* of a slope: performance at 1 operation/byte */
    double limit; /* the roof of the other side, where a slope ends or a horizontal begins */
    unsigned rgb;
    int style; /* 0 = roof, 1 = ceiling, 2 = aside */
    int dash;  /* of a roof, 1 = none: tells ladders apart, in grey and beyond six colours */
};

/* Each line has a label. Those of lines that lie together are stacked above the highest of them, in
 * the lines' order. */
struct carm_plot_label {
    size_t anchor; /* the line that it stands above */
    size_t level;  /* of the stack, 0 = next to the anchor */
    char text[CARM_TEXT_MAX];
};

struct carm_plot_lines {
    struct carm_plot_line lines[CARM_PLOT_LINES_MAX]; /* highest first */
    size_t n;
    struct carm_plot_label labels[CARM_PLOT_LINES_MAX]; /* [n] */
    size_t top;                                         /* how many stand above the highest line */
};

struct carm_plot_layout {
    struct carm_plot_lines slopes, flats;
    struct carm_plot_axis x, y;
    double x_px, y_px; /* pixels of a decade */
    double cosine;     /* of the slopes' angle on the canvas */
    double scale;      /* axis unit */
    const char *prefix;
};

/* Collects the lines of a pane and finds the ranges in which their labels have room. */
int carm_plot_ladder_layout(const struct carm_plot_ladder *pane, struct carm_plot_box box,
                            struct carm_plot_layout *layout, struct carm_err *err);

#endif
