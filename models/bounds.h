/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lower bounds of the time of a loop's iteration, and the verdict: the largest bound, and how much of the measured
 * time it explains.
 *
 * Each bound is a number with its origin. A bound is made of exact counts, the loop's code, simulated bytes and
 * measured rates and latencies; one that assumes something that was not measured (which branches are mispredicted)
 * is an estimate. An estimate becomes the verdict only where no other bound explains the time. A bound that is
 * larger than the measured time is refuted by it and is left out.
 *
 * source: Williams et al. 2009 (rates bound a program from above); Stengel et al. 2015, Quantifying performance
 * bottlenecks of stencil computations using the Execution-Cache-Memory model (the largest of the contributions of
 * a loop that overlap); DESIGN.md, bounds and verdict */
#ifndef CARM_MODELS_BOUNDS_H
#define CARM_MODELS_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>

#include "models/core.h"
#include "models/model.h"
#include "models/theory.h"

/* A row: identifier, code in JSON (relied on), words for a reader. */
#define CARM_LIMIT_TABLE(ROW)                                   \
    ROW(ISSUE, "issue", "instructions")                         \
    ROW(FP, "fp", "floating-point units")                       \
    ROW(DIVIDER, "divider", "the divider")                      \
    ROW(INTEGER, "integer", "integer units")                    \
    ROW(LOADS, "loads", "load ports")                           \
    ROW(STORES, "stores", "store ports")                        \
    ROW(CHAIN, "chain", "dependent operations")                 \
    ROW(L1, "l1", "L1 bandwidth")                               \
    ROW(L2, "l2", "L2 bandwidth")                               \
    ROW(L3, "l3", "L3 bandwidth")                               \
    ROW(DRAM, "dram", "DRAM bandwidth")                         \
    ROW(LATENCY, "latency", "memory latency")                   \
    ROW(TLB, "tlb", "address translation (TLB)")                \
    ROW(BRANCHES, "branches", "mispredicted branches")          \
    ROW(FORWARDING, "forwarding", "loads of bytes just stored") \
    ROW(KERNEL, "kernel", "the kernel")                         \
    ROW(WAITING, "waiting", "waiting for other threads")        \
    ROW(UNKNOWN, "unknown", "not known")

#define CARM_LIMIT_ID(id, ...) CARM_LIMIT_##id,
enum carm_limit { CARM_LIMIT_TABLE(CARM_LIMIT_ID) CARM_LIMITS };
#undef CARM_LIMIT_ID

const char *carm_limit_name(enum carm_limit limit);
const char *carm_limit_words(enum carm_limit limit);
/* Whether it is a wait for L2, L3 or memory: their bandwidth, latency or translations. */
bool carm_limit_is_memory(enum carm_limit limit);

/* The largest bound is the verdict from this share of the measured time on; two bounds are both named where the
 * smaller one has this share of the larger; from this share of the time on nothing is left but another algorithm. */
#define CARM_VERDICT_EXPLAINS 0.75
#define CARM_VERDICT_BOTH     0.90
#define CARM_VERDICT_DONE     0.90
/* A bound that exceeds the measured time by more is refuted: clocks and samples are known to some 10%. */
#define CARM_VERDICT_OVER 1.20

enum { CARM_BOUNDS_MAX = 24, CARM_BOUND_ORIGIN_MAX = 200, CARM_BOUNDS_WIDTHS = 5 };

struct carm_lower_bound {
    enum carm_limit limit;
    double seconds; /* of an iteration */
    bool estimate, refuted;
    bool at_most;     /* an estimate of the most that the cause may take; its time has less of it */
    bool small_pages; /* with pages of 4 KiB */
    bool unrolls;     /* an unrolled loop has hardly any of it: its counter and its jump */
    const char *
        form; /* of the origin, without its numbers: the same for one kind of bound on every machine */
    char origin[CARM_BOUND_ORIGIN_MAX]; /* counts, rates and where they are from */
};

