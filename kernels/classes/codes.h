/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three application classes of the cache-aware paper as instances of test code C: the work
 * of one iteration, and the codes that do exactly this work.
 * source: Ilic et al. 2014, section 3 and table 2 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asm/code.h"

enum { CARM_APP_L1, CARM_APP_L3, CARM_APP_D, CARM_CLASS_COUNT };

enum {
    CARM_CLASS_K_MAX = 20,     /* N = 2^k iterations, k = 0 is the paper's "1st" */
    CARM_CLASS_CODES_MAX = 48, /* schedules of one class */
};

/* One iteration of one thread, as table 2 has it. */
struct carm_class {
    const char *name;  /* "APP-L1" */
    const char *level; /* where later iterations are meant to find the data: "L1", "L3", "DRAM" */
    uint64_t bytes, flops;
};

extern const struct carm_class carm_classes[CARM_CLASS_COUNT];

/* The limits that the codes of a class must keep. */
struct carm_class_target {
    enum carm_isa isa;
    enum carm_precision precision;
    struct carm_mix mix; /* plain loads and stores, each of a vector of its own */
    enum carm_op ops[2]; /* the paper's mad, and another that may be faster */
    size_t nops;
};

/* The codes of a class with this ISA and mix. All codes do the same work: they differ in the order of
 * instructions, the length of the loop, the operation and the prefetches. */
struct carm_class_plan {
    const struct carm_class *class;
    uint64_t wanted; /* bytes that an iteration of one thread should touch: table 2's, or more */
    uint64_t bytes;  /* bytes touched: whole loops, as near to `wanted` as possible */
    uint64_t flops;  /* bytes x table 2's intensity, exactly */
    struct carm_code_spec specs[CARM_CLASS_CODES_MAX];
    size_t nspecs;
};

/* Bytes that an iteration of one thread has to touch so that no line stays in the last-level cache until the
 * next iteration. cache_bytes: the part of the cache that the threads reach; 0 = no such cache. An LRU cache
 * keeps no line of a working set that is slightly larger than the cache. Caches with another replacement keep a part of it,
 * and no line of a working set of CARM_CLASS_LEAVE times the cache.
 * returns the given bytes if they suffice, else more, in whole MiB */
uint64_t carm_class_enlarge(uint64_t bytes, uint64_t cache_bytes, int threads);
enum { CARM_CLASS_LEAVE = 4 };

/* Chooses the codes of a class.
 * wanted  bytes of an iteration, at least the class's; flops grow in proportion
 * returns 0; -CARM_ENOTSUP (updates or non-temporal stores); -CARM_EINVAL (an ISA without the
 * operations) */
int carm_class_plan(struct carm_class_plan *plan, const struct carm_class *class, uint64_t wanted,
                    const struct carm_class_target *target, struct carm_err *err);

/* Whether ISA and mix give table 2's bytes and flops to the last digit. */
bool carm_class_exact(const struct carm_class_plan *plan);

/* Bytes and flops of one whole iteration of one thread, counted like one loop of a code. */
struct carm_account carm_class_account(const struct carm_class_plan *plan);

/* The work of `iterations` iterations of all threads, by the account of the code that runs. The bytes
 * exclude the constants that a call loads once. */
struct carm_class_work {
    double flops, load_bytes, store_bytes;
};
struct carm_class_work carm_class_work(const struct carm_class_plan *plan,
                                       const struct carm_account *account, uint64_t iterations,
                                       int threads);

/* The class whose next instance is the cheapest that still fits, so that a budget buys as many
 * instances as possible.
 * cost  [n] seconds that the next instance of each class takes; 0 or less = the class has no more
 * returns the class's index, or n when none fits into `left` seconds */
size_t carm_class_next(const double *cost, size_t n, double left);

/* Number of runs of an instance that takes so many seconds: many for short instances, one for long ones. Odd. */
size_t carm_class_runs(double seconds);
