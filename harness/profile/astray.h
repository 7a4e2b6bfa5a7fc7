/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branches of a loop's code that a predictor may miss, by how often each side and each target was taken: as if outcomes
 * were independent of one another. */
#pragma once

#include "harness/profile/code.h"
#include "harness/profile/graph.h"

/* Of all executions of the code; functions add to it. */
struct carm_astray {
    double branches; /* mispredictions, ... */
    double indirect; /* ... of them those of indirect jumps and calls ... */
    double
        elsewhere; /* ... of these, calls of functions whose time the fetch of the right instructions is */
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

/* Mispredicted indirect calls. Until the target is known the call is the oldest instruction in the core, so that this time
 * is the caller's. The fetch of the right instructions is the time of the function's begin, which is the next to leave
 * the core. A function's caller is the code with the most executions of an indirect call.
 * code   may call functions, may be such a function, or both
 * codes  [n] all of the program */
void carm_astray_calls(const struct carm_flow_code *code, const struct carm_flow_code *codes,
                       size_t n, const struct carm_graph_latencies *latencies,
                       struct carm_astray *out);
