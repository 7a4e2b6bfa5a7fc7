/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and checks an einsum graph: a valid one is acyclic, its connections agree in both directions
 * and with the tensors, arrays are of equal length, equations fit the shapes, all products fit in
 * INT64_MAX. */
#ifndef CARM_MODELS_SOL_READ_H
#define CARM_MODELS_SOL_READ_H

#include <stddef.h>

#include "base/err.h"
#include "models/sol/graph.h"

/* path   "-" is standard input
 * graph  out: to be released with carm_sol_graph_close; NULL on failure
 * returns 0; -CARM_EIO; -CARM_ENOMEM; -CARM_EFORMAT with file, line and reason */
int carm_sol_graph_open(const char *path, struct carm_sol_graph **graph, struct carm_err *err);

/* The same from memory. name: what messages call it. */
int carm_sol_graph_parse(const char *text, size_t size_bytes, const char *name,
                         struct carm_sol_graph **graph, struct carm_err *err);

#endif
