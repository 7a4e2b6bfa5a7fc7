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
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/core.h"
#include "models/model.h"
#include "models/theory.h"

/* A row: identifier, code in JSON (relied on), words for a reader. */
#define CARM_LIMIT_TABLE(ROW)                                   \
    ROW(ISSUE, "issue", "instructions")                         \
    ROW(FP, "fp", "floating-point and vector units")            \
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
/* Whether a limit is a wait for L2, L3 or memory: bandwidth, latency or address translation. */
bool carm_limit_is_memory(enum carm_limit limit);

enum {
    CARM_BOUNDS_MAX = 32,
    CARM_BOUND_ORIGIN_MAX = 200,
    CARM_BOUNDS_WIDTHS = 5,
    CARM_BOUNDS_PIPED_MAX = 98
};

struct carm_lower_bound {
    enum carm_limit limit;
    double seconds; /* of an iteration */
    bool estimate, refuted;
    bool at_most;        /* an upper estimate: the cause may take less of the time */
    bool small_pages;    /* the bound holds for pages of 4 KiB */
    double huge_seconds; /* the bound with pages of 2 MiB; 0 = not known */
    bool aliased;        /* from lines a multiple of 4096 bytes apart */
    bool apart;          /* from lines that other threads write */
    bool saturated;      /* the core has as many misses in flight as it can */
    bool locked;         /* from locked instructions */
    bool indirect;       /* most of its mispredictions are of indirect jumps */
    bool offset;         /* from loads at the page offset of a store in another page */
    bool strings;        /* string instructions that stay in L1 */
    bool unrolls;        /* the loop's counter and jump: unrolling removes nearly all of it */
    const char
        *form; /* the origin without its numbers: equal for one kind of bound on all machines */
    char origin[CARM_BOUND_ORIGIN_MAX]; /* counts, rates and their sources */
};

struct carm_bounds {
    struct carm_lower_bound of[CARM_BOUNDS_MAX]; /* largest first */
    size_t n;
};

/* Rates and latencies: of the model, or of the microarchitecture where the model has none. */
struct carm_rates {
    const struct carm_model *model;              /* may be NULL */
    const struct carm_microarchitecture *theory; /* may be NULL */
    double clock_hz; /* of the core while the program ran; 0 = not known: the model's clock */
    double company;  /* as in struct carm_verdict_code */
};

/* Latency and reciprocal throughput of an instruction, cycles.
 * measured  out: whether the model has it; NULL allowed
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
    const char *pipes; /* word of a microarchitecture's pipes; NULL = none */
};

/* The places from which an iteration's lines come into L1. */
enum carm_bounds_place { CARM_FROM_L2, CARM_FROM_L3, CARM_FROM_DRAM, CARM_FROM_PLACES };

/* Accesses whose page is in no TLB, by distance from the page of the previous walk: near, CARM_WALK_FAR or
 * CARM_WALK_WIDE pages. */
enum carm_bounds_walk { CARM_WALKS_NEAR, CARM_WALKS_FAR, CARM_WALKS_WIDE, CARM_BOUNDS_WALKS };

