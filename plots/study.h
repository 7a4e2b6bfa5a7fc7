/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two panels side by side: measured points under the roofs of the cache-aware and of the original model,
 * as figures 7 to 10 of the cache-aware paper. */
#ifndef CARM_PLOTS_STUDY_H
#define CARM_PLOTS_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "models/model.h"

enum {
    CARM_PLOT_STEPS_MAX = 12,
    CARM_PLOT_GROUPS_MAX = 6,
};

enum carm_plot_model { CARM_PLOT_AWARE, CARM_PLOT_ORIGINAL, CARM_PLOT_MODELS };

struct carm_plot_study_point {
    double intensity[CARM_PLOT_MODELS]; /* flop/byte; 0 = not on that model's panel */
    double performance;                 /* flop/s */
    char name[64];                      /* beside it, "" = none */
};

struct carm_plot_study_group {
    const char *name;                           /* in the key above the panels; borrowed */
    const struct carm_plot_study_point *points; /* [n], borrowed */
    size_t n;
    size_t colour; /* and mark: a number of the palette of plots/scripts/common.gp */
    bool shifts;   /* on the original model its points move to the right */
};

enum carm_plot_study_kind {
    CARM_PLOT_STUDY_STEPS, /* arrows from step to step, groups as small marks around them */
    CARM_PLOT_STUDY_CLASSES, /* a line for each group, names beside some of its points: the last one's,
                              * and those of others in their order where there is room */
};

struct carm_plot_study {
    enum carm_plot_study_kind kind;
    char title[CARM_TEXT_MAX];      /* the machine follows it */
    const struct carm_model *model; /* borrowed, as roofs, which are the model's */
    const struct carm_roofs *roofs;
    const char *traffic_by; /* how DRAM bytes were obtained, on the axis; "" or NULL = counted */
    struct carm_plot_study_point steps[CARM_PLOT_STEPS_MAX];
    size_t nsteps;
    struct carm_plot_study_group groups[CARM_PLOT_GROUPS_MAX];
    size_t ngroups;
};

/* Writes the gnuplot script. format: "svg", "png", "pdf"
 * returns 0 or -CARM_ENOTSUP (the model has no roofs to draw) */
int carm_plot_study_put(FILE *out, const struct carm_plot_study *study, const char *format,
                        struct carm_err *err);

/* Draws the picture into the file at path, in the format of the name's end.
 * returns as above, or -CARM_EIO */
int carm_plot_study_draw(const struct carm_plot_study *study, const char *path,
                         struct carm_err *err);

#endif
