/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict on a loop: the largest of its bounds (models/verdict/bounds.h), how much of the measured time it
 * explains, the gain without this limit, and advice. Only this file makes words for readers. */
#pragma once

#include "models/verdict/bounds.h"

/* EXPLAINS: least share of the measured time for the largest bound to be the verdict. BOTH: two bounds are named where
 * the smaller is at least this share of the larger. DONE: from this share on, only another algorithm helps. */
#define CARM_VERDICT_EXPLAINS 0.75
#define CARM_VERDICT_BOTH     0.90
#define CARM_VERDICT_DONE     0.90
/* Below this share of the time, no sentence names a cause. From it on, a largest bound that is a wait for memory leads
 * to a sentence on the order of accesses: the bound covers only a part of the wait. */
#define CARM_VERDICT_PATTERN 0.25
/* A bound above this multiple of the measured time is refuted: clocks and samples are known to 10%. */
#define CARM_VERDICT_OVER 1.20
/* Shares of the kernel's time in page faults. Above MOST, page faults are the largest cause. Below FEW, they allow a
 * gain of at most 1.1 times. */
#define CARM_VERDICT_FAULTS_MOST 0.5
#define CARM_VERDICT_FAULTS_FEW  0.1

/* Advice: an identifier, a code for programs, and words for a reader. */
#define CARM_ADVICE_TABLE(ROW)                                                                    \
    ROW(NOTHING, "nothing", "nothing is left here but another algorithm")                         \
    ROW(VECTORISE, "vectorise", "vectorise (-O3 -march=native; sums need -ffast-math, too)")      \
    ROW(VECTOR_MATH, "vector-math",                                                               \
        "vectorise the loop that calls it (-O3 -march=native -ffast-math: libmvec)")              \
    ROW(WIDEN, "widen", "wider vectors (-march=native)")                                          \
    ROW(BREAK_CHAIN, "break-chain", "several accumulators, or -ffast-math, shorten the chain")    \
    ROW(INTERLEAVE, "interleave",                                                                 \
        "several independent inputs side by side: the chain of one leaves the core idle")         \
    ROW(FEWER_DIVISIONS, "fewer-divisions",                                                       \
        "multiply by a reciprocal in place of divisions (-ffast-math, where it is allowed)")      \
    ROW(UNIT_STRIDE, "unit-stride",                                                               \
        "walk the data in the order in which it lies: swap the loops, or the layout")             \
    ROW(BLOCK, "block",                                                                           \
        "block the loops, so that data is used again while it is in a nearer cache")              \
    ROW(STREAM_STORES, "stream-stores",                                                           \
        "streaming stores save the loads of lines that are overwritten")                          \
    ROW(PREFETCH, "prefetch",                                                                     \
        "more independent misses at a time: several searches side by side, or prefetches")        \
    ROW(PARTITION, "partition",                                                                   \
        "partition the data, so that accesses near in time are near in memory: the core has all " \
        "misses in flight that it can have")                                                      \
    ROW(HUGE_PAGES, "huge-pages",                                                                 \
        "huge pages (GLIBC_TUNABLES=glibc.malloc.hugetlb=1, or madvise)")                         \
    ROW(PAD, "pad", "make rows a line longer, so that their lines are of different sets")         \
    ROW(SHIFT, "shift",                                                                           \
        "move one of the arrays by 2 KiB, so that no store is a multiple of 4 KiB before a load") \
    ROW(NO_BRANCH, "no-branch", "compute both sides and select, or sort the data first")          \
    ROW(APART, "apart", "give the data of each thread lines of their own")                        \
    ROW(ALIGN, "align", "align the data to lines of 64 bytes")                                    \
    ROW(KEEP_IN_REGISTER, "keep-in-register", "keep the value in a register (-O2)")               \
    ROW(FEWER_FAULTS, "fewer-faults", "fewer page faults: reuse memory, huge pages")              \
    ROW(FEWER_CALLS, "fewer-calls",                                                               \
        "fewer system calls: larger reads and writes, fewer waits for locks")                     \
    ROW(LESS_KERNEL, "less-kernel",                                                               \
        "fewer page faults: reuse memory; fewer system calls: larger reads and writes, fewer "    \
        "waits for locks")                                                                        \
    ROW(FEWER_ATOMICS, "fewer-atomics",                                                           \
        "fewer atomic operations: let each thread count for itself, and add up at the end")       \
    ROW(BALANCE, "balance", "share the work out more evenly, or wait less often")                 \
    ROW(FEWER_INSTRUCTIONS, "fewer-instructions",                                                 \
        "fewer instructions: unroll, vectorise, compute less")

#define CARM_ADVICE_ID(id, ...) CARM_ADVICE_##id,
enum carm_advice_code { CARM_ADVICE_TABLE(CARM_ADVICE_ID) CARM_ADVICE_COUNT };
#undef CARM_ADVICE_ID
const char *carm_advice_name(enum carm_advice_code code);
const char *carm_advice_words(enum carm_advice_code code);

