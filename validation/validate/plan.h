/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test codes of a validation: for each intensity of the grid several schedules of test code C,
 * and the codes A and B behind the model's roofs, all assembled in one run of nasm. */
#ifndef CARM_VALIDATION_VALIDATE_PLAN_H
#define CARM_VALIDATION_VALIDATE_PLAN_H

#include "asm/image.h"
#include "models/model.h"

enum {
    CARM_GRID_POINTS = 29,      /* every half octave from 2^-8 to 2^6 flop/byte */
    CARM_SCHEDULES_MAX = 32,    /* of one intensity */
    CARM_PLAN_TARGETS_MAX = 64, /* ISA, precision and operation together */
    CARM_ISSUE_CODES_MAX = 16,
};

/* The intensity that grid point i asks for, flop/byte: fixed, so that scores of different machines
 * and runs compare. A code's own intensity is within 1% of it and exact. */
double carm_grid_intensity(size_t i);

/* What test code C is generated for. */
struct carm_plan_target {
    enum carm_isa isa;
    enum carm_precision precision;
    enum carm_op op;
};

/* Which codes a plan has, also for the built-in codes (validation/builtin/plan.h): each adds to
 * specs[*n].., where there is room for CARM_SCHEDULES_MAX of one grid point, CARM_ISSUE_CODES_MAX of
 * the issue width, and counts them in *n.
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

/* Assembles all that validating these targets of a model needs.
 * quick  fewer schedules
 * returns 0; -CARM_EFORMAT (the model names a code that does not exist), or as carm_image_open */
int carm_validate_plan_open(struct carm_validate_plan *plan, const struct carm_model *model,
                            const struct carm_plan_target *targets, size_t n, bool quick,
                            struct carm_err *err);
void carm_validate_plan_close(struct carm_validate_plan *plan);

/* The schedules of a grid point. In the first level those without software prefetch alone: there it
 * can only cost (Williams et al. 2009, A.1.2, tunes the distance where there is latency to hide).
 * out  [CARM_SCHEDULES_MAX]
 * returns how many were filled; all have the same intensity */
size_t carm_validate_plan_schedules(const struct carm_validate_plan *plan, size_t target,
                                    size_t grid, bool first_level, const struct carm_code **out);

/* The code of that name, however it is spelt, or NULL. */
const struct carm_code *carm_validate_plan_find(const struct carm_validate_plan *plan,
                                                const char *name);

#endif
