/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translates blocks of the program's code into the same instructions with counters. */
#pragma once

#include "harness/translate/engine/cache/cache.h"
#include "harness/translate/engine/code.h"

/* ---- translation (block.c, write.c, live.c, tallies.c) ---- */

/* Translates the block at pc. indirect: the block is also entered into the table of indirect
 * branches
 * why  out, when NULL is returned: a phrase that names the code that cannot be counted */
struct carm_block *carm_translate(uint64_t pc, bool indirect, const char **why);

/* Like carm_translate for code that was translated before, in this program or in the stock. Needs no vector
 * registers. returns NULL: the code must be decoded */
struct carm_block *carm_translated(uint64_t pc, bool indirect);

/* Writes the code of a block of n instructions.
 * like  an earlier block of the same pc, whose counters are used again if the accounts are equal;
 *       NULL = none
 * why   out, when false is returned: a phrase that names the code that cannot be counted */
bool carm_write_block(struct carm_region *region, struct carm_block *block,
                      const struct carm_block *like, const struct carm_insn_full *insns, unsigned n,
                      const char **why);
/* Gives an existing block an entry for indirect branches: a check of the target, then a jump to the
 * block.
 * returns false when the region has no room */
bool carm_write_entry(struct carm_block *block);

/* Writes the check whether this block is an indirect branch's target (cache.c): chain, number and entry,
 * CARM_CHECK_BYTES from a multiple of 8 bytes on. */
void carm_write_check(struct carm_emit *e, struct carm_block *block);
enum { CARM_CHECK_BYTES = 48 };
/* Set in carm's builder; NULL in counted programs */
extern struct carm_notes *carm_notes;

/* ---- blocks of the stock (stock.c) ---- */

void carm_stock_open(void); /* in a program, where carm has mapped the stock */
void carm_stock_use(const struct carm_stock *stock); /* in carm */
/* The block of the stock for the code at pc, of which `left` bytes can be read. parts: out. returns NULL: none */
const struct carm_stock_block *carm_stock_find(const struct carm_stock *in, uint64_t pc,
                                               uint64_t left, struct carm_stock_parts *parts);
/* Copies a block of the stock for code at pc that is not translated yet. Uses no vector registers.
 * returns NULL: there is none, or no room */
struct carm_block *carm_stock_take(uint64_t pc, const struct carm_range *range, bool is_indirect);

/* ---- ready code (ready.c) ---- */

void carm_ready_begin(const struct carm_thread *t); /* the program's first thread */
/* Whether a program that ends, or executes another one, has translated enough for its next count. */
bool carm_ready_wanted(const struct carm_thread *t);
void carm_ready_leave(
    void); /* leaves the blocks to carm; their jumps between files are unlinked, and linked when next executed */

/* Where the counter of a block can be incremented, and how (live.c). */
struct carm_place {
    unsigned before;     /* index of the instruction before which the counter is incremented */
    bool flags_free;     /* the flags are dead: the counter is incremented by inc */
    uint64_t peeked[2];  /* addresses of code behind the block on which flags_free depends,
                         * CARM_PEEK_BYTES each; 0 = none ... */
    uint16_t npeeked[2]; /* ... and the bytes that were looked at */
    int reg;             /* otherwise: register for the increment, which the program overwrites
                         * next; -1 = none */
};
struct carm_place carm_live_place(const struct carm_insn_full *insns, unsigned n);
/* A bit for each of a block's instructions: all arithmetic flags but the carry are dead before it.
 * place  out: peeked, the code behind the block on which the bits depend */
uint64_t carm_live_flags(const struct carm_insn_full *insns, unsigned n, struct carm_place *place);
_Static_assert(CARM_BLOCK_INSNS <= 64, "a bit for each");

/* Before a fork: translates and links the code that each earlier child translated for itself, so that the next children
 * find the blocks. 300 forks of a small script took 133 page faults each, 80 of them for the same 60 blocks. */
void carm_translate_for_children(struct carm_thread *t);

/* Whether the CPU that the program sees has no such instruction. */
static inline bool carm_lacks(const struct carm_insn_full *x)
{
    const unsigned set = (unsigned)x->in.meta.isa_set;
    return carm_boot.cpu.on && carm_boot.cpu.lacks[set / 64] >> set % 64 & 1;
}

/* Accounts (tallies.c). */
bool carm_account_open(void);
/* Notes the bytes of the first instruction that is not understood. */
void carm_account_note_unknown(const struct carm_insn_full *insn);
/* Allocates the counters of lanes. file_map: of the block. returns false when there are too many
 * counters */
bool carm_account_lanes_counters(const struct carm_insn_full *insn, uint16_t file_map,
                                 struct carm_lanes *lanes);
/* Adds the counts that do not depend on registers. A dynamic instruction has none, unless
 * carm_account_lanes counts it. iterations: add one iteration of a repeated instruction */
void carm_account_add(const struct carm_insn_full *insn, bool iterations,
                      struct carm_step_counts *counts);
/* Adds the counts of the instruction at pc of the block that depend on registers, which the
 * thread has just before the instruction. */
void carm_account_now(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                      struct carm_step_counts *counts);
/* A new counter.
 * counts  account of one execution of the code
 * of      the row's code and copies; its other members are not read
 * like    a counter that is used again if its row is the same; UINT32_MAX = none
 * returns the counter's number, or UINT32_MAX */
uint32_t carm_account_counter(const struct carm_step_counts *counts,
                              const struct carm_tally_row *of, uint32_t like);
/* Notes that indirect branches enter the block of this counter. */
void carm_account_entered(uint32_t counter);
/* Adds counts to a thread's extra counts, and to the site of the instruction at pc of a block. */
void carm_account_extra(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                        const struct carm_step_counts *counts, int sign);
/* A thread left the block before the instruction at pc: subtracts the counts of the instructions
 * that were not executed.
 * at  address in the cache at which the thread left */
void carm_account_correct(struct carm_thread *t, const struct carm_block *block, uint64_t at,
                          uint64_t pc);
/* A gather or scatter at pc was interrupted; its mask has the lanes that are left. Counts the lanes that are done.
 * xsave   the processor's state at that moment
 * before  active lanes when it began
 * returns the lanes that are left, or -1: the instruction is no gather or scatter */
int carm_account_halfway(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                         uint8_t *xsave, uint64_t before);
/* Adds `times` repetitions of the repeated instruction at pc, which was interrupted. */
void carm_account_repeated(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                           uint64_t times);

/* Counters for n rows, with consecutive numbers. A program's forked children each translate the same code: they share
 * the counters of equal rows, as far as the search finds them, so that counters do not run out.
 * rows   [n] their unused bytes are 0
 * again  out: another process had these counters before
 * returns the first one's number; UINT32_MAX: there are too many */
uint32_t carm_account_rows(const struct carm_tally_row *rows, uint32_t n, bool *again);
/* The row of a counter, in ready code or in the tally. CARM_ROW_ENTERED is set in the tally's row only. */
const struct carm_tally_row *carm_account_row_of(uint32_t number);
/* The row of a program's latest counter (back = 1), of the counter before (2), ... returns false: there is none */
bool carm_account_row(uint32_t back, struct carm_tally_row *out);
bool carm_account_all(void); /* no code of the program's is left out */
/* From now on, code from begin to end is not counted, nor are direct branches into it. returns 0 */
long carm_uncounted(uint64_t begin, uint64_t end);

/* lanes.c: code before and behind an instruction */
void carm_lanes_emit_before(struct carm_emit *e, const struct carm_lanes *lanes);
void carm_lanes_emit_behind(struct carm_emit *e, const struct carm_lanes *lanes);
