/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The traffic of each layer of a graph, independent of any machine.
 *
 * Work and traffic of a layer by its kind, in elements of the shapes that the layer gives its tensors:
 *
 *   kind        work            reads                                  writes
 *   COMPUTE     macs or points  all inputs                             all outputs
 *   MOVE        -               all inputs                             all outputs
 *   GATHER      -               of the first input no more than it     all outputs
 *                               gives, the other inputs (indices)
 *   SLICE       -               what it gives, of its first input      -
 *   SCATTER     -               inputs between the largest and the     the last input that is not
 *                               last: indices                          the largest; a single one
 *   EMBEDDING   -               the smaller of all inputs and all      -
 *                               outputs: of the table (the first
 *                               weight, else the last input), and
 *                               what is beyond it of the others
 *   VIEW        -               -                                      -
 *   START       -               -                                      -
 *   dead end    -               -                                      -
 *
 * Kinds of tensors. A view's outputs are its first input's tensor, through any number of views: both
 * share one footprint. A tensor is
 *   external      where no operation of the graph makes it, where any layer has it as a weight or
 *                 bias (then it lies in memory, even if a layer makes it), and where an operation
 *                 makes it and no other takes it nor another output of the one that makes it: a
 *                 model output;
 *   intermediate  otherwise, even if it is a model output, too.
 * A slice, a scatter and an embedding are operations: their output is a tensor of its own, and an
 * intermediate where another operation takes it. The slice's read of an external source is external traffic; its
 * consumer's read is not. So reading a scatter's output (a cache of keys) is
 * intermediate traffic, as in Solar: it costs nothing fused, and all where there is no room on the
 * chip.
 * An external tensor is charged once (models/sol/region.h): its first reader in execution order is charged the elements
 * that it reads, each later reader the elements that no earlier one read. Other reads are repeated.
 * A dead end is an operation whose result nobody takes and whose inputs, one of them no weight or view
 * of one, come from nowhere, in a graph with start layers. In a graph without start layers, inputs from nowhere are the
 * model's inputs.
 *
 * Source: the guide; the Solar project's graph_analyzer.py. Solar differs: it leaves out the indices of SCATTER with
 * three inputs, reads all inputs of GATHER, and decides about weights for each use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/sol/graph.h"

/* Adds to a sum. returns false, with the sum unchanged, where it would pass INT64_MAX */
static inline bool carm_sol_add(uint64_t *sum, uint64_t more)
{
    if (*sum > INT64_MAX || more > INT64_MAX - *sum) {
        return false;
    }
    *sum += more;
    return true;
}

/* Whether a kind moves or computes: neither a start nor a view. */
static inline bool carm_sol_operates(uint8_t kind)
{
    return kind != CARM_SOL_START && kind != CARM_SOL_VIEW;
}

enum carm_sol_class {
    CARM_SOL_EXTERNAL,     /* read, or a model's output */
    CARM_SOL_WEIGHTS,      /* external, too */
    CARM_SOL_INTERMEDIATE, /* made by one operation, taken by another */
};

/* The table above for each slot of a graph's layers: the elements that the slot moves, and the base of its tensor.
 * Arrays by the graph's numbers of slots and tensors. */
struct carm_sol_traffic {
    uint64_t *moved; /* [nuses] elements read by an input slot, written by an output slot */
    uint32_t *base;  /* [ntensors] the tensor of which this one is a view; itself = not a view */
    uint64_t *size;  /* [ntensors] elements of the tensor */
    uint8_t *kind;   /* [ntensors] enum carm_sol_class, of tensors that are their own base */
    bool *dead;      /* [n] layers that are dead ends */
};

/* returns 0; -CARM_ENOMEM; -CARM_EFORMAT (a layer's traffic exceeds INT64_MAX) */
int carm_sol_traffic_open(const struct carm_sol_graph *graph, struct carm_sol_traffic **traffic,
                          struct carm_err *err);

void carm_sol_traffic_close(struct carm_sol_traffic *traffic); /* NULL allowed */
