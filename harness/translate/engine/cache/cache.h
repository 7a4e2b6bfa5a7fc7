/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lowest part of the engine: its memory and lock, the program's executable memory, the cache of translated
 * code, and the decoder. The engine is loaded into each counted program (harness/translate/inject.h); it has no C
 * library and does not use vector registers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

#include "harness/count/step/account.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/engine/state.h"
#include "harness/translate/layout.h"
#include "harness/translate/tally.h"

#define CARM_TALLY   ((struct carm_tally *)CARM_TALLY_AT)
#define CARM_CONTROL ((struct carm_control *)CARM_CONTROL_AT)

extern struct carm_boot carm_boot; /* vectors.c */

/* ---- memory and strings (memory.c) ---- */

/* Zeroed pages of the engine; they take memory when they are touched. NULL: no memory */
void *carm_pages(uint64_t bytes, int prot);
/* Memory for code is mapped twice: the writable mapping has a random address, the other mapping is executable. No
 * mapping of the program is both. */
void *carm_pages_alias(uint64_t bytes); /* the writable mapping. NULL: no memory */
/* Address space for the executable mapping. at: 0 = anywhere. NULL: not free */
void *carm_pages_reserve(uint64_t at, uint64_t bytes);
/* Maps the alias at `at`, executable, in place of the pages there, which other threads may be executing.
 * returns false: the kernel refuses */
bool carm_pages_execute(const void *alias, void *at, uint64_t bytes);
void carm_pages_free(void *pages, uint64_t bytes);
/* Maps a part of a file privately, in place of the pages at an address. returns false: no memory */
bool carm_pages_map(int fd, uint64_t offset, void *to, uint64_t bytes, int prot);
/* Memory that is filled from its begin. Up to 16 pages are populated at a time: page faults would take three times as
 * long. The next step populates a third of the pages so far, since a page takes 1 to 2 us and a short process has
 * hundreds. Most forked children and programs with ready code need 2 pages. */
struct carm_ahead {
    uint64_t until; /* end of the populated pages; 0 = none yet */
    uint64_t pages; /* populated so far */
};
void carm_pages_ahead(struct carm_ahead *ahead, const void *used);
void carm_pages_now(void *at, uint64_t bytes); /* populates all pages */
bool carm_pages_known(void);      /* whether carm_pages_free_all knows all of the engine's pages */
bool carm_pages_own(uint64_t at); /* whether the address is in the engine's pages */
void carm_pages_free_all(void);
/* Bytes of the engine's pages; data: of its private writable pages alone */
uint64_t carm_pages_bytes(bool data);
extern bool carm_pages_shared;  /* another process may use the engine's pages */
extern uint64_t carm_tally_end; /* end of the mapped part of the tally */
void carm_lock(void);
void carm_unlock(void);
void carm_lock_reset(void); /* in a forked child */

/* Notes that the counts are incomplete from here on. The first reason stays. */
void carm_give_up(const char *why);
bool carm_given_up(void);

/* Ends the process by a signal. */
_Noreturn void carm_die(int signo);

/* Copies from and to the program's memory. returns 0 or -EFAULT */
long carm_copy_from(void *to, uint64_t from, uint64_t n);
long carm_copy_to(uint64_t to, const void *from, uint64_t n);
/* Copies pieces of the program's memory, n bytes in all, where the kernel can check them. */
struct iovec;
long carm_copy_pieces(void *to, const struct iovec *from, uint64_t pieces, uint64_t n);

/* ---- registers (vectors.c) ----
 * Libraries of the engine use vector registers and memory at fs, so both are saved for the program. */
void carm_vectors_save(struct carm_thread *t);
void carm_vectors_load(struct carm_thread *t);
void carm_fs_own(struct carm_thread *t);
void carm_fs_back(struct carm_thread *t);
void carm_set_gs(const struct carm_thread *t);

/* ---- executable memory (ranges.c) ---- */

