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
    uint32_t half, between; /* accesses of half a window; from one to the next, on average */
    /* the same in accesses that are recorded, which cost nothing to count: as many as these would be if all lines
     * were met equally often */
    uint32_t half_records, between_records;
    uint32_t dense;  /* the first windows, which follow one another ... */
    uint32_t weight; /* ... and the number of these that a later window counts as */
    uint32_t turns;  /* a power of 2: each window is of one turn of the first level's sets */
    uint8_t turn[CARM_SAMPLED_CLASSES];    /* of the lines, by bits 6 .. 16 of the address */
    uint8_t classes[CARM_SAMPLED_CLASSES]; /* likewise: whether they are recorded all the time */
    /* of pages of 4 KiB, by bits 12 .. 21: whether all of their lines are recorded all the time, for a TLB that is
     * smaller in proportion; npages of them */
    uint32_t npages;
    uint8_t pages[CARM_SAMPLED_PAGES];
};

/* Whether the TLB's sample has a page. */
static inline bool carm_sampled_has_page(const struct carm_sampled_plan *plan, uint64_t address)
{
    return plan->pages[address >> 12 & (CARM_SAMPLED_PAGES - 1)];
}

/* The turn of a window. */
static inline uint32_t carm_sampled_turn(const struct carm_sampled_plan *plan, uint32_t window)
{
    return window / 2 & (plan->turns - 1);
}

/* beside  other caches that get the same accesses, by the same plan; NULL = none
 * share   of the accesses and of the sets, above 0, at most 1
 * seed    which sets: any number
 * returns 0; -CARM_ENOTSUP (caches of too few sets, prefetching); -CARM_EINVAL, -CARM_ENOMEM */
int carm_sampled_open(struct carm_sampled **out, const struct carm_hierarchy_config *config,
                      const struct carm_hierarchy_config *beside, double share, uint64_t seed,
                      struct carm_sampled_plan *plan, struct carm_err *err);
void carm_sampled_close(struct carm_sampled *s); /* NULL allowed */

/* Whether an access concerns the sets that are sampled in this window: others need no call. */
bool carm_sampled_has(const struct carm_sampled *s, uint64_t address, uint32_t bytes,
                      uint32_t window);

/* A load outside of windows that changes no count: of a line that is not sampled, or that is in the smaller
 * first level. returns false: nothing was done, and carm_sampled_access has to be called */
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

/* n accesses of a string instruction that change no count but their own number: of lines that carm_sampled_has says
 * are not sampled */
void carm_sampled_pass(struct carm_sampled *s, uint64_t n, uint32_t who);
/* The program has ended: dirty lines are written back.
 * accesses  all of the program's
 * returns 0 or -CARM_ENOMEM, as carm_hierarchy_read */
int carm_sampled_end(struct carm_sampled *s, double accesses, struct carm_err *err);

enum { CARM_SAMPLED_GROUPS = 16 };

/* Sums over instructions: zeros at first. */
struct carm_sampled_sum {
    double bytes[CARM_HIERARCHY_LEVELS_MAX]; /* of the first level; of the others, see groups */
    double cold;                             /* of the first level's: may be hits */
    double unmeasured;   /* of instructions that no window saw: by the smaller first level */
    double seen, missed; /* accesses that windows measured, and their misses: over the weight */
    double few_lines, few_written; /* of the smaller first level: lines that came, that went */
    double accesses[CARM_SAMPLED_GROUPS]; /* of the windows */
    double unused[CARM_HIERARCHY_LEVELS_MAX];
    double misses[CARM_HIERARCHY_LEVELS_MAX], reasons[CARM_HIERARCHY_LEVELS_MAX][CARM_MISS_REASONS];
    double lookups[CARM_HIERARCHY_LEVELS_MAX];
    double groups[CARM_HIERARCHY_LEVELS_MAX][CARM_SAMPLED_GROUPS]; /* bytes; of the first level:
                                                                    * the rest of the mean */
};

/* executions  of the instruction, each with one access; 0 = not known: the mean of all is taken */
void carm_sampled_add(const struct carm_sampled *s, uint32_t who, double executions,
                      struct carm_sampled_sum *sum);

struct carm_level_estimate {
    double bytes, low, high; /* between this level and the next; 95% confidence interval */
    double unused;           /* unused bytes of the lines that came */
    double lines;            /* that left, the program's end included */
    double lookups, misses;
    double reasons[CARM_MISS_REASONS]; /* of a sampled first level: capacity is conflict, too */
};

/* The same of a full simulation: without intervals, and with all reasons. */
void carm_sampled_exact(const struct carm_hierarchy_counts *counts,
                        struct carm_level_estimate *out);

/* out: [levels of the config] */
void carm_sampled_read(const struct carm_sampled *s, const struct carm_sampled_sum *sum,
                       struct carm_level_estimate *out);
