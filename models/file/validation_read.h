/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a model file that `carm validate` writes; for models/file/read.c. */
#ifndef CARM_MODELS_FILE_VALIDATION_READ_H
#define CARM_MODELS_FILE_VALIDATION_READ_H

#include "base/json_read.h"
#include "models/model.h"

/* Reads "validated", "validation", "validation_points", "validation_roofs" and "validation_fits"
 * out of a file's object. The model's levels must be there already. All but "validation" may
 * lack. */
void carm_validation_read(struct carm_jread *r, json_t *root, struct carm_model *model);

#endif
