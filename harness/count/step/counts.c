/* SPDX-License-Identifier: MIT */
/* Sums of counts, and counts as quantities. Separate from harness/count/step/instruction.c, which also runs
 * in code that must not use floating point. */
#include "harness/count/step/counts.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void carm_step_counts_add(struct carm_step_counts *a, const struct carm_step_counts *b,
                          double factor)
{
    struct carm_step_counts scaled = *b;
    for (size_t i = 0; i < CARM_STEP_WORDS && factor != 1; i++) {
        scaled.q[i] = (uint64_t)llround((double)b->q[i] * factor);
    }
    if (b->unknown && !a->unknown) {
        memcpy(a->unknown_text, b->unknown_text, sizeof a->unknown_text);
    }
    carm_step_counts_sum(a, &scaled, 1);
}

void carm_step_counts_subtract(struct carm_step_counts *a, const struct carm_step_counts *b)
{
    carm_step_counts_sum(a, b, -1);
}

static void put(struct carm_counts *out, enum carm_quantity q, uint64_t value, double share)
{
    const double v = (double)value;
    out->q[q] =
        (struct carm_count){.value = v, .low = v, .high = v, .by = CARM_COUNTED_STEPPED, share};
}

static uint64_t sum(const uint64_t *of, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        all += of[i];
    }
    return all;
}

void carm_step_counts_to_counts(const struct carm_step_counts *s, double share,
                                struct carm_counts *out)
{
    static const struct {
        enum carm_step_at at;
        size_t words;
        enum carm_quantity first;
    } rows[] = {
#define ROW(member, array, words, type, quantity) {CARM_STEP_AT_##member, words, quantity},
        CARM_STEP_COUNT_TABLE(ROW)
#undef ROW
    };
    memset(out, 0, sizeof *out);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (size_t i = 0; i < rows[r].words && rows[r].first != CARM_Q_COUNT; i++) {
            put(out, (enum carm_quantity)(rows[r].first + i), s->q[rows[r].at + i], share);
        }
    }
    const uint64_t dp = sum(s->flops[0], CARM_WIDTH_COUNT);
    const uint64_t sp = sum(s->flops[1], CARM_WIDTH_COUNT);
    put(out, CARM_Q_FLOPS, dp + sp + s->flops_other, share);
    put(out, CARM_Q_FLOPS_DP, dp, share);
    put(out, CARM_Q_FLOPS_SP, sp, share);
    put(out, CARM_Q_BYTES, s->load_bytes + s->store_bytes, share);
    put(out, CARM_Q_INT_OPS, sum(s->int_elements, CARM_ELEMENT_COUNT), share);
    if (s->unknown) {
        snprintf(out->note, sizeof out->note,
                 "%llu instructions that may compute were not understood (first: '%s'): "
                 "flops and bytes are lower bounds",
                 (unsigned long long)s->unknown, s->unknown_text);
    }
}
