/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disassembles machine code (Zydis) into the few instructions that test codes consist of. Does not
 * depend on the macros that emitted the instructions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asm/code.h"
#include "base/err.h"

/* The whole repertoire: anything else is refused. */
enum carm_insn_role {
    CARM_INSN_NOP,
    CARM_INSN_REWIND,   /* mov rax, rdi: back to the window's start */
    CARM_INSN_RECHARGE, /* mov rcx, rsi: the iterations of a pass */
    CARM_INSN_APART,    /* mov r9, rcx: the distance from one stream to the next */
    CARM_INSN_APART_3,  /* lea r10, [r9 + 2*r9]: three times the distance */
    CARM_INSN_APART_5,  /* lea r11, [r9 + 4*r9]: five times the distance */
    CARM_INSN_LOAD,     /* to a vector register */
    CARM_INSN_STORE,    /* from a vector register */
    CARM_INSN_NT_STORE, /* past the caches; from a vector or a general register */
    CARM_INSN_PREFETCH, /* prefetcht0: no access */
    CARM_INSN_ADD,      /* of vectors: floating point, or integers, here and below */
    CARM_INSN_MUL,
    CARM_INSN_DIV,
    CARM_INSN_SQRT, /* reg = root of src[0] */
    CARM_INSN_FMA,  /* vfmadd231 alone: reg = reg + src[0] * src[1] */
    CARM_INSN_FNMA, /* vfnmadd231 alone: reg = reg - src[0] * src[1] */
    CARM_INSN_AND,
    CARM_INSN_OR,
    CARM_INSN_DOT, /* vpdpbusd, vpdpwssd, vdpbf16ps, and of tiles tdpbssd, tdpbf16ps, tdpfp16ps: reg =
                       * reg + products of src[0] and src[1] */
    CARM_INSN_MADD52, /* vpmadd52luq: reg = reg + low bits of src[0] * src[1] */
    CARM_INSN_POPCNT, /* source and destination are one register */
    CARM_INSN_FLIP,   /* exclusive or of vectors: no operation */
    CARM_INSN_INT,    /* add of r8 .. r11 or rcx to r8 .. r11, in 64 or 32 bits */
    CARM_INSN_STEP,   /* add rax, immediate */
    CARM_INSN_DEC_RCX,
    CARM_INSN_DEC_RDX,
    CARM_INSN_JNZ,
    CARM_INSN_VZEROUPPER,
    CARM_INSN_RET,
    /* tiles: loads, stores and products of tiles have the roles of vectors */
    CARM_INSN_SHAPE, /* ldtilecfg of a constant */
    CARM_INSN_TABLE, /* lea r9, constant: the address for loading tiles before the loop */
    CARM_INSN_ROW,   /* mov r8d, immediate: bytes from one row of a tile to the next */
    CARM_INSN_TILERELEASE,
    /* the generator of random lines; its addition is an INT */
    CARM_INSN_SEED,       /* mov r8, rcx */
    CARM_INSN_FACTOR,     /* mov r9, immediate */
    CARM_INSN_SUMMAND,    /* mov r10, immediate */
    CARM_INSN_RECHARGE_R, /* mov rax, rsi: the iterations of a pass */
    CARM_INSN_MULTIPLY,   /* imul r8, r9 */
    CARM_INSN_DRAW,       /* mov r11, r8 */
    CARM_INSN_SHIFT,      /* shr r11, cl */
    CARM_INSN_LINE,       /* shl r11, immediate */
    CARM_INSN_DEC_RAX,
    CARM_INSN_END, /* behind the last instruction */
};

/* General registers, by their numbers in the instruction set. */
enum {
    CARM_GENERAL_RCX = 1,
    CARM_GENERAL_R8 = 8,
    CARM_GENERAL_R10 = 10,
    CARM_GENERAL_R11 = 11,
};

/* The base that an address in memory is relative to. */
enum carm_insn_base {
    CARM_BASE_FIRST, /* rax; from here on the streams: rax and once, twice, three, four, five times
                      * the distance, by r9, 2*r9, r10, 4*r9 and r11 */
    CARM_BASE_RANDOM = CARM_CODE_STREAMS_MAX, /* rdi + r11: the line drawn */
    CARM_BASE_IMAGE,                          /* the image: a constant */
    CARM_BASE_TABLE, /* r9: of tiles, but carm_decode turns these into addresses in the image */
};

/* The instruction set that an instruction belongs to. */
enum carm_insn_set {
    CARM_SET_BASE, /* general-purpose, prefetches, movnti: never VEX-encoded */
    CARM_SET_SSE,  /* SSE, SSE2 and SSE4.1 */
    CARM_SET_AVX,
    CARM_SET_FMA,
    CARM_SET_AVX2, /* VEX-encoded extensions that came after AVX2: AVX-VNNI, AVX-IFMA */
    CARM_SET_AVX512F,
    CARM_SET_AVX512_MORE, /* extensions that have CPUID bits of their own: AVX512BW, AVX512_VNNI,
                           * ... */
    CARM_SET_AMX,         /* AMX-TILE, AMX-INT8, AMX-BF16, AMX-FP16 */
};

struct carm_insn {
    uint64_t offset; /* in the image, bytes */
    unsigned length; /* bytes */
    enum carm_insn_role role;
    enum carm_insn_set set;
    unsigned bytes; /* of the memory access; of all lanes of FP and FLIP; of an INT's operand */
    unsigned element_bytes; /* of one element of the operands; 0 = the instruction has none */
    unsigned columns; /* of a product of tiles: elements of src[1] that each element of src[0] is
                             * multiplied with (all of src[0] are `bytes`); else 1 */
    int precision;    /* of a dot product: enum carm_precision of its factors; else -1 */
    unsigned vector_bytes; /* of the widest vector register that it writes, 0 = none */
    int reg;    /* vector register loaded, stored or changed; of INT the general one; -1 = none */
    int src[2]; /* further registers of the same file that FP, FLIP and INT read; -1 = none */
    enum carm_insn_base base; /* of the memory operand */
    int64_t value; /* displacement from the base, address in the image, immediate or target */
};

/* Decodes image[begin .. end). Behind the last instruction follows one of role END, whose offset is `end`.
 * Bytes and columns of tiles come from the shape that the code itself loads from the image; before the
 * loop, tiles are loaded from constants. *insns [*n + 1] is to be released with free; untouched on error.
 * Refuses code outside the repertoire: other instructions, prefixes, masks, broadcasts and
 * roundings, other addresses than those of enum carm_insn_base, writes to other general
 * registers than rax, rcx, rdx and r8 to r11; tiles without a shape, whose rows do not follow one
 * another in memory, or whose shapes do not fit in a product.
 * returns 0, -CARM_EFORMAT (names offset and instruction) or -CARM_ENOMEM */
int carm_decode(const uint8_t *image, size_t size, uint64_t begin, uint64_t end,
                struct carm_insn **insns, size_t *n, struct carm_err *err);

/* The instruction in Intel's notation, for messages. */
enum { CARM_INSN_TEXT_MAX = 96 };
void carm_insn_text(const uint8_t *image, size_t size, uint64_t offset,
                    char text[CARM_INSN_TEXT_MAX]);