struct carm_bounds {
    struct carm_lower_bound of[CARM_BOUNDS_MAX]; /* from the largest */
    size_t n;
};

/* Rates and latencies: of the model, or of the microarchitecture for those that the model lacks. */
struct carm_rates {
    const struct carm_model *model;              /* may be NULL */
    const struct carm_microarchitecture *theory; /* may be NULL */
};

/* Cycles of an instruction.
 * measured  out: by the model; NULL allowed
 * returns 0 = not known */
double carm_rates_latency(const struct carm_rates *rates, enum carm_core_kind kind, const char *isa,
                          const char *precision, bool *measured);
double carm_rates_throughput(const struct carm_rates *rates, enum carm_core_kind kind,
                             const char *isa, const char *precision, bool *measured);

/* Instructions of one kind in an iteration. */
struct carm_bounds_unit {
    enum carm_core_kind kind;
    const char *isa, *precision; /* as in models/core.h */
    double count;
};

/* Lines that come into L1 with each iteration, by the place that they come from. */
enum carm_bounds_place { CARM_FROM_L2, CARM_FROM_L3, CARM_FROM_DRAM, CARM_FROM_PLACES };

/* One iteration of one thread. A member that is 0 gives no bound. */
struct carm_bounds_input {
    struct carm_rates rates;
    const struct carm_roofs *roofs; /* of as many threads; NULL = none */
    double clock_hz;
    int threads;
    const struct carm_bounds_unit *units; /* [nunits] */
    size_t nunits;
    double slots;   /* instructions as they are issued: a compare and its jump are one */
    double taken;   /* taken branches */
    double fetched; /* lines of code that are entered, by a jump or from the line before */
    double loads[CARM_BOUNDS_WIDTHS]; /* general registers; vectors of 8, 16, 32, 64 bytes */
    double stores[CARM_BOUNDS_WIDTHS];
    double split_loads[CARM_BOUNDS_WIDTHS]; /* part of the loads that is of two lines */
    double chain_cycles;                    /* of the longest carried chain, hits in L1 */
    double forward_cycles;                  /* part of the chain for loads of bytes just stored */
    const char *chain;                      /* its instructions in words */
    double missing_cycles;              /* of the longest chain with the latencies of its misses */
    double window_cycles;               /* where the instructions in flight are bounded */
    double window_missing_cycles;       /* likewise, with the latencies of misses */
    double straddles;                   /* loads that wait for a store to be written */
    double bytes[CARM_FROM_PLACES];     /* simulated: across the border to that place */
    double written;                     /* share of the lines that is written back, 0 .. 0.5 */
    double scattered[CARM_FROM_PLACES]; /* lines at addresses that no prefetcher foresees */
    double chained[CARM_FROM_PLACES];   /* likewise of loads with the address of the next */
    double walks;                       /* accesses whose page is in no TLB */
    double gathered, gather_seconds;    /* elements of gathers, and seconds of one in L1 */
    double contended, transfer_seconds; /* accesses to lines that other threads write, and seconds
                                         * from core to core */
    double resolve_cycles;  /* from the fetch of a mispredicted branch's condition to its outcome */
    double resolve_missing; /* cycles by misses of the conditions of an iteration's mispredicted
                             * branches: the next instructions wait for them */
    double mispredicted;    /* branches that may be, by how often they jump; an estimate */
};

/* All bounds that are known, from the largest. */
void carm_bounds_find(const struct carm_bounds_input *in, struct carm_bounds *out);

/* Adds one: origin as printf. returns it, valid until the next one is added; NULL = 0 seconds, or no room */
__attribute__((format(printf, 5, 6))) struct carm_lower_bound *carm_bounds_add(
    struct carm_bounds *bounds, enum carm_limit limit, double seconds, bool estimate,
    const char *origin, ...);

