/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lowest part of the engine: its memory and lock, the program's executable memory, the cache of translated
 * code, and the decoder. The engine is loaded into each counted program (harness/translate/inject.h); it has no C
 * library and does not use vector registers. */
#ifndef CARM_HARNESS_TRANSLATE_ENGINE_CACHE_CACHE_H
#define CARM_HARNESS_TRANSLATE_ENGINE_CACHE_CACHE_H

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

extern struct carm_boot carm_boot; /* vectors.c */

/* ---- memory and strings (memory.c) ---- */

/* Pages of our own that are zero and need no store until they are touched. NULL: none */
void *carm_pages(uint64_t bytes, int prot);
/* The same at this address. NULL: it is not free */
void *carm_pages_at(uint64_t at, uint64_t bytes, int prot);
void carm_pages_free(void *pages, uint64_t bytes);
bool carm_pages_known(void); /* all of them: carm_pages_free_all frees them */
void carm_pages_free_all(void);
extern bool
    carm_pages_shared; /* another thread or process may be in this memory, or may have been */
extern uint64_t carm_tally_end; /* of what is mapped of the tally */
void carm_lock(void);
void carm_unlock(void);
void carm_lock_reset(void); /* in a forked child */

/* Not everything is counted from here on: the first reason stays. */
void carm_give_up(const char *why);
bool carm_given_up(void);

/* Ends the process by this signal. */
_Noreturn void carm_die(int signo);

/* Copies from and to the program's memory. returns 0 or -EFAULT */
long carm_copy_from(void *to, uint64_t from, uint64_t n);
long carm_copy_to(uint64_t to, const void *from, uint64_t n);

/* ---- registers (vectors.c) ----
 * Libraries of the engine use vector registers and what is behind fs. */
void carm_vectors_save(struct carm_thread *t);
void carm_vectors_load(struct carm_thread *t);
void carm_fs_own(struct carm_thread *t);
void carm_fs_back(struct carm_thread *t);
void carm_set_gs(const struct carm_thread *t);

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
/* returns its number, or UINT32_MAX: there are too many */
uint32_t carm_link_new(uint32_t from, uint64_t target, enum carm_exit exit);

/* ---- instructions (decode.c) ---- */

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

/* The instruction of pc, whose bytes are here. returns false: none there */
bool carm_decode_bytes(uint64_t pc, const uint8_t *bytes, uint64_t left,
                       struct carm_insn_full *out);
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
bool carm_account_repeats(const struct carm_insn_full *insn);

#endif
