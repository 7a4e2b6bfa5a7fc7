/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the engine's parts know of each other. The engine is loaded into each counted program
 * (harness/translate/inject.h); it has no C library and does not use vector registers. */
#ifndef CARM_HARNESS_TRANSLATE_ENGINE_ENGINE_H
#define CARM_HARNESS_TRANSLATE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

#include "harness/count/step/account.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/engine/state.h"
#include "harness/translate/tally.h"

#define CARM_TALLY   ((struct carm_tally *)CARM_TALLY_AT)
#define CARM_CONTROL ((struct carm_control *)CARM_CONTROL_AT)

/* ---- memory and strings (memory.c) ---- */

/* Pages of our own that are zero and need no store until they are touched. NULL: none */
void *carm_pages(uint64_t bytes, int prot);
void carm_lock(void);
void carm_unlock(void);
void carm_lock_reset(void); /* in a forked child */

/* ---- executable memory (ranges.c) ---- */

void carm_ranges_begin(const struct carm_boot *boot);
/* The program's memory [begin, end) is now so; prot 0 = gone.
 * returns whether translated code was in it */
bool carm_ranges_set(uint64_t begin, uint64_t end, bool executable, uint32_t flags);
/* mprotect: executable, or not any more; shared memory stays shared */
bool carm_ranges_protect(uint64_t begin, uint64_t end, bool executable, bool writable);
/* Whether translated code is in [begin, end). */
bool carm_ranges_translated(uint64_t begin, uint64_t end);
/* NULL: no code there */
struct carm_range *carm_ranges_find(uint64_t at);
/* The same for code that is to be translated: /proc tells what the engine has not seen (a stack that grew), and
 * the map of the tally (range->map). The pointer is valid until the ranges change. */
struct carm_range *carm_ranges_look(uint64_t at);
/* Flags of all code in [begin, end). */
uint32_t carm_ranges_flags(uint64_t begin, uint64_t end);
/* There are blocks of [begin, end) now. */
void carm_ranges_mark(uint64_t begin, uint64_t end);
/* Bytes from at on that are code, at most so many. */
uint64_t carm_ranges_left(uint64_t at, uint64_t most);

/* ---- the code cache (cache.c) ---- */

enum carm_map_flag {
    MAP_REP = 1,     /* rcx before it is in s_rep */
    MAP_COUNTED = 2, /* its callout has counted it: mid_delta */
    MAP_CHECK = 4,   /* before the block's first instruction: rcx is in s_rcx, rax in s_rax */
};

struct carm_map {
    uint16_t cache; /* bytes from the block's code to a copied instruction */
    uint16_t source : 12, flag : 4;
};

struct carm_block {
    uint64_t pc;
    uint8_t *code, *end; /* in the cache */
    uint8_t *entry;      /* for indirect branches, NULL = none yet */
    uint64_t *chain;     /* where entry goes when it is not meant: the next entry, or the stub */
    uint32_t bytes;      /* of source */
    uint32_t counter;   /* its number; of `copies` times the block, where there are more than one */
    uint32_t single;    /* counter of the block once, where there are copies */
    uint32_t map, nmap; /* in order */
    uint32_t incoming;  /* link + 1 */
    uint16_t inc_end;   /* from code to behind the increment of the counter */
    uint8_t copies;     /* one after the other in its code, with as many maps each */
    bool gone;          /* nothing leads to it; the thread that is in it may stay */
    bool entered;       /* indirect branches find it */
    bool checked;       /* its code compares the program's with source first */
    bool last;          /* once gone, it does not come back */
    int8_t kept;        /* register whose value is in r_kept; -1 = none ... */
    uint16_t kept_until; /* ... up to the instruction so many bytes from its begin */
    uint8_t *source;     /* copy of the program's code, in the cache; NULL = that does not change */
    uint16_t file_map;   /* of the tally, 0 = not known */
    uint64_t
        peeked[2]; /* code elsewhere that it relies on (live.c): CARM_PEEK_BYTES from here; 0 */
};

