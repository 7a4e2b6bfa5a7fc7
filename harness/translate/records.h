/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that carm and the counted processes share when addresses are wanted: chunks of records.
 * Each thread fills a chunk of its own. carm takes full chunks (harness/translate/addresses.h),
 * zeroes and frees them. Unwritten records are zero, so the records of a killed process can be
 * read as well. */
#pragma once

#include <stdint.h>

#define CARM_RECORDS_AT UINT64_C(0x7e8f00000000)

enum {
    CARM_CHUNKS = 4096,          /* chunks of all threads: being filled, or waiting to be taken */
    CARM_CHUNKS_ALONE = 128,     /* most full chunks of a thread that runs alone ... */
    CARM_CHUNKS_AMONG = 2,       /* ... and of each of several threads: few, so that the threads
                                  * advance together */
    CARM_CHUNKS_OWNERS = 4096,   /* counters of full chunks, by a thread's number modulo this */
    CARM_CHUNK_BYTES = 64 << 10, /* chunks are aligned to their size */
    CARM_CHUNK_RECORDS = CARM_CHUNK_BYTES / 16,
    CARM_BLOCK_RECORDS = 256, /* a block writes fewer records after it has checked for room */
    CARM_CHUNKS_AT = 1 << 20, /* first chunk */
};
#define CARM_RECORDS_BYTES \
    ((uint64_t)CARM_CHUNKS_AT + (uint64_t)CARM_CHUNKS * (uint64_t)CARM_CHUNK_BYTES)

/* One access. */
struct carm_record {
    uint64_t address;
    uint32_t what; /* bytes, kind and block, packed by CARM_RECORD; never 0; written last */
    uint32_t at;   /* of the instruction, from the block's begin; CARM_RECORD_VARIES */
};
_Static_assert(sizeof(struct carm_record) == 16, "as CARM_CHUNK_RECORDS has it");

/* In `at`: the instruction's number of accesses differs from execution to execution. */
#define CARM_RECORD_VARIES (UINT32_C(1) << 31)

enum carm_record_kind {
    CARM_RECORD_LOAD,
    CARM_RECORD_STORE,
    CARM_RECORD_STORE_NT,
    CARM_RECORD_PREFETCH,
    CARM_RECORD_PREFETCH_L2,
    /* A repeated string instruction: rsi and rdi before the instruction and after it, in four
     * records. CARM_RECORD's bytes are an element's bytes with the CARM_REPEAT bits of the instruction's accesses. */
    CARM_RECORD_BEFORE,
    CARM_RECORD_BEHIND,
};
enum {
    CARM_REPEAT_BYTES = 15,
    CARM_REPEAT_LOAD_SI = 16,
    CARM_REPEAT_LOAD_DI = 32,
    CARM_REPEAT_STORE_DI = 64
};

enum { CARM_RECORD_BYTES_MAX = 511, CARM_RECORD_KIND_AT = 9, CARM_RECORD_BLOCK_AT = 12 };
#define CARM_RECORD(bytes, kind, block)                            \
    ((uint32_t)(bytes) | (uint32_t)(kind) << CARM_RECORD_KIND_AT | \
     (uint32_t)(block) << CARM_RECORD_BLOCK_AT)

/* A chunk's states follow one another in this order, then begin again. */
enum carm_chunk_state { CARM_CHUNK_FREE, CARM_CHUNK_FILLING, CARM_CHUNK_FULL };

enum { CARM_CLASS_AT = 6, CARM_CLASSES = 2048, CARM_PAGE_CLASSES = 1024, CARM_PAGE_LINES = 64 };

/* Sampling: only accesses to some lines are recorded; inside windows, also accesses to the lines
 * of the window's turn. */
struct carm_record_sample {
    uint32_t wanted;            /* 0: all accesses are recorded */
    uint32_t half;              /* records of half a window */
    uint32_t between;           /* records between two windows, on average */
    uint32_t dense;             /* number of first windows that follow one another directly */
    uint32_t turns;             /* window w is of turn w % turns */
    uint8_t turn[CARM_CLASSES]; /* of a line, by bits 6 .. 16 of its address */
    uint8_t
        classes[CARM_CLASSES]; /* by the same bits: 1 = recorded outside of windows, too, else 0 */
    /* of a page of 4 KiB, by bits 12 .. 21: 1 = all of its lines are recorded, always */
    uint8_t pages[CARM_PAGE_CLASSES];
};

struct carm_chunk {
    uint32_t state;
    int32_t process;     /* number of the process */
    uint32_t program;    /* number of the program's tally: executed programs are numbered from 0 */
    uint32_t thread;     /* numbered through all processes */
    uint32_t n;          /* records, when full */
    uint32_t window;     /* 2 w in the first half of the thread's window w, 2 w + 1 in the second
                       * half; 0 = outside of windows */
    uint64_t begin, end; /* time stamps; begin 0: not known yet */
};

struct carm_records {
    uint32_t threads; /* thread numbers given so far */
    uint32_t top;     /* chunks with numbers below this were used so far */
    uint32_t taken;   /* changed and woken (futex) when chunks are free again */
    uint32_t bell;    /* futex that is changed and woken when a chunk is full */
    uint32_t full[CARM_CHUNKS_OWNERS];
    struct carm_chunk chunks[CARM_CHUNKS];
};
_Static_assert(sizeof(struct carm_records) <= CARM_CHUNKS_AT, "it lies before the first chunk");
