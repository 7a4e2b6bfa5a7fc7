/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that carm and the counted processes share: what they counted, and requests to follow an exec.
 *
 * Each program that is executed has a tally of its own, a sparse file in memory: a header, an account for
 * each counter (harness/count/step), and for each thread of each process a slot with the counters
 * themselves. The counts live here and nowhere else, so a process that is killed loses none. A process has it
 * mapped at CARM_TALLY_AT, up to the last slot that it needs: where thread and memory sanitizers let programs have
 * memory, and a TiB or more below what the kernel gives out first. The first part of a slot is covered there by private memory, the
 * thread's state, so that one register reaches both.
 *
 * Each counter says which code it is of, so that a reader can tell what each block did (blocks.h).
 *
 * The control is one page for a whole run. */
#ifndef CARM_HARNESS_TRANSLATE_TALLY_H
#define CARM_HARNESS_TRANSLATE_TALLY_H

#include <stdint.h>

#include "harness/count/step/instruction.h"
#include "harness/translate/records.h"

#define CARM_TALLY_AT   UINT64_C(0x7e9000000000)
#define CARM_CONTROL_AT UINT64_C(0x7e8ffff00000)

enum {
    CARM_TALLY_COUNTERS = 1 << 20,    /* of a program, some 1.5 for each block of its code */
    CARM_TALLY_SLOTS = 4096,          /* threads at a time, those of forked children included */
    CARM_TALLY_MAPS = 1024,           /* files whose code was executed */
    CARM_TALLY_MAPS_AT = 64 << 10,    /* struct carm_tally_map */
    CARM_TALLY_SITES = 8192,          /* instructions that are counted apart */
    CARM_TALLY_SITES_AT = 1088 << 10, /* struct carm_tally_site */
    CARM_TALLY_ROWS_AT = 2 << 20,     /* accounts */
    CARM_TALLY_SLOTS_AT = 128 << 20,  /* first slot */
    CARM_TALLY_SLOT_BYTES = 16 << 20, /* from one to the next */
    CARM_TALLY_STATE_BYTES = 1 << 20, /* of a slot: private to the thread */
    CARM_TALLY_SLOT_AT = 2 << 20,     /* in a slot: struct carm_tally_slot */
    CARM_TALLY_COUNTS_AT = 4 << 20,   /* in a slot: a uint64_t for each counter */
    CARM_TALLY_EXTRAS_AT = 12 << 20,  /* in a slot: struct carm_step_counts for each site */
    CARM_TALLY_REASON_MAX = 192,
    CARM_TALLY_PATH_MAX = 984,
    CARM_CONTROL_REQUESTS = 64,
};

#define CARM_TALLY_BYTES \
    ((uint64_t)CARM_TALLY_SLOTS_AT + (uint64_t)CARM_TALLY_SLOTS * CARM_TALLY_SLOT_BYTES)

/* Mapped at first: with one slot. */
#define CARM_TALLY_FIRST_BYTES ((uint64_t)CARM_TALLY_SLOTS_AT + (uint64_t)CARM_TALLY_SLOT_BYTES)

/* How a block ends. */
enum carm_tally_end {
    CARM_END_NEXT, /* it goes on behind it */
    CARM_END_JUMP,
    CARM_END_BRANCH, /* conditional: to the target, or on behind it */
    CARM_END_CALL,
    CARM_END_INDIRECT_JUMP,
    CARM_END_INDIRECT_CALL,
    CARM_END_RETURN,
    CARM_END_SYSCALL, /* or int3 */
    CARM_END_PART,    /* no block: executions of one repeated string instruction */
};

/* What one increment of a counter stands for: the sum of a block's instructions, so many times. */
struct carm_tally_row {
    uint64_t pc;
    uint64_t target; /* of a direct branch */
    uint32_t bytes;  /* of code */
    uint16_t map;    /* number + 1 of the struct carm_tally_map that pc is in; 0 = not known */
    uint8_t end;     /* enum carm_tally_end */
    uint8_t entered; /* by indirect branches and returns, too */
    uint8_t times;
    uint8_t compared; /* with the program's code, each time: it may change */
    uint16_t flops[2][CARM_WIDTH_COUNT];
    uint16_t flops_other, instructions;
    uint16_t loads, stores, nt_stores, prefetches;
    uint8_t fp_instructions, fp_adds, fp_muls, fp_fmas, fp_divides, int_instructions;
    uint16_t int_elements[CARM_ELEMENT_COUNT], int_widths[CARM_WIDTH_COUNT - 1];
    uint16_t int_adds, int_muls, int_logic, int_dots;
    uint32_t unknown;
    uint32_t load_bytes, store_bytes;
};

