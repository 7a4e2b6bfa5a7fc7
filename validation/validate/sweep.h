/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test code C over the grid of intensities on one level, in rounds, with codes A and B beside them. */
#ifndef CARM_VALIDATION_VALIDATE_SWEEP_H
#define CARM_VALIDATION_VALIDATE_SWEEP_H

#include "harness/machine/measure.h"
#include "models/model.h"
#include "validation/series.h"
#include "validation/validate/plan.h"

/* What codes A and B gave beside one round of a point, as a roofline. */
struct carm_sweep_beside {
    double attainable; /* flop/s at the point's intensity */
    bool sound;        /* both were in a sound state */
};

struct carm_sweep_point {
    struct carm_series series;                        /* of code C */
    struct carm_sweep_beside beside[CARM_ROUNDS_MAX]; /* [series.n] */
    int tried;                                        /* choices of a schedule */
};

struct carm_sweep {
    /* given, borrowed */
    struct carm_team *team;
    const struct carm_model *model;
    const struct carm_validate_plan *plan;
    const struct carm_validation_set *set;
    size_t target;             /* of the plan */
    size_t level;              /* of the model */
    const struct carm_code *a; /* the code behind the level's roof ... */
    const struct carm_code *b; /* ... and the peak's */
    uint64_t set_bytes;        /* working set of one thread */
    size_t reps;
    double budget_seconds; /* for repairs; what is left of it, out */
    /* out */
    struct carm_series memory, compute; /* of A and B */
    struct carm_sweep_point *points;    /* [CARM_GRID_POINTS] */
};

/* Makes room, and plans codes A and B. returns 0 or -CARM_ENOMEM */
int carm_sweep_open(struct carm_sweep *s, struct carm_err *err);
void carm_sweep_close(struct carm_sweep *s);

/* Chooses the schedule of one grid intensity by short measurements.
 * search  false: the first one, for which there is nothing to compare */
void carm_sweep_choose(struct carm_sweep *s, size_t grid, bool search);

/* One round of all points that are wanted, and of codes A and B before, between and after them. When the team's
 * deadline is over it ends: points that had a round before have nothing beside it then.
 * wanted  [CARM_GRID_POINTS]; NULL = all */
void carm_sweep_round(struct carm_sweep *s, const bool *wanted);

/* Runs more rounds, while the budget lasts, of points that cannot be right: those that were in no sound state
 * or whose rounds differ, and those that take longer for their bytes than a point with more flops to the
 * same bytes, or longer for their flops than one with more bytes: a disturbed search gave them a bad
 * schedule, so they choose again. */
void carm_sweep_repair(struct carm_sweep *s);

/* What came of one grid point. */
void carm_sweep_describe(const struct carm_sweep *s, size_t grid, struct carm_validation_point *p);

/* The largest excess of each point's time over what points do that have more work beside the same: of
 * its time for a byte over that of points with more flops for each, and of its time for a flop over
 * that of points with more bytes for each.
 * intensity, performance  [n] flop/byte ascending, flop/s; excess [n] out, 0 = none */
void carm_sweep_excess(const double *intensity, const double *performance, size_t n,
                       double *excess);

/* The model's form against a point: what it attains with roofs of the same rounds.
 * performance  flop/s, the point's figure
 * rounds       [n] with their beside
 * returns flop/s: performance over the median of measured / attainable, of the rounds in which all was in
 * a sound state, or of all where those are fewer than CARM_ROUNDS_MIN; 0 without rounds */
double carm_sweep_paired(double performance, const struct carm_round *rounds,
                         const struct carm_sweep_beside *beside, size_t n);

#endif
