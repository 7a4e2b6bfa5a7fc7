/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Latencies and reciprocal throughputs inside a core, the `core[]` of model.json: a table of the
 * kinds of instructions and events, and the look-up for lower bounds of a loop's time. */
#pragma once

#include "models/model.h"

/* A row: identifier, word in the file, group of `carm show`, explanation. "Latency": cycles from one instruction
 * to the next of a chain in which each needs the result of its predecessor. "Throughput": cycles for each of many
 * independent instructions. A row names other figures in its explanation. */
#define CARM_CORE_TABLE(ROW)                                                                        \
    ROW(FP_ADD, "add", FP, "addition, floating point")                                              \
    ROW(FP_MUL, "mul", FP, "multiplication, floating point")                                        \
    ROW(FP_FMA, "fma", FP, "fused multiply-add; the chain runs through the summand")                \
    ROW(FP_FMA_FACTOR, "fma-factor", FP, "fused multiply-add; the chain runs through a factor")     \
    ROW(FP_DIV, "div", FP, "division, floating point")                                              \
    ROW(FP_SQRT, "sqrt", FP, "square root")                                                         \
    ROW(FP_MAX, "max", FP, "maximum, floating point; the minimum takes the same unit")              \
    ROW(FP_LOGIC, "logic", FP, "and, or, exclusive or of vector registers")                         \
    ROW(FP_COMPARE, "compare", FP, "comparison that leaves a mask in a vector register")            \
    ROW(FP_BLEND, "blend", FP, "selection of elements by a mask in a vector register")              \
    ROW(FP_SHUFFLE, "shuffle", FP, "permutation inside lanes of 16 bytes")                          \
    ROW(FP_PERMUTE, "permute", FP, "permutation across lanes of 16 bytes")                          \
    ROW(FP_MASKED, "masked-add", FP, "addition under a mask register (AVX-512), merging")           \
    ROW(FP_ROUND, "round", FP, "rounding to an integral value")                                     \
    ROW(VEC_INT_ADD, "vector-int-add", FP, "integer addition of vectors")                           \
    ROW(VEC_INT_MUL, "vector-int-mul", FP, "integer multiplication of vectors, low half")           \
    ROW(VEC_SHIFT, "vector-shift", FP, "shift of vector elements by a constant")                    \
    ROW(AES, "aes", FP, "round of AES")                                                             \
    ROW(SHA256, "sha256", FP, "two rounds of SHA-256")                                              \
    ROW(CLMUL, "clmul", FP, "carry-less multiplication")                                            \
    ROW(X87_ADD, "x87-add", FP, "addition of the x87 stack")                                        \
    ROW(X87_MUL, "x87-mul", FP, "multiplication of the x87 stack")                                  \
    ROW(X87_DIV, "x87-div", FP, "division of the x87 stack")                                        \
    ROW(X87_SQRT, "x87-sqrt", FP, "square root of the x87 stack")                                   \
    ROW(X87_STORE, "x87-store", FP, "store of 10 bytes (fstp); throughput alone")                   \
    ROW(READ_MODE, "read-mode", FP,                                                                 \
        "store of the control register of SSE (stmxcsr: rounding, flags); throughput alone")        \
    ROW(CONVERT_INT, "convert-int", CONVERT,                                                        \
        "integer in a general register to floating point and back, both together")                  \
    ROW(CONVERT_PRECISION, "convert-precision", CONVERT,                                            \
        "double to single precision and back, both together")                                       \
    ROW(CONVERT_VECTOR, "convert-vector", CONVERT,                                                  \
        "32-bit integers to floating point and back in vector registers, both together")            \
    ROW(MOVE_VECTOR, "move-vector", CONVERT,                                                        \
        "general register to vector register and back, both together")                              \
    ROW(MOVE_MASK, "move-mask", CONVERT,                                                            \
        "general register to mask register and back, both together")                                \
    ROW(MASK_LOGIC, "mask-logic", CONVERT, "logic of mask registers")                               \
    ROW(COMPARE_FLAGS, "compare-flags", CONVERT,                                                    \
        "comparison that sets flags; throughput alone, its result is no register")                  \
    ROW(INT_ADD, "int-add", INT, "integer addition of registers")                                   \
    ROW(INT_LOGIC, "int-logic", INT, "and, or, exclusive or of general registers")                  \
    ROW(INT_SHIFT, "int-shift", INT, "shift or rotation by a constant")                             \
    ROW(INT_SHIFT_BY, "int-shift-by", INT, "shift by the count in cl")                              \
    ROW(LEA_SIMPLE, "lea", INT, "lea of base and displacement")                                     \
    ROW(LEA_COMPLEX, "lea-complex", INT, "lea of base, scaled index and displacement")              \
    ROW(INT_MUL, "int-mul", INT, "integer multiplication, low half (imul)")                         \
    ROW(POPCNT, "popcnt", INT, "population count of a general register")                            \
    ROW(TZCNT, "tzcnt", INT, "count of trailing zeros (bsf where the CPU has no tzcnt)")            \
    ROW(INT_DIV, "int-div", INT,                                                                    \
        "integer division, quotient alone, of the width of the precision; small quotients")         \
    ROW(CMOV, "cmov", INT, "conditional move")                                                      \
    ROW(ADC, "adc", INT, "addition with carry")                                                     \
    ROW(LOAD, "load", MEMORY,                                                                       \
        "load from L1: latency from address to result; a vector's without its move to the address") \
    ROW(STORE, "store", MEMORY, "store to L1; throughput alone")                                    \
    ROW(FORWARD, "forward", MEMORY, "load of bytes just stored, same address and size")             \
    ROW(FORWARD_CONTAINED, "forward-contained", MEMORY, "load of a part of bytes just stored")      \
    ROW(FORWARD_STRADDLING, "forward-straddling", MEMORY,                                           \
        "load that needs two stores, or bytes beyond a store")                                      \
    ROW(LINE_SPLIT, "line-split", MEMORY, "load across two cache lines")                            \
    ROW(LINE_SPLIT_STORE, "line-split-store", MEMORY,                                               \
        "store across two cache lines; throughput alone")                                           \
    ROW(PAGE_SPLIT, "page-split", MEMORY, "load across two pages of 4 KiB")                         \
    ROW(ALIAS_4K, "alias-4k", MEMORY,                                                               \
        "load behind a store whose address differs by 4 KiB; throughput of both together")          \
    ROW(PAGE_FAULT, "page-fault", MEMORY,                                                           \
        "first write to a page of 4 KiB, the kernel's work included")                               \
    ROW(ISSUE, "issue", CONTROL, "one of many instructions that no execution port limits")          \
    ROW(BRANCH_TAKEN, "branch-taken", CONTROL, "taken branch, predicted; throughput alone")         \
    ROW(BRANCH_MISPREDICTED, "branch-mispredicted", CONTROL,                                        \
        "conditional branch, beyond one that is predicted")                                         \
    ROW(INDIRECT_MISPREDICTED, "indirect-mispredicted", CONTROL,                                    \
        "indirect jump, beyond one that is predicted")                                              \
    ROW(CALL_RETURN, "call-return", CONTROL, "call of an empty function, both together")            \
    ROW(LOCK_ADD, "lock-add", CONTROL, "locked addition to one address that no other core uses")    \
    ROW(LOCK_ADD_CONTENDED, "lock-add-contended", CONTROL,                                          \
        "locked addition to one address that a neighbouring core adds to all the time, of each of the two")

