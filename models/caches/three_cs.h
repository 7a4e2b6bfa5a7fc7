/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The 3Cs and operational intensity: what the misses of a kernel cost it under the roofline, and what
 * it would gain without them.
 * source: Williams, Waterman, Patterson 2009, section 5; Hill, Smith 1989 for the three kinds */
#ifndef CARM_MODELS_CACHES_THREE_CS_H
#define CARM_MODELS_CACHES_THREE_CS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/caches/simulate.h"

enum { CARM_THREE_CS_ADVICE_MAX = 320, CARM_THREE_CS_NOTE_MAX = 128 };

enum carm_three_cs_kind {
    CARM_MISS_COMPULSORY,
    CARM_MISS_CAPACITY,
    CARM_MISS_CONFLICT,
    CARM_MISS_KINDS,
};

/* Traffic as it is, and with less of it: each step takes away what the one before does and more. The
 * last one is apart from these. */
enum carm_three_cs_step {
    CARM_STEP_NOW,
    CARM_STEP_NO_CONFLICT, /* of a fully associative cache; more than now where conflict misses are
                            * negative */
    CARM_STEP_COMPULSORY,  /* without capacity misses either: of an infinite cache */
    CARM_STEP_NO_ALLOCATE, /* nor fills of lines that are stored to and never loaded: the most that
                            * no-allocate stores can save */
    CARM_STEP_FORMULA,     /* the compulsory bytes that the caller names */
    CARM_THREE_CS_STEPS,
};

struct carm_three_cs_input {
    double operations;       /* > 0 */
    double compulsory_bytes; /* by the kernel's formula; 0 = none */
    double bandwidth;        /* of memory, byte/s; 0 = not known */
    double peak;             /* operations/s; 0 = not known */
};

struct carm_three_cs {
    /* Bytes between the last level and memory. Those of conflict misses are negative where the real
     * caches do better than a fully associative one. */
    double fill[CARM_MISS_KINDS];
    double
        writeback[CARM_MISS_KINDS]; /* of lines that a cache of this kind throws out dirty, beyond
                                        * the kind before */
    double nontemporal; /* written past the caches; a part of a line takes as long as a whole one */
    struct carm_three_cs_at {
        bool known;       /* false: no such traffic; the rest is 0 */
        double bytes;     /* in all */
        double intensity; /* operations/byte */
        double at;        /* operations/s that slope and peak allow; 0 = these are not known */
        double times;     /* at over that of CARM_STEP_NOW; intensities where slope and peak are not
                           * known */
        bool compute;     /* the peak binds */
    } steps[CARM_THREE_CS_STEPS];
    double share[CARM_MISS_KINDS]; /* of the bytes now, fills and write-backs; of conflict misses
                                    * negative as above */
    double allocate;               /* share of the bytes now that no-allocate stores can save */
    char advice[CARM_THREE_CS_ADVICE_MAX]; /* one sentence */
};

/* What the counts of a trace say of its intensity. They should be read with flush: lines that stay
 * dirty in a cache are written sometime.
 * out  untouched on error
 * returns 0; -CARM_EINVAL (no traffic, operations or a rate that is not positive, one rate without the
 * other) */
int carm_three_cs_eval(const struct carm_cache_sim_counts *counts,
                       const struct carm_three_cs_input *in, struct carm_three_cs *out,
                       struct carm_err *err);

/* A cache of the machine as a level to simulate: its size rounded down to whole sets.
 * size_bytes  at least 64
 * ways        as harness/topo.h has them: 0 = not known (8 are assumed, 16 for the last level), -1 =
 *             fully associative (64, which misses hardly more and is simulated in finite time)
 * note        out: what was assumed or rounded, "" = nothing
 * returns 0 or -CARM_EINVAL */
int carm_three_cs_level(uint64_t size_bytes, int ways, bool last, struct carm_cache_sim_level *out,
                        char note[CARM_THREE_CS_NOTE_MAX], struct carm_err *err);

/* "compulsory", "capacity", "conflict" */
const char *carm_miss_name(enum carm_three_cs_kind kind);

/* "now", "without conflict misses", "compulsory misses alone", "with no-allocate stores",
 * "compulsory by formula" */
const char *carm_three_cs_step_name(enum carm_three_cs_step step);

#endif
