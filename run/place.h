/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program, and each of its parts, under the roofs of a model. */
#ifndef CARM_RUN_PLACE_H
#define CARM_RUN_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "models/model.h"
#include "models/place/hot.h"
#include "models/place/levels.h"
#include "models/place/points.h"
#include "run/count.h"
#include "run/levels.h"
#include "run/parts.h"

/* Whether a row is placed by its operations on integers instead of its flops. */
bool carm_run_is_integers(const struct carm_row *row);
/* The operations that a row is placed by: flops, or operations on integers; 0 = none were counted */
double carm_run_work(const struct carm_row *row);

/* Whether the program was on no CPU for a tenth of its time or more. Unknown (false) for several threads. */
bool carm_run_waits(const struct carm_run *run);
/* The time that the program is placed by. A program that waits is placed by its time on CPUs: its share of a
 * roof would be the share of the time that it does not wait. */
double carm_run_placed_seconds(const struct carm_run *run);

/* The counts of which a mix of instructions consists; counts and mix have the same names of columns. */
void carm_run_mix(struct carm_runmix *mix, const struct carm_counts *c);

/* One point for each level of the memory hierarchy, of a row with the bytes of the levels.
 * returns false: the row has none, or the model has no roofs for them */
bool carm_run_place_levels(const struct carm_row *row, const struct carm_model *model,
                           const struct carm_roofs *roofs, struct carm_levels *out);

/* A part of the program and its place. */
struct carm_run_placed {
    struct carm_row row;
    struct carm_point point;
    struct carm_hot hot;
    bool placed;
    struct carm_levels levels;
    bool has_levels;
};

/* A part as a row of points.csv. levels: NULL = not simulated */
void carm_run_part_row(const struct carm_run *run, const struct carm_profile *profile,
                       const struct carm_run_levels *levels, size_t part, struct carm_row *row);

/* levels  NULL = not simulated
 * model   NULL = none: the part has its row and no place
 * i       of the profile's rows */
void carm_run_part_place(struct carm_run_placed *out, const struct carm_run *run,
                         const struct carm_profile *profile, const struct carm_run_levels *levels,
                         const struct carm_model *model, size_t i);

#endif
