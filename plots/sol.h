/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The architecture's roofline with the graph's estimates on it. */
#pragma once

#include "models/sol/estimate.h"

/* path  ends in .svg, .png or .pdf; replaced in one step
 * returns 0, -CARM_EINVAL (nothing has a place), -CARM_EIO or -CARM_ENOMEM */
int carm_sol_plot_write(const char *path, const struct carm_sol_view *view, struct carm_err *err);
