/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The picture of `carm compare`: the models' roofs drawn over each other. */
#pragma once

#include "base/err.h"
#include "models/compare.h"

/* A panel for each memory level with the slopes of that level and the peaks, of the set with the
 * baseline's highest peak among the sets that all models have.
 * files   [compare->n] the file of each model
 * format  "svg", "png", "pdf", or "gp": the gnuplot script instead
 * returns 0, -CARM_EINVAL (no such set), -CARM_ENOMEM or -CARM_EIO */
int carm_plot_compare(const struct carm_compare *compare, const char *const *files,
                      const char *path, const char *format, struct carm_err *err);
