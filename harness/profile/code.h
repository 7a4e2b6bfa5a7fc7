/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code that a row of a profile executed: the instructions of a loop without those of the loops inside it, or
 * of a function outside of its loops, in pieces of straight code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/profile/flow.h"
#include "harness/profile/insn.h"

struct carm_code_piece {
    uint64_t at, end; /* offsets in the file */
    size_t first, n;  /* instructions */
    double executions;
    uint64_t target; /* target of a direct branch at the piece's end */
    double taken;    /* jumps of a conditional branch at the piece's end; -1 = not known */
    bool jumps;      /* the piece ends with a direct jump */
    bool entered;    /* by an indirect branch or a return */
    bool indirect;   /* the piece ends with an indirect jump */
    bool calls;      /* the piece ends with an indirect call */
    /* of the first piece of a function that is called by address: share of its calls that follow a call of another
     * function, if the order of calls is random; 0 = not known */
    double strays;
    bool falls; /* the next instruction may follow, also after a call */
};

/* A loop inside the code's loop. */
struct carm_code_gap {
    size_t loop; /* its number in the flow */
    bool writes
        [CARM_REG_COUNT]; /* registers that its code changes, and the code of loops inside it */
    bool stores;
};

/* A place at which an inner loop is entered or left. */
struct carm_code_door {
    uint64_t at;  /* begin: of a piece of the inner loop; exit: the target, in the outer loop */
    size_t gap;   /* index */
    double times; /* of an exit: how often it was taken, if known */
    bool out;
};

struct carm_flow_code {
    uint32_t module;   /* of the blocks */
    uint64_t at;       /* where an iteration begins */
    double iterations; /* executions of the loop's entry */
    bool inner;        /* a loop without loops inside it */
    /* Of an inner loop, for each register: a bit for each register whose value at the loop's exit decides this
     * register's value at the next entry, by the code of the loop around it. */
    uint64_t carried[CARM_REG_COUNT];
    struct carm_flow_op *ops; /* by address */
    size_t nops, ops_room;
    struct carm_code_piece *pieces; /* by address */
    size_t npieces, pieces_room;
    struct carm_code_gap *gaps;
    size_t ngaps, gaps_room;
    struct carm_code_door *doors;
    size_t ndoors, doors_room;
};

/* The code of a loop, or of a function outside of its loops.
 * loop      number of the loop in flow, from 0; CARM_CODE_BODY: code of the function outside of its
 *           loops
 * module    number of the module in the blocks
 * fd        the module's file; code that cannot be read has no instructions
 * out       to be closed; on error it is empty
 * returns 0 or -CARM_ENOMEM */
#define CARM_CODE_BODY SIZE_MAX
int carm_code_open(struct carm_flow_code *out, const struct carm_flow *flow, size_t loop,
                   uint32_t function, uint32_t module, int fd, struct carm_err *err);
void carm_code_close(struct carm_flow_code *code);

/* The piece that begins at an offset; NULL = none */
const struct carm_code_piece *carm_code_at(const struct carm_flow_code *code, uint64_t at);

/* Whether an indirect jump selects the next piece of the code by a number (a switch, an interpreter): the iterations of
 * a loop with such a jump cannot become elements of a vector. */
bool carm_code_dispatches(const struct carm_flow_code *code);

/* Whether an indirect jump may go to a piece: it is entered by one, and no call returns there. */
bool carm_code_is_target(const struct carm_flow_code *code, size_t piece);
