/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models against the points of one set: scores and fits, added to the model. */
#ifndef CARM_VALIDATION_VALIDATE_SCORE_H
#define CARM_VALIDATION_VALIDATE_SCORE_H

#include "models/model.h"

/* flop/s that the cache-aware model attains at a point: its level's roof for the model's mix, and the
 * operation's compute roof.
 * beside  take the roofs that codes A and B gave in the same rounds as the point
 * returns 0 where the model has no such roof */
double carm_predict_cache_aware(const struct carm_model *model,
                                const struct carm_validation_point *point, bool beside);

/* flop/s that the original model attains at a point when bytes are counted where they cross into
 * level `link` (an index into the model's levels, >= 1; the last one is memory, the model's usual
 * form). returns 0 where there is no bandwidth for that link */
double carm_predict_original(const struct carm_model *model,
                             const struct carm_validation_point *point, size_t link);

/* The same for memory with the bandwidth that the model's own mix of loads and stores attains, its
 * write-allocates and write-backs counted, in place of the best of all streams: what is left of the
 * difference between the models when that bandwidth's mix is the points' own. */
double carm_predict_original_mix(const struct carm_model *model,
                                 const struct carm_validation_point *point);

/* What scores call a model: "cache-aware" for link 0, "original-LEVEL" for one that counts bytes where
 * they cross into that level, "original" where that is memory, "original-mix" for one past it.
 * name  [CARM_NAME_MAX] */
void carm_validation_model_name(const struct carm_model *model, size_t link, char *name);

/* Adds the scores of one set's points: the cache-aware model, the original one, and the original
 * one's variants for caches and with the model's own mix, for each level and pooled ("all").
 * returns 0, -CARM_EINVAL (a point that cannot be scored) or -CARM_ENOMEM */
int carm_validation_score(struct carm_model *model, const struct carm_validation_set *set,
                          struct carm_err *err);

/* Adds fits of one set's points, for each level: every form of carm_ridge, the one with the lowest
 * AICc marked; cross-validated scores of each.
 * issue  slots/s that a code of its own reached, 0 = not measured: forms with issue are left out
 * A level whose points cannot tell a fit (all on one side of the ridge) gets none.
 * returns 0 or -CARM_ENOMEM */
int carm_validation_fit_levels(struct carm_model *model, const struct carm_validation_set *set,
                               double issue, struct carm_err *err);

#endif
