/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of an external tensor that a layer reads, and the elements of it that no layer read
 * before.
 *
 * A view is the part of its base that its shapes, its equation and its order among the outputs tell:
 *   split, chunk, unbind   outputs follow each other along the dimension in which the shapes differ, if this is one
 *                          dimension
 *   transpose, permute     the order of the dimensions: from the equation, else from the shapes if they allow one order
 *                          only
 *   expand                 dimensions of 1 are repeated
 *   others                 a reshape, if the number of elements is equal
 * A slice reads the part that its raw_attributes name.
 * The charge of a base is at most its size, and the largest of
 *   - the union of all parts whose place is known;
 *   - for a split view whose place in the base is not known: its pieces together;
 *   - each other read alone.
 * Each of the three is a lower bound of the elements that must be read. The first is exact where all places are known
 * and the parts of a tensor are no more than some million runs of neighbouring elements. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "models/sol/graph.h"
#include "models/sol/traffic.h"

/* first  out: [graph->nuses] elements of an external tensor that an input slot reads first, in
 *        execution order; 0 in all other slots. To be released with free
 * returns 0 or -CARM_ENOMEM */
int carm_sol_first_reads(const struct carm_sol_graph *graph, const struct carm_sol_traffic *traffic,
                         uint64_t **first, struct carm_err *err);
