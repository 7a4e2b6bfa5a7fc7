/* SPDX-License-Identifier: MIT */
/* An instruction decoded into what it does wherever the registers are not needed to know it. */
#ifndef CARM_HARNESS_COUNT_STEP_DECODE_H
#define CARM_HARNESS_COUNT_STEP_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

#include "harness/count/step/instruction.h"
#include "harness/count/step/xstate.h"

enum carm_insn_flag {
    CARM_INSN_BRANCH = 1, /* call, unconditional jump */
    CARM_INSN_THUNK = 2,  /* what the PLT is made of: endbr64, jumps, push of a constant */
    CARM_INSN_SYSCALL = 4,
    CARM_INSN_PUSHF = 8,
    CARM_INSN_POPF = 16,
    CARM_INSN_REP = 32,     /* nothing when rcx is 0 */
    CARM_INSN_ADDR32 = 64,  /* ecx instead */
    CARM_INSN_XSAVE = 128,  /* stores the components in edx:eax */
    CARM_INSN_XRSTOR = 256, /* loads them */
    CARM_INSN_UNKNOWN = 512,
    CARM_INSN_PREFETCH = 1024,
};

enum carm_fp_kind {
    CARM_FP_NONE, /* computes no flops */
    CARM_FP_ADD,  /* subtracts, too */
    CARM_FP_MUL,
    CARM_FP_FMA,
    CARM_FP_OTHER,
};

/* What of a memory operand is accessed; the lanes are the mask's. */
enum carm_masked {
    CARM_MASKED_NOT,
    CARM_MASKED_ACTIVE, /* the active elements, at once */
    CARM_MASKED_ANY,    /* the whole operand if any lane is active (broadcasts) */
    CARM_MASKED_EACH,   /* one access for each active element (gather, scatter) */
};

struct carm_insn {
    uint16_t flags;
    uint8_t length; /* bytes */
    uint8_t loads, stores, nt_stores;
    uint32_t load_bytes, store_bytes;
    struct {
        uint8_t how; /* enum carm_masked */
        bool store, nontemporal;
        bool vector;   /* the mask is the elements' sign bits in a vector register */
        uint8_t reg;   /* its number, or that of the mask register */
        uint8_t lanes; /* that the mask decides on */
        uint8_t bytes; /* of one element; ANY: of the operand */
    } masked;
    struct {
        uint8_t lanes, per_lane; /* flops = product */
        uint8_t precision;       /* 0 double, 1 single, 2 other */
        uint8_t width;           /* class: scalar, 128, 256, 512 bits */
        uint8_t mask;            /* mask register, 0 = all lanes */
        uint8_t kind;            /* enum carm_fp_kind */
    } fp;
};

/* Number of a vector register; 0 .. 31 */
unsigned carm_insn_register(ZydisRegister reg);

/* Fills e->fp. returns false when the instruction computes in a way that is not understood */
bool carm_insn_flops(struct carm_insn *e, const ZydisDecodedInstruction *in,
                     const ZydisDecodedOperand *operands);

/* Fills loads, stores, bytes and masked. */
void carm_insn_memory(struct carm_insn *e, const ZydisDecodedInstruction *in,
                      const ZydisDecodedOperand *operands);

/* The instruction at rip, from the cache or decoded into it; NULL when its n bytes are no whole
 * instruction. Valid until the next call. */
const struct carm_insn *carm_insns_find(struct carm_insns *effects, uint64_t rip,
                                        const uint8_t *code, size_t n);

/* Adds what it does. e NULL: an unknown instruction */
void carm_insns_apply(const struct carm_insns *effects, const struct carm_insn *e,
                      const uint8_t *code, size_t n, const struct carm_registers *regs,
                      struct carm_step_counts *counts);

#endif
