/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "count_checks" of a model file; for models/model_read.c and models/model_write.c. */
#ifndef CARM_COUNT_CHECK_FILE_H
#define CARM_COUNT_CHECK_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "models/json_read.h"
#include "models/model.h"

/* It may lack. */
void carm_count_checks_read(struct carm_jread *r, json_t *root, struct carm_model *model);

/* Left out when there are none. returns false when memory ran out */
bool carm_count_checks_write(json_t *root, const struct carm_model *model);

#endif
