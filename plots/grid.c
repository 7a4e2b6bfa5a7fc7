/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/grid.h"

#include <math.h>
#include <stdlib.h>

enum { CELL_PX = 4, MOST = 60000 };

int carm_plot_grid_open(struct carm_plot_grid *grid, double width, double height)
{
    grid->columns = (int)ceil(fmax(width, 1.0) / CELL_PX);
    grid->rows = (int)ceil(fmax(height, 1.0) / CELL_PX);
    grid->cost = calloc((size_t)grid->columns * (size_t)grid->rows, sizeof *grid->cost);
    return grid->cost ? 0 : -1;
}

void carm_plot_grid_close(struct carm_plot_grid *grid)
{
    free(grid->cost);
    grid->cost = NULL;
}

/* The cell at a place, or NULL outside. */
static unsigned short *cell(const struct carm_plot_grid *grid, double x, double y)
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

void carm_plot_grid_line(struct carm_plot_grid *grid, double x0, double y0, double x1, double y1,
                         int cost)
{
    const double length = hypot(x1 - x0, y1 - y0);
    const int steps = (int)fmin(ceil(length / CELL_PX * 2.0), 100000.0);
    for (int i = 0; i <= steps; i++) {
        const double t = steps ? (double)i / steps : 0.0;
        raise_to(cell(grid, x0 + t * (x1 - x0), y0 + t * (y1 - y0)), cost);
    }
}

double carm_plot_grid_line_cost(const struct carm_plot_grid *grid, double x0, double y0, double x1,
                                double y1)
{
    const int steps = (int)fmin(ceil(hypot(x1 - x0, y1 - y0) / CELL_PX), 100000.0);
    double sum = 0.0;
    for (int i = 0; i <= steps; i++) {
        const double t = steps ? (double)i / steps : 0.0;
        const unsigned short *at = cell(grid, x0 + t * (x1 - x0), y0 + t * (y1 - y0));
        sum += at ? *at : 0.0; /* a leader outside costs nothing; its label does */
    }
    return sum;
}

/* Places inside the box, a cell apart; half a step is left at its edges. */
struct walk {
    int along, across;
};

static struct walk walk_of(const struct carm_grid_box *b)
{
    return (struct walk){(int)ceil(fmax(b->length, 1.0) / CELL_PX),
                         (int)ceil(fmax(b->height, 1.0) / CELL_PX)};
}

static unsigned short *cell_of(const struct carm_plot_grid *grid, const struct carm_grid_box *b,
                               struct walk n, int i, int k)
{
    const double u = b->length * i / n.along, v = b->height * ((double)k / n.across - 0.5);
    return cell(grid, b->x + u * b->cosine - v * b->sine, b->y + u * b->sine + v * b->cosine);
}

void carm_plot_grid_box(struct carm_plot_grid *grid, const struct carm_grid_box *box, int cost)
{
    const struct walk n = walk_of(box);
    for (int i = 0; i <= n.along; i++) {
        for (int k = 0; k <= n.across; k++) {
            raise_to(cell_of(grid, box, n, i, k), cost);
        }
    }
}

double carm_plot_grid_cost(const struct carm_plot_grid *grid, const struct carm_grid_box *box)
{
    const struct walk n = walk_of(box);
    double sum = 0.0;
    for (int i = 0; i <= n.along; i++) {
        for (int k = 0; k <= n.across; k++) {
            const unsigned short *at = cell_of(grid, box, n, i, k);
            sum += at ? *at : CARM_GRID_OUTSIDE;
        }
    }
    return sum;
}
