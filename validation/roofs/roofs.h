/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofs of a build, and F(phi). */
#ifndef CARM_VALIDATION_ROOFS_ROOFS_H
#define CARM_VALIDATION_ROOFS_ROOFS_H

#include "validation/roofs/build.h"
#include "validation/series.h"

enum {
    CARM_ROOF_CODES = 4
}; /* finalists of one roof, and a code of the model before or of another set */

/* One roof while it is measured. */
struct carm_build_roof {
    struct carm_build_set *set;
    enum carm_isa isa;
    enum carm_precision precision;
    bool memory;                /* a level and a mix; else an operation */
    size_t level;               /* of the set's levels */
    const struct carm_mix *mix; /* NULL for an operation */
    enum carm_op op;
    struct carm_series *series; /* [CARM_ROOF_CODES] one for each finalist */
    size_t nseries;
    size_t best;                   /* of the series */
    struct carm_pooled pooled;     /* of that one */
    char note[CARM_TEXT_MAX];      /* a rule that it breaks; "" = none */
    const struct carm_code *usual; /* of a search: the best candidate of other builds; else NULL */
    double gain;                   /* over that one in the same rounds; 0 = not known */
};

/* Measures all roofs of all sets, in rounds that take turns, adds them to the model, which has the levels,
 * and draws F(phi). Points that were seen in no sound state, whose rounds differ, or that break a rule get
 * more rounds while there is time.
 * sets  [n] by number of threads, ascending
 * missing  out: roofs that the budget left without a round
 * returns 0, -CARM_EINTR or -CARM_ENOMEM */
int carm_build_measure_roofs(struct carm_build_set *sets, size_t n, struct carm_model *model,
                             size_t *missing, struct carm_err *err);

/* The best of a roof's codes so far, and its figure. */
void carm_build_pool_roof(struct carm_build_roof *roof, const struct carm_clock *clock);

/* Roughly how long the roofs of all ISAs and precisions take with one number of threads. */
double carm_build_roofs_seconds(const struct carm_build *build);

/* What a search found: a code that only it has, at least 0.5% faster than the usual ones in rounds that
 * took turns.
 * returns whether it found one; *winner is filled then */
bool carm_build_roof_winner(const struct carm_build_roof *roof, struct carm_winner *winner);

/* The rules that need no luck: threads that own their cores do n times what one does in what a core has
 * for itself, at the same clock; and more threads never do less than fewer. Fills in the notes of those that
 * break one, which are too slow for what the others show.
 * returns how many do */
size_t carm_build_check_roofs(struct carm_build_roof *roofs, size_t n);

#endif
