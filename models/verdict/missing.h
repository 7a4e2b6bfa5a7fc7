/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of a loop's misses, from the model's latencies. */
#pragma once

#include "models/verdict/bounds.h"

/* Cycles that misses add to a load that hits L1, on average.
 * lines       [CARM_FROM_PLACES], lines of all executions, from the simulated caches
 * executions  of the load */
double carm_missing_beyond(const struct carm_bounds_input *in, const double *lines,
                           double executions);

/* Cycles that a load at a random place in `bytes` takes beyond a hit in L1, from the measured curve for the program's
 * page size, address translation included; 0 = not measured */
double carm_missing_random(const struct carm_bounds_input *in, double bytes);

/* Cycles that page walks add to a load, on average. Loads from memory get none, as the latency of
 * memory includes its walks.
 * walks  page walks for each load */
double carm_missing_walks(const struct carm_bounds_input *in, double walks, const double *lines,
                          double executions);

/* Seconds by which a load from memory is slower than one from the last cache. */
double carm_missing_memory(const struct carm_bounds_input *in);

/* Seconds until a loop returns to its scattered lines of L3: the time to load as many lines from L3 as it has there.
 * room_bytes  of L3
 * bytes       that the loop accesses
 * seconds     of an iteration of one thread
 * returns 0 where loading all lines from memory would take less than a tenth longer */
double carm_missing_back(const struct carm_bounds_input *in, double room_bytes, double bytes,
                         double seconds);

/* Byte/s of one thread's stream of loads from memory, the slowest of the vector ISAs, as a new measurement may give no
 * more; 0 = not measured */
double carm_missing_stream(const struct carm_model *model);

/* Seconds of a load from memory at a random place in large pages, or in small pages if only these were measured; 0 =
 * not measured */
double carm_missing_load(const struct carm_model *model);
