/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test codes of a build: every candidate for every roof, assembled in one run of nasm. */
#ifndef CARM_VALIDATION_BUILD_PLAN_H
#define CARM_VALIDATION_BUILD_PLAN_H

#include "asm/image.h"
#include "validation/build/config.h"

enum { CARM_CANDIDATES_MAX = 16 };

struct carm_build_plan {
    struct carm_image *image;
    size_t
        nroofs; /* the first codes of the image are candidates for roofs; those after them are the
                    * ceilings' (validation/build/ceilings_plan.h) */
    const struct carm_code *empty;
};

/* Which codes a plan has, also for the built-in codes (validation/builtin/plan.h).
 * specs    [carm_build_plan_room(config)]
 * *nroofs  as in struct carm_build_plan
 * returns how many of specs were filled */
size_t carm_build_plan_specs(const struct carm_build_config *config, const struct carm_cpu *cpu,
                             struct carm_code_spec *specs, size_t *nroofs);
size_t carm_build_plan_room(const struct carm_build_config *config);

/* Assembles all candidates of a configuration: errors as carm_image_open. */
int carm_build_plan_open(struct carm_build_plan *plan, const struct carm_build_config *config,
                         const struct carm_cpu *cpu, struct carm_err *err);
void carm_build_plan_close(struct carm_build_plan *plan);

/* Candidates of a memory roof. L1 is left without software prefetch: there it can only cost (the
 * Roofline paper's A.1.2 tunes the distance where there is latency to hide).
 * returns how many of out[CARM_CANDIDATES_MAX] were filled */
size_t carm_build_plan_memory(const struct carm_build_plan *plan, enum carm_isa isa,
                              enum carm_precision precision, const struct carm_mix *mix,
                              bool first_level, const struct carm_code **out);

/* Candidates of a compute roof. */
size_t carm_build_plan_compute(const struct carm_build_plan *plan, enum carm_isa isa,
                               enum carm_precision precision, enum carm_op op,
                               const struct carm_code **out);

#endif
