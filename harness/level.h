/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a point is measured by where in the memory hierarchy its working set lies. */
#ifndef CARM_HARNESS_LEVEL_H
#define CARM_HARNESS_LEVEL_H

#include "harness/measure.h"

/* The target of codes that need nothing beyond the core. */
#define CARM_TARGET_CORE 6e-6

/* Seconds that one repetition should take on level `level` of n (fastest first, memory last), so
 * long that its ends no longer matter: some 20 ns of time stamps against 6 us; from memory the first
 * line takes 100 ns and prefetchers need a few. */
double carm_level_target(size_t level, size_t n);

/* How candidates are compared there. */
enum carm_search carm_level_search(size_t level, size_t n);

#endif
