/* SPDX-License-Identifier: MIT */
/* An instruction's account: the flops, operations on vectors of integers, loads, stores and bytes of one execution,
 * from the instruction's bytes alone. Where registers decide (masks, repetitions, shapes of tiles), the account says
 * which; harness/count/step/instruction.h looks at them. Any x86-64 instruction; test codes have their own, stricter
 * decoder.
 *
 * All ways to count executed instructions use these accounts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

enum carm_account_flag {
    CARM_ACCOUNT_BRANCH = 1, /* call, unconditional jump */
    CARM_ACCOUNT_THUNK = 2,  /* an instruction of a PLT: endbr64, a jump, push of a constant */
    CARM_ACCOUNT_SYSCALL = 4,
    CARM_ACCOUNT_PUSHF = 8,
    CARM_ACCOUNT_POPF = 16,
    CARM_ACCOUNT_REP = 32,     /* repeated: does nothing when rcx is 0 */
    CARM_ACCOUNT_ADDR32 = 64,  /* ecx in place of rcx */
    CARM_ACCOUNT_XSAVE = 128,  /* stores the components in edx:eax */
    CARM_ACCOUNT_XRSTOR = 256, /* loads the components in edx:eax */
    CARM_ACCOUNT_UNKNOWN = 512,
    CARM_ACCOUNT_PREFETCH = 1024,
    CARM_ACCOUNT_JUMPS = 2048, /* conditional jump, return, interrupt */
};

enum carm_compute_kind {
    CARM_COMPUTES_NOT,
    CARM_FP_ADD, /* flops, here and below; subtracts, too */
    CARM_FP_MUL,
    CARM_FP_FMA,
    CARM_FP_DIVIDE,
    CARM_FP_ROOT, /* square roots */
    CARM_FP_OTHER,
    CARM_INT_ADD, /* vectors of integers, here and below; subtracts, averages, too */
    CARM_INT_MUL,
    CARM_INT_LOGIC,
    CARM_INT_DOT,   /* multiplies (or subtracts) and sums: pmaddwd, vpdpbusd, vpmadd52luq, psadbw */
    CARM_INT_OTHER, /* counts bits */
};

/* The elements of a memory operand that are accessed, by the lanes of a mask. */
enum carm_masked {
    CARM_MASKED_NOT,
    CARM_MASKED_ACTIVE, /* the active elements, at once */
    CARM_MASKED_ANY,    /* the whole operand if any lane is active (broadcasts) */
    CARM_MASKED_EACH,   /* one access for each active element (gather, scatter) */
};

/* Accesses and products of matrix tiles; their shapes are in a register that ldtilecfg loads. */
enum carm_tiled {
    CARM_TILED_NOT,
    CARM_TILED_LOAD, /* one access, as of a vector */
    CARM_TILED_STORE,
    CARM_TILED_PRODUCT, /* of two tiles, added to a third: compute.per_lane for each 4 bytes of depth */
};

struct carm_account {
    uint16_t flags;
    uint8_t length; /* bytes */
    uint8_t loads, stores, nt_stores;
    uint32_t load_bytes, store_bytes;
    struct {
        uint8_t how; /* enum carm_masked */
        bool store, nontemporal;
        bool vector;   /* the mask is the elements' sign bits in a vector register */
        uint8_t reg;   /* number of the vector register or mask register with the mask */
        uint8_t lanes; /* that the mask decides on */
        uint8_t bytes; /* of one element; ANY: of the operand */
        uint8_t index; /* bytes of an index of a gather or scatter */
    } masked;
    struct {
        uint8_t how;    /* enum carm_tiled */
        uint8_t tile;   /* number of the tile that is loaded, stored or added to */
        uint8_t factor; /* number of the tile that is a product's first factor */
    } tiled;
    struct {
        uint8_t lanes, per_lane; /* flops or operations = product */
        /* 0 double, 1 single, 2 other; integers: elements of 8 << precision bits */
        uint8_t precision;
        uint8_t width; /* class: scalar (and tiles), 128 (and 64, integers), 256, 512 bits */
        uint8_t mask;  /* mask register, 0 = all lanes */
        uint8_t kind;  /* enum carm_compute_kind */
    } compute;
};

/* The account of a decoded instruction. operands: as the decoder filled them */
void carm_account_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                     struct carm_account *e);

/* The account of the instruction at the begin of n bytes.
 * decoder  for 64-bit code
 * returns false when the bytes do not begin with a whole instruction */
bool carm_account_decode(const ZydisDecoder *decoder, const uint8_t *code, size_t n,
                         struct carm_account *out);
