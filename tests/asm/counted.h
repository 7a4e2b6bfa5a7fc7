/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test codes counted as carm run counts a program. */
#pragma once

#include "asm/decode.h"
#include "harness/count/step/instruction.h"
#include "tests/asm/call_shim.h"

/* The instructions of a code's loop as carm_step_counts has them. */
static inline struct carm_step_counts counts_of(struct carm_accounts *accounts,
                                                const struct carm_code_layout *l,
                                                const uint8_t *bytes, size_t size)
{
    struct carm_step_counts counts = {.instructions = 0};
    struct carm_insn *insns = NULL;
    size_t n = 0;
    assert_ok(carm_decode(bytes, size, l->begin, l->end, &insns, &n, &err));
    for (size_t k = 0; k < n; k++) {
        const struct carm_registers regs = {.rip = insns[k].offset};
        if (insns[k].offset >= l->loop_begin && insns[k].offset < l->loop_end) {
            carm_accounts_count(accounts, bytes + insns[k].offset, insns[k].length, &regs, &counts);
        }
    }
    free(insns);
    return counts;
}
