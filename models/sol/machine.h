/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A measured CPU as an architecture. */
#pragma once

#include "base/err.h"
#include "models/model.h"
#include "models/sol/arch.h"

/* A CPU: the roofs of most threads and, among them, of the widest ISA, or those of threads and isa
 * where given. Cycles are those of the core clock of these roofs, all rates are those of all threads
 * together. Precisions: those of carm_sol_precision_roofs of the same ISA and threads.
 * A level's bandwidth is the best of its roofs, whatever the mix of loads and stores, since an
 * estimate is a bound; DRAM's is the original model's (dram_peak) where it was measured. A level's
 * capacity is where the measured curve leaves its plateau, else what the OS reports, times the
 * instances that the threads reach, placed one to a core first.
 * isa NULL or "", threads 0: the model's own choice
 * returns 0 or -CARM_EINVAL where the model has no such roofs (the sentence names the remedy); arch is
 * untouched then */
int carm_sol_arch_of_model(const struct carm_model *model, const char *isa, int threads,
                           struct carm_sol_arch *arch, struct carm_err *err);
