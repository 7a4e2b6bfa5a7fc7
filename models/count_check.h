/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test codes that a counter counted while they ran, compared with their construction. */
#pragma once

#include "base/err.h"
#include "models/model.h"

/* A larger deviation is reported with its likely cause. */
#define CARM_COUNT_DEVIATION_MAX 0.01

/* Fills deviation and note from the quantities.
 * upper_bound  the recipe's events count more than the retired instructions */
void carm_count_check_judge(struct carm_count_check *check, bool upper_bound);

/* Puts a check into a model, in place of one of the same code and counter. returns 0 or -CARM_ENOMEM */
int carm_count_check_add(struct carm_model *model, const struct carm_count_check *check,
                         struct carm_err *err);
