/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a loop's misses cost, by the latencies that the model has. */
#pragma once

#include "models/verdict/bounds.h"

/* Cycles that misses add to a load that hits L1, on average.
 * lines       [CARM_FROM_PLACES], of all executions, by the simulated caches
 * executions  of the load */
double carm_missing_beyond(const struct carm_bounds_input *in, const double *lines,
                           double executions);

/* Cycles that a load at a random place in so many bytes takes beyond a hit of L1, by the measured curve with pages as
 * the program has them, whose translations take part; 0 = not measured */
double carm_missing_random(const struct carm_bounds_input *in, double bytes);

/* Cycles that walks add to a load, on average. The latency of memory has its own.
 * walks  of a load */
double carm_missing_walks(const struct carm_bounds_input *in, double walks, const double *lines,
                          double executions);

/* Seconds by which a load from memory is slower than one from the last cache. */
double carm_missing_memory(const struct carm_bounds_input *in);

/* Seconds after which a loop comes back to its scattered lines of L3: in which it brings as many lines from there as it
 * has there.
 * room_bytes  of L3
 * bytes       that the loop goes over
 * seconds     of an iteration of one thread
 * returns 0: if all came from memory, it would take less than a tenth longer */
double carm_missing_back(const struct carm_bounds_input *in, double room_bytes, double bytes,
                         double seconds);

/* Byte/s of one thread's stream of loads from memory, of any ISA the slowest: a stream that is measured anew may be no
 * faster; 0 = not measured */
double carm_missing_stream(const struct carm_model *model);

/* Seconds of a load from memory at a random place in large pages, or else small ones; 0 = not measured */
double carm_missing_load(const struct carm_model *model);
