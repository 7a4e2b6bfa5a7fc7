/* SPDX-License-Identifier: MIT */
/* Inside of harness/count/step/single.c: what the trap handler does with one instruction. */
#ifndef CARM_HARNESS_COUNT_STEP_STATE_H
#define CARM_HARNESS_COUNT_STEP_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#include "harness/count/step/decode.h"

enum { CARM_TRAP_FLAG = 0x100, CARM_STEP_THUNKS = 8 };

/* A thread's stepping. */
struct carm_stepping {
    struct carm_insns *effects;
    struct carm_step_counts counts;
    uint64_t budget;
    pid_t tid;        /* a child of vfork shares this memory */
    bool active;      /* between begin and end */
    bool paused, cut; /* cut: past the budget */
    bool was_blocked; /* SIGTRAP, at begin */

    bool inside;    /* in CARM_STEP_TEXT or in what that called */
    uint64_t entry; /* the highest stack pointer there: above it, it has returned */

    bool after_branch;              /* the instruction before was a call or jump, and */
    struct carm_step_counts before; /* these were the counts before it */
    struct {
        uint64_t rsp;
        struct carm_step_counts before;
    } thunks[CARM_STEP_THUNKS]; /* calls on their way through the PLT */
    unsigned nthunks;
    bool pushed_flags; /* the instruction before pushed the trap flag */
};

/* Counts the instruction that the thread is about to execute, of which the trap's frame tells, and sees
 * to it that the next one traps, too. Async-signal-safe. */
void carm_stepping_visit(struct carm_stepping *st, ucontext_t *uc);

#endif