/* What a block leaves the cache for. */
enum carm_exit {
    EXIT_JUMP,    /* to another block */
    EXIT_PLACE,   /* a system call or int3 */
    EXIT_ROOM,    /* no room for records at the begin of the block */
    EXIT_TURN,    /* the same before an instruction, or a window begins or ends */
    EXIT_CHANGED, /* the program's code is not what was translated */
    EXIT_ACCOUNT, /* an instruction that is counted by the registers that it finds */
    EXIT_FLAGS,   /* pushf and popf, for the flags that code of the cache cannot run with */
};

struct carm_link {
    uint64_t target; /* or the instruction's own address */
    uint8_t *patch;  /* the jump's displacement */
    uint8_t *stub;
    uint8_t *resume;              /* of a callout: where the cache goes on */
    uint32_t from : 24, exit : 8; /* block, enum carm_exit */
    uint32_t next;                /* of those to the same block, link + 1 */
};

struct carm_region {
    uint8_t *begin, *end, *at;
    uint8_t *rare_begin, *rare; /* from here to the end: code that is rarely executed */
    uint32_t nblocks;           /* in order of their code */
    uint32_t *blocks;
};

extern struct carm_block *carm_blocks;
extern struct carm_link *carm_links;
extern struct carm_map *carm_maps;
extern uint32_t carm_nblocks, carm_nlinks, carm_nmaps;
enum { CARM_BLOCKS_MAX = 1 << 20, CARM_LINKS_MAX = 3 << 20, CARM_MAPS_MAX = 12 << 20 };
/* Entries by the low bits of the target; filled with carm_entry_miss where the engine is linked. */
extern void *carm_table[1 << 16];

bool carm_cache_open(void);
/* A region near pc with room for a block. NULL: no memory */
struct carm_region *carm_cache_room(uint64_t pc);
struct carm_block *carm_cache_find(uint64_t pc);
void carm_cache_add(struct carm_region *region, struct carm_block *block);
/* A block that was forgotten and is of these bytes: it comes back. NULL: none
 * latest  out: the latest one of pc, of other bytes; NULL = none */
struct carm_block *carm_cache_again(uint64_t pc, const uint8_t *bytes, uint64_t n, bool checked,
                                    const struct carm_block **latest);
/* The block whose code holds this address; NULL = none */
struct carm_block *carm_cache_owner(uint64_t at);
bool carm_cache_holds(uint64_t at); /* in any region */
void carm_cache_link(struct carm_link *link, struct carm_block *to);
/* Makes indirect branches find it. */
void carm_cache_enter(struct carm_block *block);
/* Forgets what was translated from [begin, end). */
void carm_cache_forget(uint64_t begin, uint64_t end);
void carm_cache_forget_block(struct carm_block *block);
void carm_cache_forget_all(void); /* none comes back */

/* ---- translation (block.c, write.c, live.c, tallies.c) ---- */

enum {
    CARM_BLOCK_INSNS = 48,
    CARM_BLOCK_CODE_MAX = 16 << 10,
    CARM_BLOCK_BYTES_MAX = CARM_BLOCK_INSNS * CARM_INSTRUCTION_BYTES_MAX,
    CARM_PEEK_BYTES = 96,
    CARM_PAGE = 4096,
};

struct carm_insn_full {
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    uint64_t pc;
    const uint8_t *bytes;        /* pc, or a copy of what was there */
    struct carm_account account; /* of carm_account_fill */
};

/* Reads the instruction at pc. returns false: none there */
bool carm_decode_at(uint64_t pc, struct carm_insn_full *out);
/* The same, as it was when the block was translated. */
bool carm_decode_of(const struct carm_block *block, uint64_t pc, struct carm_insn_full *out);

/* Whether it jumps, calls or returns. */
bool carm_insn_branches(const struct carm_insn_full *x);
/* Whether nothing of the block can follow it. */
bool carm_insn_ends_block(const struct carm_insn_full *x);
/* pushf and popf: code of the cache cannot run with all flags. */
bool carm_insn_moves_flags(const struct carm_insn_full *x);

