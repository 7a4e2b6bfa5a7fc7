/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variants of a loop, tried in copies of the program that runs it.
 *
 * At each snapshot the program is stopped at the head of the loop and forked. The first copy gets a region with the
 * variants and a jump to them in place of the loop's head. Its own copies run them, never a system call: one that
 * would make a call, gets a signal or takes too long is ended. Unchanged and changed code take turns of some 60 us in
 * one copy, or where the loop does other work in each stretch, run the same stretch in copies of their own. Unchanged
 * code against unchanged code (the null ratio) tells how far either can be believed.
 *
 * source: DECAN: Koliai et al. 2013, Quantifying Performance Bottleneck Cost Through Differential Analysis */
#ifndef CARM_HARNESS_WHATIF_TRIAL_H
#define CARM_HARNESS_WHATIF_TRIAL_H

#include <signal.h>

#include "harness/whatif/body.h"
#include "harness/whatif/emit.h"

enum {
    CARM_TRIAL_HUGE = CARM_VARIANTS,
    CARM_TRIAL_CHANGES
}; /* huge pages: no variant of the code */

struct carm_trial_settings {
    uint64_t memory; /* bytes that copies may take; 0 = half of what is free */
    double tsc_hz;
    double seconds; /* for one snapshot */
    const volatile sig_atomic_t *stop;
};

/* Of one snapshot. Ratios are times of unchanged over changed code; NaN = not measured. */
struct carm_trial_result {
    char why[200];     /* it gave nothing: a phrase; "" = it did */
    double null;       /* unchanged over unchanged code */
    double null_pages; /* likewise, of the copies that huge pages were compared with */
    double ratio[CARM_TRIAL_CHANGES];
    double seconds; /* of an iteration of the unchanged code, with what is outside of the loop */
    double inside;  /* share of the time in the loop's own code */
    double spent;   /* seconds that the program stood still */
    bool in_turns;  /* in one copy; else in copies of one snapshot */
};

struct carm_trial {
    struct carm_body body;
    bool prepared;      /* observed, and its flow compared */
    double iterations;  /* of a unit */
    double ticks, most; /* of the snapshot before: of a unit; units that a copy can do */
    double inside;
    double spent;                /* seconds, by all snapshots so far */
    unsigned nhuge;              /* snapshots in which huge pages were tried */
    double speed[CARM_VARIANTS]; /* roughly, of a unit against the unchanged code */
    bool huge_already;           /* most of its data are in huge pages */
    unsigned changed[CARM_TRIAL_CHANGES];
    char refused[CARM_TRIAL_CHANGES][160]; /* why a change is not tried: a phrase; "" = it is */
    bool idle[CARM_TRIAL_CHANGES];         /* refused, as there is nothing to change */
    char wrong[160];                       /* why the loop is not: it holds for all snapshots; "" */
};

/* head, pieces  see carm_body_open
 * returns 0, -CARM_ENOMEM, -CARM_ENOTSUP: this code cannot be copied; a phrase says why */
int carm_trial_open(struct carm_trial *trial, uint64_t head, const struct carm_body_piece *pieces,
                    size_t npieces, struct carm_err *err);
void carm_trial_close(struct carm_trial *trial);

/* At a snapshot: the thread is stopped at the head, and stays so. */
void carm_trial_measure(struct carm_trial *trial, pid_t thread,
                        const struct carm_trial_settings *settings,
                        struct carm_trial_result *result);

#endif
