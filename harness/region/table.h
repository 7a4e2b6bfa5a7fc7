/* SPDX-License-Identifier: MIT */
/* Regions, their threads and their sums. Each thread has a stack of the regions that it is in and its own
 * sums for each name, which only it adds to. Sums are folded into totals when a thread ends, at a flush
 * and when the program ends, and then become rows.
 *
 * Locks: one for names, threads and totals (slow paths), then one for each thread's sums, which
 * only a flush contends for. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/quantities.h"
#include "harness/region/setup.h"

enum {
    CARM_REGION_NAME_MAX = 127,
    CARM_REGION_DEPTH_MAX = 64,
    CARM_REGION_BUCKETS = 1024, /* of both tables of names; a power of two */
    CARM_REGION_CACHE = 64,     /* of a thread, by the name's address; a power of two */
};

/* Sums of several calls of one thread since the last flush. */
struct carm_region_sums {
    uint64_t calls;
    uint64_t timed; /* calls whose time is in ns */
    int64_t ns;
    uint64_t counted; /* calls whose readings are in the slot's sums */
    uint64_t stepped; /* calls that were stepped to their end */
    uint64_t cut;     /* stepped calls that went past the budget */
    struct carm_step_counts steps;
    double flops_low, flops_high, bytes_low, bytes_high; /* of one stepped call */
};

/* Errors of a name that were reported, one bit each. */
enum carm_region_fault {
    CARM_REGION_UNBALANCED,
    CARM_REGION_DROPPED,
    CARM_REGION_TOO_DEEP,
    CARM_REGION_NAMELESS,
    CARM_REGION_TOO_LONG,
};

/* Calls of one region by one or more threads; with rows_by_thread, each fold makes one. */
struct carm_region_total {
    struct carm_region_total *next;
    struct carm_counts counts;
    double seconds; /* of the thread that took longest */
    bool untimed;   /* the time of a thread is unknown */
    int threads;
    int thread; /* number of the last thread */
    uint64_t calls, timed, stepped;
    char note[CARM_REGION_NOTE_MAX];
};

/* A name; stays until the process ends. */
struct carm_region {
    char name[CARM_REGION_NAME_MAX + 1];
    uint32_t hash;
    struct carm_region *chain; /* of the same bucket */
    struct carm_region *next;  /* by first use */
    struct carm_region_total *totals;
    atomic_uint said; /* bits of enum carm_region_fault */
    int left_open;    /* threads that ended, or were alive at the end, inside it */
};

/* A region on a thread. */
struct carm_region_slot {
    struct carm_region *region;
    struct carm_region_slot *chain, *next;
    int open;       /* number of the region's frames on the stack */
    uint64_t begun; /* calls since the last flush: decides which calls are stepped */
    struct carm_region_sums sums;
    struct carm_reading readings[]; /* [nreadings] differences, summed */
};

/* A region that a thread is in. */
struct carm_region_frame {
    _Atomic(struct carm_region_slot *) slot;
    uint64_t repeats; /* begins of the same region directly inside it */
    bool inherited;   /* begun by the parent process */
    bool within;      /* inside another call of itself, which counts for both */
    bool counted;     /* the counters were read at its begin */
    bool timed;       /* false when anything in it was stepped */
    bool stepped;
    uint64_t session; /* the stepping that it belongs to */
    int64_t begin_ns;
    struct carm_step_counts steps; /* at its begin */
    struct carm_reading *readings; /* [nreadings] at its begin */
};

struct carm_region_thread {
    struct carm_region_thread *next;
    int number;
    atomic_flag lock; /* of the slots' sums */
    atomic_int depth;
    uint64_t overflow; /* begins that found the stack full and still have their ends to come */
    bool opened;       /* the counters were asked for */
    void *set;         /* NULL: not open */
    void *lost_set;    /* the parent process's */
    char reason[CARM_REGION_NOTE_MAX]; /* why this thread is not counted, "" */
    int stepper;                       /* the frame that began the stepping that runs, -1 = none */
    uint64_t session;                  /* of stepping, counted from 1 */
    struct carm_reading *now;
    struct carm_region_slot *slots;
    struct {
        const char *name;
        struct carm_region_slot *slot;
    } cache[CARM_REGION_CACHE];
    struct carm_region_slot *buckets[CARM_REGION_BUCKETS];
    struct carm_region_frame frames[CARM_REGION_DEPTH_MAX];
};

const struct carm_region_setup *carm_region_table_open(const struct carm_region_setup *setup);

/* The lock of names, threads and totals; the thread cannot be cancelled while it holds it.
 * returns the argument for unlock */
int carm_region_lock(void);
void carm_region_unlock(int state);

/* returns NULL without memory */
struct carm_region_thread *carm_region_thread_open(void);
void carm_region_thread_close(struct carm_region_thread *t);

/* A name's slot on the calling thread. returns NULL without memory */
struct carm_region_slot *carm_region_slot_find(struct carm_region_thread *t, const char *name);

void carm_region_thread_lock(struct carm_region_thread *t);
void carm_region_thread_unlock(struct carm_region_thread *t);

/* Why the calling thread is not counted. */
void carm_region_thread_note(struct carm_region_thread *t, const char *sentence);

/* The part of its parent's state that a new process keeps: the names. self: the forking
 * thread's, NULL = none. Between lock and unlock. */
void carm_region_table_fork(struct carm_region_thread *self);

/* One line on standard error, once for a name and fault. other: a second name in the sentence, NULL = none */
void carm_region_fault(enum carm_region_fault fault, const char *name, const char *other);

/* Folds all threads and appends the rows; rows that cannot be written are kept.
 * returns 0 or -CARM_E* */
int carm_region_write(const struct carm_region_setup *setup, struct carm_err *err);

/* Names regions that never ended, in lines on standard error. */
void carm_region_report_open(void);
