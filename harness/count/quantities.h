/* SPDX-License-Identifier: MIT */
/* What can be counted of a piece of program, whoever counts it. */
#ifndef CARM_HARNESS_COUNT_QUANTITIES_H
#define CARM_HARNESS_COUNT_QUANTITIES_H

#include <stdbool.h>
#include <stddef.h>

enum carm_quantity {
    CARM_Q_CYCLES,     /* core cycles */
    CARM_Q_REF_CYCLES, /* cycles at the reference clock */
    CARM_Q_INSTRUCTIONS,
    CARM_Q_FLOPS, /* all of them; an FMA is two per lane */
    CARM_Q_FLOPS_DP,
    CARM_Q_FLOPS_SP,
    CARM_Q_FLOPS_OTHER, /* x87 and half precision */
    CARM_Q_DP_SCALAR,   /* flops, here and below: by precision and vector width in bits */
    CARM_Q_DP_128,
    CARM_Q_DP_256,
    CARM_Q_DP_512,
    CARM_Q_SP_SCALAR,
    CARM_Q_SP_128,
    CARM_Q_SP_256,
    CARM_Q_SP_512,
    CARM_Q_LOADS, /* accesses */
    CARM_Q_STORES,
    CARM_Q_LOAD_BYTES,
    CARM_Q_STORE_BYTES,
    CARM_Q_BYTES,           /* loaded and stored by the core */
    CARM_Q_LLC_MISSES,      /* of the last-level cache */
    CARM_Q_DRAM_READ_BYTES, /* of whole sockets: other programs count, too */
    CARM_Q_DRAM_WRITE_BYTES,
    CARM_Q_DRAM_BYTES,
    CARM_Q_ENERGY,       /* joule, of whole sockets */
    CARM_Q_TASK_SECONDS, /* on a processor, by the kernel */
    CARM_Q_PAGE_FAULTS,
    CARM_Q_CONTEXT_SWITCHES,
    CARM_Q_FP_INSTRUCTIONS, /* that compute flops, whatever their masks leave of them */
    CARM_Q_FP_ADDS,         /* of these: additions and subtractions, ... */
    CARM_Q_FP_MULS,         /* ... multiplications, ... */
    CARM_Q_FP_FMAS,         /* ... fused multiply-adds, ... */
    CARM_Q_FP_DIVIDES, /* ... divisions and square roots; the rest approximates, or is of several kinds */
    CARM_Q_PREFETCHES, /* instructions that prefetch data */
    CARM_Q_L2_BYTES,   /* between L1 and L2, here and below: of the program alone */
    CARM_Q_L3_BYTES,   /* between L2 and L3 */
    CARM_Q_L2_UNUSED,  /* of these bytes: came with a line that left before they were accessed */
    CARM_Q_L3_UNUSED,
    CARM_Q_DRAM_UNUSED,
    CARM_Q_INT_OPS,  /* operations on vectors of integers: docs/counting.md, "Counting rules" */
    CARM_Q_INT8_OPS, /* of these: by width of the elements, ... */
    CARM_Q_INT16_OPS,
    CARM_Q_INT32_OPS,
    CARM_Q_INT64_OPS,
    CARM_Q_INT_128, /* ... by width of the vectors, ... */
    CARM_Q_INT_256,
    CARM_Q_INT_512,
    CARM_Q_INT_ADDS, /* ... and by kind; the rest counts bits */
    CARM_Q_INT_MULS,
    CARM_Q_INT_LOGIC,
    CARM_Q_INT_DOTS,         /* products and sums of dot products */
    CARM_Q_INT_INSTRUCTIONS, /* that do them, whatever their masks leave of them */
    /* of the bytes into L1, L2 and the last level: fetched by misses of these reasons */
    CARM_Q_L2_COMPULSORY,
    CARM_Q_L2_CAPACITY,
    CARM_Q_L2_CONFLICT,
    CARM_Q_L2_COHERENCE,
    CARM_Q_L3_COMPULSORY,
    CARM_Q_L3_CAPACITY,
    CARM_Q_L3_CONFLICT,
    CARM_Q_L3_COHERENCE,
    CARM_Q_DRAM_COMPULSORY,
    CARM_Q_DRAM_CAPACITY,
    CARM_Q_DRAM_CONFLICT,
    CARM_Q_DRAM_COHERENCE,
    CARM_Q_COUNT
};

enum carm_counted {
    CARM_COUNTED_NOT, /* unavailable: never a zero */
    CARM_COUNTED_PMU,
    CARM_COUNTED_KERNEL, /* software events */
    CARM_COUNTED_STEPPED,
    CARM_COUNTED_TRANSLATED,
    CARM_COUNTED_CONSTRUCTED,
    CARM_COUNTED_SIMULATED, /* by caches that were given the program's addresses */
};

struct carm_count {
    double value;
    double low, high; /* where the truth lies by the recipe's rules; both = value when exact */
    enum carm_counted by;
    double share; /* of the time (pmu) or of the calls (stepped) that was really counted, 0 .. 1;
                   * below 1 the value is scaled */
};

struct carm_counts {
    struct carm_count q[CARM_Q_COUNT];
    char note[256]; /* what a reader must know: upper bounds, estimated widths; "" = nothing */
};

/* "cycles", "flops_dp", "dp_256", ...: the names of data/counters.json and of CSV columns. */
const char *carm_quantity_name(enum carm_quantity q);
/* The inverse; CARM_Q_COUNT when there is none of that name. */
enum carm_quantity carm_quantity_find(const char *name);

/* "unavailable", "pmu", "kernel", "stepped", "translated", "constructed", "simulated" */
const char *carm_counted_name(enum carm_counted by);

static inline bool carm_count_has(const struct carm_counts *c, enum carm_quantity q)
{
    return c->q[q].by != CARM_COUNTED_NOT;
}

/* Puts an exact value. */
void carm_count_put(struct carm_counts *c, enum carm_quantity q, double value,
                    enum carm_counted by);

/* a += b, quantity by quantity: what either lacks, the sum lacks; the smaller share stays, and the
 * notes are joined. To sum several, begin with a copy of the first: an empty a has nothing. */
void carm_counts_add(struct carm_counts *a, const struct carm_counts *b);

#endif
