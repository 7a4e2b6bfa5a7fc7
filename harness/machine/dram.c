/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/dram.h"

#include <stdlib.h>

struct carm_dram {
    struct carm_recipe *recipe;  /* owned; NULL when the counters are borrowed */
    struct carm_counters *owned; /* NULL when they are borrowed */
    struct carm_counters *counters;
    struct carm_counter_set *set;
    struct carm_reading *readings; /* [nevents] */
};

static bool counts_dram(const struct carm_recipe *recipe)
{
    for (size_t i = 0; i < recipe->nformulas; i++) {
        const enum carm_quantity q = recipe->formulas[i].quantity;
        if (q == CARM_Q_DRAM_BYTES || q == CARM_Q_DRAM_READ_BYTES) {
            return true;
        }
    }
    return false;
}

int carm_dram_open_with(struct carm_dram **out, struct carm_counters *counters,
                        struct carm_err *err)
{
    const struct carm_counter_target sockets = {.kind = CARM_TARGET_SOCKETS};
    const struct carm_recipe *recipe = carm_counters_recipe(counters);
    *out = NULL;
    if (!counts_dram(recipe)) {
        return carm_fail(err, CARM_ENOTSUP, "no events of %s's memory controllers are known",
                         recipe->title);
    }
    struct carm_dram *d = calloc(1, sizeof *d);
    if (!d) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
    }
    d->counters = counters;
    d->readings = calloc(recipe->nevents, sizeof *d->readings);
    int rc = d->readings ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
    rc = rc ? rc : carm_counter_set_open(&d->set, counters, sockets, CARM_GROUPS_ALL, err);
    if (rc) {
        carm_dram_close(d);
        return rc;
    }
    *out = d;
    return 0;
}

int carm_dram_open(struct carm_dram **out, const struct carm_cpu *cpu, struct carm_err *err)
{
    struct carm_recipe *recipe = NULL;
    struct carm_counters *counters = NULL;
    struct carm_dram *d = NULL;
    *out = NULL;
    int rc = carm_recipe_find(cpu->vendor, cpu->family, cpu->model, &recipe, err);
    rc = rc ? rc : carm_counters_open(&counters, CARM_PROVIDER_AUTO, recipe, err);
    rc = rc ? rc : carm_dram_open_with(&d, counters, err);
    if (d) {
        d->owned = counters;
        d->recipe = recipe;
        *out = d;
        return 0;
    }
    carm_counters_close(counters);
    carm_recipe_free(recipe);
    return rc == -CARM_EINVAL ? -CARM_ENOTSUP : rc; /* EINVAL: a wrong CARM_UARCH */
}

int carm_dram_start(struct carm_dram *dram, struct carm_err *err)
{
    return carm_counter_set_start(dram->set, err);
}

int carm_dram_stop(struct carm_dram *dram, double *bytes, struct carm_err *err)
{
    struct carm_counts counts;
    int rc = carm_counter_set_stop(dram->set, dram->readings, err);
    rc = rc ? rc
            : carm_recipe_evaluate(carm_counters_recipe(dram->counters), dram->readings, NULL,
                                   &counts, err);
    if (rc) {
        return rc;
    }
    if (!carm_count_has(&counts, CARM_Q_DRAM_BYTES)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the counters of the memory controllers were never scheduled");
    }
    *bytes = counts.q[CARM_Q_DRAM_BYTES].value;
    return 0;
}

void carm_dram_close(struct carm_dram *dram)
{
    if (dram) {
        carm_counter_set_close(dram->set);
        carm_counters_close(dram->owned);
        carm_recipe_free(dram->recipe);
        free(dram->readings);
        free(dram);
    }
}