static inline void carm_tally_add(struct carm_step_counts *to, const struct carm_tally_row *row,
                                  uint64_t increments)
{
    const uint64_t times = increments * row->times;
    to->instructions += times * row->instructions;
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        to->flops[0][w] += times * row->flops[0][w];
        to->flops[1][w] += times * row->flops[1][w];
    }
    to->flops_other += times * row->flops_other;
    to->loads += times * row->loads;
    to->stores += times * row->stores;
    to->nt_stores += times * row->nt_stores;
    to->prefetches += times * row->prefetches;
    to->fp_instructions += times * row->fp_instructions;
    to->fp_adds += times * row->fp_adds;
    to->fp_muls += times * row->fp_muls;
    to->fp_fmas += times * row->fp_fmas;
    to->fp_divides += times * row->fp_divides;
    for (int i = 0; i < CARM_ELEMENT_COUNT; i++) {
        to->ints.elements[i] += times * row->int_elements[i];
    }
    for (int w = 0; w < CARM_WIDTH_COUNT - 1; w++) {
        to->ints.widths[w] += times * row->int_widths[w];
    }
    to->ints.adds += times * row->int_adds;
    to->ints.muls += times * row->int_muls;
    to->ints.logic += times * row->int_logic;
    to->ints.dots += times * row->int_dots;
    to->ints.instructions += times * row->int_instructions;
    to->unknown += times * row->unknown;
    to->load_bytes += times * row->load_bytes;
    to->store_bytes += times * row->store_bytes;
}

struct carm_tally_slot {
    uint32_t used;
    int32_t pid;                   /* of its process */
    struct carm_step_counts extra; /* what depends on registers, and corrections: modulo 2^64 */
};

/* Executable memory, as it was when its first block was translated. */
struct carm_tally_map {
    uint64_t begin, end, offset; /* in the file */
    uint64_t inode, time_ns;     /* of the file; CLOCK_REALTIME of that moment */
    char path
        [CARM_TALLY_PATH_MAX]; /* as /proc/PID/maps has it, unescaped; "" = no file, or longer */
};

/* Where extra counts come from: an instruction that depends on registers, or a place in whose midst a block was
 * left. Each thread has its own at CARM_TALLY_EXTRAS_AT, modulo 2^64; what has no site is in extra alone. */
struct carm_tally_site {
    uint64_t pc;
    uint32_t map, unused; /* as in a row */
};

_Static_assert(CARM_TALLY_SITES * sizeof(struct carm_step_counts) <=
                   CARM_TALLY_SLOT_BYTES - CARM_TALLY_EXTRAS_AT,
               "sites fit a slot");
_Static_assert(CARM_TALLY_COUNTERS * sizeof(struct carm_tally_row) <=
                   CARM_TALLY_SLOTS_AT - CARM_TALLY_ROWS_AT,
               "rows fit before the slots");
_Static_assert(CARM_TALLY_MAPS * sizeof(struct carm_tally_map) <=
                       CARM_TALLY_SITES_AT - CARM_TALLY_MAPS_AT &&
                   CARM_TALLY_SITES * sizeof(struct carm_tally_site) <=
                       CARM_TALLY_ROWS_AT - CARM_TALLY_SITES_AT,
               "maps and sites fit before the rows");

struct carm_tally {
    uint32_t counters;           /* rows in use */
    uint32_t maps, sites;        /* in use */
    uint32_t slots;              /* that were ever in use: below this number */
    uint32_t threads, processes; /* seen */
    uint32_t incomplete;         /* not everything was counted: reason says why */
    uint32_t unknown_length;     /* of the first instruction that was not understood */
    uint8_t unknown_code[16];
    char reason[CARM_TALLY_REASON_MAX]; /* one phrase */
};

enum carm_request_state {
    CARM_REQUEST_FREE,
    CARM_REQUEST_CLAIMED,
    CARM_REQUEST_ASKED,  /* the process is about to exec: trace it */
    CARM_REQUEST_GO,     /* traced */
    CARM_REQUEST_NO,     /* cannot be traced: the new program is not counted */
    CARM_REQUEST_FAILED, /* the exec did: let go */
    CARM_REQUEST_DONE,   /* let go */
};

struct carm_control {
    uint32_t bell;  /* changed and woken (futex) at each request */
    uint32_t stop;  /* nothing more is to be counted: the run is incomplete already */
    int32_t tracer; /* process that answers */
    struct carm_request {
        uint32_t state; /* enum carm_request_state; a futex */
        int32_t tid;
    } requests[CARM_CONTROL_REQUESTS];
};

/* What the engine is given at the start of a program, in its own memory. */
enum {
    CARM_BOOT_RANGES = 256,
    CARM_RANGE_WRITABLE = 1,
    CARM_RANGE_SHARED = 2,
    CARM_RANGE_PROTECTED = 4, /* executable by a later mprotect: it may become writable again */
    CARM_RANGE_KNOWN = 8,     /* /proc has been read about it */
    /* what its code is may change without a system call that tells */
    CARM_RANGE_CHANGES = CARM_RANGE_WRITABLE | CARM_RANGE_SHARED,
};
struct carm_boot {
    uint64_t entry, stack;         /* registers of the new program; the others are zero */
    uint64_t own_begin, own_end;   /* the engine's image ... */
    uint64_t code_begin, code_end; /* ... and its code there, without that of libraries */
    uint32_t fsgsbase;             /* wrfsbase works in user mode */
    uint32_t addresses;            /* are recorded (harness/translate/records.h) */
    uint32_t program;              /* number of its tally */
    struct carm_record_sample sample;
    uint32_t nranges;
    struct carm_range {
        uint64_t begin, end; /* executable memory */
        uint32_t flags;
        uint16_t translated; /* there are blocks of it */
        uint16_t map;        /* as in a row */
    } ranges[CARM_BOOT_RANGES];
};

#endif
