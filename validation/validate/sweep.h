/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test code C over the grid of intensities on one level. */
#ifndef CARM_VALIDATION_VALIDATE_SWEEP_H
#define CARM_VALIDATION_VALIDATE_SWEEP_H

#include "harness/measure.h"
#include "models/model.h"
#include "validation/validate/plan.h"

struct carm_sweep {
    /* given, borrowed */
    struct carm_team *team;
    const struct carm_model *model;
    const struct carm_validate_plan *plan;
    const struct carm_validation_set *set;
    size_t target;             /* of the plan */
    size_t level;              /* of the model */
    const struct carm_code *a; /* the code behind the level's roof */
    uint64_t set_bytes;        /* working set of one thread */
    size_t reps;
    struct carm_budget *budget;
    /* out */
    struct carm_validation_point points[CARM_GRID_POINTS];
    struct carm_shape control_shape;
};

/* Measures the point of one grid intensity: the schedule that does best by short measurements, then
 * the long measurement. On shared levels code A follows, shortly: what the level gives at that
 * moment. */
void carm_sweep_point(struct carm_sweep *s, size_t grid);

/* Measures again, while the budget lasts, what cannot be right:
 * - a point that takes longer for its bytes than one with more flops to the same bytes, or longer for
 *   its flops than one with more bytes to the same flops, was disturbed, or given a bad schedule by a
 *   disturbed search; neighbours only slow a core down, so the faster of both stays;
 * - a point beside which code A was far from its usual speed, because neighbours took or left more of
 *   the level than usual; the one with code A nearer to its median stays, marked as disturbed when it
 *   is still far from it. */
void carm_sweep_repair(struct carm_sweep *s);

#endif
