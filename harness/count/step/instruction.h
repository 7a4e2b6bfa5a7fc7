/* SPDX-License-Identifier: MIT */
/* Counts of executed instructions: flops, operations on vectors of integers, loads, stores and bytes, from their accounts
 * (harness/count/step/account.h) and the register state before each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    CARM_INSTRUCTION_BYTES_MAX = 15,
    CARM_WIDTH_COUNT = 4,   /* scalar, 128, 256, 512 bits */
    CARM_ELEMENT_COUNT = 4, /* 8, 16, 32, 64 bits */
};

/* Every counted quantity is one row: the member of struct carm_step_counts, its array, the number of its words, the
 * type of the same member in struct carm_tally_row (the counts of one block, harness/translate/tally.h), and the
 * quantity of points.csv that its first word is (CARM_Q_COUNT = none; the next words are the next quantities).
 *
 * instructions  an iteration of a repeated string instruction is one, too
 * flops         [0] double, [1] single precision, by width; an FMA is two
 * flops_other   x87, half precision, bfloat16
 * loads, stores accesses; a gather has one for each element
 * load_bytes, store_bytes  non-temporal accesses included
 * fp_           instructions that compute flops, whatever lanes their masks leave. divides are
 *               divisions and square roots, roots the square roots alone. Instructions that are none of adds, muls,
 *               fmas and divides approximate, multiply complex numbers or make dot products
 * int_          operations on vectors of integers (docs/counting.md has the rules): by element; by width of the
 *               vectors (MMX's 64 bits count as 128, tiles have no width); by kind (the rest is vpopcnt and the like)
 * prefetches    of data, by software; a gather's is one
 * unknown       instructions that may compute and are not understood */
/* clang-format off */
#define CARM_STEP_COUNT_TABLE(X)                                                              \
    X(instructions, , 1, uint16_t, CARM_Q_INSTRUCTIONS)                                       \
    X(flops, [2][CARM_WIDTH_COUNT], (size_t)2 * CARM_WIDTH_COUNT, uint16_t, CARM_Q_DP_SCALAR)         \
    X(flops_other, , 1, uint16_t, CARM_Q_FLOPS_OTHER)                                         \
    X(loads, , 1, uint16_t, CARM_Q_LOADS)                                                     \
    X(stores, , 1, uint16_t, CARM_Q_STORES)                                                   \
    X(load_bytes, , 1, uint32_t, CARM_Q_LOAD_BYTES)                                           \
    X(store_bytes, , 1, uint32_t, CARM_Q_STORE_BYTES)                                         \
    X(nt_stores, , 1, uint16_t, CARM_Q_COUNT)                                                 \
    X(fp_instructions, , 1, uint8_t, CARM_Q_FP_INSTRUCTIONS)                                  \
    X(fp_adds, , 1, uint8_t, CARM_Q_FP_ADDS)                                                  \
    X(fp_muls, , 1, uint8_t, CARM_Q_FP_MULS)                                                  \
    X(fp_fmas, , 1, uint8_t, CARM_Q_FP_FMAS)                                                  \
    X(fp_divides, , 1, uint8_t, CARM_Q_FP_DIVIDES)                                            \
    X(fp_roots, , 1, uint8_t, CARM_Q_FP_ROOTS)                                                \
    X(int_elements, [CARM_ELEMENT_COUNT], CARM_ELEMENT_COUNT, uint16_t, CARM_Q_INT8_OPS)      \
    X(int_widths, [CARM_WIDTH_COUNT - 1], CARM_WIDTH_COUNT - 1, uint16_t, CARM_Q_INT_128)     \
    X(int_adds, , 1, uint16_t, CARM_Q_INT_ADDS)                                               \
    X(int_muls, , 1, uint16_t, CARM_Q_INT_MULS)                                               \
    X(int_logic, , 1, uint16_t, CARM_Q_INT_LOGIC)                                             \
    X(int_dots, , 1, uint16_t, CARM_Q_INT_DOTS)                                               \
    X(int_instructions, , 1, uint8_t, CARM_Q_INT_INSTRUCTIONS)                                \
    X(prefetches, , 1, uint16_t, CARM_Q_PREFETCHES)                                           \
    X(unknown, , 1, uint32_t, CARM_Q_COUNT)
