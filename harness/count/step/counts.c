/* SPDX-License-Identifier: MIT */
/* Sums of counts, and counts as quantities. Apart from harness/count/step/instruction.c, which also
 * counts where no floating point may be used. */
#include "harness/count/step/counts.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void carm_step_counts_add(struct carm_step_counts *a, const struct carm_step_counts *b,
                          double factor)
{
    struct carm_step_counts scaled = *b;
    uint64_t *n = (uint64_t *)(void *)&scaled; /* sums, one after another, before the text */
    for (size_t i = 0; i < offsetof(struct carm_step_counts, unknown_text) / sizeof *n; i++) {
        n[i] = factor == 1 ? n[i] : (uint64_t)llround((double)n[i] * factor);
    }
    if (b->unknown && !a->unknown) {
        memcpy(a->unknown_text, b->unknown_text, sizeof a->unknown_text);
    }
    carm_step_counts_sum(a, &scaled, 1);
}

void carm_step_counts_subtract(struct carm_step_counts *a, const struct carm_step_counts *b)
{
    struct carm_step_counts minus = {.instructions = 0};
    uint64_t *words = (uint64_t *)(void *)&minus; /* sums, one after another, before the text */
    memcpy(&minus, b, offsetof(struct carm_step_counts, unknown_text));
    for (size_t i = 0; i < offsetof(struct carm_step_counts, unknown_text) / sizeof *words; i++) {
        words[i] = ~words[i] + 1;
    }
    carm_step_counts_add(a, &minus, 1);
}

static void put(struct carm_counts *out, enum carm_quantity q, uint64_t value, double share)
{
    const double v = (double)value;
    out->q[q] =
        (struct carm_count){.value = v, .low = v, .high = v, .by = CARM_COUNTED_STEPPED, share};
}

static void put_integers(struct carm_counts *out, const struct carm_step_integers *ints,
                         double share)
{
    uint64_t all = 0;
    for (int i = 0; i < CARM_ELEMENT_COUNT; i++) {
        all += ints->elements[i];
        put(out, (enum carm_quantity)(CARM_Q_INT8_OPS + i), ints->elements[i], share);
    }
    for (int w = 0; w < CARM_WIDTH_COUNT - 1; w++) {
        put(out, (enum carm_quantity)(CARM_Q_INT_128 + w), ints->widths[w], share);
    }
    put(out, CARM_Q_INT_OPS, all, share);
    put(out, CARM_Q_INT_ADDS, ints->adds, share);
    put(out, CARM_Q_INT_MULS, ints->muls, share);
    put(out, CARM_Q_INT_LOGIC, ints->logic, share);
    put(out, CARM_Q_INT_DOTS, ints->dots, share);
    put(out, CARM_Q_INT_INSTRUCTIONS, ints->instructions, share);
}

void carm_step_counts_to_counts(const struct carm_step_counts *s, double share,
                                struct carm_counts *out)
{
    uint64_t sum[2] = {0};
    memset(out, 0, sizeof *out);
    for (int p = 0; p < 2; p++) {
        const int first = p == 0 ? CARM_Q_DP_SCALAR : CARM_Q_SP_SCALAR;
        for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
            sum[p] += s->flops[p][w];
            put(out, (enum carm_quantity)(first + w), s->flops[p][w], share);
        }
    }
    put(out, CARM_Q_INSTRUCTIONS, s->instructions, share);
    put(out, CARM_Q_FLOPS, sum[0] + sum[1] + s->flops_other, share);
    put(out, CARM_Q_FLOPS_DP, sum[0], share);
    put(out, CARM_Q_FLOPS_SP, sum[1], share);
    put(out, CARM_Q_FLOPS_OTHER, s->flops_other, share);
    put(out, CARM_Q_LOADS, s->loads, share);
    put(out, CARM_Q_STORES, s->stores, share);
    put(out, CARM_Q_LOAD_BYTES, s->load_bytes, share);
    put(out, CARM_Q_STORE_BYTES, s->store_bytes, share);
    put(out, CARM_Q_BYTES, s->load_bytes + s->store_bytes, share);
    put(out, CARM_Q_FP_INSTRUCTIONS, s->fp_instructions, share);
    put(out, CARM_Q_FP_ADDS, s->fp_adds, share);
    put(out, CARM_Q_FP_MULS, s->fp_muls, share);
    put(out, CARM_Q_FP_FMAS, s->fp_fmas, share);
    put(out, CARM_Q_FP_DIVIDES, s->fp_divides, share);
    put(out, CARM_Q_PREFETCHES, s->prefetches, share);
    put_integers(out, &s->ints, share);
    if (s->unknown) {
        snprintf(out->note, sizeof out->note,
                 "%llu instructions that may compute were not understood (first: '%s'): "
                 "flops and bytes are lower bounds",
                 (unsigned long long)s->unknown, s->unknown_text);
    }
}
