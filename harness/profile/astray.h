/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branches of a loop's code that a predictor may miss, by how often each side and each target was taken: as if outcomes
 * were independent of one another. */
#pragma once

#include "harness/profile/code.h"
#include "harness/profile/graph.h"

/* Of all executions of the code; functions add to it. */
struct carm_astray {
    double branches; /* mispredictions, ... */
    double indirect; /* ... of them those of indirect jumps and calls */
    double
        cycles; /* from the fetch of the condition or target until it is known, of all mispredictions */
};

/* How often the rarer side of a branch is taken whose outcome data decide; 0 = another piece. */
double carm_astray_rarely(const struct carm_code_piece *p, const struct carm_graph *graph);

/* Conditional branches and indirect jumps of the code. */
void carm_astray_code(const struct carm_flow_code *code, const struct carm_graph *graph,
                      const struct carm_graph_latencies *latencies, struct carm_astray *out);

/* Branches that leave this loop: the code behind it, which waits, is that of the loop around it. */
void carm_astray_exits(const struct carm_flow_code *inside, const struct carm_graph *graph,
                       const struct carm_graph_latencies *latencies, struct carm_astray *out);

/* The code whose indirect calls call a module's functions by address: with the most executions of one.
 * codes  [n] all of the program
 * returns NULL: none is known */
const struct carm_flow_code *carm_astray_caller(uint32_t module, const struct carm_flow_code *codes,
                                                size_t n);

/* Whether code, or a copy of it, is the caller or such a function. caller: NULL = none */
bool carm_astray_takes_part(const struct carm_flow_code *code, const struct carm_flow_code *caller);

/* Mispredicted indirect calls of a module, of all functions together: the core waits for the target in the caller and
 * for the right instructions in the function, and samples tell these two apart badly. */
void carm_astray_calls(const struct carm_flow_code *caller, uint32_t module,
                       const struct carm_flow_code *codes, size_t n,
                       const struct carm_graph_latencies *latencies, struct carm_astray *out);
