/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/imbalance.h"

#include <math.h>

#include "models/place/points.h"

double carm_imbalance_ratio(double each, double sum, double shares)
{
    if (!carm_point_knows(each) || !(sum > 0.0) || !(shares > 0.0)) {
        return 0.0;
    }
    const double ratio = each * shares / sum;
    return ratio > 1.0 ? ratio : 1.0; /* sums are rounded */
}

/* What is not known lowers nothing. */
static double part(double uneven)
{
    return uneven > 1.0 ? 1.0 / uneven : 1.0;
}

static double lowered(const struct carm_place_side *side, double intensity, double memory,
                      double work, bool *compute)
{
    const double slope = side->slope * intensity * part(memory);
    const double flat = side->peak * part(work);
    *compute = side->peak > 0.0 && (!(side->slope > 0.0) || flat < slope);
    return *compute ? flat : slope;
}

void carm_imbalance_find(const struct carm_imbalance *uneven, const struct carm_place_set *set,
                         const struct carm_place *place, const bool has[2],
                         struct carm_imbalance_cost *out)
{
    const bool none = !has[CARM_PLACE_CACHE_AWARE] && !has[CARM_PLACE_ORIGINAL];
    double work = none ? uneven->work : 0.0; /* without a roof they bound it alone */
    *out = (struct carm_imbalance_cost){.gain = 0.0};
    for (int i = 0; i < 2; i++) {
        if (has[i]) {
            const bool aware = i == CARM_PLACE_CACHE_AWARE;
            out->at[i] =
                lowered(&set->sides[i], place[i].intensity, aware ? uneven->bytes : uneven->dram,
                        uneven->work, &out->compute[i]);
            work = fmax(work, place[i].roof / out->at[i]);
        }
    }
    out->gain = fmax(uneven->time, work);
    out->by_time = uneven->time > work * 1.005;
    out->lost = out->gain > 0.0 ? 1.0 - 1.0 / out->gain : 0.0;
}