/* Advice: a code for programs; words are made of it once. */
#define CARM_ADVICE_TABLE(ROW)                                                                   \
    ROW(NOTHING, "nothing", "nothing is left here but another algorithm")                        \
    ROW(VECTORISE, "vectorise", "vectorise (-O3 -march=native)")                                 \
    ROW(WIDEN, "widen", "wider vectors (-march=native)")                                         \
    ROW(BREAK_CHAIN, "break-chain", "several accumulators, or -ffast-math, shorten the chain")   \
    ROW(FEWER_DIVISIONS, "fewer-divisions", "multiply by a reciprocal in place of divisions")    \
    ROW(UNIT_STRIDE, "unit-stride",                                                              \
        "walk the data in the order in which it lies: swap the loops, or the layout")            \
    ROW(BLOCK, "block",                                                                          \
        "block the loops, so that data is used again while it is in a nearer cache")             \
    ROW(STREAM_STORES, "stream-stores",                                                          \
        "streaming stores save the loads of lines that are overwritten")                         \
    ROW(PREFETCH, "prefetch",                                                                    \
        "more independent misses at a time: several searches side by side, or prefetches")       \
    ROW(HUGE_PAGES, "huge-pages", "huge pages need fewer translations")                          \
    ROW(NO_BRANCH, "no-branch", "compute both sides and select, or sort the data first")         \
    ROW(APART, "apart", "give the data of each thread lines of their own")                       \
    ROW(ALIGN, "align", "align the data to lines of 64 bytes")                                   \
    ROW(KEEP_IN_REGISTER, "keep-in-register", "keep the value in a register (-O2)")              \
    ROW(FEWER_FAULTS, "fewer-faults", "fewer page faults: reuse memory, huge pages")             \
    ROW(FEWER_CALLS, "fewer-calls",                                                              \
        "fewer page faults and system calls: reuse memory, larger reads and writes, huge pages") \
    ROW(BALANCE, "balance", "share the work out more evenly, or wait less often")                \
    ROW(FEWER_INSTRUCTIONS, "fewer-instructions",                                                \
        "fewer instructions: unroll, vectorise, compute less")

#define CARM_ADVICE_ID(id, ...) CARM_ADVICE_##id,
enum carm_advice_code { CARM_ADVICE_TABLE(CARM_ADVICE_ID) CARM_ADVICE_COUNT };
#undef CARM_ADVICE_ID
const char *carm_advice_name(enum carm_advice_code code);
const char *carm_advice_words(enum carm_advice_code code);

struct carm_verdict_advice {
    enum carm_advice_code code;
    enum carm_limit removes;
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
    struct carm_verdict_gain {
        double low, high;
    } loop,
        program; /* times as fast, when the limit is removed; high is infinite where no bound is left */
    struct carm_verdict_advice advice[CARM_VERDICT_ADVICE_MAX];
    size_t nadvice;
};

/* Properties of the code that advice depends on, beside the limit. */
struct carm_verdict_code {
    double
        widening; /* elements of the widest vectors for each element that its instructions have; 0 = not known */
    double used; /* share of the bytes of the lines that come which is used; 0 = not known */
    double
        whole_lines; /* share of the load ports' time without loads across two lines; 0 = not known */
    double chain_left;  /* seconds of the carried chain without the loads of bytes just stored */
    double independent; /* seconds of its lines at scattered addresses, if all were independent */
    bool scalar;        /* nearly all of its flops or elements are computed one by one */
    bool strided;       /* a load or store moves by more than a line */
    bool narrow;        /* its vectors are narrower than the machine's */
    bool faults;        /* of time in the kernel: page faults take most of it */
    bool plain_stores;  /* it overwrites lines that it does not load */
};

/* bounds   of an iteration
 * seconds  measured, of an iteration; > 0
 * share    of the program's time
 * out      the verdict with the bounds */
void carm_verdict_find(const struct carm_bounds *bounds, double seconds, double share,
                       const struct carm_verdict_code *code, struct carm_verdict *out);

#endif
