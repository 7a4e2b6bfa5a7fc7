/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and checks an einsum graph. In a valid graph there is no cycle, one layer makes each
 * tensor, each name has a shape, a contraction's equation fits the shapes (or groups explain why it
 * does not), and all products fit in INT64_MAX. The tensors define the dependences; connections may
 * add further ones. A connection may name a parameter instead of a layer, be listed by only one of
 * its two layers, or be missing. Harmless contradictions are kept for carm_sol_graph_remark. */
#pragma once

#include <stddef.h>

#include "models/file/sol/yaml.h"
#include "models/sol/graph.h"

/* yaml   a document whose root is a map; borrowed
 * graph  out: to be released with carm_sol_graph_close; NULL on failure
 * returns 0; -CARM_ENOMEM; -CARM_EFORMAT with file, line and reason */
int carm_sol_graph_of(struct carm_yaml *yaml, struct carm_sol_graph **graph, struct carm_err *err);

/* Like carm_sol_graph_of, from memory. name: the file's name in messages. */
int carm_sol_graph_parse(const char *text, size_t size_bytes, const char *name,
                         struct carm_sol_graph **graph, struct carm_err *err);

/* The message for a document that is not a map. */
extern const char carm_sol_graph_root[];
