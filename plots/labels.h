/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranges of a roofline panel, and the places of its labels: if there is room, no label covers a
 * line, a point or another label. */
#pragma once

#include "plots/roofline.h"

/* Finds ranges and places of labels for a panel's box. returns 0 or -CARM_ENOMEM */
int carm_scene_layout(struct carm_scene *scene, struct carm_plot_box box,
                      enum carm_scene_naming naming, struct carm_err *err);

/* Whether names of two points would look the same where they are cut. */
bool carm_scene_is_ambiguous(const struct carm_scene *scene);