void carm_ranges_begin(const struct carm_boot *boot);
/* Notes a change of the program's memory [begin, end): whether it is executable now, and its flags.
 * returns whether the memory held translated code */
bool carm_ranges_set(uint64_t begin, uint64_t end, bool executable, uint32_t flags);
/* Notes an mprotect of [begin, end). Shared memory stays shared. */
bool carm_ranges_protect(uint64_t begin, uint64_t end, bool executable, bool writable);
/* Whether translated code is in [begin, end). */
bool carm_ranges_translated(uint64_t begin, uint64_t end);
/* The range of executable memory with an address; NULL = none. */
struct carm_range *carm_ranges_find(uint64_t at);
/* carm_ranges_find before a translation. Reads /proc/self/maps for memory that the engine has
 * not seen (a stack that grew), and sets range->map, the range's map in the tally. The pointer
 * is valid until the ranges change. */
struct carm_range *carm_ranges_look(uint64_t at);
/* Flags of all code in [begin, end). */
uint32_t carm_ranges_flags(uint64_t begin, uint64_t end);
/* Whether only system calls, which the engine sees, can change all of this code. */
bool carm_ranges_fixed(uint64_t at, uint64_t bytes);
/* Notes that code of [begin, end) is translated. */
void carm_ranges_mark(uint64_t begin, uint64_t end);
/* Bytes of executable memory from `at` on, at most `most`. */
uint64_t carm_ranges_left(uint64_t at, uint64_t most);

/* ---- the code cache (cache.c) ---- */

enum carm_map_flag {
    MAP_REP = 1,     /* a repeated instruction; its first rcx is in s_rep */
    MAP_COUNTED = 2, /* the instruction's callout has counted it (mid_delta) */
    MAP_LANES = 8,   /* the active lanes of a mask that it overwrites are in s_rep */
    MAP_CHECK = 4,   /* before the block's first instruction: rcx is in s_rcx, rax in s_rax */
};

struct carm_map {
    uint16_t cache; /* bytes from the block's code to a copied instruction */
    uint16_t source : 12, flag : 4;
};

/* A block's code begins at a multiple of ALIGN bytes. A jump has an opcode of one byte and a displacement. */
enum { CARM_BLOCK_ALIGN = 8, CARM_JUMP_BYTES = 5 };

struct carm_block {
    uint64_t pc;
    uint8_t *code, *end; /* in the cache */
    uint8_t *entry;      /* for indirect branches, NULL = none yet */
    uint64_t *chain;     /* where entry jumps when the branch's target is another block: the next
                          * block's entry, or the stub */
    uint32_t bytes;      /* length of the source code */
    uint32_t counter;    /* number of the counter; with copies > 1, one increment is `copies`
                         * executions of the block */
    uint32_t single;     /* with copies > 1: counter of single executions */
    uint32_t map, nmap;  /* the first map's number, and how many; in order of the code */
    uint32_t incoming;   /* link + 1 */
    uint16_t inc_end;    /* from code to behind the increment of the counter */
    uint8_t copies;      /* copies of the loop's body in the block's code, with equal numbers of
                         * maps */
    bool gone;           /* unlinked; a thread inside the block may finish it */
    bool entered;        /* in the table of indirect branches */
    bool checked;        /* its code first compares the program's code with `source` */
    bool last;           /* once gone, carm_cache_again must not find it */
    int8_t kept;         /* register whose value is in r_kept; -1 = none ... */
    uint16_t kept_until; /* ... until the instruction at this offset from pc */
    uint8_t *source;     /* copy of the program's code, in the cache; NULL = the code cannot
                          * change */
    uint16_t file_map;   /* of the tally, 0 = not known */
    /* addresses of code behind the block that live.c decoded, CARM_PEEK_BYTES each; 0 = none */
    uint64_t peeked[2];
};

