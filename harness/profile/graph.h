/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dependence graph of a loop, by executing its iterations without values: when each result is ready if nothing
 * but dependences and latencies takes time, and how the address of each load and store moves.
 *
 * Results depend on registers and flags, and on memory where an address is known to be equal. Addresses are sums of
 * unknown numbers and constants; a number that is stored and loaded again is the same number. So a chain through a
 * variable on the stack is found, and a pointer that is kept there moves as one in a register does. Where addresses
 * may or may not be equal, they are taken as different: a chain that exists may be missed, one that is found
 * exists.
 *
 * source: the longest cycle of such a graph bounds the time of an iteration from below; Laukemann et al. 2019,
 * Automatic Throughput and Critical Path Analysis of x86 and ARM Assembly Kernels (OSACA) */
#ifndef CARM_HARNESS_PROFILE_GRAPH_H
#define CARM_HARNESS_PROFILE_GRAPH_H

#include "base/err.h"
#include "harness/profile/code.h"

/* Cycles of the core clock. */
struct carm_graph_latencies {
    double of[CARM_OPCODE_CLASSES][CARM_OPCODE_WIDTHS][CARM_OPCODE_PRECISIONS];
    double load, load_vector; /* from address to result, in L1 */
    double forward, forward_vector,
        forward_straddling; /* from stored data to the result of a load of it */
    double forward_stack;   /* likewise at an address of rsp or rbp and a constant */
    const double
        *beyond; /* [nops] added to a load of this instruction, for its misses; NULL = none */
};

enum carm_access_pattern {
    CARM_PATTERN_NONE,     /* no access, or seen once */
    CARM_PATTERN_STRIDE,   /* moves by a constant; 0 = stays */
    CARM_PATTERN_REGULAR,  /* moves by the same number each time, which is in a register */
    CARM_PATTERN_INDIRECT, /* made of a number that was loaded */
    CARM_PATTERN_COMPUTED, /* made of other numbers: a hash, a random number */
};

/* Of a load or store; of a conditional branch how the numbers move whose comparison decides. */
struct carm_graph_access {
    enum carm_access_pattern pattern;
    int64_t stride; /* bytes of an iteration */
    bool on_chain;  /* the load is a link of the longest chain */
    bool updates;   /* the store is to bytes that were loaded */
    bool straddles; /* the load needs bytes of a store and others, or of two stores */
};

struct carm_graph {
    double cycles;                  /* of an iteration, by the longest chain; 0 = there is none */
    double of[CARM_OPCODE_CLASSES]; /* parts of it; CARM_OPCODE_LOAD with what misses add */
    double links;                   /* instructions of it in an iteration */
    double straddles;               /* loads of an iteration that wait for a store to be written */
    struct carm_graph_access *accesses; /* [nops] */
};

/* returns 0 or -CARM_ENOMEM */
int carm_graph_open(struct carm_graph *graph, const struct carm_flow_code *code,
                    const struct carm_graph_latencies *latencies, struct carm_err *err);
void carm_graph_close(struct carm_graph *graph);

#endif
