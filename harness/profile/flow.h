/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The executed control flow of a module: pieces of straight code with their counts, and natural
 * loops.
 *
 * Blocks of a counted run (harness/translate/blocks.h) may overlap. Cut at every begin of a block,
 * the blocks become pieces, which do not overlap. The sum over the pieces is the sum over the
 * blocks.
 *
 * Loops are the strongly connected parts of a function's flow. Inner loops are the strongly
 * connected parts of a loop without the edges to its entry, and so on. A loop with one entry is a
 * natural loop: the entry dominates the loop. A loop with several entries is irreducible.
 *
 * The number of times that an edge was taken follows from the pieces' executions: a piece is
 * left as often as it is entered. Where these equations do not determine an edge, they give
 * bounds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/blocks.h"

struct carm_piece {
    uint64_t at, end; /* offsets in the module's file */
    uint64_t executions;
    struct carm_step_counts counts; /* of all executions of the piece, modulo 2^64 */
    uint64_t target;
    double taken; /* jumps of a conditional branch at the piece's end, the middle of their
                   * bounds; -1 = not known */
    enum carm_tally_end ends;
    bool entered;      /* by an indirect branch or a return */
    uint32_t function; /* set by the caller: pieces with equal numbers are one function */
    uint32_t loop;     /* innermost, index + 1; 0 = in none */
};

struct carm_loop {
    uint32_t function;
    uint32_t parent;     /* index + 1; 0 = none */
    uint32_t depth;      /* 1 = outermost */
    uint64_t at;         /* offset of the entry; of an irreducible loop the first entry */
    uint64_t begin, end; /* first byte, last byte + 1 */
    bool irreducible;
    uint64_t executions;                /* executions of the entry: iterations */
    uint64_t entries_low, entries_high; /* equal: exact */
};

struct carm_flow {
    struct carm_piece *pieces; /* in order */
    size_t npieces;
    struct carm_loop *loops; /* a loop comes before the loops inside it */
    size_t nloops, loops_room;
};

/* The pieces of a module.
 * rest  out: counts that belong to no piece are added
 * returns 0 or -CARM_ENOMEM */
int carm_flow_open(struct carm_flow *flow, const struct carm_blocks *blocks, uint32_t module,
                   struct carm_step_counts *rest, struct carm_err *err);
void carm_flow_close(struct carm_flow *flow);

/* The piece with an offset; NULL = none */
struct carm_piece *carm_flow_find(const struct carm_flow *flow, uint64_t at);

/* Finds the loops, once piece->function is set for each piece.
 * begins  returns where a function begins
 * returns 0 or -CARM_ENOMEM */
int carm_flow_loops(struct carm_flow *flow, uint64_t (*begins)(void *arg, uint32_t function),
                    void *arg, struct carm_err *err);