/* One iteration of one thread. A member that is 0 gives no bound. */
struct carm_bounds_input {
    struct carm_rates rates;
    const struct carm_roofs *roofs; /* for this number of threads; NULL = none */
    double clock_hz;
    int threads;
    const struct carm_bounds_unit *units; /* [nunits] */
    size_t nunits;
    double slots; /* issue slots: a compare and its jump take one, some instructions take two */
    double
        dispatch_cycles; /* cycles to dispatch them in order, with the core's limit for each kind; 0 = not known */
    double renamed;  /* instructions that write a general register, without moves between
                      * registers */
    double fused;    /* jumps fused with the comparison before them */
    double branches; /* conditional */
    double zeroed;   /* vector registers zeroed by an operation of a register with itself */
    double taken;    /* taken branches */
    double fetched;  /* lines of code that are entered, by a jump or from the line before */
    double loads[CARM_BOUNDS_WIDTHS]; /* general registers; vectors of 8, 16, 32, 64 bytes */
    double stores[CARM_BOUNDS_WIDTHS];
    double split_loads[CARM_BOUNDS_WIDTHS]; /* part of the loads that crosses two lines */
    double split_stores[CARM_BOUNDS_WIDTHS];
    double behind[CARM_BOUNDS_WIDTHS]; /* loads at the page offset of an earlier store to another
                                        * page */
    double chain_cycles;               /* of the longest loop-carried chain, if loads hit L1 */
    double forward_cycles;             /* part of the chain for loads of bytes just stored */
    const char *chain;                 /* its instructions in words */
    bool counter;                      /* the chain is one integer addition, such as the loop's
                                        * counter */
    double missing_cycles;             /* of the longest chain, with the latencies of its misses */
    double
        border_cycles; /* missing_cycles if other programs occupy half of a cache or evict lines of the last cache; 0 =
                           * about the same */
    double window_cycles;             /* of the iteration, with a bounded number of instructions in
                                     * flight */
    double window_missing_cycles;     /* window_cycles with the latencies of misses */
    double locked;                    /* instructions with a lock */
    double straddles;                 /* loads that wait until a store is written */
    double bytes[CARM_FROM_PLACES];   /* simulated, between the place and the level above it */
    double written[CARM_FROM_PLACES]; /* share of these lines that is written back, 0 .. 0.5 */
    bool victims; /* L3 takes all lines that leave L2, clean ones too: bytes includes them */
    double scattered[CARM_FROM_PLACES];   /* lines at addresses that no prefetcher predicts */
    double overwritten[CARM_FROM_PLACES]; /* of scattered: lines stored to without a load */
    double rewritten[CARM_FROM_PLACES];   /* of scattered: lines loaded and stored to */
    double
        lost; /* share of scattered lines of the last cache that come from memory, since other programs evict them */
    double stays;  /* seconds in which half of these lines are evicted */
    double waited; /* lines of scattered[CARM_FROM_DRAM] that are loaded, not only stored to */
    double chained[CARM_FROM_PLACES]; /* of scattered: loads whose value is the next address */
    double aliased[CARM_FROM_PLACES]; /* lines that come in succession into one set of L1 */
    double updated;                   /* share of aliased lines that is also stored to */
    bool huge; /* the data is in huge pages: bounds for 4 KiB pages do not apply */
    double walk_loads[CARM_BOUNDS_WALKS], walk_stores[CARM_BOUNDS_WALKS]; /* with 4 KiB pages */
    double pages;                       /* pages of 4 KiB that the loop accesses; 0 = not known */
    double gathered, gather_seconds;    /* elements of gathers; seconds for one that hits L1 */
    double string_loads, string_stores; /* bytes loaded and stored by repeated string
                                         * instructions */
    double contended, transfer_seconds; /* accesses to lines that other threads write; seconds to
                                         * get one from another core */
    double resolve_cycles;  /* from the fetch of a mispredicted branch's condition to its outcome */
    double resolve_missing; /* cycles that misses in the conditions of mispredicted branches add:
                             * the next instructions wait */
    double mispredicted;    /* branches that may be mispredicted, from how often they jump; an
                             * estimate */
    double astray;          /* part of mispredicted: indirect jumps and calls */
};

/* Elements of the model's widest vectors over elements of the code's floating-point operations, >= 1; 0 = not known. */
double carm_bounds_widening(const struct carm_bounds_input *in);

/* All known bounds, largest first. */
void carm_bounds_find(const struct carm_bounds_input *in, struct carm_bounds *out);

/* Adds a bound; origin: a printf format. returns the bound, valid until the next is added; NULL = 0 seconds, or no
 * room */
__attribute__((format(printf, 5, 6))) struct carm_lower_bound *carm_bounds_add(
    struct carm_bounds *bounds, enum carm_limit limit, double seconds, bool estimate,
    const char *origin, ...);
