/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work and traffic of a graph, independent of any machine: the contents of the guide's
 * analysis.yaml. models/sol/traffic.h has the rules for each layer, models/sol/region.h the
 * rules for shared tensors. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "models/sol/graph.h"
#include "models/sol/traffic.h"

/* All in elements or operations, exact, <= INT64_MAX.
 * unfused = input + output = external + repeated + intermediate */
struct carm_sol_counts {
    uint64_t macs;          /* of contractions */
    uint64_t other;         /* other operations */
    uint64_t input, output; /* elements moved when every tensor goes through memory; 0 if the
                             * analysis file lacks them */
    uint64_t unfused;
    uint64_t weight;       /* part of external: weights and biases */
    uint64_t external;     /* fused: model inputs, weights, model outputs, a shared one once */
    uint64_t repeated;     /* reads of external tensors after the first */
    uint64_t intermediate; /* moved of tensors that another operation consumes */
};

struct carm_sol_analysis {
    struct carm_sol_counts *layers; /* [n] by index in the graph; NULL = totals only */
    uint32_t n;
    struct carm_sol_counts total; /* sums; of a file that was read its own totals */
    /* external of fused+prefetched: total.external, or less where a file says so */
    uint64_t prefetched;
    uint64_t model_io; /* external without weights; a shared tensor counts each time, as the guide
                          * sums by layers */
    uint64_t counted_twice; /* external elements by which a file's total was too high */
    uint32_t operations;    /* layers without starts */
    uint32_t intermediates; /* tensors */
    char **ids;             /* [n] names of a file's layers; NULL = a graph's, or totals only */
};

/* returns 0; -CARM_ENOMEM; -CARM_EFORMAT where a total passes INT64_MAX */
int carm_sol_analyse(const struct carm_sol_graph *graph, struct carm_sol_analysis **analysis,
                     struct carm_err *err);

void carm_sol_analysis_close(struct carm_sol_analysis *analysis); /* NULL allowed */
