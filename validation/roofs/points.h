/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns measurements into parts of a model. Every function that adds a part returns 0 or -CARM_ENOMEM;
 * the pointers in `out` are valid until the next part of the same kind is added. */
#pragma once

#include "validation/roofs/build.h"
#include "validation/series.h"

int carm_build_add_levels(struct carm_model *model, const struct carm_build_levels *levels,
                          struct carm_err *err);

/* Notes the levels of a further number of threads. Levels of the model that this curve does not
 * resolve get a note, with or without a range borrowed from fewer threads. */
void carm_build_note_levels(struct carm_model *model, const struct carm_build_levels *levels,
                            int threads);

int carm_build_add_roofs(struct carm_model *model, enum carm_isa isa, enum carm_precision precision,
                         int threads, struct carm_roofs **out, struct carm_err *err);

/* Result of a roof's rounds; borrowed. */
struct carm_build_result {
    const struct carm_series *series;
    int threads;
    struct carm_pooled pooled; /* of the series */
    bool disturbed;
    const char *note;
};

int carm_build_add_memory(struct carm_roofs *roofs, const char *level,
                          const struct carm_build_result *result, struct carm_err *err);
int carm_build_add_compute(struct carm_roofs *roofs, const struct carm_build_result *result,
                           struct carm_err *err);

/* A curve for codes of kind A (bandwidth over working set) or B (performance over flops). */
int carm_build_add_curve(struct carm_model *model, const struct carm_code_spec *spec, int threads,
                         struct carm_curve **out, struct carm_err *err);
/* x: see struct carm_curve_point. A point without a rate (on a machine so busy that the empty
 * code takes longer) is left out. */
int carm_build_add_pooled_point(struct carm_curve *curve, double x,
                                const struct carm_pooled *pooled, struct carm_err *err);

/* The set's clock: the median of its points' clocks. */
void carm_build_roofs_clock(struct carm_roofs *roofs);
