/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The accesses of an instruction, and code that computes their addresses and records them. */
#pragma once

#include "harness/translate/engine/code.h"
#include "harness/translate/engine/cache/cache.h"

enum { CARM_ACCESSES_MAX = 4 };

struct carm_access {
    const ZydisDecodedOperand *operand;
    int64_t displacement; /* added to the operand's */
    unsigned bytes, kind;
};

/* The accesses of an instruction, loads before stores as in its account. Accesses that depend on
 * registers are left out. returns their number
 * out  [CARM_ACCESSES_MAX] */
unsigned carm_accesses_of(const struct carm_insn_full *x, struct carm_access *out);

/* Between these two calls, rax and rcx are borrowed. */
void carm_access_borrow(struct carm_emit *e);
void carm_access_give_back(struct carm_emit *e);
/* Code that sets reg to the accessed address. For operands relative to fs, reg is rax, and rcx is
 * borrowed, too.
 * x  instruction of the operand */
void carm_access_address(struct carm_emit *e, unsigned reg, const struct carm_insn_full *x,
                         const struct carm_access *a, const char **why);
/* A record of the address in rax. rcx is overwritten. */
void carm_access_write(struct carm_emit *e, uint32_t what, uint32_t at);
/* Code that leaves to the engine by a link and returns at `back`. */
void carm_access_ask(struct carm_emit *e, uint32_t link, uint8_t *back);
