/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "count_checks" of a model file; for models/file/read.c and models/file/write.c. */
#ifndef CARM_MODELS_FILE_COUNT_CHECK_FILE_H
#define CARM_MODELS_FILE_COUNT_CHECK_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/json_read.h"
#include "models/model.h"

/* It may lack. */
void carm_count_checks_read(struct carm_jread *r, json_t *root, struct carm_model *model);

/* Left out when there are none. returns false when memory ran out */
bool carm_count_checks_write(json_t *root, const struct carm_model *model);

#endif
