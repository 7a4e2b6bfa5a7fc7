/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an instruction accesses, and code that says where and writes it down. */
#ifndef CARM_HARNESS_TRANSLATE_ENGINE_TRACE_ACCESS_H
#define CARM_HARNESS_TRANSLATE_ENGINE_TRACE_ACCESS_H

#include "harness/translate/engine/code.h"
#include "harness/translate/engine/cache/cache.h"

enum { CARM_ACCESSES_MAX = 4 };

struct carm_access {
    const ZydisDecodedOperand *operand;
    int64_t displacement; /* added to the operand's */
    unsigned bytes, kind;
};

/* Loads before stores, as the account has them; none of what registers decide. returns their number
 * out  [CARM_ACCESSES_MAX] */
unsigned carm_accesses_of(const struct carm_insn_full *x, struct carm_access *out);

/* Between these two, rax and rcx are borrowed. */
void carm_access_borrow(struct carm_emit *e);
void carm_access_give_back(struct carm_emit *e);
/* reg = where it accesses. Behind fs, reg is rax, and rcx is borrowed, too.
 * x  the operand's */
void carm_access_address(struct carm_emit *e, unsigned reg, const struct carm_insn_full *x,
                         const struct carm_access *a, const char **why);
/* A record of the address in rax. rcx is overwritten. */
void carm_access_write(struct carm_emit *e, uint32_t what, uint32_t at);
/* Out to the engine, which looks at the link, and on at back. */
void carm_access_ask(struct carm_emit *e, uint32_t link, uint8_t *back);

#endif
