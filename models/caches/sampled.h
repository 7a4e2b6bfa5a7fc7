/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of the levels from a part of a program's accesses, with their intervals.
 *
 * Levels behind the first are simulated in some of their sets, through the whole run. The
 * content of a set depends only on the lines of this set, so nothing has to be warmed up. The
 * first level's misses are not known for these lines. A fully associative cache takes its place,
 * smaller in proportion to the sampled lines.
 *
 * The first level is simulated in windows, which take turns in its sets: with fewer sets, a
 * window may be longer. The cache is empty at the beginning of a window; the first half of the
 * window fills it. Later in the window, a line that enters a set with free places may have been
 * there before the window. The interval covers both cases. Its estimate assumes that such places
 * held a useful line as often as the places whose lines were seen to come and go.
 *
 * Windows follow one another at first. Later there is time between them, and each window has a
 * weight.
 *
 * Results are sums over instructions. The caller knows how often each was executed, so misses in
 * the windows are scaled for each instruction by itself.
 *
 * source: Liu, Peir 1993, Cache Sampling by Sets, for the sets; Wood, Hill, Kessler 1991, A
 * Model for Estimating Trace-Sample Miss Ratios, for places without a useful line; Waldspurger
 * et al. 2015, Efficient MRC Construction with SHARDS, for smaller caches over fewer lines;
 * Cochran 1977, Sampling Techniques, sections 5.3 and 6.4, for the intervals; Garwood 1936,
 * Fiducial Limits for the Poisson Distribution, for the intervals of few lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/caches/config.h"
#include "models/caches/counts.h"
#include "models/caches/hierarchy.h"

struct carm_sampled;

enum { CARM_SAMPLED_CLASSES = 2048, CARM_SAMPLED_PAGES = 1024 };

/* The plan of the recording. */
struct carm_sampled_plan {
    uint32_t sets, of;      /* `sets` of `of` groups of sets are simulated */
    uint32_t half, between; /* accesses in half a window; accesses between two windows, on
                             * average */
    /* half and between as numbers of recorded accesses, which cost nothing to count: their expected numbers if all
     * lines were accessed equally often */
    uint32_t half_records, between_records;
    uint32_t dense;  /* number of first windows, which follow one another */
    uint32_t weight; /* number of dense windows that a later window counts as */
    uint32_t turns;  /* a power of 2: a window simulates one of so many parts of the first level's
                      * sets */
    uint8_t turn[CARM_SAMPLED_CLASSES];    /* of each line, by bits 6 .. 16 of its address */
    uint8_t classes[CARM_SAMPLED_CLASSES]; /* likewise: lines that are always recorded */
    /* pages of 4 KiB, by bits 12 .. 21 of the address: whether all lines of the page are always recorded. npages are;
     * the simulated TLB is smaller in proportion */
    uint32_t npages;
    uint8_t pages[CARM_SAMPLED_PAGES];
};

/* Whether the TLB's sample has a page. */
static inline bool carm_sampled_has_page(const struct carm_sampled_plan *plan, uint64_t address)
{
    return plan->pages[address >> 12 & (CARM_SAMPLED_PAGES - 1)];
}

/* The turn of the first level's sets that a window simulates. */
static inline uint32_t carm_sampled_turn(const struct carm_sampled_plan *plan, uint32_t window)
{
    return window / 2 & (plan->turns - 1);
}

/* beside  other caches that get the same accesses, by the same plan; NULL = none
 * share   of the accesses and of the sets to simulate, above 0, at most 1
 * seed    which sets: any number
 * returns 0; -CARM_ENOTSUP (caches of too few sets, prefetching); -CARM_EINVAL, -CARM_ENOMEM */
int carm_sampled_open(struct carm_sampled **out, const struct carm_hierarchy_config *config,
                      const struct carm_hierarchy_config *beside, double share, uint64_t seed,
                      struct carm_sampled_plan *plan, struct carm_err *err);
void carm_sampled_close(struct carm_sampled *s); /* NULL allowed */

/* Whether an access concerns the sets sampled in this window. Other accesses need no call of
 * carm_sampled_access. */
bool carm_sampled_has(const struct carm_sampled *s, uint64_t address, uint32_t bytes,
                      uint32_t window);

/* A load outside of windows that changes no count: its line is not sampled, or is in the smaller first level. returns
 * false: nothing was done, and carm_sampled_access has to be called */
bool carm_sampled_hits(struct carm_sampled *s, uint32_t core, uint64_t address, uint32_t bytes);

/* One access.
 * window    2 w in the first half of the thread's window w, counted from 1; 2 w + 1 in the
 *           second half; 0 = outside
 * repeated  an access of a string instruction, whose accesses are all recorded, also outside
 *           windows
 * who       the instruction: one load, or one store of it */
void carm_sampled_access(struct carm_sampled *s, uint32_t thread, uint32_t core, uint64_t address,
                         uint32_t bytes, enum carm_access_kind kind, uint32_t window, bool repeated,
                         uint32_t who);

/* Counts n accesses of a string instruction to lines that are not sampled (carm_sampled_has is false) */
void carm_sampled_pass(struct carm_sampled *s, uint64_t n, uint32_t who);
/* The program has ended: dirty lines are written back.
 * accesses  number of all accesses of the program
 * returns 0 or -CARM_ENOMEM, as carm_hierarchy_read */
int carm_sampled_end(struct carm_sampled *s, double accesses, struct carm_err *err);

enum { CARM_SAMPLED_GROUPS = 16 };

/* Sums over instructions: zeros at first. */
struct carm_sampled_sum {
    double bytes[CARM_HIERARCHY_LEVELS_MAX]; /* between each level and the next */
    double cold;                             /* part of bytes[0] that may be hits */
    double unmeasured;   /* bytes of instructions that no window saw, by the smaller first level */
    double seen, missed; /* accesses that windows measured, and their misses: over the weight */
    double few_lines, few_written; /* lines that the smaller first level fetched, that it wrote
                                    * back */
    double accesses[CARM_SAMPLED_GROUPS]; /* of the windows */
    double unused[CARM_HIERARCHY_LEVELS_MAX];
    double misses[CARM_HIERARCHY_LEVELS_MAX], reasons[CARM_HIERARCHY_LEVELS_MAX][CARM_MISS_REASONS];
    double lookups[CARM_HIERARCHY_LEVELS_MAX];
    double groups[CARM_HIERARCHY_LEVELS_MAX][CARM_SAMPLED_GROUPS]; /* bytes; of the first level:
                                                                    * deviation from the mean */
};

/* executions  of the instruction, each with one access; 0 = not known: scaled like the average
 * instruction */
void carm_sampled_add(const struct carm_sampled *s, uint32_t who, double executions,
                      struct carm_sampled_sum *sum);

struct carm_level_estimate {
    double bytes, low, high; /* between this level and the next; 95% confidence interval */
    double unused;           /* unused bytes of the lines that came */
    double lines;            /* lines that left; at the program's end all leave */
    double lookups, misses;
    double reasons[CARM_MISS_REASONS]; /* in a sampled first level, capacity includes conflict */
};

/* The estimates of a full simulation: exact, and with all reasons. */
void carm_sampled_exact(const struct carm_hierarchy_counts *counts,
                        struct carm_level_estimate *out);

/* out: [levels of the config] */
void carm_sampled_read(const struct carm_sampled *s, const struct carm_sampled_sum *sum,
                       struct carm_level_estimate *out);
