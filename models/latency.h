/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Latencies outside the core, the `latency[]`, `in_flight[]`, `loaded[]` and `core_to_core[]` of
 * model.json: dependent loads over working sets, independent chains of them, one chain beside
 * streams, lines handed from core to core; memory domains. */
#pragma once

#include "models/model.h"

/* The order in which a chase visits its working set. */
enum carm_latency_order {
    CARM_LATENCY_LINES, /* all lines of a page in random order, then those of the next page,
                         * pages in random order: a TLB miss in 64 loads (4 KiB pages).
                         * Prefetchers that fetch the rest of a page make the chase faster than
                         * dependent loads */
    CARM_LATENCY_PAGES, /* one line of each page, pages in random order: each load needs another page */
    CARM_LATENCY_RANDOM, /* all lines of the working set in random order: a level's latency, which
                          * with 4 KiB pages includes TLB misses in sets beyond the TLB's reach */
    CARM_LATENCY_ORDER_COUNT,
};
const char *carm_latency_order_name(enum carm_latency_order order); /* "lines", "pages", "random" */

struct carm_latency_point {
    uint64_t working_set_bytes; /* address range that the chase covers */
    double seconds;             /* of one load */
    struct carm_ci ci95;        /* seconds */
    double cycles;
    bool disturbed;
};

/* A plateau of one curve and the curve's points: the latency of one level, or of TLB misses. */
struct carm_latency {
    /* "L1", ..., "DRAM"; of order "pages" "TLB1" (first level hits), "TLB2", "walk" */
    char level[CARM_NAME_MAX];
    enum carm_latency_order order;
    uint64_t page_bytes; /* really obtained */
    /* load-to-use; 0 = not measured, the note says why. Of "TLB2" and "walk": the time that the
     * miss adds to the latency of the same lines */
    double seconds;
    struct carm_ci ci95; /* seconds */
    double cycles;       /* of the core clock during the chase */
    double clock_hz;
    uint64_t working_set_bytes; /* at which it was measured */
    /* largest working set that stays on the plateau; 0 = beyond the largest measured */
    uint64_t reach_bytes;
    bool disturbed;
    char note[CARM_TEXT_MAX];
};

struct carm_latency_curve {
    enum carm_latency_order order;
    uint64_t page_bytes;
    struct carm_latency_point *points; /* by working set, ascending */
    size_t npoints;
};

/* The plateau of a curve between twice the size of the cache before and half the size of this cache: the longest
 * run of points within 25% of one another, its median point, and an interval with all its points. At the smallest set,
 * half of the loads miss the cache before. So the fastest point has at least half of this level's latency, and slower
 * points have loads that miss this level, too: other programs occupy a part of a shared cache. A note says when the
 * plateau ends before the reported size.
 * below  seconds: slower points do not belong to this level
 * l      out: seconds 0 and a note where there is no plateau */
void carm_latency_plateau(struct carm_latency *l, const struct carm_latency_curve *curve,
                          uint64_t from, uint64_t to, double below);

/* The rate at which one core loads lines that miss, with 1 to 64 independent chains. */
struct carm_in_flight_point {
    int chains;
    double rate;         /* loads/s */
    struct carm_ci ci95; /* loads/s */
    bool disturbed;
};

/* Prefix of codes of scalar loads, each beside a number of instructions that write a register:
 * "scalar.b16". */
#define CARM_BESIDE        "scalar.b"
#define CARM_STREAM_LOADS  "stream.1:0"
#define CARM_STREAM_MIXED  "stream.2:1"
#define CARM_STREAM_STORES "stream.0:1"
/* Independent accesses to lines that are a multiple of 4096 bytes apart: loads, and loads with a store to the same place. */
#define CARM_ALIASED_LOADS   "aliased.1:0"
#define CARM_ALIASED_UPDATES "aliased.update"
/* Independent accesses to lines at random places: stores, and loads with a store to the same place. */
#define CARM_SCATTERED_STORES  "scattered.0:1"
#define CARM_SCATTERED_UPDATES "scattered.update"
/* The level of accesses that each need a walk through the page tables, and their codes. near: neighbouring pages; far:
 * pages CARM_WALK_FAR apart; wide: pages CARM_WALK_WIDE apart, so many that the page tables leave L2. "3x": three times
 * as many pages as the TLB has, instead of one and a half times. */
