/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of a sampled program, and the ring in shared memory through which the preloaded timer
 * (preload.c) sends them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum carm_record_kind {
    CARM_RECORD_SAMPLE,
    CARM_RECORD_MAP,  /* code is mapped, from a file or without one */
    CARM_RECORD_FORK, /* a process begins, with its parent's mappings; with the same pid: a
                       * thread */
    CARM_RECORD_EXEC, /* a process executes a program: its mappings are gone */
};

struct carm_record {
    enum carm_record_kind kind;
    uint32_t pid;
    uint32_t tid;    /* of a fork: the parent's pid */
    uint32_t weight; /* of a sample: periods since the thread's last one */
    uint32_t cpu;    /* of a sample: the processor's number + 1; 0 = unknown */
    uint64_t time;   /* CLOCK_MONOTONIC, ns */
    uint64_t at;     /* address of a sample, or first address of a map */
    uint64_t end, offset;
    uint64_t inode;   /* of a map's file; 0 = unknown */
    const char *path; /* of a map, not always ended by NUL */
    size_t path_room;
};

/* ---- the ring of the preloaded timer ---- */

#define CARM_TIMER_FILE      "timer-"       /* the preloaded object in the user's cache begins so */
#define CARM_SAMPLE_VARIABLE "CARM_SAMPLES" /* of the environment: the path of the ring */

enum {
    CARM_SLOT_PATH = 440, /* longer paths are cut */
    CARM_SLOTS = 1 << 14, /* 8 MiB; a second of samples of 16 threads at 1 kHz */
    CARM_SLOTS_VERSION = 3,
};

struct carm_slot {
    uint64_t ready; /* number of the record + 1, once it is written */
    uint32_t kind, pid, tid, weight, cpu;
    uint64_t time, at, end, offset, inode;
    char path[CARM_SLOT_PATH];
};

/* All counters are atomic. Slot k is at k modulo n. */
struct carm_slots {
    uint32_t version;
    uint32_t n;                                 /* a power of two */
    uint32_t sig;                               /* the signal of the timers */
    uint32_t attached;                          /* programs that loaded the timer */
    uint32_t stopped;                           /* programs that installed a handler for the
                                                 * signal */
    uint32_t untimed;                           /* threads without a timer */
    int32_t error;                              /* errno of the latest failure */
    uint64_t period_ns;                         /* of each thread's time in its own code */
    uint64_t lost;                              /* records that had no slot */
    uint64_t head __attribute__((aligned(64))); /* slots that were taken */
    uint64_t tail __attribute__((aligned(64))); /* slots that were read */
    struct carm_slot slots[] __attribute__((aligned(64)));
};
