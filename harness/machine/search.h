/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the fastest of several candidate codes by short measurements. Length and unit of the
 * measurements depend on the level of the memory hierarchy that holds the working set. */
#pragma once

#include "harness/machine/measure.h"

/* How candidates are compared. */
enum carm_search {
    CARM_SEARCH_CORE,   /* per core cycle: changes of the clock do not influence the choice */
    CARM_SEARCH_SHARED, /* per second, and three times as long: a shared cache has a clock of its
                         * own, which settles within milliseconds */
    CARM_SEARCH_MEMORY, /* per second */
};

enum { CARM_SEARCH_MOST = 160 }; /* candidates */

/* Seconds that one repetition of a code should take that needs nothing beyond the core. */
#define CARM_TARGET_CORE 6e-6

/* Seconds that one repetition should take on level `level` of n (fastest first, memory last).
 * The ends of a repetition must not matter: time stamps cost some 20 ns, against 6 us; from
 * memory the first line takes 100 ns, and prefetchers start after a few lines. */
double carm_level_target(size_t level, size_t n);

/* How candidates are compared on level `level` of n. */
enum carm_search carm_level_search(size_t level, size_t n);

/* The best of n candidates (at most CARM_SEARCH_MOST) by their median rate, in interleaved rounds of short
 * measurements; the best three run a longer final.
 * rates  [n] out: byte or flop per cycle or second of each, NULL = not wanted
 * returns its index */
size_t carm_measure_best(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         double *rates);

/* carm_measure_best without the final, for a caller that measures several of the best longer. */
size_t carm_measure_rank(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         double *rates);

/* The working set on which a code is fastest. The sets take turns, so that a dip of one moment does
 * not choose.
 * sets   [n] bytes of one thread
 * rates  [n] out: byte or flop per cycle or second of each
 * returns its index */
size_t carm_measure_best_set(struct carm_team *team, const struct carm_code *code,
                             const uint64_t *sets, size_t n, double target_seconds,
                             enum carm_search search, double *rates);

/* A faster carm_measure_best, for many points: every code runs once, shortly, and the best three
 * twice more. The codes do about the same work for each byte, so the rate of the first code sets
 * the repetition of all.
 * n      1 to 128
 * shape  out: for a long measurement of the chosen code
 * rate   out: its byte per cycle or second; NULL = not wanted
 * returns its index */
size_t carm_measure_pick(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         struct carm_shape *shape, double *rate);
