/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of the variants against the unchanged code: in turns of one copy, or in copies of the same stretch. */
#pragma once

#include "harness/whatif/copies.h"

/* The variants and the lengths of their turns. */
struct carm_turns {
    enum carm_variant variants[CARM_VARIANTS];
    size_t n;
    double turn, settle; /* units that are timed; units before them */
    int rounds;
    bool in_turns; /* a copy can do enough units for turns */
    double apart;  /* units that are timed in a turn, for a change in a copy of its own */
    size_t rounds_apart;
};

/* Lists the pages that the planned turns touch, and plans again until the pages and the time of a unit agree. */
bool carm_turns_plan(struct carm_snapshot *s, struct carm_turns *plan);

/* Each variant between two turns of the unchanged code, in one copy. */
bool carm_turns_measure(struct carm_snapshot *s, const struct carm_turns *p,
                        struct carm_trial_result *result);

/* Each change in a copy of its own, which takes turns with copies of the unchanged code: for loops that do different
 * work in each stretch, for huge pages, and for changes whose effect shows only when they have filled the caches.
 * trials  [n] variants, or CARM_TRIAL_HUGE */
bool carm_turns_measure_apart(struct carm_snapshot *s, const struct carm_turns *p,
                              const int *trials, size_t n, struct carm_trial_result *result);

/* Whether the time that the loop has left suffices to measure a stage in this snapshot and in the further snapshots
 * that it needs. If not, and too few snapshots have measured the stage, its change is refused.
 * guess  seconds of the stage, for the first snapshot */
bool carm_turns_has_time(const struct carm_snapshot *s, int change,
                         const struct carm_trial_stage *stage, double guess);

/* Refuses a variant that makes the loop much slower: its turns would take the time of all others.
 * ratio  time of the unchanged code over the time of the variant; NaN = not known
 * returns whether it was refused */
bool carm_turns_refuse_slow(struct carm_trial *t, enum carm_variant variant, double ratio);

/* The unchanged code on all CPUs at once, one copy on each, between two runs of a copy alone. The ratio compares the
 * work that all copies do in the same time with the work of one. */
void carm_turns_measure_cores(struct carm_snapshot *s, const struct carm_turns *p,
                              struct carm_trial_result *result);
