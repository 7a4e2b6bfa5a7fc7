/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares models with the points of one set, and adds scores and fits to the model. */
#pragma once

#include "models/model.h"

/* flop/s of the cache-aware model at a point, from the level's roof for the model's mix and the
 * operation's compute roof.
 * beside  use the roofs of codes A and B measured in the same rounds as the point
 * returns 0 where the model has no such roof */
double carm_predict_cache_aware(const struct carm_model *model,
                                const struct carm_validation_point *point, bool beside);

/* flop/s of the original model at a point. Bytes are counted where they cross into level `link`: an
 * index into the model's levels, >= 1; the last one, memory, is the model's usual form.
 * returns 0 without a bandwidth for the link */
double carm_predict_original(const struct carm_model *model,
                             const struct carm_validation_point *point, size_t link);

/* The name of a model in scores: "cache-aware" for link 0; "original-LEVEL" for bytes counted where
 * they cross into a level; "original" if this level is memory; "original-mix" for one link more.
 * name  [CARM_NAME_MAX] */
void carm_validation_model_name(const struct carm_model *model, size_t link, char *name);

/* Adds the scores of one set's points for each level and for all levels ("all"): of the cache-aware
 * model, the original model, and the variants of the original model for caches and with the model's
 * own mix.
 * returns 0, -CARM_EINVAL (a point that cannot be scored) or -CARM_ENOMEM */
int carm_validation_score(struct carm_model *model, const struct carm_validation_set *set,
                          struct carm_err *err);

/* Adds fits of one set's points, for each level: every form of carm_ridge, the one with the lowest
 * AICc marked; cross-validated scores of each.
 * issue  slots/s of the best issue code; 0 = not measured, then forms with issue are left out. A
 *        level whose points do not determine a fit (all on one side of the ridge) gets none.
 * returns 0 or -CARM_ENOMEM */
int carm_validation_fit_levels(struct carm_model *model, const struct carm_validation_set *set,
                               double issue, struct carm_err *err);
