/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The 3Cs and operational intensity: how much a kernel's misses lower its place under the
 * roofline, and its gain without them.
 * source: Williams, Waterman, Patterson 2009, section 5; Hill, Smith 1989 for the three kinds */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/caches/hierarchy.h"

/* the kinds of enum carm_miss_reason; one core has no coherence misses */
enum { CARM_THREE_CS_ADVICE_MAX = 320, CARM_THREE_CS_KINDS = CARM_MISS_COHERENCE };

/* The present traffic, and traffic with kinds of misses removed. Each step removes more than the step
 * before; the last step is independent of the others. */
enum carm_three_cs_step {
    CARM_STEP_NOW,
    CARM_STEP_NO_CONFLICT,
    CARM_STEP_COMPULSORY,  /* without capacity misses either */
    CARM_STEP_NO_ALLOCATE, /* also without fills of lines that are stored to and never loaded: the
                            * most that no-allocate stores can save */
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
    /* Bytes between the last level and memory, by the kinds of that level's misses. A write-back is
     * compulsory once for each stored line; the others are divided as capacity and conflict misses
     * are. */
    double fill[CARM_THREE_CS_KINDS];
    double writeback[CARM_THREE_CS_KINDS];
    double nontemporal; /* written past the caches; a part of a line takes as long as a whole one */
    struct carm_three_cs_at {
        bool known;       /* false: no such traffic; the rest is 0 */
        double bytes;     /* in all */
        double intensity; /* operations/byte */
        double at;        /* operations/s that slope and peak allow; 0 = slope or peak is not
                           * known */
        double times;     /* `at` over the `at` of CARM_STEP_NOW; ratio of intensities where slope
                           * or peak is not known */
        bool compute;     /* the peak binds */
    } steps[CARM_THREE_CS_STEPS];
    double share[CARM_THREE_CS_KINDS]; /* of the bytes now, fills and write-backs */
    double allocate;                   /* share of the bytes now that no-allocate stores can save */
    char advice[CARM_THREE_CS_ADVICE_MAX]; /* one sentence */
};

/* Lines of a trace. */
struct carm_three_cs_lines {
    uint64_t stored;      /* in caches; a line counts again after a non-temporal store evicted it */
    uint64_t stored_only; /* of `stored`: never loaded */
};

/* Operational intensities from the counts of a trace of one core.
 * counts  after a flush: lines that stay dirty in a cache are written sometime
 * out     untouched on error
 * returns 0; -CARM_EINVAL (no traffic, coherence misses, operations or a rate that is not positive, one
 * rate without the other) */
int carm_three_cs_eval(const struct carm_hierarchy_counts *counts,
                       const struct carm_three_cs_lines *lines,
                       const struct carm_three_cs_input *in, struct carm_three_cs *out,
                       struct carm_err *err);

/* A trace of one core through caches, and the lines that it loads and stores. */
struct carm_three_cs_trace;

/* returns as carm_hierarchy_open */
int carm_three_cs_open(struct carm_three_cs_trace **out, const struct carm_hierarchy_config *config,
                       struct carm_err *err);
void carm_three_cs_close(struct carm_three_cs_trace *trace); /* NULL allowed */

/* One access; nothing where bytes are 0.
 * context  struct carm_three_cs_trace; void, so that the function's type is carm_dwarf_access */
void carm_three_cs_access(void *context, uint64_t address, unsigned bytes, bool store,
                          bool nontemporal);

/* Ends the trace: flushes the caches.
 * returns 0 or -CARM_ENOMEM (the trace touches too much memory) */
int carm_three_cs_read(struct carm_three_cs_trace *trace, struct carm_hierarchy_counts *counts,
                       struct carm_three_cs_lines *lines, struct carm_err *err);

/* "now", "without conflict misses", "compulsory misses alone", "with no-allocate stores",
 * "compulsory by formula" */
const char *carm_three_cs_step_name(enum carm_three_cs_step step);