/* Reasons for which a block leaves the cache. */
enum carm_exit {
    EXIT_JUMP,    /* to another block */
    EXIT_PLACE,   /* a system call or int3 */
    EXIT_ROOM,    /* no room for records, at the block's begin */
    EXIT_TURN,    /* no room for records before an instruction, or a window begins or ends */
    EXIT_CHANGED, /* the program's code differs from the translated code */
    EXIT_ACCOUNT, /* an instruction whose counts depend on registers */
    EXIT_CPU,     /* cpuid, xgetbv */
    EXIT_MARK,    /* an instruction of include/carm_count.h */
    EXIT_WHERE,   /* an instruction that stores the address of the latest x87 instruction */
    EXIT_XSAVE,   /* the reasons of EXIT_ACCOUNT and EXIT_WHERE together */
    EXIT_FLAGS,   /* pushf and popf: code of the cache cannot run with some flags */
};

struct carm_link {
    uint64_t target; /* for a callout: address of its instruction */
    uint8_t *patch;  /* the jump's displacement */
    uint8_t *stub;
    uint8_t *resume;              /* of a callout: address after it in the cache */
    uint32_t from : 24, exit : 8; /* block, enum carm_exit */
    uint32_t next;                /* next link to the same block, link + 1 */
};

/* The owner of a region's memory, which processes share after a fork. */
enum carm_region_holder {
    CARM_REGION_OWN,      /* of this process alone */
    CARM_REGION_LENT,     /* its children execute it, too: written after a copy */
    CARM_REGION_BORROWED, /* an ancestor's, without an alias */
};

struct carm_region {
    uint8_t *begin, *end, *at;
    struct carm_ahead ahead, rare_ahead;
    ptrdiff_t alias; /* from an executable address to the writable address of the same byte */
    uint8_t *rare_begin, *rare; /* rarely executed code, from here to the region's end */
    enum carm_region_holder holder;
    uint32_t nblocks; /* in order of their code */
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
/* After a fork, both processes share the code. Called with the lock held, which the child inherits. */
void carm_cache_fork_parent(void);
void carm_cache_fork_child(void);
extern bool carm_cache_forked; /* in a child */
/* Links all jumps whose target block is translated, also in code that children execute. */
void carm_cache_link_all(void);
/* A region near pc with room for a block. NULL: no memory */
struct carm_region *carm_cache_room(uint64_t pc);
struct carm_block *carm_cache_find(uint64_t pc);
void carm_cache_add(struct carm_region *region, struct carm_block *block);
/* Revives a forgotten block with these source bytes. NULL: none
 * latest  out: the latest block of pc with other bytes; NULL = none */
struct carm_block *carm_cache_again(uint64_t pc, const uint8_t *bytes, uint64_t n, bool checked,
                                    const struct carm_block **latest);
/* The block whose code contains an address of the cache; NULL = none */
struct carm_block *carm_cache_owner(uint64_t at);
/* The address in the program of a copied instruction; another address is not changed.
 * half  only the low 32 bits of at are known */
uint64_t carm_cache_original(uint64_t at, bool half);
void carm_cache_link(struct carm_link *link, struct carm_block *to);
/* Enters a block into the table of indirect branches. */
void carm_cache_enter(struct carm_block *block);
/* Forgets the blocks translated from [begin, end). */
void carm_cache_forget(uint64_t begin, uint64_t end);
void carm_cache_forget_block(struct carm_block *block);
void carm_cache_forget_all(void); /* for good: no block comes back */

/* Ready code (harness/translate/layout.h). */
extern const struct carm_ready *carm_ready; /* NULL: none */
extern uint64_t carm_ready_bytes;           /* mapped at CARM_READY_AT */
/* Activates the blocks of a range whose code is executed for the first time. returns whether there are any */
bool carm_cache_wake(const struct carm_range *range);
/* Call when the program has mapped executable memory: compares the ready code of a file that is expected at this place.
 * all  no code of the program is left out of the counts */
void carm_cache_mapped(uint64_t begin, uint64_t end, bool all);
bool carm_cache_sleeps(uint32_t number); /* the program has not mapped a file of ready code */
/* Whether blocks of a file may be used: the file is not of ready code, or the program has mapped the same code. */
bool carm_cache_is_awake(uint32_t number);
/* To make ready code, in carm or at the end of a program: carm_cache_leave_all empties the table of indirect branches,
 * carm_cache_enter_again enters a block that was in it, carm_cache_unlink_all removes all jumps between blocks and
 * returns false without memory. */
void carm_cache_leave_all(void);
void carm_cache_enter_again(uint32_t number);
bool carm_cache_unlink_all(void);
/* To make ready code: links the blocks of each file to one another, and stores regions and the table of blocks.
 * at  in, out: where the next part begins
 * returns false: no room */
bool carm_cache_store(struct carm_ready *to, uint64_t *at);
/* Reserves a new part of n bytes. returns its address; NULL: no room */
void *carm_ready_room(struct carm_ready *to, uint64_t *at, struct carm_ready_part *part,
                      uint64_t n);

/* returns the link's number, or UINT32_MAX: too many links */
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
    const uint8_t *bytes;        /* the instruction's bytes: at pc, or in a copy */
    struct carm_account account; /* of carm_account_fill */
};

