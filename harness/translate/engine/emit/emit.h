/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of the program's code are translated: the same instructions, with counters. */
#ifndef CARM_HARNESS_TRANSLATE_ENGINE_EMIT_EMIT_H
#define CARM_HARNESS_TRANSLATE_ENGINE_EMIT_EMIT_H

#include "harness/translate/engine/cache/cache.h"
#include "harness/translate/engine/code.h"

/* ---- translation (block.c, write.c, live.c, tallies.c) ---- */

/* Translates from pc. indirect: indirect branches come here
 * why  out: when NULL is returned, the phrase that says what cannot be counted */
struct carm_block *carm_translate(uint64_t pc, bool indirect, const char **why);

/* Writes the code of a block of n instructions.
 * like  one of the same place: its counters serve again for code of the same account; NULL = none
 * why   out: when false is returned, the phrase that says what cannot be counted */
bool carm_write_block(struct carm_region *region, struct carm_block *block,
                      const struct carm_block *like, const struct carm_insn_full *insns, unsigned n,
                      const char **why);
/* An existing block that indirect branches come to as well gets a check that jumps to it.
 * returns false: there is no room */
bool carm_write_entry(struct carm_block *block);

/* Where the counter of a block can be incremented, and how (live.c). */
struct carm_place {
    unsigned before;    /* this instruction */
    bool flags_free;    /* by inc */
    uint64_t peeked[2]; /* because of what is there, CARM_PEEK_BYTES from each; 0 = none */
    int reg;            /* else through this register, which is written next; -1 = none is free */
};
struct carm_place carm_live_place(const struct carm_insn_full *insns, unsigned n);
/* Before which of a block's instructions all arithmetic flags but the carry are dead, a bit for each.
 * place: notes what that relies on */
uint64_t carm_live_flags(const struct carm_insn_full *insns, unsigned n, struct carm_place *place);
_Static_assert(CARM_BLOCK_INSNS <= 64, "a bit for each");

/* Accounts (tallies.c). */
bool carm_account_open(void);
/* Takes the counters. file_map: of the block. returns false: there are too many */
bool carm_account_lanes_counters(const struct carm_insn_full *insn, uint16_t file_map,
                                 struct carm_lanes *lanes);
/* Adds what does not depend on registers: nothing of a dynamic one, but for lanes. iterations: of a repeated one */
void carm_account_add(const struct carm_insn_full *insn, bool iterations,
                      struct carm_step_counts *counts);
/* Adds what the instruction at pc of the block does with the registers of a thread that stands before it,
 * beyond carm_account_add. */
void carm_account_now(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                      struct carm_step_counts *counts);
/* A new counter.
 * counts  account of the code that it counts, once
 * of      the code, and how many times the counter counts it; the rest of it is not read
 * like    a counter that is taken again if it is of the same; UINT32_MAX = none
 * returns its number, or UINT32_MAX */
uint32_t carm_account_counter(const struct carm_step_counts *counts,
                              const struct carm_tally_row *of, uint32_t like);
/* Indirect branches come to the block of this counter, too. */
void carm_account_entered(uint32_t counter);
/* Adds to what a thread counts beside its counters, and to the site of the instruction at pc of a block. */
void carm_account_extra(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                        const struct carm_step_counts *counts, int sign);
/* The block was left before the instruction at pc: takes back what was not executed.
 * at  place in the cache */
void carm_account_correct(struct carm_thread *t, const struct carm_block *block, uint64_t at,
                          uint64_t pc);
/* Repetitions that were executed of the instruction at pc, which was interrupted. */
void carm_account_repeated(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                           uint64_t times);

/* Code from begin to end does not count from now on, nor do direct branches into it. returns 0 */
long carm_uncounted(uint64_t begin, uint64_t end);

/* lanes.c: code before and behind an instruction */
void carm_lanes_emit_before(struct carm_emit *e, const struct carm_lanes *lanes);
void carm_lanes_emit_behind(struct carm_emit *e, const struct carm_lanes *lanes);

#endif
