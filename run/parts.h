/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a program that has run: a row of points.csv for each loop or function. */
#pragma once

#include "harness/profile/profile.h"
#include "models/place/kinds.h"
#include "models/verdict/verdict.h"
#include "run/count.h"
#include "run/levels.h"

/* A sentence that says why the parts of a program would be meaningless (too few samples, or
 * none); "" = they are not. returns dst */
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

/* Processor time of all threads in a part: as many times that of the longest as there are threads, or less where
 * their work is unequal. */
double carm_parts_seconds(const struct carm_run *run, const struct carm_profile_row *part);

/* The core that the program ran on, by looks in its free run.
 * model  its issue width is that of a core without company; NULL = the widest look's
 * returns whether there were enough looks, and the clock is one that the model's machine may have: within a third of the
 *         model's */
bool carm_run_core(const struct carm_run *run, const struct carm_model *model,
                   struct carm_looks_sum *out);

/* Whether another program's thread had the other hardware thread of its core in a fifth of the looks or more. Of programs
 * with several threads it may be one of their own: no. */
bool carm_run_has_company(const struct carm_run *run, const struct carm_looks_sum *core);

/* The share of a part's samples on each kind of core; n 0: not a hybrid CPU, or not known. */
void carm_run_kinds(const struct carm_profile_row *part, struct carm_kind_shares *out);

/* "62% on p cores, 38% on e cores": of a hybrid CPU; else "". returns dst */
char *carm_run_kinds_text(char *dst, size_t size, const struct carm_profile_row *row);

/* What other programs and guests leave a loop, measured after the program has ended when a loop asks first. The share of
 * the loop's scattered lines of the last cache that come from memory, as others take lines out of the cache
 * before the loop comes back to them.
 * seconds  of an iteration
 * bytes    that the loop goes over */
double carm_run_lost(const struct carm_run *run, const struct carm_bounds_input *in,
                     const struct carm_run_simulation *about, double seconds, double bytes);

/* Memory counts as slower than when the model was built from so many times as long on: rounds of DRAM in one build scatter by
 * less. */
#define CARM_RUN_SLOWER 1.1

/* How many times as long as the model says memory takes now, for a loop of which a bound of memory explains more than
 * anything else, but not enough; 0 = as long, or not known */
double carm_run_slower(const struct carm_run *run, const struct carm_bounds_input *in,
                       const struct carm_verdict *v, double share);
