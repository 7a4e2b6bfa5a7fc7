/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bandwidth of each level and the peak over the number of threads (`carm build --scaling`). */
#pragma once

#include "models/scaling.h"
#include "validation/roofs/build.h"

/* The largest number of runs, each with another number of threads, of one layout. */
enum { CARM_SCALING_RUNS = 16 };

struct carm_scaling_plan {
    int steps[CARM_SCALING_STEPS]; /* the first numbers of threads, ascending */
    size_t n;
    bool spread; /* threads spread over caches and domains run on other CPUs than core after core */
    double seconds; /* estimate for all layouts, with the largest number of further runs */
};

/* The numbers of threads that a build with --scaling measures first; the curves decide on further ones. */
void carm_build_plan_scaling(const struct carm_build *build, struct carm_scaling_plan *out);

/* Measures a curve for each level and for the peak of the model's roofs of the first ISA and precision, with teams of its
 * own, until build->scaled; adds them and their places to the model. A level without a roof has no curve.
 * returns 0, -CARM_EINTR, -CARM_ENOMEM or -CARM_ENOTSUP */
int carm_build_measure_scaling(const struct carm_build *build, struct carm_model *model,
                               struct carm_err *err);

/* Bytes of one thread's working set that fill a shared level as much as another number of threads does.
 * set_bytes  working set of one of `from` threads
 * level      index in topo->caches, or the next index: memory */
uint64_t carm_scaling_set(const struct carm_topo *topo, const struct carm_topo *from_topo,
                          size_t level, uint64_t set_bytes, int from, int threads);
