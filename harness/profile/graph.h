/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dependence graph of a loop, by executing its iterations without values. Gives the time at
 * which each result is ready when only dependences and latencies take time, and the movement of
 * each load's and store's address.
 *
 * Results depend on registers and flags, and on memory where an address is known to be equal.
 * Addresses are sums of unknown numbers and constants; a number that is stored and loaded again
 * stays the same number. So chains through variables on the stack are found, and a pointer on the
 * stack moves like a pointer in a register. Addresses that may be equal are taken as different: a
 * chain may be missed, but each chain that is found exists.
 *
 * source: the longest cycle of such a graph bounds the time of an iteration from below; Laukemann et al. 2019,
 * Automatic Throughput and Critical Path Analysis of x86 and ARM Assembly Kernels (OSACA) */
#pragma once

#include "base/err.h"
#include "harness/profile/code.h"

/* Cycles of the core clock. */
struct carm_graph_latencies {
    double of[CARM_OPCODE_CLASSES][CARM_OPCODE_WIDTHS][CARM_OPCODE_PRECISIONS];
    double load, load_vector; /* from address to result, in L1 */
    double indexed;           /* added to a load of a general register whose address has an index */
    double forward, forward_vector,
        forward_straddling; /* from stored data to the result of a load of these data */
    double forward_part;    /* the same for a load that also computes with or extends the data */
    /* Instructions that enter in a cycle, in order; the same for instructions that take a unit of general registers,
     * jumps included; 0 = not known */
    double dispatch, dispatch_integers;
    bool integer[CARM_OPCODE_CLASSES]; /* classes that take a unit of general registers */
    /* [nops] cycles added to a load of the instruction for its misses; NULL = none */
    const double *beyond;
};

/* Limits of the instructions in flight. Instruction i enters when instruction i - reorder has left, in order, and a
 * vector instruction when the vector instruction `vector_queue` before it has begun; `width` enter in a cycle.
 * trips  iterations of one entry of the loop; the next entry's registers depend on nothing before; 0 = many */
struct carm_graph_window {
    double width;
    size_t reorder, vector_queue; /* 0 = not known: any number */
    size_t trips;
};

enum carm_access_pattern {
    CARM_PATTERN_NONE,     /* no access, or seen once */
    CARM_PATTERN_STRIDE,   /* moves by a constant; 0 = stays */
    CARM_PATTERN_REGULAR,  /* moves by the same number each time, which is in a register */
    CARM_PATTERN_INDIRECT, /* the address depends on a loaded number */
    CARM_PATTERN_COMPUTED, /* made of other numbers: a hash, a random number */
};

/* How the address of a load or store moves; for a conditional branch, how the compared numbers move. */
struct carm_graph_access {
    enum carm_access_pattern pattern;
    int64_t stride; /* bytes of an iteration */
    bool on_chain;  /* the load is a link of the longest chain */
    bool updates;   /* the store overwrites bytes that the iteration loaded */
    bool straddles; /* the load needs bytes of a store and other bytes, or bytes of two stores */
};

struct carm_graph {
    double cycles;                  /* cycles of an iteration by the longest chain; 0 = no chain */
    double of[CARM_OPCODE_CLASSES]; /* cycles by class; CARM_OPCODE_LOAD contains the cycles of
                                     * misses */
    double dispatched; /* cycles in which an iteration's instructions enter; 0 = not known */
    double links;      /* instructions of the chain in an iteration */
    double straddles;  /* loads of an iteration that wait until a store has left the
                                     * store buffer */
    struct carm_graph_access *accesses; /* [nops] */
};

/* returns 0 or -CARM_ENOMEM */
int carm_graph_open(struct carm_graph *graph, const struct carm_flow_code *code,
                    const struct carm_graph_latencies *latencies, struct carm_err *err);
void carm_graph_close(struct carm_graph *graph);

/* Whether the longest chain is a sum, a product or a maximum: operations of one kind, whose order may change. */
bool carm_graph_is_sum(const struct carm_graph *graph);

/* Cycles of an iteration with a limited number of instructions in flight: the longest chain; or, for independent
 * iterations, the time of one iteration divided by the number of iterations in flight.
 * returns 0 or -CARM_ENOMEM */
int carm_graph_window(double *cycles, const struct carm_flow_code *code,
                      const struct carm_graph_latencies *latencies,
                      const struct carm_graph_window *window, struct carm_err *err);
