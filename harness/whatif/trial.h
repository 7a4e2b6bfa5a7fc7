/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variants of a loop, tried in copies of the program that runs it.
 *
 * At each snapshot the program is stopped at the head of the loop and forked. The first copy gets a region with the
 * variants and a jump to them in place of the loop's head. Copies of the first copy run the variants, but never a
 * system call: a copy that would make a call, gets a signal or takes too long is ended. Unchanged and changed code take
 * turns of some 60 us in one copy. If the loop does different work in each stretch, they run the same stretch in copies
 * of their own. The ratio of unchanged to unchanged code (the null ratio) shows the error of both methods.
 *
 * source: DECAN: Koliai et al. 2013, Quantifying Performance Bottleneck Cost Through Differential Analysis */
#pragma once

#include "harness/whatif/copies.h"

/* head, pieces  see carm_body_open
 * returns 0, -CARM_ENOMEM, -CARM_ENOTSUP: this code cannot be copied; a phrase says why */
int carm_trial_open(struct carm_trial *trial, uint64_t head, const struct carm_body_piece *pieces,
                    size_t npieces, struct carm_err *err);
void carm_trial_close(struct carm_trial *trial);

/* Measures one snapshot: the thread is stopped at the head, before and after. */
void carm_trial_measure(struct carm_trial *trial, pid_t thread,
                        const struct carm_trial_settings *settings,
                        struct carm_trial_result *result);
