/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of `carm validate` in a model: the points of test code C, the scores of the models
 * on them, and fits. Units are SI. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/model.h"

bool carm_validation_set_equal(const struct carm_validation_set *a,
                               const struct carm_validation_set *b);

/* The set of one set of roofs and an operation. */
struct carm_validation_set carm_validation_set_of(const struct carm_roofs *roofs, const char *op);

/* The roofs that belong to a set, borrowed from the model, or NULL when it has none. */
const struct carm_roofs *carm_validation_find_roofs(const struct carm_model *model,
                                                    const struct carm_validation_set *set);

/* The score of one model on one level ("all" for the pooled one), borrowed, or NULL. */
const struct carm_validation *carm_validation_find_score(const struct carm_model *model,
                                                         const struct carm_validation_set *set,
                                                         const char *name, const char *level);

/* The name of level i in scores: the level's own name, or "all" for i past the last level. */
const char *carm_validation_level(const struct carm_model *model, size_t i);

/* Removes entries of one set from a model, so that a new validation replaces the old one: its
 * points and roofs on one level ("peak" is one here), or on all (NULL), and all its scores and
 * fits, which depend on them. The others keep their order. returns the number of removed entries */
size_t carm_validation_drop(struct carm_model *model, const struct carm_validation_set *set,
                            const char *level);

/* Each function copies one entry, not one of the model's own, to the end of the model's array.
 * Errors that carm_model_read would refuse are found when the model is written, not here.
 * returns 0 or -CARM_ENOMEM (the model is as it was) */
int carm_validation_add_score(struct carm_model *model, const struct carm_validation *score,
                              struct carm_err *err);
int carm_validation_add_point(struct carm_model *model, const struct carm_validation_point *point,
                              struct carm_err *err);
int carm_validation_add_roof(struct carm_model *model, const struct carm_validation_roof *roof,
                             struct carm_err *err);
int carm_validation_add_fit(struct carm_model *model, const struct carm_validation_fit *fit,
                            struct carm_err *err);

/* ---- how well a model predicts measured points ----------------------------------------------------- */

struct carm_score {
    size_t n;
    double rrmse; /* sqrt(mean(((measured - model) / measured)^2)) */
    /* relative to the model's value: sqrt(mean(((measured - model) / model)^2)) */
    double rrmse_model;
    double fitness;     /* 100 / (1 + rrmse), percent */
    size_t worst;       /* index of the point with the largest |measured - model| / measured */
    double worst_error; /* measured / model - 1 at this point; negative where the model predicts too
                         * much */
};

/* measured, model  [n] same unit (flop/s); every value finite and > 0
 * returns 0 or -CARM_EINVAL (n = 0, or which value of which array is wrong); out untouched then
 * source: Ilic et al. 2014, footnote 3 for the fitness; the paper leaves the normalisation of rRMSE
 * open: carm's fitness divides by the measured value; rrmse_model divides by the model's */
int carm_score_eval(const double *measured, const double *model, size_t n, struct carm_score *out,
                    struct carm_err *err);
