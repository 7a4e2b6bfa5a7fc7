/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a model file that `carm validate` writes; for models/file/write.c. */
#ifndef CARM_MODELS_FILE_VALIDATION_WRITE_H
#define CARM_MODELS_FILE_VALIDATION_WRITE_H

#include <jansson.h>
#include <stdbool.h>

#include "models/model.h"

/* Adds "validation" to a file's object, and "validated", "validation_points", "validation_roofs"
 * and "validation_fits" where they are not empty. returns false when memory ran out */
bool carm_validation_write(json_t *root, const struct carm_model *model);

#endif
