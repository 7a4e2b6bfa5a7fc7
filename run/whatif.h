/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run --what-if: the gains of changes of the hot loops, measured in copies of the running program
 * (harness/whatif/). The program runs once more, with its output discarded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/number.h"
#include "base/observer.h"
#include "harness/profile/profile.h"
#include "harness/whatif/body.h"
#include "run/count.h"
#include "run/verdict.h"

/* A row: identifier, word of JSON, "if ...", what to try or what the figure says, its advice of verdicts. A row without
 * such advice is a bound: a program without stores or arithmetic is no program, so only the loop has a gain. */
#define CARM_WHATIF_TABLE(ROW)                                                                     \
    ROW(HUGE_PAGES, "huge_pages", "its pages were huge",                                           \
        "MADV_HUGEPAGE, or GLIBC_TUNABLES=glibc.malloc.hugetlb=1", HUGE_PAGES)                     \
    ROW(PREFETCH, "prefetch", "its lines were prefetched", "__builtin_prefetch", PREFETCH)         \
    ROW(INDIRECT, "prefetch_indirect", "what its indices name was prefetched",                     \
        "__builtin_prefetch(&a[index[i + 32]])", PREFETCH)                                         \
    ROW(STREAMING, "streaming_stores", "its stores bypassed the caches",                           \
        "non-temporal stores, as _mm256_stream_pd", STREAM_STORES)                                 \
    ROW(CHAINS, "chains_broken", "its sums had several accumulators",                              \
        "-ffast-math, or omp simd reduction", BREAK_CHAIN)                                         \
    ROW(DIVISIONS, "divisions_cheap", "divisions and roots cost a product",                        \
        "products with reciprocals, or -mrecip", FEWER_DIVISIONS)                                  \
    ROW(KNOWN, "branches_known", "its branches were all predicted",                                \
        "compute both sides and select, or sort the data first", NO_BRANCH)                        \
    ROW(L1, "data_in_l1", "its data came from L1", "all that memory costs it", COUNT)              \
    ROW(STORES, "without_stores", "it stored nothing", "all that its stores cost", COUNT)          \
    ROW(ARITHMETIC, "without_arithmetic", "its vector arithmetic took no time",                    \
        "all that its arithmetic costs", COUNT)                                                    \
    ROW(CORES, "all_cores", "all CPUs did its work at once", "the most that threads bring", COUNT) \
    ROW(STREAM, "stream_in_l1", "one stream came from L1", "its share of memory's cost", COUNT)    \
    ROW(STREAM2, "stream_in_l1", "one stream came from L1", "its share of memory's cost", COUNT)   \
    ROW(STREAM3, "stream_in_l1", "one stream came from L1", "its share of memory's cost", COUNT)   \
    ROW(STREAM4, "stream_in_l1", "one stream came from L1", "its share of memory's cost", COUNT)

#define CARM_WHATIF_ID(id, ...) CARM_WHATIF_##id,
enum carm_whatif_kind { CARM_WHATIF_TABLE(CARM_WHATIF_ID) CARM_WHATIF_KINDS };
#undef CARM_WHATIF_ID

const char *carm_whatif_word(enum carm_whatif_kind kind);
const char *carm_whatif_words(enum carm_whatif_kind kind);
const char *carm_whatif_advice(enum carm_whatif_kind kind);

struct carm_whatif_change {
    bool measured;
    double gain;       /* time now over time with the change, of the loop's own code */
    struct carm_ci ci; /* 95%, over the snapshots, and the method's own error */
    double program;    /* likewise, of the whole program; NaN for a bound */
    int lines;         /* of a prefetch: how far ahead */
    bool
        at_least; /* of broken chains: counting the iterations limits the copies, which unrolled code does less */
    bool idle;     /* there is nothing to change */
    char why[200]; /* not measured: a phrase */
};

/* Loads and stores of a loop that move together. */
struct carm_whatif_stream {
    char source[64]; /* of its first access: "triad.c:6"; "" = not known */
    unsigned loads, stores;
    int64_t stride; /* bytes of an iteration; 0 = not constant */
};

