/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test codes that a counter counted while they ran, compared with their construction. */
#ifndef CARM_MODELS_COUNT_CHECK_H
#define CARM_MODELS_COUNT_CHECK_H

#include "models/validation.h"

struct carm_model;

/* One quantity of a run: as constructed, and as it was counted. */
struct carm_checked {
    double constructed;
    double counted; /* -1 = could not be counted */
};

struct carm_count_check {
    char code[CARM_NAME_MAX];
    char counted_by[CARM_NAME_MAX]; /* "papi", "likwid", "step" */
    char recipe[CARM_NAME_MAX];     /* of the microarchitecture; "" when stepped */
    struct carm_checked flops, loads, stores;
    double deviation;         /* counted / constructed - 1 of the quantity that differs most */
    char note[CARM_TEXT_MAX]; /* the likely cause where it is above 1%; "" = nothing to say */
};

/* Above this a deviation is told, with its likely cause. */
#define CARM_COUNT_DEVIATION_MAX 0.01

/* Fills deviation and note from the quantities.
 * upper_bound  the recipe's events count more than what retires */
void carm_count_check_judge(struct carm_count_check *check, bool upper_bound);

/* Puts a check into a model, in place of one of the same code and counter. returns 0 or -CARM_ENOMEM */
int carm_count_check_add(struct carm_model *model, const struct carm_count_check *check,
                         struct carm_err *err);

#endif
