/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A picture of models and points: its panels, and their places. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "models/file/select.h"
#include "plots/input.h"
#include "plots/panel.h"

enum carm_plot_models {
    CARM_PLOT_USUAL,
    CARM_PLOT_AWARE,
    CARM_PLOT_ORIGINAL,
    CARM_PLOT_BOTH,
    CARM_PLOT_HIERARCHICAL, /* a point for each level */
};

struct carm_plot_picture {
    const struct carm_plot_input *input;
    const struct carm_select *select;
    const struct carm_plot_look *look;
    const char *kind, *format;
    const char *title;            /* NULL = host and CPU */
    enum carm_plot_models models; /* usual: cache-aware; both for gemm and validation */
};

/* Whether a kind of picture exists; whether it shows points; whether it takes several models and
 * --model. */
bool carm_plot_picture_kind(const char *kind);
bool carm_plot_picture_has_points(const char *kind);
bool carm_plot_picture_has_models(const char *kind);

/* Writes the whole gnuplot script. Panels without data are left out as long as one is left.
 * returns 0; -CARM_EINVAL (nothing to draw; too small a picture); -CARM_ENOMEM; -CARM_EIO */
int carm_plot_picture_put(FILE *out, const struct carm_plot_picture *page, struct carm_err *err);
