/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An instruction as a node of a dependence graph: its unit, the registers that it reads and
 * writes, its memory operand, and its effect on addresses. Made from the instruction's bytes
 * alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

/* A row: identifier, the word under which a model has its latency and throughput (kinds of models/core.h), and the word
 * of its pipes in the description of a microarchitecture where that is another. */
#define CARM_OPCODE_TABLE(ROW)                                                             \
    ROW(NONE, "", "")  /* moves, jumps, nop */                                             \
    ROW(OTHER, "", "") /* unknown: one cycle      */                                       \
    ROW(FP_ADD, "add", "add")                                                              \
    ROW(FP_MUL, "mul", "mul")                                                              \
    ROW(FP_FMA, "fma", "fma")                                                              \
    ROW(FP_DIV, "div", "div")                                                              \
    ROW(FP_SQRT, "sqrt", "sqrt")                                                           \
    ROW(FP_MAX, "max", "max")                                                              \
    ROW(FP_LOGIC, "logic", "logic")                                                        \
    ROW(FP_COMPARE, "compare", "compare")                                                  \
    ROW(FP_BLEND, "blend", "blend")                                                        \
    ROW(FP_SHUFFLE, "shuffle", "shuffle")                                                  \
    ROW(BYTE_SHUFFLE, "shuffle", "byte-shuffle") /* bytes, words, packed */                \
    ROW(INSERT, "shuffle", "to-vector")          /* of a general register into a vector */ \
    ROW(FP_PERMUTE, "permute", "permute")                                                  \
    ROW(FP_ROUND, "round", "round")                                                        \
    ROW(VEC_INT_ADD, "vector-int-add", "vector-int-add")                                   \
    ROW(VEC_INT_MUL, "vector-int-mul", "vector-int-mul")                                   \
    ROW(VEC_SHIFT, "vector-shift", "vector-shift")                                         \
    ROW(AES, "aes", "aes")                                                                 \
    ROW(SHA256, "sha256", "sha256")                                                        \
    ROW(CLMUL, "clmul", "clmul")                                                           \
    ROW(X87_ADD, "x87-add", "x87-add")                                                     \
    ROW(X87_MUL, "x87-mul", "x87-mul")                                                     \
    ROW(X87_DIV, "x87-div", "x87-div")                                                     \
    ROW(X87_SQRT, "x87-sqrt", "x87-sqrt")                                                  \
    ROW(X87_STORE, "x87-store", "x87-store")                                               \
    ROW(READ_MODE, "read-mode", "read-mode")                                               \
    ROW(INT_TO_FP, "convert-int", "to-vector")                                             \
    ROW(FP_TO_INT, "convert-int", "from-vector")                                           \
    ROW(CONVERT_PRECISION, "convert-precision", "convert-precision")                       \
    ROW(CONVERT_VECTOR, "convert-vector", "convert-vector")                                \
    ROW(TO_VECTOR, "move-vector", "to-vector")                                             \
    ROW(FROM_VECTOR, "move-vector", "from-vector")                                         \
    ROW(MOVE_MASK, "move-mask", "move-mask")                                               \
    ROW(MASK_LOGIC, "mask-logic", "mask-logic")                                            \
    ROW(COMPARE_FLAGS, "compare-flags", "compare-flags")                                   \
    ROW(INT_ADD, "int-add", "int-add")                                                     \
    ROW(INT_LOGIC, "int-logic", "int-logic")                                               \
    ROW(INT_SHIFT, "int-shift", "int-shift")                                               \
    ROW(INT_SHIFT_BY, "int-shift-by", "int-shift-by")                                      \
    ROW(LOAD_SIGNED, "int-add", "load-signed") /* movsx of memory */                       \
    ROW(LEA, "lea", "lea")                                                                 \
    ROW(LEA_INDEXED, "lea", "lea-indexed") /* two registers */                             \
    ROW(LEA_COMPLEX, "lea-complex", "lea-complex")                                         \
    ROW(INT_MUL, "int-mul", "int-mul")                                                     \
    ROW(POPCNT, "popcnt", "popcnt")                                                        \
    ROW(TZCNT, "tzcnt", "tzcnt")                                                           \
    ROW(INT_DIV, "int-div", "int-div")                                                     \
    ROW(CMOV, "cmov", "cmov")                                                              \
    ROW(ADC, "adc", "adc")                                                                 \
    ROW(LOAD, "load", "load")                                                              \
    ROW(FORWARD, "forward", "forward")                                                     \
    ROW(FORWARD_STRADDLING, "forward-straddling", "forward-straddling")

#define CARM_OPCODE_ID(id, ...) CARM_OPCODE_##id,
enum carm_opcode_class { CARM_OPCODE_TABLE(CARM_OPCODE_ID) CARM_OPCODE_CLASSES };
#undef CARM_OPCODE_ID

/* The word of a model; "" = none */
const char *carm_opcode_word(enum carm_opcode_class class);
/* The word of its pipes; "" = none */
const char *carm_opcode_pipes(enum carm_opcode_class class);