/* Decodes the instruction of pc from `left` bytes. returns false when the bytes are no
 * instruction */
bool carm_decode_bytes(uint64_t pc, const uint8_t *bytes, uint64_t left,
                       struct carm_insn_full *out);
/* Decodes the instruction in memory at pc. returns false when there is none */
bool carm_decode_at(uint64_t pc, struct carm_insn_full *out);
/* Decodes the instruction at pc from a block's source, as it was translated. */
bool carm_decode_of(const struct carm_block *block, uint64_t pc, struct carm_insn_full *out);

/* Whether the instruction jumps, calls or returns. */
bool carm_insn_branches(const struct carm_insn_full *x);
/* Whether a block must end with the instruction. */
bool carm_insn_ends_block(const struct carm_insn_full *x);
/* pushf and popf: code of the cache cannot run with all flags. */
bool carm_insn_moves_flags(const struct carm_insn_full *x);
/* cpuid, xgetbv: their results depend on the CPU that the program sees (carm_boot.cpu). */
bool carm_insn_tells_cpu(const struct carm_insn_full *x);
/* Which mark of include/carm_count.h the instruction is; CARM_MARK_NONE = no mark. */
enum carm_mark_kind { CARM_MARK_NONE, CARM_MARK_BEGIN, CARM_MARK_END, CARM_MARK_ASK };
enum carm_mark_kind carm_insn_mark(const struct carm_insn_full *x);

/* Sets insn->account of a decoded instruction. The functions below read it. */
void carm_account_fill(struct carm_insn_full *insn);
/* fnstenv, fnsave, fxsave, xsave: they store the address of the latest x87 instruction, which is in the cache. */
bool carm_insn_tells_where(const struct carm_insn_full *x);
bool carm_insn_xsaves(const struct carm_insn_full *x); /* xsave, xsavec, xsaveopt */
/* Whether the instruction's counts depend on registers other than the count of repetitions. */
bool carm_account_dynamic(const struct carm_insn_full *insn);
/* A dynamic instruction whose counts depend on a mask alone: translated code counts the active
 * lanes. */
struct carm_lanes {
    uint8_t reg;          /* of the mask: a mask register, or ... */
    uint16_t vector_bits; /* ... the width of a vector register whose elements' sign bits are the
                           * mask */
    uint8_t bytes;        /* of an element of this vector */
    uint8_t lanes;
    bool overwritten;   /* the instruction overwrites its mask */
    uint32_t each, any; /* counters: active lanes; executions with an active lane. UINT32_MAX =
                         * none */
};
bool carm_account_lanes(const struct carm_insn_full *insn, struct carm_lanes *out);
/* Whether the instruction needs a callout: for its account, or for addresses under a mask. */
bool carm_account_calls(const struct carm_insn_full *insn);
bool carm_account_repeats(const struct carm_insn_full *insn);
