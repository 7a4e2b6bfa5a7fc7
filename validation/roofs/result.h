/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roofs of a build that are measured, and their way into the model. */
#pragma once

#include "validation/roofs/build.h"
#include "validation/series.h"

enum {
    CARM_ROOF_CODES =
        5, /* finalists of a roof, a code of the model before, a code of another set */
    CARM_ROOF_SETTLED = 6, /* sound rounds of a mixture of operations */
};

/* One roof while it is measured. */
struct carm_build_roof {
    struct carm_build_set *set;
    enum carm_isa isa;
    enum carm_precision precision;
    bool memory;                /* a level and a mix; else an operation */
    size_t level;               /* index in the set's levels */
    const struct carm_mix *mix; /* NULL for an operation */
    enum carm_op op;
    struct carm_series *series; /* [CARM_ROOF_CODES] one for each finalist */
    size_t nseries;
    size_t best;               /* of the series */
    struct carm_pooled pooled; /* figure of the best code */
    char note[CARM_TEXT_MAX];  /* a rule that the roof breaks; "" = none */
    const struct carm_code
        *usual;      /* in a search: the best of the candidates of builds without one; else NULL */
    double gain;     /* gain over the usual code in the same rounds; 0 = not known */
    bool unsearched; /* the time for searches ended before each candidate had run */
    size_t alike;    /* sound rounds of other numbers of threads with the same rate per core */
    size_t barren;   /* repeated rounds in a row without effect */
};

/* All roofs of a build. */
struct carm_build_job {
    const struct carm_build *build;
    struct carm_build_set *sets;
    size_t nsets;
    struct carm_model *model;
    struct carm_build_roof *roofs;
    size_t n;
    size_t reps; /* of one round */
    size_t rounds;
    size_t dropped; /* roofs of ISAs beyond nwhole for which there was no time to search */
};

/* The name of a roof's level; "" = a roof of an operation. */
static inline const char *carm_build_roof_level(const struct carm_build_roof *r)
{
    return r->memory ? r->set->levels.levels[r->level].name : "";
}

/* Whether a mixture of operations has too few sound rounds. Rounds with other numbers of threads at the same
 * rate per core count, too. A mixture settles in one of several schedules and keeps it for a round (77.8 or 69.2
 * Gflop/s on a Zen 3), so several rounds are needed to see the best schedule. */
bool carm_build_is_unsettled(const struct carm_build_roof *r);

/* The winner of a search: a code that only the search has, at least 0.5% faster than the usual
 * codes in interleaved rounds.
 * returns whether there is one; then *winner is filled */
bool carm_build_roof_winner(const struct carm_build_roof *roof, struct carm_winner *winner);

/* Adds all roofs with a round to the model, keeps the winners of the search, and measures F(phi) of each set.
 * returns 0, -CARM_EINTR or -CARM_ENOMEM */
int carm_build_add_results(const struct carm_build_job *j, struct carm_err *err);
