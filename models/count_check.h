/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of test codes by a performance counter, compared with their construction. */
#pragma once

#include "base/err.h"
#include "models/model.h"

/* A larger deviation is reported with its likely cause. */
#define CARM_COUNT_DEVIATION_MAX 0.01

/* Fills the check's deviation and note from its quantities.
 * upper_bound  the recipe's events may count more than the retired instructions do */
void carm_count_check_judge(struct carm_count_check *check, bool upper_bound);

/* Puts a check into a model, in place of one of the same code and counter. returns 0 or -CARM_ENOMEM */
int carm_count_check_add(struct carm_model *model, const struct carm_count_check *check,
                         struct carm_err *err);
