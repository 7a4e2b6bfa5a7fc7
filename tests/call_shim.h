/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call of a test code with canaries in all registers (tests/call_shim.asm). */
#ifndef CARM_TESTS_CALL_SHIM_H
#define CARM_TESTS_CALL_SHIM_H

#include <stdint.h>

#include "asm/image.h"

/* The layout is known to call_shim.asm. */
struct call {
    carm_code_fn *fn;
    void *window;
    uint64_t iterations, passes;
    uint64_t width;          /* bytes of the vector registers loaded and kept: 16, 32 or 64 */
    uint64_t mxcsr_in;
    uint64_t general_in[10]; /* rbx rbp r12 r13 r14 r15 r8 r9 r10 r11 */
    uint64_t general[12];    /* as left: the same ten, then rdi, rsi */
    uint64_t rsp_moved;      /* bytes */
    uint64_t rflags, mxcsr;
    uint64_t stack_changed;  /* bits of the red zone that changed */
    uint8_t vectors[32][64]; /* before the call: junk; after it: as left */
};
_Static_assert(sizeof(struct call) == 256 + 32 * 64, "the layout that call_shim.asm knows");

void call_shim_run(struct call *call);

/* Functions that break the calling convention of test codes, one rule each. */
carm_code_fn call_shim_breaks_nothing; /* keeps the upper halves: a code with wide vectors may not */
carm_code_fn call_shim_breaks_rbx, call_shim_breaks_rbp, call_shim_breaks_r15, call_shim_breaks_r9;
carm_code_fn call_shim_breaks_rdi, call_shim_breaks_rsi, call_shim_breaks_rsp;
carm_code_fn call_shim_breaks_stack, call_shim_breaks_direction, call_shim_breaks_rounding;
carm_code_fn call_shim_breaks_invalid, call_shim_breaks_denormal, call_shim_breaks_overflow;

#endif
