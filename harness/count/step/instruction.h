/* SPDX-License-Identifier: MIT */
/* Counts of executed instructions: flops, operations on vectors of integers, loads, stores and bytes, from their accounts
 * (harness/count/step/account.h) and the register state before each. */
#ifndef CARM_HARNESS_COUNT_STEP_INSTRUCTION_H
#define CARM_HARNESS_COUNT_STEP_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    CARM_INSTRUCTION_BYTES_MAX = 15,
    CARM_WIDTH_COUNT = 4,   /* scalar, 128, 256, 512 bits */
    CARM_ELEMENT_COUNT = 4, /* 8, 16, 32, 64 bits */
};

/* Operations on vectors of integers (docs/counting.md has the rules): by element, and again by width of the
 * vectors and by kind; the rest of the kinds counts bits. */
struct carm_step_integers {
    uint64_t elements[CARM_ELEMENT_COUNT];
    uint64_t
        widths[CARM_WIDTH_COUNT - 1]; /* 128 bits (MMX's 64 as well), 256, 512; tiles have none */
    uint64_t adds, muls, logic, dots;
    uint64_t instructions; /* those whose mask leaves no lane included */
};

struct carm_step_counts {
    uint64_t instructions; /* an iteration of a repeated string instruction is one, too */
    uint64_t flops[2][CARM_WIDTH_COUNT]; /* [0] double, [1] single precision; an FMA is two */
    uint64_t flops_other;                /* x87, half precision, bfloat16 */
    uint64_t loads, stores;              /* accesses; a gather has one for each element */
    uint64_t load_bytes, store_bytes;    /* non-temporal ones included */
    uint64_t nt_stores;
    /* Instructions that compute flops, those whose mask leaves no lane included, as they are issued
     * all the same. The rest of them divides, takes roots, approximates, multiplies complex numbers
     * or makes dot products. */
    uint64_t fp_instructions, fp_adds, fp_muls, fp_fmas, fp_divides;
    struct carm_step_integers ints;
    uint64_t prefetches; /* of data, by software; a gather's is one */
    uint64_t unknown;    /* instructions that may compute and are not understood */
    char unknown_text
        [64]; /* the first of them, in Intel's notation; everything before it is a sum */
};

/* to += times x from, but for unknown_text; modulo 2^64 */
static inline void carm_step_counts_sum(struct carm_step_counts *to,
                                        const struct carm_step_counts *from, int64_t times)
{
    uint64_t *a = &to->instructions;
    const uint64_t *b = &from->instructions;
    for (size_t i = 0; i < offsetof(struct carm_step_counts, unknown_text) / sizeof *a; i++) {
        a[i] += (uint64_t)times * b[i];
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

struct carm_account; /* its account: what can be kept for an address */

/* A cache of decoded instructions by address; entries are checked against the bytes. Fixed memory,
 * taken at opening: nothing is allocated later, so it may be used in a signal handler. */
struct carm_accounts;
int carm_accounts_open(struct carm_accounts **out, struct carm_err *err);
void carm_accounts_close(struct carm_accounts *accounts);

/* The instruction at rip, from the cache or decoded into it; NULL when its n bytes are no whole
 * instruction. Valid until the next call. */
const struct carm_account *carm_accounts_find(struct carm_accounts *accounts, uint64_t rip,
                                              const uint8_t *code, size_t n);

/* Adds what it does. e NULL: an unknown instruction */
void carm_accounts_apply(const struct carm_accounts *accounts, const struct carm_account *e,
                         const uint8_t *code, size_t n, const struct carm_registers *regs,
                         struct carm_step_counts *counts);

/* The active lanes of a masked access, as bits. */
uint64_t carm_accounts_active(const struct carm_accounts *accounts, const struct carm_account *e,
                              const struct carm_registers *regs);

/* Vector register 0 .. 31, whole. */
void carm_accounts_vector(const struct carm_accounts *accounts, const struct carm_registers *regs,
                          unsigned number, uint8_t out[64]);

/* Whether a step's trap has come at the rest of an instruction that is counted: a gather or scatter that
 * page faults interrupt keeps in its mask what is left, and traps there each time.
 * last  of the thread: where it gathered, 0 = nowhere */
bool carm_account_resumed(const struct carm_account *e, uint64_t rip, uint64_t *last);

/* Adds what the instruction at regs->rip does.
 * code  [n] its bytes, n <= 15 where the page ends */
void carm_accounts_count(struct carm_accounts *accounts, const uint8_t *code, size_t n,
                         const struct carm_registers *regs, struct carm_step_counts *counts);

#endif
