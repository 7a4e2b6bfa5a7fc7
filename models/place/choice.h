/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofs of each point of `carm place`, gathered once for each kind of point. */
#ifndef CARM_MODELS_PLACE_CHOICE_H
#define CARM_MODELS_PLACE_CHOICE_H

#include <stdbool.h>

#include "models/place/place.h"
#include "models/place/points.h"

struct carm_place_choices;

/* What the command line names, in place of what the points say; NULL = nothing. */
struct carm_place_words {
    const char *isa, *threads, *precision;
    const char *balance; /* "top", "bottom": where multiply/add balance stands on the ladder */
    const char *metric;  /* what is counted in place of flops */
    const char *peak;    /* its computational roof, operations/s */
};

struct carm_place_choice {
    const struct carm_place_set *set; /* borrowed */
    const char
        *note;  /* what the model lacks for such a point, "" = nothing; borrowed until the next
                       * choice */
    bool fresh; /* the note is a new one */
};

/* model  borrowed until the choices are closed
 * returns 0, -CARM_EINVAL (a word makes no sense), -CARM_ENOTSUP (the model has no such roofs: says
 * which it has), -CARM_ENOMEM */
int carm_place_choices_open(struct carm_place_choices **out, const struct carm_model *model,
                            const struct carm_place_words *words, struct carm_err *err);
void carm_place_choices_close(struct carm_place_choices *choices); /* NULL allowed */

/* The metric in use, "" = flops. Borrowed. */
const char *carm_place_choices_metric(const struct carm_place_choices *choices);

void carm_place_choose(struct carm_place_choices *choices, const struct carm_point *point,
                       struct carm_place_choice *out);

#endif
