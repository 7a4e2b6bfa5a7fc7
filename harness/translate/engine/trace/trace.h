/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the addresses that the program accesses, for carm run --levels. */
#ifndef CARM_HARNESS_TRANSLATE_ENGINE_TRACE_TRACE_H
#define CARM_HARNESS_TRANSLATE_ENGINE_TRACE_TRACE_H

#include "harness/translate/engine/cache/cache.h"
#include "harness/translate/engine/code.h"

/* addresses.c */
struct carm_masked_lanes {
    uint64_t active;   /* lanes, a bit for each */
    uint8_t index[64]; /* of gathers and scatters: the vector of indices */
    unsigned wide;     /* bytes of an index */
};
bool carm_addresses_wanted(void);
void carm_addresses_begin(struct carm_thread *t);        /* of each thread */
void carm_addresses_end(struct carm_thread *t);          /* hands over what it has */
void carm_addresses_forget(const struct carm_thread *t); /* of one that was never started */
void carm_addresses_sleep(struct carm_thread *t); /* before a call that may wait for others */
/* Asked at the begin of a block; with sampling, where a look leads to records. */
void carm_addresses_room(struct carm_thread *t);
/* Code before a copied instruction; nothing where registers decide. */
void carm_addresses_emit(struct carm_emit *e, const struct carm_insn_full *x,
                         const struct carm_block *block, const char **why);
/* The most records of one execution of an instruction that are written without a look for room. */
unsigned carm_addresses_of(const struct carm_insn_full *x);
/* Code at the begin of a block with at most n such records, n > 0. link: its exit */
void carm_addresses_emit_room(struct carm_emit *e, uint32_t link, unsigned n);
/* Behind the block: what its code so far rarely comes to. */
void carm_addresses_emit_rare(struct carm_emit *e);
/* Code before and behind a repeated string instruction. */
void carm_addresses_emit_repeat(struct carm_emit *e, const struct carm_insn_full *x,
                                const struct carm_block *block, bool behind);
/* What a repeated one accesses: the first field of its records. */
unsigned carm_addresses_repeat(const struct carm_insn_full *x);
/* Of a callout. state_bytes: of xsave and xrstor */
void carm_addresses_now(struct carm_thread *t, const struct carm_insn_full *x,
                        const struct carm_masked_lanes *lanes, uint64_t state_bytes);
/* The thread was interrupted: in a repeated instruction, or before the instruction at pc of the block. */
void carm_addresses_repeated(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                             uint64_t rsi, uint64_t rdi);
void carm_addresses_correct(struct carm_thread *t, const struct carm_block *block, uint64_t pc);
void carm_addresses_take_back(struct carm_thread *t, unsigned n);

/* sample.c: code that records the accesses to some lines */
/* At the begin of a block: sets the register that its code keeps.
 * of    [n] its instructions, which stay valid until carm_sample_emit_rare
 * free  as carm_live_flags has them */
void carm_sample_begin(struct carm_emit *e, struct carm_block *block,
                       const struct carm_insn_full *of, unsigned n, uint64_t free);
/* Before instruction i. */
void carm_sample_emit(struct carm_emit *e, unsigned i, const char **why);
/* The kept register has the program's value again: before the last of n instructions ... */
void carm_sample_end(struct carm_emit *e, unsigned n);
/* ... or before instruction i leaves the cache for a moment. */
void carm_sample_back(struct carm_emit *e, unsigned i);
/* Code that jumps where the masked access of instruction i, which the engine records, may be to a line that is
 * recorded. returns the displacement; NULL: every one may be
 * borrowed  out: a register that carm_sample_emit_borrowed gives back there; -1 = none */
uint8_t *carm_sample_emit_masked(struct carm_emit *e, unsigned i, int *borrowed, const char **why);
void carm_sample_emit_borrowed(struct carm_emit *e, int borrowed);
/* Behind the block: the records. */
void carm_sample_emit_rare(struct carm_emit *e, const struct carm_block *block, const char **why);

#endif
