/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the totals of a program that was counted twice: by the CPU's counters in the free
 * run, and by translation. */
#pragma once

#include "harness/count/provider.h"
#include "harness/count/recipe.h"

/* A larger deviation is reported with its probable reasons. The same bound as for two counted runs
 * (CARM_PROFILE_SPREAD). */
#define CARM_TOTALS_DEVIATION_MAX 0.05

enum { CARM_TOTALS_MAX = 5 };

struct carm_total {
    enum carm_quantity quantity;
    double counter;   /* by the CPU's counters */
    double counted;   /* by translation, reduced to the instructions that the counters count */
    double deviation; /* counted / counter - 1; INFINITY when the counters have 0 */
    bool beyond;      /* more than CARM_TOTALS_DEVIATION_MAX outside the counters' bounds */
};

struct carm_totals {
    enum carm_provider provider;
    /* flops, instructions, loads, stores, bytes, if both counted them */
    struct carm_total of[CARM_TOTALS_MAX];
    size_t n;
    char warning[768]; /* a text on the totals that deviate, with the probable reasons; "" = none */
};

/* Quantities with less than one count for a thousand instructions on both sides are left out.
 * provider  of the counters: PAPI or LIKWID */
void carm_totals_compare(struct carm_totals *totals, enum carm_provider provider,
                         const struct carm_recipe *recipe, const struct carm_counts *counters,
                         const struct carm_counts *counted);
