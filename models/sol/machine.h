/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A measured CPU as an architecture. */
#pragma once

#include "base/err.h"
#include "models/model.h"
#include "models/sol/arch.h"

/* A CPU as an architecture, from the set of roofs with the most threads and then the widest ISA, or from the set of
 * `threads` and `isa`. Cycles are of the core clock of this set. Rates are of all threads together. Precisions are those
 * that carm_sol_precision_roofs finds for the same ISA and threads.
 * A level's bandwidth is the best of its roofs, whatever the mix of loads and stores, since an
 * estimate is a bound. DRAM has the original model's bandwidth (dram_peak) where it was measured. A level's
 * capacity is the knee of the measured curve, else the size that the OS reports, times the number of
 * caches that the threads reach, placed one to a core first.
 * isa NULL or "", threads 0: the model's own choice
 * returns 0 or -CARM_EINVAL where the model has no such roofs (the sentence names the remedy); arch is
 * untouched then */
int carm_sol_arch_of_model(const struct carm_model *model, const char *isa, int threads,
                           struct carm_sol_arch *arch, struct carm_err *err);
