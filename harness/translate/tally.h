/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that carm and the counted processes share: the counts, and requests to follow an exec.
 *
 * Each program that is executed has a tally of its own, a sparse file in memory: a header, an
 * account for each counter (harness/count/step), and for each thread of each process a slot with
 * the counters themselves. The counts exist only here, so a killed process loses none. A process
 * maps its tally at CARM_TALLY_AT, up to the last slot that it needs. Thread and memory sanitizers
 * let programs use this address, and the kernel's own choice is a TiB or more above it.
 * Private memory, the thread's state, covers the first part of a slot, so that one register reaches
 * state and counters.
 *
 * The row of each counter names its code, so that a reader can count each block (blocks.h).
 *
 * The control is one page for a whole run. */
#pragma once

#include <stdint.h>

#include "harness/count/step/instruction.h"
#include "harness/count/step/xstate.h"
#include "harness/translate/records.h"

#define CARM_TALLY_AT   UINT64_C(0x7e9000000000)
#define CARM_CONTROL_AT UINT64_C(0x7e8ffff00000)

enum {
    CARM_TALLY_COUNTERS = 1 << 20,    /* of a program: some 1.5 for each block of its code */
    CARM_TALLY_SLOTS = 4096,          /* threads at a time, with threads of forked children */
    CARM_TALLY_MAPS = 1024,           /* files whose code was executed */
    CARM_TALLY_MAPS_AT = 64 << 10,    /* struct carm_tally_map */
    CARM_TALLY_SITES = 8192,          /* instructions with counts of their own (struct
                                       * carm_tally_site) */
    CARM_TALLY_SITES_AT = 1088 << 10, /* struct carm_tally_site */
    CARM_TALLY_MARKS = 800,           /* pairs of name and number of iterations */
    CARM_TALLY_MARKS_AT = 1216 << 10, /* struct carm_tally_mark */
    CARM_TALLY_ROWS_AT = 2 << 20,     /* accounts */
    CARM_TALLY_KNOWN = 1 << 20,       /* numbers + 1 of counters of forked children's code */
    CARM_TALLY_KNOWN_AT = 120 << 20,
    CARM_TALLY_SLOTS_AT = 128 << 20,  /* first slot */
    CARM_TALLY_SLOT_BYTES = 16 << 20, /* from one slot to the next */
    CARM_TALLY_STATE_BYTES = 1 << 20, /* of a slot: private to the thread */
    CARM_TALLY_SLOT_AT = 2 << 20,     /* in a slot: struct carm_tally_slot */
    CARM_TALLY_COUNTS_AT = 4 << 20,   /* in a slot: a uint64_t for each counter */
    CARM_TALLY_EXTRAS_AT = 12 << 20,  /* in a slot: struct carm_step_counts for each site */
    CARM_TALLY_REASON_MAX = 192,
    CARM_TALLY_PATH_MAX = 984,
    CARM_MARK_NAME_MAX = 128,
    CARM_CONTROL_REQUESTS = 64,
};

#define CARM_TALLY_BYTES \
    ((uint64_t)CARM_TALLY_SLOTS_AT + (uint64_t)CARM_TALLY_SLOTS * CARM_TALLY_SLOT_BYTES)

/* Bytes mapped at first: header, accounts and one slot. */
#define CARM_TALLY_FIRST_BYTES ((uint64_t)CARM_TALLY_SLOTS_AT + (uint64_t)CARM_TALLY_SLOT_BYTES)

/* How a block ends. */
enum carm_tally_end {
    CARM_END_NEXT, /* the next instruction follows */
    CARM_END_JUMP,
    CARM_END_BRANCH, /* conditional branch: to the target, or to the next instruction */
    CARM_END_CALL,
    CARM_END_INDIRECT_JUMP,
    CARM_END_INDIRECT_CALL,
    CARM_END_RETURN,
    CARM_END_SYSCALL, /* or int3 */
    CARM_END_PART,    /* not a block: executions of one repeated string instruction */
};

enum {
    CARM_ROW_ENTERED = 1, /* by indirect branches and returns, too */
    CARM_ROW_TAKEN = 2,   /* the code is in the stock (harness/translate/layout.h) */
};

/* The counts of one increment of a counter: the sum over a block's instructions, `copies` times. */
struct carm_tally_row {
    uint64_t pc;
    uint64_t target; /* of a direct branch */
    uint32_t bytes;  /* of code */
    uint16_t map;    /* number + 1 of the struct carm_tally_map that pc is in; 0 = not known */
    uint8_t end;     /* enum carm_tally_end */
    uint8_t entered; /* CARM_ROW_ENTERED, CARM_ROW_TAKEN */
    uint8_t times;
    uint8_t compared; /* the code may change, so each execution compares it with the program's
                       * code */
#define CARM_TALLY_MEMBER(member, array, words, type, quantity) type member array;
    CARM_STEP_COUNT_TABLE(CARM_TALLY_MEMBER)
#undef CARM_TALLY_MEMBER
};