/* Registers by number. */
enum {
    CARM_REG_GP = 0,      /* rax .. r15 */
    CARM_REG_VECTOR = 16, /* zmm0 .. zmm31 */
    CARM_REG_MASK = 48,   /* k0 .. k7 */
    CARM_REG_FLAGS = 56,
    CARM_REG_X87 = 57, /* st0 .. st7: places behind the top of the stack */
    CARM_REG_COUNT = 65,
    CARM_REG_NONE = 255,
};

/* Width of an instruction's vectors; the first for general registers. */
enum carm_opcode_width {
    CARM_OPCODE_GP,
    CARM_OPCODE_SCALAR,
    CARM_OPCODE_16,
    CARM_OPCODE_32,
    CARM_OPCODE_64,
    CARM_OPCODE_WIDTHS
};
/* "", "scalar", "sse", "avx2", "avx512": ISAs of a model */
const char *carm_opcode_isa(enum carm_opcode_width width);

/* Type of an instruction's numbers; integers for general registers. */
enum carm_opcode_precision {
    CARM_OPCODE_DP,
    CARM_OPCODE_SP,
    CARM_OPCODE_INT64,
    CARM_OPCODE_INT32,
    CARM_OPCODE_INT16,
    CARM_OPCODE_INT8,
    CARM_OPCODE_PRECISIONS,
};
const char *carm_opcode_precision(enum carm_opcode_precision precision); /* "dp", ..., "int8" */

enum carm_opcode_flag {
    CARM_OPCODE_FUSED =
        1, /* a conditional jump, fused with the comparison before it into one operation */
    CARM_OPCODE_BRANCH = 2, /* conditional */
    CARM_OPCODE_JUMP = 4,   /* any other */
    CARM_OPCODE_CALL = 8,   /* calls and returns */
    CARM_OPCODE_PAUSE = 16,
    CARM_OPCODE_LOCKED = 32,
    CARM_OPCODE_GATHER = 64,    /* a gather or scatter */
    CARM_OPCODE_STACK = 128,    /* push, pop, call, return: rsp costs nothing */
    CARM_OPCODE_COMPARES = 256, /* may be fused with a conditional jump behind it */
    CARM_OPCODE_NOP = 512,
    CARM_OPCODE_REPEATED = 1024, /* a string instruction with a repeat prefix */
    CARM_OPCODE_EXCHANGE = 2048, /* fxch: registers are renamed */
    CARM_OPCODE_ZERO = 4096,     /* sets a vector to 0, whatever it was */
};

/* The instruction's effect on the numbers in its registers, for operations that make addresses. */
enum carm_opcode_value {
    CARM_VALUE_OTHER,     /* not known */
    CARM_VALUE_KEPT,      /* no general register and no memory changes */
    CARM_VALUE_SET,       /* to = number */
    CARM_VALUE_MOVE,      /* to = from */
    CARM_VALUE_LOAD,      /* to = memory */
    CARM_VALUE_STORE,     /* memory = from; without a source register: = number */
    CARM_VALUE_ADD,       /* to += sign x from; without a source register: += number */
    CARM_VALUE_ADD_LOAD,  /* to += sign x memory */
    CARM_VALUE_ADD_STORE, /* memory += sign x from, or += number */
    CARM_VALUE_LEA,       /* to = address of the memory operand */
    CARM_VALUE_COMPARE,   /* flags = to - from, or to - number; memory takes the place of either */
    CARM_VALUE_SHIFT,     /* to <<= number */
};

struct carm_flow_op {
    uint64_t at; /* offset in the file */
    double executions;
    uint16_t flags;
    uint8_t length, class, width, precision;
    uint8_t slots;               /* issued operations, at least */
    uint8_t nreads, nwrites;     /* registers of the operation; the address's registers are in
                                  * base and index */
    uint8_t reads[6], writes[4]; /* including the flags */
    bool loads, stores;
    int8_t pushes;              /* registers by which the x87 stack grows */
    uint8_t base, index, scale; /* of the memory operand; CARM_REG_NONE = none */
    uint8_t segment;            /* fs or gs: 1; else 0 */
    bool absolute;              /* rip-relative: displacement is the offset in the file */
    uint16_t load_bytes, store_bytes;
    int64_t displacement;
    uint8_t value, to, from; /* enum carm_opcode_value */
    int8_t sign;
    int64_t number;
};

/* One decoded instruction at an offset of its file. */
void carm_opcode_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                    uint64_t at, struct carm_flow_op *op);

/* Appends the instructions of code.
 * code  [n] bytes at offset `at` of the file
 * executions of each instruction
 * ops, nops, room  base/array.h
 * returns 0 or -CARM_ENOMEM; bytes that are no instruction end it */
struct carm_err;
int carm_flow_ops_decode(const uint8_t *code, size_t n, uint64_t at, double executions,
                         struct carm_flow_op **ops, size_t *nops, size_t *room,
                         struct carm_err *err);
