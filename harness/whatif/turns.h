/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of the variants against the unchanged code: in turns of one copy, or in copies of the same stretch. */
#ifndef CARM_HARNESS_WHATIF_TURNS_H
#define CARM_HARNESS_WHATIF_TURNS_H

#include "harness/whatif/copies.h"

/* The variants and the lengths of their turns. */
struct carm_turns {
    enum carm_variant variants[CARM_VARIANTS];
    size_t n;
    double turn, settle; /* units that are timed; units before them */
    int rounds;
    bool in_turns; /* a copy can do enough units for turns */
    double child;  /* units of a copy of its own */
};

/* Lists the pages that a plan touches, and plans again until the pages and the time of a unit agree. */
bool carm_turns_plan(struct carm_snapshot *s, struct carm_turns *plan);

/* Each variant between two turns of the unchanged code, in one copy. */
bool carm_turns_measure(struct carm_snapshot *s, const struct carm_turns *p,
                        struct carm_trial_result *result);

/* Each variant between two copies of the unchanged code, which all do the same stretch. */
bool carm_turns_measure_copies(struct carm_snapshot *s, const struct carm_turns *p,
                               struct carm_trial_result *result);

/* The unchanged code with huge pages, between two copies without them. */
void carm_turns_measure_huge(struct carm_snapshot *s, const struct carm_turns *p,
                             struct carm_trial_result *result);

#endif
