/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recount: instructions, bytes and flops of a test code, from its machine code alone, with a
 * disassembler (Zydis). */
#pragma once

#include "asm/code.h"

/* Where a code lies inside an image of `nasm -f bin`; offsets in bytes from the image's start. */
struct carm_code_layout {
    uint64_t begin, end;           /* the function, its `ret` included */
    uint64_t loop_begin, loop_end; /* the loop body, its closing branch included */
};

/* Disassembles one code and counts one pass of its loop body and its setup.
 * image  [size] bytes, as NASM wrote them
 * element_bytes  of the operands of `and` or `or`, which the machine code does not show; 0: the code has none
 * out    the recount; every field of struct carm_account is found from the bytes
 * Refuses, naming offset and instruction: an instruction outside the repertoire of test codes; a
 * memory access in the loop that is not [rax + offset], a stream's (enum carm_insn_base) or [rdi + r11 +
 * offset] of a random line, and one in the setup that is not a constant in the image; slots of a stream
 * that overlap, leave a gap or do not fill its stride (except prefetches, and the constant number of lines
 * that a loop of loads alone leaves out); accesses out of order (addresses of loads increase, and addresses of
 * stores); streams that advance by different bytes; random lines by another generator than Knuth's, not
 * read whole, or with anything between its steps; a loop that is not closed by `dec rcx; jnz loop_begin`
 * (random lines: rax); a code without the pass loop (`dec rdx; jnz`), or whose passes do not begin anew;
 * writes to registers that the convention protects, a missing vzeroupper after vectors wider than 16
 * bytes.
 * returns 0, -CARM_EFORMAT or -CARM_ENOMEM */
int carm_recount(const uint8_t *image, size_t size, const struct carm_code_layout *layout,
                 unsigned element_bytes, struct carm_account *out, struct carm_err *err);

/* Compares a recount with the account of the macros and with the specification: loads,
 * stores, bytes, flops, the stream and the slot of each access, strides, integer additions and their
 * turns, prefetches, their streams and their distance, FP operations by kind and form (FMA only as
 * vfmadd231 and vfnmadd231), vector width, precision, number of chains, non-temporal stores, stride,
 * the constants that the setup loads.
 * returns 0, -CARM_ENOMEM or -CARM_EFORMAT, whose sentence names the code and the first difference with both values */
int carm_recount_check(const struct carm_code_spec *spec, const uint8_t *image, size_t size,
                       const struct carm_code_layout *layout, const struct carm_account *account,
                       struct carm_err *err);
