/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What imbalance costs: the Roofline paper's appendix A.2 as a ceiling of a job's or a node's point. */
#ifndef CARM_MODELS_PLACE_IMBALANCE_H
#define CARM_MODELS_PLACE_IMBALANCE_H

#include "models/place/views.h"
#include "models/place/place.h"

struct carm_imbalance_cost {
    double
        at[2]; /* flop/s that the roof allows such work, by enum carm_place_which; 0 = no place */
    bool compute[2]; /* it is computation that holds it there */
    double gain;     /* that even work gives at most: 1 = nothing; 0 = unknown */
    double lost;     /* the share of the time that imbalance takes, 1 - 1/gain */
    bool by_time;    /* the times alone tell it: work is more even than they are */
};

/* Largest over mean of n parts.
 * each     the largest, for each of its shares
 * sum      of all parts
 * shares   of all parts; their number, or their threads
 * returns 0 where a value is not known or nothing was done */
double carm_imbalance_ratio(double each, double sum, double shares);

/* Each rank has its part of the roofs and no more: with the peak F and the slope B of n ranks, the one
 * with the most work w and traffic b ends no sooner than max(n w / F, n b / B), and all of them do not
 * either. So the bound of the whole falls to min(B I mean(b)/max(b), F mean(w)/max(w)). The slope of
 * the cache-aware roof is of caches that a core has alone, so b is a rank's; the original model's is a
 * node's memory, which its ranks share, so b is a node's.
 * place  [2], where has[] says so */
void carm_imbalance_find(const struct carm_imbalance *uneven, const struct carm_place_set *set,
                         const struct carm_place *place, const bool has[2],
                         struct carm_imbalance_cost *out);

#endif