/* clang-format on */

#define CARM_STEP_AT(member, array, words, type, quantity) \
    CARM_STEP_AT_##member, CARM_STEP_LAST_##member = CARM_STEP_AT_##member + (words)-1,
enum carm_step_at { CARM_STEP_COUNT_TABLE(CARM_STEP_AT) CARM_STEP_WORDS };
#undef CARM_STEP_AT

struct carm_step_counts {
    union {
#define CARM_STEP_MEMBER(member, array, words, type, quantity) uint64_t member array;
        struct {
            CARM_STEP_COUNT_TABLE(CARM_STEP_MEMBER)
        };
#undef CARM_STEP_MEMBER
        uint64_t q[CARM_STEP_WORDS]; /* the same, from CARM_STEP_AT_instructions on */
    };
    /* the first unknown instruction, in Intel's notation; every count before it is a sum */
    char unknown_text[64];
};
_Static_assert(offsetof(struct carm_step_counts, unknown_text) ==
                   CARM_STEP_WORDS * sizeof(uint64_t),
               "the words are the members");

/* to += times x from, but for unknown_text; modulo 2^64 */
static inline void carm_step_counts_sum(struct carm_step_counts *to,
                                        const struct carm_step_counts *from, int64_t times)
{
    for (size_t i = 0; i < CARM_STEP_WORDS; i++) {
        to->q[i] += (uint64_t)times * from->q[i];
    }
}

/* The register state before an instruction. xsave is asked for only where masks, vector masks or
 * gather masks decide. */
struct carm_registers {
    uint64_t rip, rax, rcx, rdx, rdi, rsi, flags;
    /* returns the XSAVE area in the standard (uncompacted) format, as signal frames and
     * NT_X86_XSTATE have it, or NULL */
    const uint8_t *(*xsave)(void *arg, size_t *size_bytes);
    void *xsave_arg;
};

struct carm_account; /* the account of an instruction's bytes (account.h) */

/* A cache of decoded instructions by address; entries are checked against the bytes. Fixed memory,
 * taken at opening: nothing is allocated later, so it may be used in a signal handler.
 * layout  of this processor; NULL = read from CPUID, which takes 0.1 ms in a virtual machine */
struct carm_accounts;
struct carm_xlayout;
int carm_accounts_open(struct carm_accounts **out, const struct carm_xlayout *layout,
                       struct carm_err *err);
void carm_accounts_close(struct carm_accounts *accounts);

/* The instruction at rip, from the cache or decoded into it; NULL when its n bytes are no whole
 * instruction. Valid until the next call. */
const struct carm_account *carm_accounts_find(struct carm_accounts *accounts, uint64_t rip,
                                              const uint8_t *code, size_t n);

/* Adds the counts of an execution. e NULL: an unknown instruction */
void carm_accounts_apply(const struct carm_accounts *accounts, const struct carm_account *e,
                         const uint8_t *code, size_t n, const struct carm_registers *regs,
                         struct carm_step_counts *counts);

/* The active lanes of a masked access, as bits. */
uint64_t carm_accounts_active(const struct carm_accounts *accounts, const struct carm_account *e,
                              const struct carm_registers *regs);

/* Vector register 0 .. 31, whole. */
void carm_accounts_vector(const struct carm_accounts *accounts, const struct carm_registers *regs,
                          unsigned number, uint8_t out[64]);

/* Whether a step's trap is at a gather or scatter that is already counted. A page fault interrupts such an
 * instruction: its mask keeps the lanes that are left, and it traps at the same address again.
 * last  in, out: the thread's last step, if a gather or scatter: its address; else 0 */
bool carm_account_resumed(const struct carm_account *e, uint64_t rip, uint64_t *last);

/* Adds the counts of the instruction at regs->rip.
 * code  [n] its bytes, n <= 15 where the page ends */
void carm_accounts_count(struct carm_accounts *accounts, const uint8_t *code, size_t n,
                         const struct carm_registers *regs, struct carm_step_counts *counts);
