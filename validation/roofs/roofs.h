/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofs of a build, and F(phi). */
#pragma once

#include "validation/roofs/result.h"

/* Measures all roofs of all sets in interleaved rounds, adds them to the model, which has the
 * levels, and measures F(phi). Roofs without a sound round, with differing rounds, or that break a
 * rule get more rounds while there is time.
 * sets  [n] by number of threads, ascending
 * missing  out: roofs without a round when the budget ended
 * returns 0, -CARM_EINTR or -CARM_ENOMEM */
int carm_build_measure_roofs(struct carm_build_set *sets, size_t n, struct carm_model *model,
                             size_t *missing, struct carm_err *err);

/* Chooses the best of a roof's codes so far, and sets the roof's figure. */
void carm_build_pool_roof(struct carm_build_roof *roof, const struct carm_clock *clock);

/* For a roof of a resource that each core has for itself: adds the first code of the same roof with another number of
 * threads, since the fastest code is the same. A search beside a busy neighbour missed this code in one of 12 quick
 * builds of a Zen 4 (L2 3% low, unmarked).
 * roofs  [n] so far */
void carm_build_share_code(const struct carm_build_roof *roofs, size_t n,
                           struct carm_build_roof *roof);

/* Estimate of the seconds of the roofs of all ISAs and precisions with one number of threads. */
double carm_build_roofs_seconds(const struct carm_build *build);

/* Checks the rules between numbers of threads. In resources of one core, n threads with own cores
 * reach n times one thread's rate at the same clock. More threads never reach less than fewer.
 * Fills in the notes of roofs that are too slow by a rule, and sets `alike` of each roof.
 * returns the number of such roofs */
size_t carm_build_check_roofs(struct carm_build_roof *roofs, size_t n);
