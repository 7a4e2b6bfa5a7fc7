/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/count_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "models/model.h"

/* counted / constructed - 1; NAN where nothing can be compared */
static double deviation_of(const struct carm_checked *c)
{
    if (c->counted < 0.0) {
        return NAN;
    }
    if (!(c->constructed > 0.0)) {
        return NAN; /* constructed without accesses: the counted ones are of starting and stopping
                     * the counter */
    }
    return c->counted / c->constructed - 1.0;
}

/* A ratio of 0.5 or 1.5 shows that an event counts widths or FMAs differently from the recipe. */
static const char *cause_of(const char *quantity, double d, bool upper_bound)
{
    if (strcmp(quantity, "flops") == 0) {
        if (d > 0.0 && upper_bound) {
            return "these events count executed operations, including replays: an upper bound";
        }
        if (d < 0.0) {
            return "the counter misses flops: it counts an FMA once, a vector width has no event, or the hypervisor shares the counters";
        }
        return "the counter reports more flops: not the recipe's event, or each FMA counted twice";
    }
    if (d > 0.0) {
        return upper_bound
                   ? "these events count dispatched accesses, including mispredicted paths: an upper bound"
                   : "more accesses than issued: vectors split in two, prefetches counted as loads, or interrupts";
    }
    return "fewer accesses than issued: several accesses counted as one, or counters that were off part of the time";
}

void carm_count_check_judge(struct carm_count_check *check, bool upper_bound)
{
    const struct {
        const char *name;
        const struct carm_checked *c;
    } all[] = {{"flops", &check->flops}, {"loads", &check->loads}, {"stores", &check->stores}};
    const char *worst = "";
    check->deviation = 0.0;
    check->note[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const double d = deviation_of(all[i].c);
        if (!isnan(d) && fabs(d) > fabs(check->deviation)) {
            check->deviation = d;
            worst = all[i].name;
        }
    }
    if (fabs(check->deviation) > CARM_COUNT_DEVIATION_MAX) {
        snprintf(check->note, sizeof check->note, "%s %+.1f%%: %s", worst, 100.0 * check->deviation,
                 cause_of(worst, check->deviation, upper_bound));
    }
}

int carm_count_check_add(struct carm_model *model, const struct carm_count_check *check,
                         struct carm_err *err)
{
    for (size_t i = 0; i < model->nchecks; i++) {
        if (strcmp(model->checks[i].code, check->code) == 0 &&
            strcmp(model->checks[i].counted_by, check->counted_by) == 0) {
            model->checks[i] = *check;
            return 0;
        }
    }
    return carm_array_append(&model->checks, NULL, &model->nchecks, check, sizeof *check,
                             "the model", err);
}