/* The groups in which `carm show` orders the kinds. */
enum carm_core_group {
    CARM_CORE_GROUP_FP,
    CARM_CORE_GROUP_CONVERT,
    CARM_CORE_GROUP_INT,
    CARM_CORE_GROUP_MEMORY,
    CARM_CORE_GROUP_CONTROL,
    CARM_CORE_GROUP_COUNT,
};

#define CARM_CORE_ID(id, ...) CARM_CORE_##id,
enum carm_core_kind { CARM_CORE_TABLE(CARM_CORE_ID) CARM_CORE_KIND_COUNT };
#undef CARM_CORE_ID

/* The kind's word in the file. kind: 0 to CARM_CORE_KIND_COUNT - 1 */
const char *carm_core_kind_name(enum carm_core_kind kind);
enum carm_core_group carm_core_kind_group(enum carm_core_kind kind);
/* Whether the kind's figures are for two instructions, there and back. */
bool carm_core_kind_is_pair(enum carm_core_kind kind);

/* The kind with a name. returns false for an unknown name; *kind is untouched */
bool carm_core_kind_parse(const char *name, enum carm_core_kind *kind);

/* The figures of one kind while each hardware thread executes its code: the median of the threads. Where hardware threads
 * of a core share a unit, its throughput is that of one thread times the number of threads. */
struct carm_core_together {
    int threads;                /* 0 = not measured */
    double latency, throughput; /* as in struct carm_core_figure; 0 = not measured */
    struct carm_ci latency_ci95, throughput_ci95;
    bool disturbed; /* the rounds do not agree */
};

/* The figures of one kind with one ISA and precision. Cycles of the core's clock. */
struct carm_core_figure {
    enum carm_core_kind kind;
    char isa[CARM_NAME_MAX];       /* "scalar", "sse", "avx2", ...; "" = general registers */
    char precision[CARM_NAME_MAX]; /* "dp", "sp", "int64", "int32", ...; "" = does not matter */
    char code[CARM_NAME_MAX];      /* code of the latency, or else of the throughput; `carm asm
                                    * NAME` prints it */
    double latency;                /* cycles; 0 = not measured, or the kind has none */
    struct carm_ci latency_ci95;
    double throughput; /* reciprocal: cycles for each; 0 = not measured, or the kind has none */
    struct carm_ci throughput_ci95;
    struct carm_core_together together;
    double clock_hz; /* core clock during the measurement; 0 = not measured */
    bool disturbed;
    char note[CARM_TEXT_MAX]; /* why the kind was not measured, or a disturbance; "" = neither */
};

/* The figure of a kind, borrowed from the model. First choice: the figure of this ISA and precision. Second: the same
 * instruction's figure under another ISA ("avx" for "avx2" and the reverse). Third: a figure that does not depend on ISA
 * and precision (""). Figures without latency and throughput (not measured) are not found.
 * isa, precision  words of asm/isa.h, or "" for general registers
 * returns NULL: not measured */
const struct carm_core_figure *carm_core_find(const struct carm_model *model,
                                              enum carm_core_kind kind, const char *isa,
                                              const char *precision);

/* The time of a kind with all hardware threads over its time with one thread, by throughput, or by latency for a kind
 * without one: 1 where threads share no unit that the kind needs. 0 = not measured, or disturbed */
double carm_core_together_factor(const struct carm_core_figure *figure);

/* One figure from rounds on a core without other load, where disturbances only add cycles: the
 * median of the lowest rounds that agree, at least CARM_CORE_AGREE of them within `near` (relative)
 * or 0.02 cycle. The interval is the range of these rounds, and at least `floor` (relative) to each
 * side.
 * cycles  [n] n >= 1, sorted here
 * returns whether enough rounds agree; if not, the figure is the least round and the interval
 * reaches to the median */
enum { CARM_CORE_AGREE = 4 };
bool carm_core_estimate(double *cycles, size_t n, double near, double floor, double *figure,
                        struct carm_ci *ci95);
