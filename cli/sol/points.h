/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph and its operations as points.csv, for `carm place` with the CPU's model. */
#ifndef CARM_CLI_SOL_POINTS_H
#define CARM_CLI_SOL_POINTS_H

#include "models/sol/view.h"

/* One row for the graph and one for each operation that computes or moves something. bytes are those
 * of all tensors, as the cores load and store them; dram_bytes and seconds are those of the fused
 * estimate, with the storage on the chip where that is known.
 * returns 0, -CARM_EIO or -CARM_ENOMEM */
int carm_sol_points_write(const char *path, const struct carm_sol_view *view, struct carm_err *err);

#endif
