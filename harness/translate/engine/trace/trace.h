/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the addresses that the program accesses, for carm run --levels. */
#pragma once

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
void carm_addresses_end(struct carm_thread *t);          /* hands over the unfinished chunk */
void carm_addresses_forget(const struct carm_thread *t); /* of a thread that was never started */
void carm_addresses_sleep(struct carm_thread *t);        /* before a call that may wait for other
                                                   * threads */
/* Makes room for records: at the begin of a block; with sampling, after a look that leads to
 * records. */
void carm_addresses_room(struct carm_thread *t);
/* Code before a copied instruction. Emits nothing when registers decide on the accesses. */
void carm_addresses_emit(struct carm_emit *e, const struct carm_insn_full *x,
                         const struct carm_block *block, const char **why);
/* Most records that one execution of an instruction writes without checking for room. */
unsigned carm_addresses_of(const struct carm_insn_full *x);
/* Code at the begin of a block that writes at most n records, n > 0, without checking for room.
 * link: the block's exit */
void carm_addresses_emit_room(struct carm_emit *e, uint32_t link, unsigned n);
/* Code behind the block: the rarely executed parts of the code so far. */
void carm_addresses_emit_rare(struct carm_emit *e);
/* Code before and behind a repeated string instruction. */
void carm_addresses_emit_repeat(struct carm_emit *e, const struct carm_insn_full *x,
                                const struct carm_block *block, bool behind);
/* Where an operand's memory is, by the registers that the thread had when it left the cache. */
uint64_t carm_access_of(const struct carm_thread *t, const struct carm_insn_full *x,
                        const ZydisDecodedOperand *o);
/* Writes the records of an instruction with a callout. state_bytes: of xsave and xrstor */
void carm_addresses_now(struct carm_thread *t, const struct carm_insn_full *x,
                        const struct carm_masked_lanes *lanes, uint64_t state_bytes);
/* The thread was interrupted: in a repeated instruction, or before the instruction at pc of the block. */
void carm_addresses_repeated(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                             uint64_t rsi, uint64_t rdi);
void carm_addresses_correct(struct carm_thread *t, const struct carm_block *block, uint64_t pc);
void carm_addresses_take_back(struct carm_thread *t, unsigned n);

/* sample.c: code that records the accesses to some lines */
/* At the begin of a block: chooses the register that the block's code keeps for its looks, and loads it.
 * of    [n] the block's instructions, valid until carm_sample_emit_rare
 * free  result of carm_live_flags */
void carm_sample_begin(struct carm_emit *e, struct carm_block *block,
                       const struct carm_insn_full *of, unsigned n, uint64_t free);
/* Code before instruction i: its look, if it has one. */
void carm_sample_emit(struct carm_emit *e, unsigned i, const char **why);
/* Restores the kept register to the program's value before the last of n instructions ... */
void carm_sample_end(struct carm_emit *e, unsigned n);
/* ... or before instruction i leaves the cache for a moment. */
void carm_sample_back(struct carm_emit *e, unsigned i);
/* Code that jumps when the masked access of instruction i, which the engine records, may be to a
 * recorded line.
 * returns the displacement; NULL = no test is possible, so every execution counts as such
 * borrowed  out: register that carm_sample_emit_borrowed restores at the jump's target; -1 =
 *           none */
uint8_t *carm_sample_emit_masked(struct carm_emit *e, unsigned i, int *borrowed, const char **why);
void carm_sample_emit_borrowed(struct carm_emit *e, int borrowed);
/* Behind the block: the records. */
void carm_sample_emit_rare(struct carm_emit *e, const struct carm_block *block, const char **why);
