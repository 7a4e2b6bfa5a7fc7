/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code that a row of a profile executed: the instructions of a loop without those of the loops inside it, or
 * of a function outside of its loops, in pieces of straight code. */
#ifndef CARM_HARNESS_PROFILE_CODE_H
#define CARM_HARNESS_PROFILE_CODE_H

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
    uint64_t target; /* of a direct branch at its end */
    double taken;    /* how often a conditional branch at its end jumped; -1 = not known */
    bool jumps;      /* it ends with a direct jump */
    bool falls;      /* it may go on behind it: also after a call */
};

struct carm_flow_code {
    uint32_t module;          /* of the blocks */
    uint64_t at;              /* where an iteration begins */
    double iterations;        /* executions of that place */
    bool inner;               /* a loop without loops inside it */
    struct carm_flow_op *ops; /* by address */
    size_t nops, ops_room;
    struct carm_code_piece *pieces; /* by address */
    size_t npieces, pieces_room;
};

/* The code of a loop, or of a function outside of its loops.
 * loop      its number in flow, from 0; CARM_CODE_BODY: of the function
 * module    its number in the blocks
 * fd        the module's file; what cannot be read has no instructions
 * out       to be closed; on error it is empty
 * returns 0 or -CARM_ENOMEM */
#define CARM_CODE_BODY SIZE_MAX
int carm_code_open(struct carm_flow_code *out, const struct carm_flow *flow, size_t loop,
                   uint32_t function, uint32_t module, int fd, struct carm_err *err);
void carm_code_close(struct carm_flow_code *code);

#endif