/* Adds the counts of `increments` increments of the row's counter. */
static inline void carm_tally_add(struct carm_step_counts *to, const struct carm_tally_row *row,
                                  uint64_t increments)
{
    const uint64_t times = increments * row->times;
#define CARM_TALLY_ADD(member, array, words, type, quantity)     \
    {                                                            \
        type part[words];                                        \
        __builtin_memcpy(part, &row->member, sizeof part);       \
        for (size_t i = 0; i < (words); i++) {                   \
            to->q[CARM_STEP_AT_##member + i] += times * part[i]; \
        }                                                        \
    }
    CARM_STEP_COUNT_TABLE(CARM_TALLY_ADD)
#undef CARM_TALLY_ADD
}

/* Puts counts of one execution into the row; each fits its member. */
static inline void carm_tally_put(struct carm_tally_row *row, const struct carm_step_counts *c)
{
#define CARM_TALLY_PUT(member, array, words, type, quantity) \
    {                                                        \
        type part[words];                                    \
        for (size_t i = 0; i < (words); i++) {               \
            part[i] = (type)c->q[CARM_STEP_AT_##member + i]; \
        }                                                    \
        __builtin_memcpy(&row->member, part, sizeof part);   \
    }
    CARM_STEP_COUNT_TABLE(CARM_TALLY_PUT)
#undef CARM_TALLY_PUT
}

struct carm_tally_slot {
    uint32_t used;
    int32_t pid;                   /* process of the thread */
    struct carm_step_counts extra; /* counts that depend on registers, and corrections, modulo
                                    * 2^64 */
};

/* Executable memory at the time when its first block was translated. */
struct carm_tally_map {
    uint64_t begin, end, offset; /* in the file */
    uint64_t inode, time_ns;     /* of the file; CLOCK_REALTIME at that first translation */
    /* path of /proc/PID/maps, unescaped; "" = no file, or too long */
    char path[CARM_TALLY_PATH_MAX];
};

/* The source of extra counts: an instruction whose counts depend on registers, or a place inside
 * a block at which the block was left. Each thread has its extra counts of the sites at
 * CARM_TALLY_EXTRAS_AT, modulo 2^64; extra counts without a site are in `extra` only. */
struct carm_tally_site {
    uint64_t pc;
    uint32_t map, unused; /* as in a row */
};

/* A marked piece of code (include/carm_count.h): its executions ("calls") with one number of iterations. */
struct carm_tally_mark {
    uint64_t iterations, calls;
    uint64_t differ; /* calls, from the third on, with other counts than the second call */
    uint64_t first[CARM_STEP_WORDS], second[CARM_STEP_WORDS], sum[CARM_STEP_WORDS];
    char name[CARM_MARK_NAME_MAX];
};

_Static_assert(CARM_TALLY_SITES * sizeof(struct carm_step_counts) <=
                   CARM_TALLY_SLOT_BYTES - CARM_TALLY_EXTRAS_AT,
               "sites fit a slot");
_Static_assert(CARM_TALLY_COUNTERS * sizeof(struct carm_tally_row) <=
                   CARM_TALLY_KNOWN_AT - CARM_TALLY_ROWS_AT,
               "rows fit before the numbers of known counters");
_Static_assert(CARM_TALLY_MAPS * sizeof(struct carm_tally_map) <=
                       CARM_TALLY_SITES_AT - CARM_TALLY_MAPS_AT &&
                   CARM_TALLY_SITES * sizeof(struct carm_tally_site) <=
                       CARM_TALLY_MARKS_AT - CARM_TALLY_SITES_AT &&
                   CARM_TALLY_MARKS * sizeof(struct carm_tally_mark) <=
                       CARM_TALLY_ROWS_AT - CARM_TALLY_MARKS_AT,
               "maps, sites and marks fit before the rows");

struct carm_tally {
    uint32_t counters;           /* rows in use */
    uint32_t maps, sites;        /* numbers in use */
    uint32_t slots;              /* slots with numbers below this were ever in use */
    uint32_t threads, processes; /* seen */
    uint32_t taken;              /* of the rows, from the stock (harness/translate/layout.h) */
    uint32_t incomplete;         /* not everything was counted: reason says why */
    uint32_t again;              /* rows that forked children have translated once more */
    uint32_t marks;              /* in use */
    uint32_t marks_lost;         /* executions of marked code that no mark counts */
    uint32_t marks_lock;         /* 1: a thread is in the marks */
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
    CARM_REQUEST_FAILED, /* the exec failed: stop tracing the process */
    CARM_REQUEST_DONE,   /* no longer traced */
};

/* Requests to the system whose answers may change a program's counts from run to run or from machine to machine. */
#define CARM_VARIES_TABLE(X)            \
    X(TIME, "the time")                 \
    X(PIDS, "process numbers")          \
    X(RANDOM, "random numbers")         \
    X(THREADS, "threads")               \
    X(PROCESSES, "other processes")     \
    X(SYSTEM, "files of /proc or /sys") \
    X(FOLDERS, "the order of files")    \
    X(SOCKETS, "sockets")               \
    X(TIMERS, "timers")
#define CARM_VARIES_AT(name, text) CARM_VARIES_AT_##name,
enum carm_varies_at { CARM_VARIES_TABLE(CARM_VARIES_AT) CARM_VARIES_KINDS };
#undef CARM_VARIES_AT
#define CARM_VARIES_BIT(name, text) CARM_VARIES_##name = 1 << CARM_VARIES_AT_##name,
enum carm_varies { CARM_VARIES_TABLE(CARM_VARIES_BIT) };
#undef CARM_VARIES_BIT

struct carm_control {
    uint32_t bell;  /* changed and woken (futex) at each request */
    uint32_t stop;  /* 1: programs stop counting, since the run is incomplete already */
    int32_t tracer; /* process that answers */
    struct carm_request {
        uint32_t state; /* enum carm_request_state; a futex */
        int32_t tid;
    } requests[CARM_CONTROL_REQUESTS];
    uint32_t varies; /* of enum carm_varies: seen in any program of the run */
    uint64_t asked;  /* written by carm to test whether a process maps this memory */
};

/* carm adds the name of the instruction in unknown_code. */
#define CARM_REASON_LACKS "it executes an instruction that the CPU of --cpu lacks"

/* The CPU that a program sees (harness/translate/cpu.h). A cpuid leaf that is not in the table reads as zero. */
enum { CARM_CPU_LEAVES = 56, CARM_CPU_SETS = 8, CARM_CPU_PATH = 48 };
struct carm_cpu_view {
    uint32_t on; /* 0: the program sees the machine's CPU, and the other members are unused */
    uint32_t nleaves;
    uint64_t xcr0;
    uint64_t
        lacks[CARM_CPU_SETS]; /* bits: sets of instructions (ZydisISASet) that this CPU lacks */
    struct carm_cpu_leaf {
        uint32_t leaf, sub, reg[4]; /* eax, ebx, ecx, edx */
    } leaves[CARM_CPU_LEAVES];
    /* random numbers are the same in each run, and clocks are system calls: how often the kernel's code for a clock
     * (vDSO) tries again differs from run to run */
    uint32_t steady;
    char info[CARM_CPU_PATH]; /* the file that is opened for /proc/cpuinfo; "" = /proc/cpuinfo */
};

/* The place of a leaf; nleaves = the leaf is zero */
static inline uint32_t carm_cpu_view_find(const struct carm_cpu_view *v, uint32_t leaf,
                                          uint32_t sub)
{
    uint32_t i = 0;
    while (i < v->nleaves && (v->leaves[i].leaf != leaf || v->leaves[i].sub != sub)) {
        i++;
    }
    return i;
}

/* Written by inject.c into the engine's memory at the start of a program. */
enum {
    CARM_BOOT_RANGES = 256,
    CARM_RANGE_WRITABLE = 1,
    CARM_RANGE_SHARED = 2,
    CARM_RANGE_PROTECTED = 4, /* became executable by mprotect: it may become writable again */
    CARM_RANGE_KNOWN = 8,     /* /proc/PID/maps has been read for the range */
    /* its code may change without a system call that the engine sees */
    CARM_RANGE_CHANGES = CARM_RANGE_WRITABLE | CARM_RANGE_SHARED,
};
struct carm_boot {
    uint64_t entry, stack;         /* instruction and stack pointer of the new program; its other
                                    * registers are zero */
    uint64_t own_begin, own_end;   /* the engine's image ... */
    uint64_t code_begin, code_end; /* ... and the program's code, without libraries */
    uint32_t fsgsbase;             /* wrfsbase works in user mode */
    uint32_t addresses;            /* 1: they are recorded (harness/translate/records.h) */
    uint32_t program;              /* number of the program's tally */
    uint32_t stock, left;          /* 1: they are mapped (harness/translate/layout.h) */
    uint32_t ready; /* file descriptor + 1 of the ready code, which the engine closes; 0 = none */
    struct carm_record_sample sample;
    struct carm_cpu_view cpu;
    struct carm_xlayout layout; /* of the processor */
    uint32_t nranges;
    struct carm_range {
        uint64_t begin, end; /* executable memory */
        uint32_t flags;
        uint16_t translated; /* some of its code is translated */
        uint16_t map;        /* as in a row */
    } ranges[CARM_BOOT_RANGES];
};
