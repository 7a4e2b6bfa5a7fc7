/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/totals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static double value(const struct carm_counts *c, enum carm_quantity q)
{
    return carm_count_has(c, q) ? c->q[q].value : 0.0;
}

static void compare(struct carm_totals *totals, enum carm_quantity q,
                    const struct carm_counts *counters, const struct carm_counts *counted)
{
    const struct carm_count *c = &counters->q[q];
    double by_translation = value(counted, q);
    if (!carm_count_has(counters, q) || !carm_count_has(counted, q)) {
        return;
    }
    if (q == CARM_Q_FLOPS && !carm_count_has(counters, CARM_Q_FLOPS_OTHER)) {
        by_translation -= value(counted, CARM_Q_FLOPS_OTHER); /* no recipe counts x87 */
    }
    const double most = fmax(c->value, by_translation);
    if (!(most > 0.0) || most < 1e-3 * value(counted, CARM_Q_INSTRUCTIONS)) {
        return;
    }
    totals->of[totals->n++] = (struct carm_total){
        .quantity = q,
        .counter = c->value,
        .counted = by_translation,
        .deviation = by_translation / c->value - 1.0,
        .beyond = by_translation > c->high * (1.0 + CARM_TOTALS_DEVIATION_MAX) ||
                  by_translation < c->low * (1.0 - CARM_TOTALS_DEVIATION_MAX)};
}

static const struct carm_total *find(const struct carm_totals *totals, enum carm_quantity q)
{
    for (size_t i = 0; i < totals->n; i++) {
        if (totals->of[i].quantity == q) {
            return &totals->of[i];
        }
    }
    return NULL;
}

static bool is_beyond(const struct carm_totals *totals, enum carm_quantity q)
{
    const struct carm_total *t = find(totals, q);
    return t && t->beyond;
}

static void explain_flops(char *text, size_t size, bool amd, const struct carm_total *flops)
{
    if (flops->counted > flops->counter) {
        carm_text_append(text, size,
                         "; a hypervisor or another profiler may hold counters of flops");
    } else if (amd) {
        carm_text_append(text, size, "; AMD's counters may have flops of masked lanes");
    } else {
        carm_text_append(
            text, size,
            "; Intel's counters have all lanes of masked instructions (AVX-512), and min and max");
    }
}

/* Adds the probable reasons of the totals that deviate. */
static void explain(struct carm_totals *totals, const struct carm_recipe *recipe,
                    const struct carm_counts *counters)
{
    char *text = totals->warning;
    const size_t size = sizeof totals->warning;
    const bool amd = strncmp(recipe->title, "AMD", 3) == 0;
    double share = 1.0;
    for (size_t i = 0; i < totals->n; i++) {
        share = fmin(share, counters->q[totals->of[i].quantity].share);
    }
    if (is_beyond(totals, CARM_Q_INSTRUCTIONS)) {
        carm_text_append(
            text, size,
            "; the runs executed different numbers of instructions, because the program reads "
            "clocks or random numbers, waits for others, or finds its work done");
    } else if (is_beyond(totals, CARM_Q_FLOPS)) {
        explain_flops(text, size, amd, find(totals, CARM_Q_FLOPS));
    }
    if (is_beyond(totals, CARM_Q_LOADS) || is_beyond(totals, CARM_Q_STORES)) {
        carm_text_append(
            text, size,
            amd ? "; AMD counts dispatched operations, translation counts accesses"
                : "; Intel counts instructions, prefetches among the loads, translation counts accesses");
    }
    if (is_beyond(totals, CARM_Q_BYTES)) {
        carm_text_append(text, size,
                         "; the counters' bytes are estimated from the widths of FP instructions");
    }
    if (share < 1.0) {
        carm_text_append(text, size,
                         "; the counters were multiplexed: each counted %.0f%% of the time or more",
                         100.0 * share);
    }
    if (totals->provider == CARM_PROVIDER_LIKWID) {
        carm_text_append(text, size, "; likwid counts processors, with all that runs there");
    }
}

void carm_totals_compare(struct carm_totals *totals, enum carm_provider provider,
                         const struct carm_recipe *recipe, const struct carm_counts *counters,
                         const struct carm_counts *counted)
{
    static const enum carm_quantity compared[CARM_TOTALS_MAX] = {
        CARM_Q_FLOPS, CARM_Q_INSTRUCTIONS, CARM_Q_LOADS, CARM_Q_STORES, CARM_Q_BYTES};
    memset(totals, 0, sizeof *totals);
    totals->provider = provider;
    for (size_t i = 0; i < CARM_TOTALS_MAX; i++) {
        compare(totals, compared[i], counters, counted);
    }
    for (size_t i = 0; i < totals->n; i++) {
        if (totals->of[i].beyond) {
            carm_text_list(totals->warning, sizeof totals->warning, ", ", "%s",
                           carm_quantity_name(totals->of[i].quantity));
        }
    }
    if (totals->warning[0]) {
        carm_text_append(totals->warning, sizeof totals->warning, " differ by more than %.0f%%",
                         100.0 * CARM_TOTALS_DEVIATION_MAX);
        explain(totals, recipe, counters);
    }
}