struct carm_whatif_loop {
    size_t row;    /* of the profile, maybe of a folded loop */
    bool nest;     /* with the loops inside it */
    double share;  /* of the program's time, with those of a nest */
    char why[200]; /* nothing was measured: a phrase; "" = something was */
    unsigned snapshots;
    double
        null; /* unchanged over unchanged code: the largest distance from 1, of the snapshots' median */
    double
        copied; /* time of an iteration in the copies over that in the timed run; NaN = not known */
    double inside;  /* share of the copies' time in the loop's own code */
    double seconds; /* that the program stood still for it */
    unsigned cpus;  /* copies that ran at once; 0 = not tried */
    struct carm_whatif_stream streams[CARM_BODY_STREAMS];
    struct carm_whatif_change changes[CARM_WHATIF_KINDS];
};

/* The program stands still for a loop for so long at most, and for four times of it in all. Three snapshots are taken
 * within it, more if they fit. */
static const double carm_whatif_loop_seconds = 4.0;
enum { CARM_WHATIF_LOOPS = 4, CARM_WHATIF_SNAPSHOTS = 5 };

struct carm_run_whatif {
    struct carm_whatif_loop loops[CARM_WHATIF_LOOPS];
    size_t nloops;
    char why[256];  /* no loop was tried: a phrase; "" */
    double seconds; /* that the program stood still */
};

/* Runs the program again, and tries its hottest loops.
 * memory   bytes that copies may take; 0 = half of the free memory
 * returns 0, -CARM_ENOMEM, -CARM_EIO */
int carm_run_whatif(struct carm_run_whatif *out, const struct carm_run *run,
                    const struct carm_profile *profile, uint64_t memory, struct carm_err *err);

/* Hands the largest measured gain, and changes without a gain, to the verdicts of the loops.
 * verdicts  [profile->nrows] */
void carm_run_whatif_judge(const struct carm_run_whatif *whatif, const struct carm_profile *profile,
                           struct carm_run_verdict *verdicts);

/* The time for a loop's next snapshot. Pure; for tests.
 * n               snapshots so far
 * spent           seconds that they held the program
 * seconds, limit  out: as of struct carm_trial_settings
 * returns false: none is to be taken */
bool carm_whatif_time(size_t n, double spent, double *seconds, double *limit);

/* Widens the interval of a gain by what code by hand may take more or less than the copies. Pure; for tests.
 * seconds     of an iteration, unchanged
 * iterations  of a unit, which the copies count
 * entered     for most units the loop is entered from the code around it
 * cycles      of a short iteration by hand, at least */
void carm_whatif_by_hand(struct carm_whatif_change *change, double seconds, double iterations,
                         bool entered, double cycles);

/* The gain of the loop's own code, where the share of the time in it was sampled with the change as well: the code around
 * the loop may wait for what the loop brought into the caches before. Pure; for tests.
 * change  measured of all code
 * inside  share of the time in the loop's own code, unchanged; NaN = 1
 * then    with the change */
void carm_whatif_inside(struct carm_whatif_change *change, double inside, double then);

/* The least cycles of an iteration by hand: whole groups of instructions, and two where the code lies across two lines.
 * rewritten  it has other instructions. Pure; for tests. */
double carm_whatif_least_cycles(const struct carm_body *body, bool rewritten);

/* Of a method: a part of the gain's logarithm, and the least of it. */
struct carm_whatif_error {
    double share, least;
};

/* How far a loop's copies are surely slower or faster than the program: 1 where the difference may be one of the samples.
 * Pure; for tests.
 * copied   time of an iteration in the copies over that in the program; NaN = not known, as 1
 * samples  of the program in the loop
 * inside   share of the copies' time in the loop's own code, by samples as well */
double carm_whatif_surely(double copied, double samples, double inside);

/* One gain from all snapshots. Pure; for tests.
 * ratios  [n] of the snapshots; NaN = not measured
 * nulls   [n] of unchanged over unchanged code, likewise
 * inside  share of the time in the loop's own code, which alone was changed
 * copied  time of the unchanged code in the copies over that in the program: code by hand may be as the one or the other,
 *         so the interval reaches over both; NaN = not known
 * returns false: nothing can be said, and why says why */
bool carm_whatif_combine(const double *ratios, const double *nulls, size_t n, double inside,
                         double copied, const struct carm_whatif_error *method,
                         struct carm_whatif_change *change);
