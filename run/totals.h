/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that was counted twice: by the CPU's counters while it ran freely, and by translation. Their totals against
 * each other. */
#ifndef CARM_RUN_TOTALS_H
#define CARM_RUN_TOTALS_H

#include "harness/count/provider.h"
#include "harness/count/recipe.h"

/* A larger deviation is reported with its probable reasons: that of two counted runs (CARM_PROFILE_SPREAD). */
#define CARM_TOTALS_DEVIATION_MAX 0.05

enum { CARM_TOTALS_MAX = 5 };

struct carm_total {
    enum carm_quantity quantity;
    double counter;   /* by the CPU's counters */
    double counted;   /* by translation, without what the counters do not have */
    double deviation; /* counted / counter - 1; INFINITY where the counters have none of them */
    bool beyond; /* farther than CARM_TOTALS_DEVIATION_MAX from what the counters' bounds allow */
};

struct carm_totals {
    enum carm_provider provider;
    struct carm_total
        of[CARM_TOTALS_MAX]; /* flops, instructions, loads, stores, bytes: what both have */
    size_t n;
    char warning[768]; /* what is beyond, and the probable reasons; "" = nothing is */
};

/* What both have less than one of for a thousand instructions is left out.
 * provider  whose counters: PAPI or LIKWID */
void carm_totals_compare(struct carm_totals *totals, enum carm_provider provider,
                         const struct carm_recipe *recipe, const struct carm_counts *counters,
                         const struct carm_counts *counted);

#endif
