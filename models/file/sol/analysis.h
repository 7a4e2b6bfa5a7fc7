/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Totals of a graph from a file, in place of the graph.
 * Source of the keys: the guide; the Solar project's docs/FORMAT.md, section 3. */
#pragma once

#include <stddef.h>

#include "models/file/sol/yaml.h"
#include "models/sol/count.h"

/* Reads an analysis.yaml: `total:` as in the guide, and layers if present. Each requires macs,
 * unfused_elements, fused_elements. Keys that the guide does not have are ignored. When total's
 * fused_elements exceed its unfused_elements, or exceed the layers' sum by outputs that were
 * counted more than once, the layers' sum replaces them; analysis->counted_twice has the
 * difference. Refuses totals that contradict the layers or one another. The layers' external
 * elements may sum to more than the total's, since layers share tensors: the difference is counted
 * as repeated.
 * yaml  a document whose root is a map; borrowed
 * returns 0; -CARM_ENOMEM; -CARM_EFORMAT with file, line and reason */
int carm_sol_analysis_of(struct carm_yaml *yaml, struct carm_sol_analysis **analysis,
                         struct carm_err *err);

/* Like carm_sol_analysis_of, from memory. name: the file's name in messages. */
int carm_sol_analysis_parse(const char *text, size_t size_bytes, const char *name,
                            struct carm_sol_analysis **analysis, struct carm_err *err);
