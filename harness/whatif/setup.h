/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the first copy of a stopped program, with the variants of the loop. */
#pragma once

#include "harness/whatif/copies.h"

/* Makes the first copy and writes the variants into it. At the first snapshot of a trial: observes the loop, refuses
 * the variants that cannot be tried or change the loop's control flow, and estimates the time of a unit. */
bool carm_snapshot_set_up(struct carm_snapshot *s, pid_t thread);

/* Measures the share of a variant's time that is spent in the loop's own code; fails where the unchanged code has less
 * than half. */
bool carm_snapshot_find_inside(struct carm_snapshot *s, enum carm_variant variant, double *share);
