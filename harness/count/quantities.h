/* SPDX-License-Identifier: MIT */
/* The quantities that can be counted of a piece of program, for all ways of counting. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Every quantity: its enumerator, and its name in data/counters.json and in the columns of points.csv. */
/* clang-format off */
#define CARM_QUANTITY_TABLE(X) \
    X(CYCLES, cycles) /* core cycles */ \
    X(REF_CYCLES, ref_cycles) /* cycles at the reference clock */ \
    X(INSTRUCTIONS, instructions) \
    X(FLOPS, flops) /* all of them; an FMA is two per lane */ \
    X(FLOPS_DP, flops_dp) \
    X(FLOPS_SP, flops_sp) \
    X(FLOPS_OTHER, flops_other) /* x87 and half precision */ \
    /* flops by precision and vector width in bits */ \
    X(DP_SCALAR, dp_scalar) \
    X(DP_128, dp_128) \
    X(DP_256, dp_256) \
    X(DP_512, dp_512) \
    X(SP_SCALAR, sp_scalar) \
    X(SP_128, sp_128) \
    X(SP_256, sp_256) \
    X(SP_512, sp_512) \
    X(LOADS, loads) /* accesses */ \
    X(STORES, stores) \
    X(LOAD_BYTES, load_bytes) \
    X(STORE_BYTES, store_bytes) \
    X(BYTES, bytes) /* loaded and stored by the core */ \
    X(LLC_MISSES, llc_misses) /* of the last-level cache */ \
    X(DRAM_READ_BYTES, dram_read_bytes) /* of whole sockets: other programs count, too */ \
    X(DRAM_WRITE_BYTES, dram_write_bytes) \
    X(DRAM_BYTES, dram_bytes) \
    X(ENERGY, energy) /* joule, of whole sockets */ \
    X(TASK_SECONDS, task_seconds) /* on a processor, by the kernel */ \
    X(PAGE_FAULTS, page_faults) \
    X(CONTEXT_SWITCHES, context_switches) \
    X(FP_INSTRUCTIONS, fp_instructions) /* that compute flops, whatever lanes masks leave out */ \
    X(FP_ADDS, fp_adds) /* of these: additions and subtractions, ... */ \
    X(FP_MULS, fp_muls) /* ... multiplications, ... */ \
    X(FP_FMAS, fp_fmas) /* ... fused multiply-adds, ... */ \
    X(FP_DIVIDES, fp_divides) /* ... divisions and square roots; the rest approximates, or is of several kinds */ \
    X(FP_ROOTS, fp_roots) /* of the divisions and square roots: square roots */ \
    X(PREFETCHES, prefetches) /* instructions that prefetch data */ \
    X(L2_BYTES, l2_bytes) /* between L1 and L2; here and below, of the program alone */ \
    X(L3_BYTES, l3_bytes) /* between L2 and L3 */ \
    X(L2_UNUSED, l2_unused) /* of l2_bytes: evicted with their line before any access to them */ \
    X(L3_UNUSED, l3_unused) \
    X(DRAM_UNUSED, dram_unused) \
    X(INT_OPS, int_ops) /* operations on vectors of integers: docs/counting.md, "Counting rules" */ \
    /* of int_ops: by width of the elements, by width of the vectors, by kind */ \
    X(INT8_OPS, int8_ops) \
    X(INT16_OPS, int16_ops) \
    X(INT32_OPS, int32_ops) \
    X(INT64_OPS, int64_ops) \
    X(INT_128, int_128) \
    X(INT_256, int_256) \
    X(INT_512, int_512) \
    X(INT_ADDS, int_adds) \
    X(INT_MULS, int_muls) \
    X(INT_LOGIC, int_logic) \
    X(INT_DOTS, int_dots) /* products and sums of dot products */ \
    X(INT_INSTRUCTIONS, int_instructions) /* that do int_ops, whatever lanes masks leave out */ \
    /* of the bytes fetched into L1, L2 and the last level: by the reason of the miss */ \
    X(L2_COMPULSORY, l2_compulsory) \
    X(L2_CAPACITY, l2_capacity) \
    X(L2_CONFLICT, l2_conflict) \
    X(L2_COHERENCE, l2_coherence) \
    X(L3_COMPULSORY, l3_compulsory) \
    X(L3_CAPACITY, l3_capacity) \
    X(L3_CONFLICT, l3_conflict) \
    X(L3_COHERENCE, l3_coherence) \
    X(DRAM_COMPULSORY, dram_compulsory) \
    X(DRAM_CAPACITY, dram_capacity) \
    X(DRAM_CONFLICT, dram_conflict) \
    X(DRAM_COHERENCE, dram_coherence) \
    X(ALLOCATIONS, allocations) /* calls of malloc, calloc, realloc and the like */
/* clang-format on */

#define CARM_QUANTITY_ID(id, name) CARM_Q_##id,
enum carm_quantity { CARM_QUANTITY_TABLE(CARM_QUANTITY_ID) CARM_Q_COUNT };
#undef CARM_QUANTITY_ID

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
    double low, high; /* bounds of the true value by the recipe's rules; both = value when exact */
    enum carm_counted by;
    double share; /* of the time (pmu) or of the calls (stepped) that was really counted, 0 .. 1;
                   * below 1 the value is scaled */
};

struct carm_counts {
    struct carm_count q[CARM_Q_COUNT];
    char note[256]; /* facts that a reader must know: upper bounds, estimated widths; "" = none */
};

/* "cycles", "flops_dp", "dp_256", ...: the names of data/counters.json and of CSV columns. */
const char *carm_quantity_name(enum carm_quantity q);
/* The quantity with a name; CARM_Q_COUNT = unknown name. */
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

/* a += b, quantity by quantity. A quantity that is missing in a or b is missing in the sum. The smaller share stays, and
 * the notes are joined. A sum of several begins with a copy of the first, as an empty a has no quantity. */
void carm_counts_add(struct carm_counts *a, const struct carm_counts *b);
