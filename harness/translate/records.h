/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that carm and the counted processes share where addresses are wanted: chunks of records. Each
 * thread fills a chunk of its own; full ones are taken by carm (harness/translate/addresses.h), which
 * zeroes and frees them. A record that is not written is zero, so that the records of a process that was
 * killed can be read as well. */
#ifndef CARM_HARNESS_TRANSLATE_RECORDS_H
#define CARM_HARNESS_TRANSLATE_RECORDS_H

#include <stdint.h>

#define CARM_RECORDS_AT UINT64_C(0x7e8f00000000)

enum {
    CARM_CHUNKS = 4096,          /* threads at a time, and what waits to be taken */
    CARM_CHUNKS_ALONE = 128,     /* full ones that a thread may have, when it is the only one ... */
    CARM_CHUNKS_AMONG = 2,       /* ... or not: few, so that threads run side by side */
    CARM_CHUNKS_OWNERS = 4096,   /* counts of full ones: of a thread's number modulo this */
    CARM_CHUNK_BYTES = 64 << 10, /* aligned to that */
    CARM_CHUNK_RECORDS = CARM_CHUNK_BYTES / 16,
    CARM_BLOCK_RECORDS = 256, /* a block writes fewer when it has looked for room */
    CARM_CHUNKS_AT = 1 << 20, /* first chunk */
};
#define CARM_RECORDS_BYTES \
    ((uint64_t)CARM_CHUNKS_AT + (uint64_t)CARM_CHUNKS * (uint64_t)CARM_CHUNK_BYTES)

/* One access. */
struct carm_record {
    uint64_t address;
    uint32_t what; /* bytes, kind and block, as CARM_RECORD makes it; never 0; written last */
    uint32_t at;   /* of the instruction, from the block's begin; CARM_RECORD_VARIES */
};
_Static_assert(sizeof(struct carm_record) == 16, "as CARM_CHUNK_RECORDS has it");

/* In `at`: the instruction makes another number of accesses each time. */
#define CARM_RECORD_VARIES (UINT32_C(1) << 31)

enum carm_record_kind {
    CARM_RECORD_LOAD,
    CARM_RECORD_STORE,
    CARM_RECORD_STORE_NT,
    CARM_RECORD_PREFETCH,
    CARM_RECORD_PREFETCH_L2,
    /* A repeated string instruction: rsi and rdi before, and both behind it, in four records. In place of
     * bytes: those of an element, and what is done. */
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

/* A chunk goes from one state to the next, and from the last one to the first. */
enum carm_chunk_state { CARM_CHUNK_FREE, CARM_CHUNK_FILLING, CARM_CHUNK_FULL };

enum { CARM_CLASS_AT = 6, CARM_CLASSES = 2048 };

/* Sampling: accesses to some lines alone are recorded, in windows to those of a turn as well. */
struct carm_record_sample {
    uint32_t wanted;               /* else everything is recorded */
    uint32_t half;                 /* records of half a window */
    uint32_t between;              /* and from one window to the next, on average, ... */
    uint32_t dense;                /* ... but for so many at first, which follow one another */
    uint32_t turns;                /* window w is of turn w % turns */
    uint8_t turn[CARM_CLASSES];    /* of a line, by bits 6 .. 16 of its address */
    uint8_t classes[CARM_CLASSES]; /* likewise: 1 = recorded outside of windows, too, else 0 */
};

struct carm_chunk {
    uint32_t state;
    int32_t process;  /* its number */
    uint32_t program; /* its tally: executed programs are numbered from 0 */
    uint32_t thread;  /* numbered through all processes */
    uint32_t n;       /* records, when full */
    uint32_t window;  /* 2 w in the first half of its thread's window w, 2 w + 1 in the second; 0:
                       * outside of windows */
    uint64_t begin, end; /* time stamps; begin 0: not known yet */
};

struct carm_records {
    uint32_t threads; /* numbers that were given */
    uint32_t top;     /* chunks that were used so far: those below this */
    uint32_t taken;   /* changed and woken (futex) when chunks are free again */
    uint32_t bell;    /* changed and woken when one is full */
    uint32_t full[CARM_CHUNKS_OWNERS];
    struct carm_chunk chunks[CARM_CHUNKS];
};
_Static_assert(sizeof(struct carm_records) <= CARM_CHUNKS_AT, "it lies before the first chunk");

#endif