#define CARM_WALK                  "walk"
#define CARM_WALK_FAR              4
#define CARM_WALK_NEAR_LOADS       "near.1:0"
#define CARM_WALK_NEAR_STORES      "near.0:1"
#define CARM_WALK_NEAR_MORE_LOADS  "near.3x.1:0"
#define CARM_WALK_NEAR_MORE_STORES "near.3x.0:1"
#define CARM_WALK_FAR_LOADS        "far.1:0"
#define CARM_WALK_FAR_STORES       "far.0:1"
#define CARM_WALK_FAR_MORE_LOADS   "far.3x.1:0"
#define CARM_WALK_FAR_MORE_STORES  "far.3x.0:1"
#define CARM_WALK_WIDE             16
#define CARM_WALK_WIDE_LOADS       "wide.1:0"
#define CARM_WALK_WIDE_STORES      "wide.0:1"

struct carm_in_flight {
    char level[CARM_NAME_MAX];
    /* "scalar" = one load for each chain, "gather.avx2", "gather.avx512", CARM_SCATTERED_STORES and _UPDATES; with 4
     * KiB pages also CARM_BESIDE and a number; CARM_STREAM_LOADS, _MIXED and _STORES: lines that a stream loads or
     * writes back, in one chain; CARM_ALIASED_LOADS and _UPDATES; of the level CARM_WALK one of the CARM_WALK codes */
    char code[CARM_NAME_MAX];
    uint64_t page_bytes;
    uint64_t working_set_bytes;
    double latency_seconds; /* of one chain: the least time of a load in any number of chains */
    double rate;            /* loads/s; more chains give no higher rate */
    struct carm_ci ci95;    /* loads/s */
    int chains;             /* the fewest that reach 95% of rate */
    double lines;           /* Little's law: rate x latency_seconds, lines in flight on average */
    bool disturbed;
    char note[CARM_TEXT_MAX];
    struct carm_in_flight_point *points; /* by chains, ascending */
    size_t npoints;
};

/* Latency of one chase beside n-1 streaming threads. */
struct carm_loaded_point {
    double bandwidth; /* byte/s of all streams and the chase together */
    double seconds;   /* of one load of the chase */
    struct carm_ci ci95;
    bool disturbed;
};

struct carm_loaded {
    char ldst[CARM_NAME_MAX]; /* mix of the streams */
    int threads;              /* with the chase */
    uint64_t page_bytes;
    struct carm_loaded_point *points; /* by bandwidth, ascending */
    size_t npoints;
};

/* The time to hand over a cache line that two cores write in turn, each after it reads the other's
 * value. */
struct carm_core_pair {
    int from, to;   /* hardware threads, numbered as by the operating system */
    double seconds; /* one way */
    struct carm_ci ci95;
    bool disturbed;
};

/* Seconds for each of many independent loads from DRAM at scattered addresses with 4 KiB pages, when `beside`
 * instructions that write a register are beside each load. Interpolated between two measured rates, at most the latency
 * of one load alone.
 * returns 0: not measured */
double carm_in_flight_beside(const struct carm_model *model, double beside);

/* The latency of a level with a page size (0 = any) and an order, borrowed from the model; NULL
 * = not measured. */
const struct carm_latency *carm_latency_find(const struct carm_model *model, const char *level,
                                             enum carm_latency_order order, uint64_t page_bytes);

/* Changes the latency of a level. The rate of independent misses changes with it, as the lines in flight over the
 * latency (Little's law).
 * streams  the rates of streams change as well
 * returns how many latencies the model has of the level */
size_t carm_latency_scale(struct carm_model *model, const char *level, double factor, bool streams);

/* clock  the factor changes the core's clock: bytes per cycle stay */
void carm_memory_roof_scale(struct carm_memory_roof *m, double factor, bool clock);

/* The chains in flight of one core on a level, with scalar loads, borrowed from the model; of
 * several page sizes the one with the largest rate; NULL = not measured. */
