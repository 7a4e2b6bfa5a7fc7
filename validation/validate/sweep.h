/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test code C over the grid of intensities on one level, in rounds, with codes A and B beside them. */
#pragma once

#include "harness/machine/measure.h"
#include "models/model.h"
#include "validation/series.h"
#include "validation/validate/plan.h"

/* Roofline of codes A and B beside one round of a point. */
struct carm_sweep_beside {
    double attainable; /* flop/s at the point's intensity */
    bool sound;        /* the rounds of both codes were sound */
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
    double budget_seconds; /* for repairs; out: the seconds that are left */
    /* out */
    struct carm_series memory, compute; /* of A and B */
    struct carm_sweep_point *points;    /* [CARM_GRID_POINTS] */
};

/* Makes room, and plans codes A and B. returns 0 or -CARM_ENOMEM */
int carm_sweep_open(struct carm_sweep *s, struct carm_err *err);
void carm_sweep_close(struct carm_sweep *s);

/* Chooses the schedule of one grid intensity by short measurements.
 * search  false: takes the first schedule without comparing */
void carm_sweep_choose(struct carm_sweep *s, size_t grid, bool search);

/* One round of all wanted points, with codes A and B before, between and after them. Ends at the
 * team's deadline: the last points of the round then have no codes beside them.
 * wanted  [CARM_GRID_POINTS]; NULL = all */
void carm_sweep_round(struct carm_sweep *s, const bool *wanted);

/* Runs more rounds of doubtful points while the budget lasts: of points without a sound round or
 * with differing rounds; and of points that take longer for their bytes than a point with more
 * flops for the same bytes, or longer for their flops than a point with more bytes. A disturbed
 * search may have given such a slow point a bad schedule, so it chooses again. */
void carm_sweep_repair(struct carm_sweep *s);

/* Describes one grid point from its rounds. */
void carm_sweep_describe(const struct carm_sweep *s, size_t grid, struct carm_validation_point *p);

/* The largest excess of each point's time over points with more work: of its time per byte over
 * points with more flops per byte, and of its time per flop over points with more bytes per flop.
 * intensity, performance  [n] flop/byte ascending, flop/s; excess [n] out, 0 = none */
void carm_sweep_excess(const double *intensity, const double *performance, size_t n,
                       double *excess);

/* The attainable performance by the model's equation at a point, with roofs of the same rounds.
 * performance  flop/s, the point's figure
 * rounds       [n] rounds with their codes beside
 * returns flop/s: performance divided by the median of measured / attainable over the sound
 * rounds, or over all rounds when fewer than CARM_ROUNDS_MIN are sound; 0 without rounds */
double carm_sweep_paired(double performance, const struct carm_round *rounds,
                         const struct carm_sweep_beside *beside, size_t n);
