/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The executed control flow of a module: pieces of straight code with what they did, and their natural loops.
 *
 * Blocks of a counted run (harness/translate/blocks.h) may overlap. Cut at every place where one begins, they are
 * pieces that do not; the sum over the pieces is that of the blocks.
 *
 * Loops are the strongly connected parts of a function's flow, then those of each part without the edges to
 * where it is entered, and so on. A part that is entered at one place is a natural loop: that place dominates it.
 * One that is entered at several places is irreducible.
 *
 * How often an edge was taken follows from how often the pieces were executed: what leaves a piece came into
 * it. Where that leaves an edge open, there are bounds. */
#ifndef CARM_HARNESS_PROFILE_FLOW_H
#define CARM_HARNESS_PROFILE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/blocks.h"

struct carm_piece {
    uint64_t at, end; /* offsets in the module's file */
    uint64_t executions;
    struct carm_step_counts counts; /* of all its executions; modulo 2^64 */
    uint64_t target;
    double taken; /* of a conditional branch at its end: how often it jumped, the middle of its
                   * bounds; -1 = not known */
    enum carm_tally_end ends;
    bool entered;      /* by an indirect branch or a return */
    uint32_t function; /* of the caller: equal numbers are one function */
    uint32_t loop;     /* innermost, index + 1; 0 = in none */
};

struct carm_loop {
    uint32_t function;
    uint32_t parent;     /* index + 1; 0 = none */
    uint32_t depth;      /* 1 = outermost */
    uint64_t at;         /* where it is entered; of an irreducible one the first such place */
    uint64_t begin, end; /* its first and last byte + 1 */
    bool irreducible;
    uint64_t executions;                /* of the place where it is entered: iterations */
    uint64_t entries_low, entries_high; /* equal: exact */
};

struct carm_flow {
    struct carm_piece *pieces; /* in order */
    size_t npieces;
    struct carm_loop *loops; /* a parent comes before what is in it */
    size_t nloops, loops_room;
};

/* The pieces of a module.
 * rest  out: what no piece has is added to it
 * returns 0 or -CARM_ENOMEM */
int carm_flow_open(struct carm_flow *flow, const struct carm_blocks *blocks, uint32_t module,
                   struct carm_step_counts *rest, struct carm_err *err);
void carm_flow_close(struct carm_flow *flow);

/* The piece that has this offset; NULL = none */
struct carm_piece *carm_flow_find(const struct carm_flow *flow, uint64_t at);

/* When each piece has its function: the loops.
 * begins  returns where a function begins
 * returns 0 or -CARM_ENOMEM */
int carm_flow_loops(struct carm_flow *flow, uint64_t (*begins)(void *arg, uint32_t function),
                    void *arg, struct carm_err *err);

#endif
