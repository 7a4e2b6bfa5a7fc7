/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of `carm sol` as a tree of sections: perf.yaml and --json are both written from it.
 * Source of the fields: the Solar project's docs/FORMAT.md, section 4; ours stand beside them. */
#ifndef CARM_CLI_SOL_TREE_H
#define CARM_CLI_SOL_TREE_H

#include <jansson.h>
#include <stdio.h>

#include "models/sol/view.h"

/* truncated  whole cycles, as the guide prints them
 * returns the tree, or NULL when out of memory */
json_t *carm_sol_tree(const struct carm_sol_view *view, bool truncated);

/* The tree with its numbers as they are and, where there are any, `layers`, an object for each.
 * returns 0 or -CARM_ENOMEM */
int carm_sol_json_put(FILE *out, const struct carm_sol_view *view, struct carm_err *err);

/* The tree as YAML with whole cycles. path "-" is standard output; a file is replaced in one step.
 * returns 0, -CARM_EIO or -CARM_ENOMEM */
int carm_sol_perf_write(const char *path, const struct carm_sol_view *view, struct carm_err *err);

#endif
