/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What already stands where in a panel, in small cells, so that a label finds a free place. Places
 * are in pixels from the panel's bottom left corner. */
#ifndef CARM_PLOTS_GRID_H
#define CARM_PLOTS_GRID_H

#include <stddef.h>

/* What a cell costs that a label would cover. */
enum {
    CARM_GRID_LINE = 6,
    CARM_GRID_MARK = 400,
    CARM_GRID_LABEL = 20000,
    CARM_GRID_OUTSIDE = 40000,
};

/* What a place costs at most that a reader would call free. */
enum { CARM_GRID_FREE = 390 };

struct carm_plot_grid {
    int columns, rows;
    unsigned short *cost;
};

/* A text's rectangle: from the middle of its left end, turned by an angle. */
struct carm_grid_box {
    double x, y, length, height;
    double cosine, sine; /* 1, 0 = level */
};

/* returns 0, or -1 when out of memory; to be released with carm_plot_grid_close */
int carm_plot_grid_open(struct carm_plot_grid *grid, double width, double height);
void carm_plot_grid_close(struct carm_plot_grid *grid);

void carm_plot_grid_line(struct carm_plot_grid *grid, double x0, double y0, double x1, double y1,
                         int cost);
void carm_plot_grid_box(struct carm_plot_grid *grid, const struct carm_grid_box *box, int cost);

/* The sum of what a line would cross, of what the box would cover. */
double carm_plot_grid_line_cost(const struct carm_plot_grid *grid, double x0, double y0, double x1,
                                double y1);
double carm_plot_grid_cost(const struct carm_plot_grid *grid, const struct carm_grid_box *box);

#endif
