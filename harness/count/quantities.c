/* SPDX-License-Identifier: MIT */
#include "harness/count/quantities.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const quantity_names[] = {
    [CARM_Q_CYCLES] = "cycles",
    [CARM_Q_REF_CYCLES] = "ref_cycles",
    [CARM_Q_INSTRUCTIONS] = "instructions",
    [CARM_Q_FLOPS] = "flops",
    [CARM_Q_FLOPS_DP] = "flops_dp",
    [CARM_Q_FLOPS_SP] = "flops_sp",
    [CARM_Q_FLOPS_OTHER] = "flops_other",
    [CARM_Q_DP_SCALAR] = "dp_scalar",
    [CARM_Q_DP_128] = "dp_128",
    [CARM_Q_DP_256] = "dp_256",
    [CARM_Q_DP_512] = "dp_512",
    [CARM_Q_SP_SCALAR] = "sp_scalar",
    [CARM_Q_SP_128] = "sp_128",
    [CARM_Q_SP_256] = "sp_256",
    [CARM_Q_SP_512] = "sp_512",
    [CARM_Q_LOADS] = "loads",
    [CARM_Q_STORES] = "stores",
    [CARM_Q_LOAD_BYTES] = "load_bytes",
    [CARM_Q_STORE_BYTES] = "store_bytes",
    [CARM_Q_BYTES] = "bytes",
    [CARM_Q_LLC_MISSES] = "llc_misses",
    [CARM_Q_DRAM_READ_BYTES] = "dram_read_bytes",
    [CARM_Q_DRAM_WRITE_BYTES] = "dram_write_bytes",
    [CARM_Q_DRAM_BYTES] = "dram_bytes",
    [CARM_Q_ENERGY] = "energy",
    [CARM_Q_TASK_SECONDS] = "task_seconds",
    [CARM_Q_PAGE_FAULTS] = "page_faults",
    [CARM_Q_CONTEXT_SWITCHES] = "context_switches",
    [CARM_Q_FP_INSTRUCTIONS] = "fp_instructions",
    [CARM_Q_FP_ADDS] = "fp_adds",
    [CARM_Q_FP_MULS] = "fp_muls",
    [CARM_Q_FP_FMAS] = "fp_fmas",
    [CARM_Q_FP_DIVIDES] = "fp_divides",
    [CARM_Q_PREFETCHES] = "prefetches",
    [CARM_Q_L2_BYTES] = "l2_bytes",
    [CARM_Q_L3_BYTES] = "l3_bytes",
    [CARM_Q_L2_UNUSED] = "l2_unused",
    [CARM_Q_L3_UNUSED] = "l3_unused",
    [CARM_Q_DRAM_UNUSED] = "dram_unused",
    [CARM_Q_INT_OPS] = "int_ops",
    [CARM_Q_INT8_OPS] = "int8_ops",
    [CARM_Q_INT16_OPS] = "int16_ops",
    [CARM_Q_INT32_OPS] = "int32_ops",
    [CARM_Q_INT64_OPS] = "int64_ops",
    [CARM_Q_INT_128] = "int_128",
    [CARM_Q_INT_256] = "int_256",
    [CARM_Q_INT_512] = "int_512",
    [CARM_Q_INT_ADDS] = "int_adds",
    [CARM_Q_INT_MULS] = "int_muls",
    [CARM_Q_INT_LOGIC] = "int_logic",
    [CARM_Q_INT_DOTS] = "int_dots",
    [CARM_Q_INT_INSTRUCTIONS] = "int_instructions",
    [CARM_Q_L2_COMPULSORY] = "l2_compulsory",
    [CARM_Q_L2_CAPACITY] = "l2_capacity",
    [CARM_Q_L2_CONFLICT] = "l2_conflict",
    [CARM_Q_L2_COHERENCE] = "l2_coherence",
    [CARM_Q_L3_COMPULSORY] = "l3_compulsory",
    [CARM_Q_L3_CAPACITY] = "l3_capacity",
    [CARM_Q_L3_CONFLICT] = "l3_conflict",
    [CARM_Q_L3_COHERENCE] = "l3_coherence",
    [CARM_Q_DRAM_COMPULSORY] = "dram_compulsory",
    [CARM_Q_DRAM_CAPACITY] = "dram_capacity",
    [CARM_Q_DRAM_CONFLICT] = "dram_conflict",
    [CARM_Q_DRAM_COHERENCE] = "dram_coherence",
};
_Static_assert(sizeof quantity_names / sizeof *quantity_names == CARM_Q_COUNT,
               "every quantity has a name");

const char *carm_quantity_name(enum carm_quantity q)
{
    assert((unsigned)q < CARM_Q_COUNT);
    return quantity_names[q];
}

enum carm_quantity carm_quantity_find(const char *name)
{
    for (unsigned q = 0; q < CARM_Q_COUNT; q++) {
        if (strcmp(quantity_names[q], name) == 0) {
            return (enum carm_quantity)q;
        }
    }
    return CARM_Q_COUNT;
}

const char *carm_counted_name(enum carm_counted by)
{
    static const char *const names[] = {
        [CARM_COUNTED_NOT] = "unavailable",       [CARM_COUNTED_PMU] = "pmu",
        [CARM_COUNTED_KERNEL] = "kernel",         [CARM_COUNTED_STEPPED] = "stepped",
        [CARM_COUNTED_TRANSLATED] = "translated", [CARM_COUNTED_CONSTRUCTED] = "constructed",
        [CARM_COUNTED_SIMULATED] = "simulated",
    };
    assert((unsigned)by < sizeof names / sizeof *names);
    return names[by];
}

void carm_count_put(struct carm_counts *c, enum carm_quantity q, double value, enum carm_counted by)
{
    assert((unsigned)q < CARM_Q_COUNT);
    c->q[q] =
        (struct carm_count){.value = value, .low = value, .high = value, .by = by, .share = 1.0};
}

static void join_notes(char *a, size_t size, const char *b)
{
    const size_t used = strlen(a);
    const size_t more = strlen(b);
    if (more == 0 || strstr(a, b) != NULL) {
        return;
    }
    /* half a note would mislead: one that does not fit stays away */
    if (used + more + sizeof "; " <= size) {
        snprintf(a + used, size - used, "%s%s", used > 0 ? "; " : "", b);
    }
}

void carm_counts_add(struct carm_counts *a, const struct carm_counts *b)
{
    for (unsigned q = 0; q < CARM_Q_COUNT; q++) {
        struct carm_count *to = &a->q[q];
        const struct carm_count *from = &b->q[q];
        if (to->by == CARM_COUNTED_NOT || from->by == CARM_COUNTED_NOT) {
            *to = (struct carm_count){.by = CARM_COUNTED_NOT};
            continue;
        }
        to->value += from->value;
        to->low += from->low;
        to->high += from->high;
        to->share = from->share < to->share ? from->share : to->share;
    }
    join_notes(a->note, sizeof a->note, b->note);
}
