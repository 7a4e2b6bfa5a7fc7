/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work and traffic of a graph, independent of any machine: what the guide's analysis.yaml holds.
 *
 * What a layer does, by kind, in elements of the shapes in which it sees its tensors:
 *
 *   kind        work            reads                                  writes
 *   COMPUTE     macs or points  all inputs                             all outputs
 *   MOVE        -               all inputs                             all outputs
 *   GATHER      -               of the first input no more than it     all outputs
 *                               gives, the other inputs (indices)
 *   SLICE       -               what it gives, of its first input      -
 *   SCATTER     -               -                                      all inputs but the largest;
 *                                                                      a single one itself
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
 *                 makes it and no other takes it: a model output;
 *   intermediate  otherwise, even if it is a model output, too.
 * A slice, a scatter and an embedding are operations: what they give is a tensor of its own, and an
 * intermediate where another operation takes it. The slice's own read is the one that is external
 * where its source is; its consumer's read is not. So reading a scatter's output (a cache of keys) is
 * intermediate traffic, as in Solar: it costs nothing fused, and all where there is no room on the
 * chip.
 * An external tensor is charged once: to its first reader in execution order what that reads, to a
 * later one what it reads beyond, never more than the tensor has; the rest is repeated.
 * A dead end is an operation whose result nobody takes and whose inputs, one of them no weight, come
 * from nowhere, in a graph that has start layers: without these, inputs from nowhere are the model's.
 *
 * Source: the guide; the Solar project's graph_analyzer.py. It differs in SCATTER with three inputs
 * (Solar leaves out the indices, too) and GATHER (Solar has none: all is read); it decides about
 * weights for each use. */
#ifndef CARM_MODELS_SOL_COUNT_H
#define CARM_MODELS_SOL_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/sol/graph.h"

/* All in elements or operations, exact, <= INT64_MAX.
 * unfused = input + output = external + repeated + intermediate */
struct carm_sol_counts {
    uint64_t macs;          /* of contractions */
    uint64_t other;         /* other operations */
    uint64_t input, output; /* moved when every tensor goes through memory; 0 where they were read
                             * from a file that lacks them */
    uint64_t unfused;
    uint64_t weight;       /* part of external: weights and biases */
    uint64_t external;     /* fused: model inputs, weights, model outputs, a shared one once */
    uint64_t repeated;     /* reads of external tensors after the first */
    uint64_t intermediate; /* moved of tensors that another operation consumes */
};

struct carm_sol_analysis {
    struct carm_sol_counts
        *layers; /* [n] by index in the graph; starts all 0; NULL = totals alone */
    uint32_t n;
    struct carm_sol_counts total; /* sums; of a file that was read its own totals */
    uint64_t prefetched; /* external of fused+prefetched: total.external, but for a file that
                                   * says less */
    uint64_t
        model_io; /* external without weights, sharing not removed: the guide's per-layer sum */
    uint32_t operations;    /* layers without starts */
    uint32_t intermediates; /* tensors */
    char **ids;             /* [n] names of a file's layers; NULL = a graph's, or totals alone */
};

/* returns 0; -CARM_ENOMEM; -CARM_EFORMAT where a total passes INT64_MAX */
int carm_sol_analyse(const struct carm_sol_graph *graph, struct carm_sol_analysis **analysis,
                     struct carm_err *err);

/* Reads an analysis.yaml: `total:` as in the guide; layers, where it has them, too. Required of both:
 * macs, unfused_elements, fused_elements. Other keys than the guide's are passed over.
 * Refused where totals and layers, or total's own members, do not agree. The layers' external
 * elements may sum to more than the total's, which shares tensors: then the rest is repeated.
 * path "-" is standard input
 * returns 0; -CARM_EIO; -CARM_ENOMEM; -CARM_EFORMAT with file, line and reason */
int carm_sol_analysis_read(const char *path, struct carm_sol_analysis **analysis,
                           struct carm_err *err);

/* The same from memory. name: what messages call it. */
int carm_sol_analysis_parse(const char *text, size_t size_bytes, const char *name,
                            struct carm_sol_analysis **analysis, struct carm_err *err);

void carm_sol_analysis_close(struct carm_sol_analysis *analysis); /* NULL allowed */

#endif
