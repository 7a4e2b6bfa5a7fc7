/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict on a loop: the largest of its bounds (models/verdict/bounds.h), how much of the measured time that explains, the
 * gain without it, and advice. Words for readers are made here alone. */
#pragma once

#include "models/verdict/bounds.h"

/* The largest bound is the verdict from this share of the measured time on; two bounds are both named where the
 * smaller one has this share of the larger; from this share of the time on nothing is left but another algorithm. */
#define CARM_VERDICT_EXPLAINS 0.75
#define CARM_VERDICT_BOTH     0.90
#define CARM_VERDICT_DONE     0.90
/* Below this share of the time no cause is named in a sentence. From this share on the largest bound, where it is a wait for memory, makes the order of accesses worth a sentence:
 * the bound is what is known of a wait that has other parts. */
#define CARM_VERDICT_PATTERN 0.25
/* A bound that exceeds the measured time by more is refuted: clocks and samples are known to some 10%. */
#define CARM_VERDICT_OVER 1.20
/* Shares of the kernel's time that page faults take: above the larger, no other reason is as large; the smaller allows a gain
 * of 1.1 times at most. */
#define CARM_VERDICT_FAULTS_MOST 0.5
#define CARM_VERDICT_FAULTS_FEW  0.1

/* Advice: a code for programs; words are made of it once. */
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
    } gain; /* times as fast the loop is with this alone; low 0 = as the verdict's */
};

enum { CARM_VERDICT_ADVICE_MAX = 4 };

struct carm_verdict {
    enum carm_limit limit;
    bool estimate; /* the limit is an estimate: it may limit */
    /* share of the measured time, 0 .. 1; of an unknown limit, by the largest bound */
    double explains;
    /* nearly as large, or where the limit is not known the largest; CARM_LIMIT_UNKNOWN = none */
    enum carm_limit second;
    struct carm_bounds bounds;
    double seconds; /* of an iteration, measured */
    struct carm_verdict_gain loop,
        program; /* times as fast, when the limit is removed; high is infinite where no bound is left */
    struct carm_verdict_advice advice[CARM_VERDICT_ADVICE_MAX];
    size_t nadvice;
    bool measured;                    /* the gains are of the first advice, and were measured ... */
    struct carm_verdict_gain removal; /* ... and this is the loop's by the bounds */
};

/* Properties of the code, and of its run, that the verdict and its advice depend on beside the bounds. */
struct carm_verdict_code {
    double
        company; /* share of the time in which something else ran on its core's other hardware thread; 0 = none, or not known */
    double
        slower; /* times as long as when the model was built, which memory takes now for the largest bound of it;
                    * 0 = as long, or not known */
    double
        widening; /* elements of the widest vectors for each element that its instructions have; 0 = not known */
    double used;  /* share of the bytes of the lines that come which is used; 0 = not known */
    double dense; /* share of a line that its widest access has; 0 = not known */
    double
        whole_lines, /* share of the load ports' time without loads across two lines; 0 = not known */
        whole_stores; /* likewise, of the store ports */
    double
        chain_left; /* seconds of the carried chain without the loads of bytes just stored; 0 = not known */
    double independent; /* seconds of its lines at scattered addresses, if all were independent */
    double faults;      /* of time in the kernel: the share of page faults; NAN = not known */
    bool sums;          /* its chain is a sum, a product or a maximum, which accumulators shorten */
    bool scalar;        /* nearly all of its flops, else loads and stores, are of single numbers */
    bool strided;       /* a load or store moves by more than a line */
    bool narrow;        /* its vectors are narrower than the machine's */
    bool plain_stores;  /* it overwrites lines that it does not load */
    bool body;    /* it is no loop: a function's code outside loops has no iterations for vectors */
    bool math;    /* it is a function of the mathematical library, for one number */
    bool repeats; /* repeated string instructions load or store for it */
};

/* bounds   of an iteration
 * seconds  measured, of an iteration; > 0
 * share    of the program's time
 * out      the verdict with the bounds */
void carm_verdict_find(const struct carm_bounds *bounds, double seconds, double share,
                       const struct carm_verdict_code *code, struct carm_verdict *out);

/* A change was tried in copies of the running program, for a part with this share of its time. One that gains goes
 * before all other advice, with its measured gain; one that gains nothing is no advice any more.
 * ci  95% interval of time now over time with the change */
void carm_verdict_measured(struct carm_verdict *verdict, enum carm_advice_code code,
                           struct carm_ci ci, double share);

/* The threads of a part had unequal work in it: the longest this time, all of them this one on average. Advice to share
 * the work out more evenly is added, with its gain, where that is much. */
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

/* What limits a loop, or does for a part of its time: "divider and load ports", "mispredicted branches". returns dst */
char *carm_verdict_reason(char *dst, size_t size, const struct carm_verdict_kept *v);

/* The reason, and how sure it is: "divider and load ports", "maybe mispredicted branches", "not known (L2 bandwidth)".
 * returns dst */
char *carm_verdict_limited_by(char *dst, size_t size, const struct carm_verdict_kept *v);
/* "1.5..2x", "up to 2x"; "-" where nothing is left, or no bound gives the gain. returns dst */
char *carm_verdict_gain_text(char *dst, size_t size, const struct carm_verdict_gain *gain);
/* "limited by memory latency for 93% of its time: swap the loops, 1.2..12x". returns dst */
char *carm_verdict_text(char *dst, size_t size, const struct carm_verdict_kept *v);
