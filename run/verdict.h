/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict on each part of a program: its counts, code, samples and simulated caches become lower bounds of its
 * time (models/verdict/bounds.h). */
#pragma once

#include "harness/profile/graph.h"
#include "harness/profile/profile.h"
#include "models/verdict/verdict.h"
#include "run/count.h"
#include "run/levels.h"

/* How a load or store of an iteration moves, and the lines that it brings. */
struct carm_run_access {
    uint64_t at; /* of the instruction: offset in its file */
    bool stores;
    enum carm_access_pattern pattern;
    int64_t stride;    /* bytes of an iteration */
    double executions; /* of an iteration */
    double lines;      /* simulated: into L1, of an execution */
};

enum { CARM_RUN_ACCESSES_MAX = 8 };

struct carm_run_verdict {
    bool has;
    struct carm_verdict verdict;
    /* accesses that bring most lines, from the largest; none unless caches were simulated */
    struct carm_run_access accesses[CARM_RUN_ACCESSES_MAX];
    size_t naccesses;
    /* bytes by which the farthest load or store moves in an iteration; 0 = less than a line */
    int64_t stride;
    /* how many threads saturate the level that limits it, or which part of the kernel's time page faults take: a
     * clause; "" = all, or not known */
    char note[160];
    double
        used;   /* share of the bytes of the lines that come into L1 which is used; 0 = not known */
    bool leaps; /* one moves by lines, by a number in a register */
    bool scattered; /* a load or store goes to addresses made of loaded or computed numbers */
};

/* A verdict for each row of the profile. Rows without time or without code have none.
 * levels  NULL = not simulated
 * model   NULL = none: rates are those that are published, and none are known of memory
 * theory  of this processor; NULL = not known
 * out     [profile->nrows] to be freed
 * returns 0 or -CARM_ENOMEM */
int carm_run_verdicts(struct carm_run_verdict **out, const struct carm_run *run,
                      const struct carm_profile *profile, const struct carm_run_levels *levels,
                      const struct carm_model *model, const struct carm_microarchitecture *theory,
                      struct carm_err *err);

/* How much of the program's time one limit explains, over all of its parts: of each, the bound that is largest, also
 * where the rest of the part's time is not known. */
struct carm_run_cause {
    enum carm_limit limit;
    double share;  /* of the processor time */
    bool estimate; /* most of it */
};

/* verdicts  [profile->nrows]
 * out       [CARM_LIMITS] from the largest
 * returns their number */
size_t carm_run_causes(const struct carm_profile *profile, const struct carm_run_verdict *verdicts,
                       struct carm_run_cause *out);

/* The verdict goes to the columns of a row of points.csv. */
void carm_run_verdict_row(const struct carm_run_verdict *of, struct carm_row *row);
