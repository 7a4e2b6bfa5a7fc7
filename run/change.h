/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run --set: the gain of each part of a program from a changed machine, by its lower bounds today and there. */
#pragma once

#include "models/place/settings.h"
#include "run/verdict.h"

struct carm_run_changed {
    struct carm_settings changes;
    struct carm_run_change {
        bool known;            /* a bound explains its time today */
        enum carm_limit limit; /* of the changed machine */
        struct carm_verdict_gain loop;
    } * parts;                        /* [nrows] of the profile; to be freed */
    struct carm_verdict_gain program; /* parts that are not known stay as they are */
    double known;                     /* share of the program's time in the parts that are */
    const struct carm_run_simulation *caches,
        *today; /* borrowed of the levels; NULL = the caches are the same */
};

/* changed  in: the changes; out: the rest
 * today    [profile->nrows]
 * levels   as for carm_run_verdicts; where it has other caches, theirs are taken
 * model    the changed one
 * returns 0 or -CARM_ENOMEM */
int carm_run_change(struct carm_run_changed *changed, const struct carm_run *run,
                    const struct carm_profile *profile, const struct carm_run_verdict *today,
                    const struct carm_run_levels *levels, const struct carm_model *model,
                    const struct carm_microarchitecture *theory, struct carm_err *err);
