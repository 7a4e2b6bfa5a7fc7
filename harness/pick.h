/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A quick choice among schedules of one and the same work. */
#ifndef CARM_HARNESS_PICK_H
#define CARM_HARNESS_PICK_H

#include "harness/measure.h"

/* As carm_measure_best, for many points: every code runs once, shortly, and the best three twice
 * more. The codes do about the same work for each byte, so the first one's pace sets the repetition
 * of all.
 * n      1 to 64
 * shape  out: for a long measurement of the chosen code
 * rate   out: its byte per cycle or second; NULL = not wanted
 * returns its index */
size_t carm_measure_pick(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         struct carm_shape *shape, double *rate);

#endif
