/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `carm validate` is asked to validate: sets of roofs and operations of a model. */
#ifndef CARM_VALIDATION_VALIDATE_PLAN_H
#define CARM_VALIDATION_VALIDATE_PLAN_H

#include "harness/cpu.h"
#include "harness/topo.h"
#include "models/model.h"
#include "validation/plan.h"

enum { CARM_VALIDATE_SETS_MAX = 256, CARM_VALIDATE_LEVELS_MAX = 16 };

/* The words of the command line, NULL where not given. */
struct carm_validate_words {
    const char *isa, *threads, *ops, *levels, *reps, *quick;
};

struct carm_validate_plan {
    struct {
        size_t roofs;  /* index in the model */
        size_t target; /* index below */
    } sets[CARM_VALIDATE_SETS_MAX];
    size_t nsets;
    struct carm_plan_target targets[CARM_PLAN_TARGETS_MAX];
    size_t ntargets;
    char levels[CARM_VALIDATE_LEVELS_MAX][CARM_NAME_MAX];
    size_t nlevels; /* 0 = all */
    size_t reps;
    bool quick;
};

/* Finds the sets and checks that they can be measured here.
 * returns 0; -CARM_EINVAL (misuse, what the model has); -CARM_ENOTSUP (this CPU lacks an ISA or its
 * fma, or this process has too few hardware threads); -CARM_EFORMAT (the model names what no carm
 * knows) */
int carm_validate_plan_make(struct carm_validate_plan *plan, const struct carm_model *model,
                            const struct carm_validate_words *words, const struct carm_cpu *cpu,
                            const struct carm_topo *topo, struct carm_err *err);

/* Whether a level is among those asked for. plan: struct carm_validate_plan */
bool carm_validate_wants_level(const struct carm_validate_plan *plan, const char *level);

/* The operation that a set is validated with unless others are asked for: its fastest; fma where it
 * is within 1% of that, as that is what tuned code runs. NULL = it has no compute roof */
const struct carm_compute_roof *carm_validate_fastest(const struct carm_roofs *roofs);

#endif
