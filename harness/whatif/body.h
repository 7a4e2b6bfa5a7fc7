/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions of a loop, decoded from a process's memory, with the facts that decide which instructions may be
 * changed: values on which a branch depends, vector registers that carry a value to the next iteration, and how
 * addresses move. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include <Zydis/Zydis.h>

#include "base/err.h"
#include "harness/profile/insn.h"

enum {
    CARM_BODY_OPS_MAX = 800,
    CARM_BODY_BYTES_MAX = 15, /* of an instruction */
    CARM_BODY_STREAMS = 4,
    CARM_BODY_STORED = 16,
};

enum carm_body_kind { CARM_BODY_PLAIN, CARM_BODY_BRANCH, CARM_BODY_JUMP, CARM_BODY_CALL };

struct carm_body_op {
    uint64_t at;
    uint8_t bytes[CARM_BODY_BYTES_MAX];
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    struct carm_flow_op op; /* a displacement relative to rip is replaced by the address */
    enum carm_body_kind kind;
    uint64_t next,
        target;   /* addresses of the next instruction and of the jump's target; 0 = none */
    bool leader;  /* a block begins here */
    int memory;   /* index of the explicit memory operand that is accessed; -1 = none */
    bool varies;  /* the address changes from one iteration to the next */
    bool vector;  /* it has a vector register */
    bool decides; /* a branch of the loop depends on it */
    double taken; /* share of its executions in which a branch jumps; -1 = not known */
    bool
        forks; /* a branch whose two sides are frequent, stay in the loop and join in the same iteration */

    /* observed */
    uint64_t executions, steps;
    int64_t votes;        /* number of steps by `stride` minus number of other steps */
    uint64_t first, last; /* addresses of its memory operand */
    int64_t stride;       /* bytes of an iteration; 0 = not constant */
    bool unaligned;       /* to its own width */
    unsigned stream;      /* number + 1; 0 = of none */
    uint64_t forwarded;   /* executions that load bytes that an earlier iteration has just stored */
    size_t from;          /* the instruction that stored these bytes, the last time */
};

/* An observed store */
struct carm_body_stored {
    uint64_t at, bytes;
    uint64_t step;      /* of the loop's observed instructions, from 1; 0 = none */
    uint64_t execution; /* of its instruction, from 1 */
    size_t op;
};

struct carm_body {
    struct carm_body_op *ops; /* [n] from the head on; instructions at lower addresses come last */
    size_t n;
    uint64_t head;
    size_t blocks;
    bool calls;          /* functions */
    bool divides;        /* floating-point division or square root */
    uint8_t carried[32]; /* vector registers that are read before they are written, and written */
    size_t ncarried;
    bool
        folds; /* an iteration repeats an operation on one carried register: a chain inside an iteration */
    bool carried_decides; /* a branch depends on a carried register */
    bool forks;           /* a branch of the loop forks */
    unsigned streams;     /* at most CARM_BODY_STREAMS: later ones have no number */
    bool
        takes_long; /* set by the caller: an iteration is so long that counting it takes no visible time */

    /* observed */
    uint64_t step;
    struct carm_body_stored stored[CARM_BODY_STORED]; /* the last ones that move */
    size_t nstored;                                   /* in all */
    bool
        forwards; /* an iteration waits for bytes that an earlier iteration stores: a chain through memory */
};

/* Executed code of the loop. */
struct carm_body_piece {
    uint64_t at;
    const uint8_t *bytes;
    size_t n;
    double taken; /* of the branch at its end; -1 = not known */
};

/* pieces  [npieces] that do not overlap; one begins at the head
 * returns 0, -CARM_ENOMEM, -CARM_ENOTSUP: this code cannot be copied; a phrase says why */
int carm_body_open(struct carm_body *body, uint64_t head, const struct carm_body_piece *pieces,
                   size_t npieces, struct carm_err *err);
void carm_body_close(struct carm_body *body);

/* The instruction at an address; NULL = not in the loop */
struct carm_body_op *carm_body_find(const struct carm_body *body, uint64_t at);

/* Whether the loop's code lies in more than one line of 64 bytes. */
bool carm_body_crosses(const struct carm_body *body);

/* Before an instruction is executed with these registers: takes the address of its memory operand. */
void carm_body_observe(struct carm_body *body, struct carm_body_op *op,
                       const struct user_regs_struct *regs);

/* After the last observation: strides that were not constant become 0, and accesses that move together become streams.
 * Accesses move together if they differ in a small displacement, or have the same stride and are within 32 KiB. */
void carm_body_observed(struct carm_body *body);

/* Whether the address of a load depends on the data that the same load brought in the previous iteration, as when a
 * linked list is followed. */
bool carm_body_chases(const struct carm_body *body, const struct carm_body_op *load);
