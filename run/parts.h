/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a program that has run: a row of points.csv for each loop or function. */
#pragma once

#include "harness/profile/profile.h"
#include "models/place/kinds.h"
#include "models/verdict/verdict.h"
#include "run/count.h"
#include "run/levels.h"

/* A sentence that says why the parts of a program would be meaningless (too few samples, or
 * none); "" = the parts have a meaning. returns dst */
char *carm_parts_missing(char *dst, size_t size, const struct carm_run *run);

/* The profile of a run, from its samples, its blocks, or both.
 * places  [nplaces] of the blocks; the row of each is set
 * returns 0 or -CARM_ENOMEM */
int carm_parts_open(struct carm_profile *profile, const struct carm_run *run,
                    enum carm_profile_by by, double min_share, struct carm_profile_place *places,
                    size_t nplaces, struct carm_err *err);

/* One part as a row of points.csv. */
void carm_parts_row(const struct carm_run *run, const struct carm_profile *profile,
                    const struct carm_profile_row *part, struct carm_row *row);

/* Threads of a part at one time; 1 where it has no samples. */
static inline int carm_parts_threads(const struct carm_profile_row *part)
{
    return part->threads > 1 ? part->threads : 1;
}

/* Processor time of all threads in a part: the longest thread's time times the number of threads, or less where their
 * work is unequal. */
double carm_parts_seconds(const struct carm_run *run, const struct carm_profile_row *part);

/* The core that the program ran on, by looks in its free run.
 * model  has the issue width of a core without another busy thread; NULL = the widest look has it
 * returns whether there were enough looks, and the clock is plausible: within a third of the model's clock */
bool carm_run_core(const struct carm_run *run, const struct carm_model *model,
                   struct carm_looks_sum *out);

/* Whether another program ran on the other hardware thread of the program's core in a fifth of the looks or more. false
 * for programs with several threads: the other thread may be their own. */
bool carm_run_has_company(const struct carm_run *run, const struct carm_looks_sum *core);

/* The share of a part's samples on each kind of core; n 0: not a hybrid CPU, or not known. */
void carm_run_kinds(const struct carm_profile_row *part, struct carm_kind_shares *out);

/* "62% on p cores, 38% on e cores": of a hybrid CPU; else "". returns dst */
char *carm_run_kinds_text(char *dst, size_t size, const struct carm_profile_row *row);

/* The share of a loop's scattered lines of the last cache that come from memory, since other programs and guests evict
 * them before the loop uses them again. Measured at the first call, after the program has ended.
 * seconds  of an iteration
 * bytes    working set of the loop */
double carm_run_lost(const struct carm_run *run, const struct carm_bounds_input *in,
                     const struct carm_run_simulation *about, double seconds, double bytes);

/* Memory counts as slower than in the model if it takes this many times as long: rounds of DRAM in one build scatter
 * by less. */
#define CARM_RUN_SLOWER 1.1

/* Time of memory now, divided by the model's, for a loop whose time is explained best by a bound of memory, but not
 * fully; 0 = memory is as fast as in the model, or not known */
double carm_run_slower(const struct carm_run *run, const struct carm_bounds_input *in,
                       const struct carm_verdict *v, double share);