struct carm_verdict_advice {
    enum carm_advice_code code;
    enum carm_limit removes;
    struct carm_verdict_gain {
        double low, high;
    } gain; /* gain of the loop by this advice alone; low 0 = the verdict's gain */
};

enum { CARM_VERDICT_ADVICE_MAX = 4 };

struct carm_verdict {
    enum carm_limit limit;
    bool estimate; /* the limit is an estimate: it may limit */
    /* share of the measured time, 0 .. 1; of an unknown limit, by the largest bound */
    double explains;
    /* another limit that is nearly as large; for an unknown limit, the largest; CARM_LIMIT_UNKNOWN
     * = none */
    enum carm_limit second;
    struct carm_bounds bounds;
    double seconds; /* of an iteration, measured */
    struct carm_verdict_gain loop,
        program; /* times as fast without the limit; high is infinite where no bound is left */
    struct carm_verdict_advice advice[CARM_VERDICT_ADVICE_MAX];
    size_t nadvice;
    bool measured; /* loop and program are the measured gains of the first advice */
    struct carm_verdict_gain removal; /* the loop's gain by the bounds, beside a measured one */
};

/* Properties of the code, and of its run, that the verdict and its advice depend on beside the bounds. */
struct carm_verdict_code {
    double
        company; /* share of the time in which the core's other hardware thread was busy; 0 = none, or not known */
    double
        slower; /* time of the largest memory bound now over its time when the model was built; 0 = equal, or not
                    * known */
    double
        widening; /* elements of the widest vectors for each element that its instructions have; 0 = not known */
    double used;  /* used share of the bytes of fetched lines; 0 = not known */
    double dense; /* width of its widest access over a line; 0 = not known */
    double
        whole_lines, /* share of the load ports' time without loads across two lines; 0 = not known */
        whole_stores; /* the same for the store ports */
    double
        chain_left; /* seconds of the carried chain without the loads of bytes just stored; 0 = not known */
    double independent; /* seconds of its lines at scattered addresses, if all were independent */
    double faults;      /* share of page faults in the kernel's time; NAN = not known */
    bool sums;          /* its chain is a sum, a product or a maximum, which accumulators shorten */
    bool scalar;        /* nearly all of its flops, else loads and stores, are of single numbers */
    bool strided;       /* a load or store moves by more than a line */
    bool narrow;        /* its vectors are narrower than the machine's */
    bool plain_stores;  /* it overwrites lines that it does not load */
    bool body;          /* it is a function's code outside loops, without iterations to vectorise */
    bool math;          /* it is a scalar function of the mathematical library */
    bool repeats;       /* repeated string instructions load or store for it */
};

/* bounds   of an iteration
 * seconds  measured, of an iteration; > 0
 * share    of the program's time
 * out      the verdict with the bounds */
void carm_verdict_find(const struct carm_bounds *bounds, double seconds, double share,
                       const struct carm_verdict_code *code, struct carm_verdict *out);

/* Enters the result of a change that was tried in copies of the running program, for a part with this share of its
 * time. A change that gains becomes the first advice, with its measured gain; a change that gains nothing is removed
 * from the advice.
 * ci  95% interval of the present time over the time with the change */
void carm_verdict_measured(struct carm_verdict *verdict, enum carm_advice_code code,
                           struct carm_ci ci, double share);

/* Adds advice to balance the work, with its gain, where the threads' times in a part differ enough. longest, mean: of
 * the threads' times */
void carm_verdict_unequal(struct carm_verdict *verdict, double longest, double mean);

/* The first advice to remove the verdict's own limit; CARM_ADVICE_COUNT = none */
enum carm_advice_code carm_verdict_first(const struct carm_verdict *verdict);

/* The part of a verdict in a row of points.csv, which is all that its words need. */
struct carm_verdict_kept {
    enum carm_limit limit, second; /* as in struct carm_verdict */
    bool estimate;
    double explains;
    struct carm_verdict_gain loop;
    enum carm_advice_code advice; /* the first; CARM_ADVICE_COUNT = none */
};

struct carm_verdict_kept carm_verdict_keep(const struct carm_verdict *verdict);

/* The limit of a loop, or of a part of its time: "divider and load ports", "mispredicted branches". returns dst */
char *carm_verdict_reason(char *dst, size_t size, const struct carm_verdict_kept *v);

/* The reason, and how sure it is: "divider and load ports", "maybe mispredicted branches", "not known (L2 bandwidth)".
 * returns dst */
char *carm_verdict_limited_by(char *dst, size_t size, const struct carm_verdict_kept *v);
/* "1.5..2x", "up to 2x"; "-" where nothing is left, or no bound gives the gain. returns dst */
char *carm_verdict_gain_text(char *dst, size_t size, const struct carm_verdict_gain *gain);
/* "limited by memory latency for 93% of its time: swap the loops, 1.2..12x". returns dst */
char *carm_verdict_text(char *dst, size_t size, const struct carm_verdict_kept *v);
