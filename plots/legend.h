/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands below a picture's panels: its models, the files of its points, numbered points. */
#ifndef CARM_PLOTS_LEGEND_H
#define CARM_PLOTS_LEGEND_H

#include "plots/scene.h"

struct carm_plot_entry {
    char text[CARM_TEXT_MAX];
    unsigned rgb;
    int dash;        /* of a line; 0 = a mark */
    int mark;        /* of plots/scripts/common.gp; -1 = neither */
    double x, y, px; /* from the left, from the upper end, room for sample and text */
};

struct carm_plot_legend {
    struct carm_plot_entry
        entries[CARM_PLOT_MODELS_MAX + CARM_PLOT_FILES_MAX + CARM_SCENE_NUMBERED_MAX + 1];
    size_t n;
    double height; /* 0 = no legend */
};

/* scene  what the panels show
 * width  and most: of its place, pixels; of what does not fit its last line tells how many */
void carm_plot_legend_fill(struct carm_plot_legend *legend, const struct carm_scene *scene,
                           enum carm_scene_naming naming, double width, double most);

/* left  of its columns; the legend ends at the picture's lower end */
void carm_plot_legend_put(const struct carm_plot_canvas *canvas,
                          const struct carm_plot_legend *legend, double left);

#endif
