/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ceilings of a build (`--ceilings`): which there are, and the test codes that may show them.
 * source: Williams et al. 2009, A.1.2 to A.1.4 */
#ifndef CARM_VALIDATION_BUILD_CEILINGS_PLAN_H
#define CARM_VALIDATION_BUILD_CEILINGS_PLAN_H

#include "validation/build/config.h"
#include "harness/cpu.h"

enum {
    CARM_CEILING_CANDIDATES = 6,
    CARM_CEILING_POINTS_MAX = 48,
    CARM_CEILING_CODES_MAX = CARM_CEILING_CANDIDATES * CARM_CEILING_POINTS_MAX,
};

/* Where a ceiling's working set lies. */
enum carm_ceiling_place {
    CARM_CEILING_CORE, /* nowhere: registers alone */
    CARM_CEILING_DRAM, /* the set of memory's roofs */
    CARM_CEILING_FAR,  /* a larger one: a lap reads only some of its lines */
};

/* One ceiling: the best of its candidates. */
struct carm_ceiling_point {
    enum carm_ceiling_group group;
    enum carm_ceiling_place place;
    char name[80];
    struct carm_code_spec codes[CARM_CEILING_CANDIDATES];
    size_t ncodes;
};

/* The ceilings in the groups in-core, mix and memory that a configuration asks for. "small set" and
 * "no affinity", busy and traffic run the best codes of these once more. Where traffic is asked for
 * without memory, the streaming read is in the plan with the group traffic, so that there is one.
 * returns how many of points[CARM_CEILING_POINTS_MAX] were filled */
size_t carm_ceilings_plan(const struct carm_build_config *config, const struct carm_cpu *cpu,
                          struct carm_ceiling_point *points);

/* Thread counts below n for busy and traffic: powers of two, descending.
 * returns how many of out[32] were filled */
size_t carm_ceilings_parts(int n, int *out);

/* "1/2", "3/8": part of n in lowest terms, at most 32 bytes. */
void carm_ceilings_share(int part, int n, char name[32]);

#endif
