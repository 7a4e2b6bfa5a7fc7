/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test codes of a build: candidates for each roof and each ceiling, assembled in one run of
 * nasm.
 * source: Williams et al. 2009, A.1.2 to A.1.4, for the ceilings */
#pragma once

#include "asm/image.h"
#include "harness/machine/cpu.h"
#include "harness/machine/search.h"
#include "validation/roofs/config.h"

enum { CARM_CANDIDATES_MAX = CARM_SEARCH_MOST };

struct carm_build_plan {
    struct carm_image *image;
    /* the first codes of the image are candidates for roofs, the others for ceilings */
    size_t nroofs;
    const struct carm_code *empty;
    bool *searched; /* [codes of the image] true = only in a search */
};

/* The codes of a plan, also for the built-in codes (validation/builtin/plan.h).
 * specs    [carm_build_plan_room(config)]
 * *nroofs  see struct carm_build_plan
 * returns how many of specs were filled */
size_t carm_build_plan_specs(const struct carm_build_config *config, const struct carm_cpu *cpu,
                             struct carm_code_spec *specs, size_t *nroofs);
size_t carm_build_plan_room(const struct carm_build_config *config);

/* Assembles all candidates of a configuration: errors as carm_image_open. */
int carm_build_plan_open(struct carm_build_plan *plan, const struct carm_build_config *config,
                         const struct carm_cpu *cpu, struct carm_err *err);
void carm_build_plan_close(struct carm_build_plan *plan);

/* Whether a code is a candidate only because of a search. */
bool carm_build_plan_is_searched(const struct carm_build_plan *plan, const struct carm_code *code);

/* Candidates of a memory roof: winners of earlier searches, the usual codes, the codes of a search. L1
 * has none with software prefetch, which can only cost time there (the Roofline paper's A.1.2 tunes
 * the distance where there is latency to hide).
 * returns the number of candidates in out[CARM_CANDIDATES_MAX] */
size_t carm_build_plan_memory(const struct carm_build_plan *plan, enum carm_isa isa,
                              enum carm_precision precision, const struct carm_mix *mix,
                              bool first_level, const struct carm_code **out);

/* Candidates of a compute roof. */
size_t carm_build_plan_compute(const struct carm_build_plan *plan, enum carm_isa isa,
                               enum carm_precision precision, enum carm_op op,
                               const struct carm_code **out);

/* ---- ceilings (--ceilings) ----------------------------------------------------------------------- */

enum {
    CARM_CEILING_CANDIDATES = 6,
    CARM_CEILING_POINTS_MAX = 48,
    CARM_CEILING_CODES_MAX = CARM_CEILING_CANDIDATES * CARM_CEILING_POINTS_MAX,
};

/* The place of a ceiling's working set. */
enum carm_ceiling_place {
    CARM_CEILING_CORE, /* no working set: registers alone */
    CARM_CEILING_DRAM, /* the working set of memory's roofs */
    CARM_CEILING_FAR,  /* a larger set: a lap reads only some of its lines */
};

/* One ceiling: the best of its candidates. */
struct carm_ceiling_point {
    enum carm_ceiling_group group;
    enum carm_ceiling_place place;
    char name[80];
    struct carm_code_spec codes[CARM_CEILING_CANDIDATES];
    size_t ncodes;
};

/* The requested ceilings of the groups in-core, mix and memory. "small set", "no affinity", busy
 * and traffic run the best codes of these ceilings again. If traffic is requested without memory, the
 * plan has the streaming read in the group traffic.
 * returns the number of ceilings in points[CARM_CEILING_POINTS_MAX] */
size_t carm_ceilings_plan(const struct carm_build_config *config, const struct carm_cpu *cpu,
                          struct carm_ceiling_point *points);

/* Thread counts below n for busy and traffic: powers of two, descending.
 * returns how many of out[32] were filled */
size_t carm_ceilings_parts(int n, int *out);

/* "1/2", "3/8": part of n in lowest terms, at most 32 bytes. */
void carm_ceilings_share(int part, int n, char name[32]);