/* returns its number, or UINT32_MAX: there are too many */
uint32_t carm_link_new(uint32_t from, uint64_t target, enum carm_exit exit);

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
/* The account of a decoded instruction, which the others take from it. */
void carm_account_fill(struct carm_insn_full *insn);
/* Whether what it does depends on registers, but for repetitions. */
bool carm_account_dynamic(const struct carm_insn_full *insn);
/* The same, where code can count the part that depends on them: a mask's lanes. */
struct carm_lanes {
    uint8_t reg;          /* of the mask: a mask register, or ... */
    uint16_t vector_bits; /* ... a vector of so many, in whose elements' signs it is */
    uint8_t bytes;        /* of such an element */
    uint8_t lanes;
    bool overwritten;   /* by the instruction */
    uint32_t each, any; /* counters: of an active lane; that there are some. UINT32_MAX = none */
};
bool carm_account_lanes(const struct carm_insn_full *insn, struct carm_lanes *out);
/* Whether the engine is called for it: for its account, or for addresses under a mask. */
bool carm_account_calls(const struct carm_insn_full *insn);
/* Takes the counters. file_map: of the block. returns false: there are too many */
bool carm_account_lanes_counters(const struct carm_insn_full *insn, uint16_t file_map,
                                 struct carm_lanes *lanes);
bool carm_account_repeats(const struct carm_insn_full *insn);
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

/* ---- the rest ---- */

/* region.c: what libcarm asks for by a system call */
long carm_region_asked(struct carm_thread *t);
void carm_region_close(struct carm_thread *t); /* the thread ends */

/* Not everything is counted from here on: the first reason stays. */
void carm_give_up(const char *why);
bool carm_given_up(void);

/* vectors.c: libraries of the engine use vector registers and what is behind fs. */
void carm_vectors_save(struct carm_thread *t);
void carm_vectors_load(struct carm_thread *t);
void carm_fs_own(struct carm_thread *t);
void carm_fs_back(struct carm_thread *t);
void carm_set_gs(const struct carm_thread *t);

/* Copies from and to the program's memory. returns 0 or -EFAULT */
long carm_copy_from(void *to, uint64_t from, uint64_t n);
long carm_copy_to(uint64_t to, const void *from, uint64_t n);

/* dispatch.c: on at pc. */
_Noreturn void carm_go_on(struct carm_thread *t, uint64_t pc, bool indirect);
/* Out of the cache, uncounted: at pc. */
_Noreturn void carm_detach(struct carm_thread *t, uint64_t pc);

/* signal.c */
void carm_signals_begin(struct carm_thread *t); /* of each thread: its stack */
void carm_signals_detach(struct carm_thread *t);
long carm_signal_action(struct carm_thread *t, int signo, const struct carm_action *set,
                        struct carm_action *old);
long carm_signal_stack(struct carm_thread *t, const struct carm_altstack *set,
                       struct carm_altstack *old);
_Noreturn void carm_signal_sigreturn(struct carm_thread *t);
/* All blocked; returns the mask before */
carm_sigset carm_signals_block(void);
void carm_signals_mask(carm_sigset mask);
/* Whether the program handles it itself. */
bool carm_signal_handled(const struct carm_thread *t, int signo);
/* Ends the process by this signal. */
_Noreturn void carm_signal_die(int signo);

/* thread.c */
struct carm_thread *carm_thread_take(const struct carm_thread *parent); /* a slot; NULL = none */
void carm_thread_leave(struct carm_thread *t);                          /* it ends */
_Noreturn void carm_thread_exit(struct carm_thread *t, uint64_t status);
/* A system call that makes a thread or a process. returns its result, in the parent */
long carm_thread_clone(struct carm_thread *t, long nr);
/* Before an exec: asks for the new program to be traced. */
void carm_thread_before_exec(struct carm_thread *t, long nr);
void carm_thread_exec_failed(struct carm_thread *t);

extern struct carm_boot carm_boot;

/* lanes.c: code before and behind an instruction */
struct carm_emit;
void carm_lanes_emit_before(struct carm_emit *e, const struct carm_lanes *lanes);
void carm_lanes_emit_behind(struct carm_emit *e, const struct carm_lanes *lanes);

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
