/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test codes of a validation: for each intensity of the grid several schedules of test code C,
 * and the codes A and B behind the model's roofs, all assembled in one run of nasm. */
#pragma once

#include "asm/image.h"
#include "models/model.h"

enum {
    CARM_GRID_POINTS = 29,      /* every half octave from 2^-8 to 2^6 flop/byte */
    CARM_SCHEDULES_MAX = 32,    /* of one intensity */
    CARM_PLAN_TARGETS_MAX = 64, /* ISA, precision and operation together */
    CARM_ISSUE_CODES_MAX = 16,
};

/* The intensity of grid point i, flop/byte: fixed, so that scores of different machines and runs
 * compare. The intensity of a code is known exactly and within 1% of the grid's. */
double carm_grid_intensity(size_t i);

/* The ISA, precision, operation and threads of test code C. */
struct carm_plan_target {
    enum carm_isa isa;
    enum carm_precision precision;
    enum carm_op op;
};

/* Add the codes of a plan, also for the built-in codes (validation/builtin/plan.h), to specs[*n]
 * and on, and increase *n. The caller has room for CARM_SCHEDULES_MAX codes of one grid point, or
 * CARM_ISSUE_CODES_MAX of the issue width.
 * returns 0 or -CARM_EINVAL */
int carm_validate_add_schedules(const struct carm_plan_target *target, const struct carm_mix *mix,
                                size_t grid, bool quick, struct carm_code_spec *specs, size_t *n,
                                struct carm_err *err);
int carm_validate_add_issue(struct carm_code_spec *specs, size_t *n, struct carm_err *err);

struct carm_validate_plan {
    struct carm_image *image;
    const struct carm_code *empty;
    struct carm_plan_target targets[CARM_PLAN_TARGETS_MAX];
    size_t ntargets;
    struct carm_mix mix;
    /* schedules of each target and grid point: first index and number in the image */
    size_t (*first)[CARM_GRID_POINTS];
    size_t (*count)[CARM_GRID_POINTS];
    size_t first_issue, nissue; /* the codes that measure the issue width */
};

/* Assembles all codes for validating these targets of a model.
 * quick  fewer schedules
 * returns 0; -CARM_EFORMAT (the model names a code that does not exist), or as carm_image_open */
int carm_validate_plan_open(struct carm_validate_plan *plan, const struct carm_model *model,
                            const struct carm_plan_target *targets, size_t n, bool quick,
                            struct carm_err *err);
void carm_validate_plan_close(struct carm_validate_plan *plan);

/* The schedules of a grid point. In the first level only schedules without software prefetch, which
 * can only cost time there (Williams et al. 2009, A.1.2, tunes the distance where there is latency
 * to hide).
 * out  [CARM_SCHEDULES_MAX]
 * returns their number; all have the same intensity */
size_t carm_validate_plan_schedules(const struct carm_validate_plan *plan, size_t target,
                                    size_t grid, bool first_level, const struct carm_code **out);

/* The code with a name in any spelling, or NULL. */
const struct carm_code *carm_validate_plan_find(const struct carm_validate_plan *plan,
                                                const char *name);
