/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The intermediates that stay on the chip, from lifetimes over the execution order and a capacity.
 *
 * A tensor takes room from the operation that writes it to its last reader, both included. A view counts as the tensor
 * that it views. So an operation's resident inputs and its outputs need room together, and no tensor spills where the
 * capacity reaches the largest sum of live tensors. Tensors are evicted whole. An evicted tensor is written once, which
 * its writer is charged, and read again by each later reader, after which it may stay until the next reader. A tensor
 * larger than the capacity never stays. External tensors take no room. The elements written and read are those of
 * models/sol/count.h, so that a capacity of 0 spills all intermediate traffic but the outputs that no operation reads.
 * Two policies choose the evicted tensor. Fused evicts the least recently used, as a cache does. Fused+prefetched
 * evicts the tensor whose next reader is farthest, as a schedule that knows the graph can do; fused+prefetched takes
 * the better result of both. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "models/sol/arch.h"
#include "models/sol/graph.h"

enum carm_sol_policy { CARM_SOL_LRU, CARM_SOL_FARTHEST };

/* The lifetimes of a graph's intermediates, for any number of capacities and policies. graph: borrowed
 * returns 0 or -CARM_ENOMEM */
struct carm_sol_lifetimes;
int carm_sol_lifetimes_open(const struct carm_sol_graph *graph,
                            struct carm_sol_lifetimes **lifetimes, struct carm_err *err);
void carm_sol_lifetimes_close(struct carm_sol_lifetimes *lifetimes); /* NULL allowed */

/* spilled  [graph->n] out: elements that each layer moves past the capacity, of intermediates only
 * total    out: their sum
 * peak     out, may be NULL: bytes that would be alive at once if there were room for all
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT (sums pass INT64_MAX) */
int carm_sol_lifetimes_spill(struct carm_sol_lifetimes *lifetimes, uint64_t capacity_bytes,
                             enum carm_sol_precision precision, enum carm_sol_policy policy,
                             uint64_t *spilled, uint64_t *total, uint64_t *peak_bytes,
                             struct carm_err *err);
