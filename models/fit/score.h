/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How well a model predicts measured points. */
#ifndef CARM_MODELS_FIT_SCORE_H
#define CARM_MODELS_FIT_SCORE_H

#include <stddef.h>

#include "base/err.h"

struct carm_score {
    size_t n;
    double rrmse; /* sqrt(mean(((measured - model) / measured)^2)) */
    double
        rrmse_model; /* the same over the model's value: sqrt(mean(((measured - model) / model)^2)) */
    double fitness;     /* 100 / (1 + rrmse), percent */
    size_t worst;       /* index of the point with the largest |measured - model| / measured */
    double worst_error; /* measured / model - 1 there: negative where the model predicts too much */
};

/* measured, model  [n] same unit (flop/s); every value finite and > 0
 * returns 0 or -CARM_EINVAL (n = 0, or which value of which array is wrong); out untouched then
 * source: Ilic et al. 2014, footnote 3 for the fitness; the paper leaves the normalisation of rRMSE
 * open: by the measured value is carm's reading, by the model's stands beside it */
int carm_score_eval(const double *measured, const double *model, size_t n, struct carm_score *out,
                    struct carm_err *err);

#endif
