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

/* A row: identifier, word of JSON, "if ...", what to try or what the figure means, the advice in verdicts. A row
 * without advice is a bound: no program can omit its stores or its arithmetic, so only the loop has a gain. */
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
    struct carm_ci ci; /* 95%, over the snapshots, with the method's own error */
    double program;    /* gain of the whole program; NaN for a bound */
    int lines;         /* of a prefetch: how far ahead */
    bool
        at_least; /* broken chains: the copies are slowed by counting iterations; unrolled code counts fewer */
    bool idle;     /* there is nothing to change */
    char why[200]; /* why there is no gain: a phrase */
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
    double share;  /* of the program's time, the inner loops of a nest included */
    char why[200]; /* why nothing was measured: a phrase; "" = something was measured */
    unsigned snapshots;
    double
        null; /* unchanged over unchanged code: the largest distance of a median over snapshots from 1 */
    double copied;  /* time of an iteration in the copies / in the timed run; NaN = not known */
    double inside;  /* share of the copies' time in the loop's own code */
    double seconds; /* for which the program stood still for this loop */
    unsigned cpus;  /* copies that ran at once; 0 = not tried */
    struct carm_whatif_stream streams[CARM_BODY_STREAMS];
    struct carm_whatif_change changes[CARM_WHATIF_KINDS];
};

/* Most seconds that the program stands still for one loop; four times as long for all loops. Three snapshots are taken
 * in this time, more if they fit. Chosen by hand. */
static const double carm_whatif_loop_seconds = 4.0;
enum { CARM_WHATIF_LOOPS = 4, CARM_WHATIF_SNAPSHOTS = 5 };

struct carm_run_whatif {
    struct carm_whatif_loop loops[CARM_WHATIF_LOOPS];
    size_t nloops;
    char why[256];  /* why no loop was tried: a phrase; "" */
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
 * spent           seconds that these snapshots stopped the program
 * seconds, limit  out: members of struct carm_trial_settings
 * returns false: take no further snapshot */
bool carm_whatif_time(size_t n, double spent, double *seconds, double *limit);

/* Widens the interval of a gain by the possible difference between hand-written code and the copies. Pure; for tests.
 * seconds     of an iteration, unchanged
 * iterations  of a unit, which the copies count
 * entered     for most units the loop is entered from the code around it
 * cycles      least cycles of a short iteration of hand-written code */
void carm_whatif_by_hand(struct carm_whatif_change *change, double seconds, double iterations,
                         bool entered, double cycles);

/* The gain of the loop's own code, from the sampled shares of the time in this code without and with the change: with
 * the change, the code around the loop may wait for lines that the loop used to bring into the caches. Pure; for tests.
 * change  the gain of all code
 * inside  share of the time in the loop's own code, unchanged; NaN = 1
 * then    the same share with the change */
void carm_whatif_inside(struct carm_whatif_change *change, double inside, double then);

/* The least cycles of an iteration of hand-written code: whole groups of instructions, and two if the code lies across
 * two lines. rewritten: the code has other instructions. Pure; for tests. */
double carm_whatif_least_cycles(const struct carm_body *body, bool rewritten);

/* The error of a method: a share of the gain's logarithm, and its least value. */
struct carm_whatif_error {
    double share, least;
};

/* The ratio by which a loop's copies are certainly slower or faster than the program; 1 where sampling error may
 * explain the difference. Pure; for tests.
 * copied   time of an iteration in the copies / in the program; NaN = not known, as 1
 * samples  of the program in the loop
 * inside   share of the copies' time in the loop's own code, sampled too */
double carm_whatif_surely(double copied, double samples, double inside);

/* One gain from all snapshots. Pure; for tests.
 * ratios  [n] of the snapshots; NaN = not measured
 * nulls   [n] ratios of unchanged to unchanged code; NaN = not measured
 * inside  share of the time in the loop's own code; only this code was changed
 * copied  time of the unchanged code in the copies / in the program: hand-written code may be like either, so the
 *         interval includes both; NaN = not known
 * returns false: no gain can be given; why has the reason */
bool carm_whatif_combine(const double *ratios, const double *nulls, size_t n, double inside,
                         double copied, const struct carm_whatif_error *method,
                         struct carm_whatif_change *change);
