/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured ceilings of a set of roofs, as model.json keeps them ("ceilings" of a set).
 * source: Williams, Waterman, Patterson 2009, appendix A.1.2 to A.1.4 and A.2 */
#ifndef CARM_MODELS_CEILINGS_H
#define CARM_MODELS_CEILINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/number.h"

enum carm_ceiling_group {
    CARM_CEILING_IN_CORE, /* A.1.3: TLP, ILP, SIMD by width, balance; flop/s */
    CARM_CEILING_MIX,     /* A.1.4: share of floating point among instructions; flop/s */
    CARM_CEILING_MEMORY, /* A.1.2: streaming with one optimisation less; byte/s of memory traffic */
    CARM_CEILING_BUSY,   /* A.2.1: computation by a part of the threads; flop/s */
    CARM_CEILING_TRAFFIC, /* A.2.2: memory traffic from a part of the threads; byte/s */
    CARM_CEILING_GROUP_COUNT,
};

/* "in-core", "mix", "memory", "busy", "traffic": names in the file and of --ceilings */
const char *carm_ceiling_group_name(enum carm_ceiling_group group);

struct carm_ceiling_roof {
    enum carm_ceiling_group group;
    char name[80]; /* stable, for programs: "tlp add", "ilp fma", "simd16 add", "simd64 fma",
                        * "fp 1/4", "dot", "copy nt", "dot no-prefetch", "jump 8", "random",
                        * "no affinity", "small set", "busy 1/2", "traffic 1/2" */
    char code[80]; /* test code; "" where nothing ran */
    double rate;   /* flop/s or byte/s, all threads of the set, median; 0 = not measured, the note
                        * says why ("not measurable: one NUMA node") */
    struct carm_ci ci95;
    double clock_hz;            /* beside the point; 0 = not measured */
    int threads;                /* that worked */
    uint64_t working_set_bytes; /* all threads; 0 = none */
    uint64_t reps;
    char counted_by[80];
    bool disturbed;
    char note[256];
};

struct carm_roofs; /* models/model.h, which includes this */

/* The inverse of carm_ceiling_group_name: 0 or -CARM_EINVAL with the list. */
int carm_ceiling_group_parse(const char *name, enum carm_ceiling_group *group,
                             struct carm_err *err);

/* The ceiling of that name, borrowed from roofs, or NULL when the set has none. */
const struct carm_ceiling_roof *carm_ceilings_find(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group, const char *name);

/* As above, but NULL as well where it was not measured. */
const struct carm_ceiling_roof *carm_ceilings_measured(const struct carm_roofs *roofs,
                                                       enum carm_ceiling_group group,
                                                       const char *name);

/* The one with the highest rate of a group whose name begins with prefix ("" = any), or NULL when
 * none was measured. */
const struct carm_ceiling_roof *carm_ceilings_best(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group,
                                                   const char *prefix);

/* What one optimisation gives over a measured ceiling: the rate of the next ceiling over its own.
 * by      out: what does it, for a reader ("SIMD"); borrowed, static
 * returns 0 where there is no next one, or it was not measured */
double carm_ceiling_gap(const struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                        const char **by);

/* Copies one ceiling to the end of the set's: 0 or -CARM_ENOMEM (the set is as it was). */
int carm_ceilings_add(struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                      struct carm_err *err);

#endif
