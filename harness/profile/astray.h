/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mispredictions of a loop's branches, estimated from how often each side and each target was taken, as if outcomes
 * were independent of one another. */
#pragma once

#include "harness/profile/code.h"
#include "harness/profile/graph.h"

/* Sums over all executions of the code; the functions below add to them. */
struct carm_astray {
    double branches; /* mispredictions of all branches */
    double indirect; /* of branches: mispredictions of indirect jumps and calls */
    double
        cycles; /* from the fetch of the condition or target until it is known, summed over mispredictions */
};

/* How often the rarer side of a piece's conditional branch is taken, if loaded or computed numbers decide the branch;
 * else 0. */
double carm_astray_rarely(const struct carm_code_piece *p, const struct carm_graph *graph);

/* Conditional branches and indirect jumps of the code. */
void carm_astray_code(const struct carm_flow_code *code, const struct carm_graph *graph,
                      const struct carm_graph_latencies *latencies, struct carm_astray *out);

/* Adds the branches that leave an inner loop to the sums of the loop around it, whose code waits for them. */
void carm_astray_exits(const struct carm_flow_code *inside, const struct carm_graph *graph,
                       const struct carm_graph_latencies *latencies, struct carm_astray *out);

/* The code with the most executed indirect call of a module; taken as the caller of all its functions that are called
 * by address.
 * codes  [n] all of the program
 * returns NULL: none is known */
const struct carm_flow_code *carm_astray_caller(uint32_t module, const struct carm_flow_code *codes,
                                                size_t n);

/* Whether code, or a copy of it, is the caller or has a function that is called by address. caller: NULL = none */
bool carm_astray_takes_part(const struct carm_flow_code *code, const struct carm_flow_code *caller);

/* Adds the mispredicted indirect calls of a module, all functions together: the core waits for the target in the caller
 * and for the right instructions in the function, and samples separate these two waits badly. */
void carm_astray_calls(const struct carm_flow_code *caller, uint32_t module,
                       const struct carm_flow_code *codes, size_t n,
                       const struct carm_graph_latencies *latencies, struct carm_astray *out);
