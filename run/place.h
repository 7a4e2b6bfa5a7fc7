/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program, and each of its parts, under the roofs of a model. */
#pragma once

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
/* The operations by which a row is placed: flops, or operations on integers; 0 = none were
 * counted */
double carm_run_work(const struct carm_row *row);

/* Whether the program was off the CPU for a tenth of its time or more. false for several
 * threads, where it is unknown. */
bool carm_run_waits(const struct carm_run *run);
/* The time by which the program is placed. A program that waits is placed by its time on CPUs:
 * by wall time, its share of a roof would be lower by the share of the waiting. */
double carm_run_placed_seconds(const struct carm_run *run);

/* The counts of which a mix of instructions consists; counts and mix have the same names of columns. */
void carm_run_mix(struct carm_runmix *mix, const struct carm_counts *c);

/* Places a row that has bytes of each level: one point for each level of the memory hierarchy.
 * returns false when the row has no such bytes, or the model no roofs for the levels */
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
 * model   NULL = no model: the part gets its row, but no place
 * i       row of the profile */
void carm_run_part_place(struct carm_run_placed *out, const struct carm_run *run,
                         const struct carm_profile *profile, const struct carm_run_levels *levels,
                         const struct carm_model *model, size_t i);
