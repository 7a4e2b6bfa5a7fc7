/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of `carm validate`: sets of roofs and operations of a model. */
#pragma once

#include "harness/machine/cpu.h"
#include "harness/machine/topo.h"
#include "models/model.h"
#include "validation/options.h"
#include "validation/validate/plan.h"

enum { CARM_VALIDATE_SETS_MAX = 256 };

/* The words of the command line, NULL where not given. */
struct carm_validate_words {
    const char *isa, *threads, *ops, *levels, *reps, *quick, *budget;
};

struct carm_validate_config {
    struct {
        size_t roofs;  /* index in the model */
        size_t target; /* index below */
    } sets[CARM_VALIDATE_SETS_MAX];
    size_t nsets;
    struct carm_plan_target targets[CARM_PLAN_TARGETS_MAX];
    size_t ntargets;
    struct carm_level_list levels;
    size_t reps;
    bool quick;
    double budget_seconds; /* the validation ends after this time, with the points measured so
                            * far */
};

/* Finds the sets and checks that they can be measured here and that the model has their roofs.
 * returns 0; -CARM_EINVAL (misuse; the sentence names the model's sets); -CARM_ENOTSUP (this CPU
 * does not have an ISA or its fma, or this process has too few hardware threads); -CARM_EFORMAT
 * (the model has an unknown name, or no roof for a level) */
int carm_validate_configure(struct carm_validate_config *config, const struct carm_model *model,
                            const struct carm_validate_words *words, const struct carm_cpu *cpu,
                            const struct carm_topo *topo, struct carm_err *err);

/* The default operation for validating a set: its fastest, or fma if fma is within 1% of the
 * fastest, since tuned code uses fma. NULL = it has no compute roof */
const struct carm_compute_roof *carm_validate_fastest(const struct carm_roofs *roofs);
