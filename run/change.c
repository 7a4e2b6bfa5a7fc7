/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/change.h"

#include <math.h>
#include <stdlib.h>

static struct carm_run_change change_part(const struct carm_verdict *today,
                                          const struct carm_verdict *there)
{
    struct carm_run_change c = {.known = today->limit != CARM_LIMIT_UNKNOWN, .loop = {1.0, 1.0}};
    double before = 0.0, after = 0.0;
    carm_setting_bounds(&today->bounds, &there->bounds, today->estimate, &before, &after, &c.limit);
    if (before > today->seconds) { /* bounds are known to some 10%: the ratio counts */
        after *= today->seconds / before;
        before = today->seconds;
    }
    c.known = c.known && before > 0.0 && after > 0.0;
    c.limit = today->estimate ? today->limit : c.limit;
    if (c.known) {
        c.loop = carm_setting_gain(today->seconds, before, after);
    }
    if (c.known &&
        c.limit !=
            today->limit) { /* the bound of another limit explains less than all of the time, too */
        c.loop.low = fmin(c.loop.low, CARM_VERDICT_DONE * today->seconds / after);
    }
    return c;
}

int carm_run_change(struct carm_run_changed *changed, const struct carm_run *run,
                    const struct carm_profile *profile, const struct carm_run_verdict *today,
                    const struct carm_run_levels *levels, const struct carm_model *model,
                    const struct carm_microarchitecture *theory, struct carm_err *err)
{
    const struct carm_run_levels *others = carm_run_levels_changed(levels);
    struct carm_run_verdict *there = NULL;
    double all = 0.0, slow = 0.0, fast = 0.0;
    int rc = carm_run_verdicts(&there, run, profile, others ? others : levels, model, theory, err);
    changed->known = 0.0;
    changed->caches = others ? carm_run_levels_about(others) : NULL;
    changed->today = others ? carm_run_levels_about(levels) : NULL;
    changed->parts = rc ? NULL : calloc(profile->nrows + 1, sizeof *changed->parts);
    if (!rc && !changed->parts) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the changed machine");
    }
    for (size_t i = 0; i < profile->nrows && !rc; i++) {
        const double share = profile->rows[i].share;
        struct carm_run_change *c = &changed->parts[i];
        *c = (struct carm_run_change){.loop = {1.0, 1.0}};
        if (today[i].has && there[i].has) {
            *c = change_part(&today[i].verdict, &there[i].verdict);
        }
        changed->known += c->known ? share : 0.0;
        all += share;
        slow += share / c->loop.low;
        fast += share / c->loop.high;
    }
    changed->program =
        (struct carm_verdict_gain){slow > 0.0 ? all / slow : 1.0, fast > 0.0 ? all / fast : 1.0};
    free(there);
    return rc;
}
