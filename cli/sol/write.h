/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of `carm sol` for programs: YAML, JSON and CSV.
 * Source of the fields of YAML and JSON: the Solar project's docs/FORMAT.md, section 4; carm adds fields to these. For
 * all functions, path "-" is standard output, and a file is replaced in one step. All return 0, -CARM_EIO or
 * -CARM_ENOMEM. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "models/sol/estimate.h"
#include "models/sol/sweep.h"

/* Sections with cycles rounded to whole numbers. */
int carm_sol_write_yaml(const char *path, const struct carm_sol_view *view, struct carm_err *err);

/* The same sections with numbers unchanged and, where there are any, `layers`, an object for
 * each. */
int carm_sol_write_json(FILE *out, const struct carm_sol_view *view, struct carm_err *err);

/* points.csv for `carm place`: one row for the graph and one for each operation that computes or
 * moves data. bytes are those of all tensors, as the cores load and store them; dram_bytes and
 * seconds are those of the fused estimate, with the storage on the chip where that is known. */
int carm_sol_write_points(const char *path, const struct carm_sol_view *view, struct carm_err *err);

/* A header, then one row for each value. returns also the errors of carm_sol_sweep_run */
int carm_sol_write_sweep(const char *path, const struct carm_sol_sweep *sweep,
                         const struct carm_sol_view *view, struct carm_err *err);