const struct carm_in_flight *carm_in_flight_find(const struct carm_model *model, const char *level);

/* The same for one code and one page size. */
const struct carm_in_flight *carm_in_flight_of(const struct carm_model *model, const char *level,
                                               const char *code, uint64_t page_bytes);

/* Mean number of lines on their way to one core that reads bytes_per_second from a level: Little's
 * law with the latency of one chain. Lines that a prefetcher fetches count, too.
 * bytes_per_second  of one core, >= 0 */
double carm_in_flight_lines(const struct carm_in_flight *flight, double bytes_per_second);

/* ---- memory domains ------------------------------------------------------------------------------- */

/* Bandwidth and latency from the cores of each NUMA node to the memory of each, memory-only nodes (HBM, CXL) included: the
 * `numa_nodes[]` and `numa[]` of model.json. */

enum { CARM_NUMA_ALL = -1, CARM_NUMA_NODES_MAX = 64, CARM_NUMA_LINE = 200 };

struct carm_numa_node {
    int node;  /* the operating system's number */
    int cores; /* usable cores; 0 = memory only */
    uint64_t memory_bytes;
    char kind[CARM_NAME_MAX]; /* "HBM", "CXL-DRAM"; "" = not known, or DRAM */
};

/* Bandwidth and latency of one node's cores in the memory of another node. */
struct carm_numa_pair {
    int from; /* node of the cores; CARM_NUMA_ALL = all cores */
    int to;   /* node of the memory; CARM_NUMA_ALL = pages interleaved over all nodes with cores */
    int threads; /* one on each core of `from` */
    double
        bandwidth; /* byte/s between cache and memory: a slope of the original model; 0 = not measured */
    struct carm_ci bandwidth_ci95;
    char code[CARM_NAME_MAX];
    uint64_t working_set_bytes; /* all threads together */
    double seconds;             /* of a dependent load, one thread; 0 = not measured */
    struct carm_ci seconds_ci95;
    uint64_t page_bytes; /* page size that the chase really got; 0 = no chase */
    bool disturbed;
    char note[CARM_TEXT_MAX]; /* why a figure is missing or doubtful; "" = neither */
};

/* Borrowed from the model; NULL = not measured. */
const struct carm_numa_pair *carm_numa_find(const struct carm_model *model, int from, int to);

/* "numa:0 memory", "numa:0 to numa:1", "interleaved". At most 40 bytes */
void carm_numa_name(char name[40], const struct carm_numa_pair *pair);

/* Turns the DRAM roofs of a model into the roofs for pages on another node. Do not write the model to a file afterwards.
 * Roofs, latency and loads in flight are multiplied by the ratio of the pair's figures to those of the node's own
 * memory. The pair's cores are on the node that the model is restricted to (--on numa:N), else on the first node with
 * cores, where threads are placed first. Sets of more threads than this node has cores stay. Interleaved pages change
 * the set of all threads.
 * pages  "numa:1", "interleaved"
 * model->changed gets a sentence that says which roofs they are
 * returns 0, -CARM_EINVAL (no such word) or -CARM_ENOTSUP (the model has no such pair: says which it has) */
int carm_numa_use(struct carm_model *model, const char *pages, struct carm_err *err);

/* The order in which pairs are measured, so that a short time has the most telling ones: each node's own memory, all
 * cores with interleaved pages, memory-only nodes, then the others by the distance of their numbers.
 * nodes  [n]
 * pairs  out: [n * n + 1], from and to alone
 * returns how many */
size_t carm_numa_plan(const struct carm_numa_node *nodes, size_t n, struct carm_numa_pair *pairs);

/* Sentences: own and other memory, memory-only nodes, interleaved pages, a domain whose own memory differs from the
 * others'. lines  [most] out. returns how many */
size_t carm_numa_say(const struct carm_model *model, char (*lines)[CARM_NUMA_LINE], size_t most);

/* Upper bound of the 4 KiB pages that all levels of the TLB hold together: the first working set of the chase over
 * pages that shows misses. 0 = not measured */
double carm_latency_tlb_pages(const struct carm_model *model);
