/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "ceilings" of a set of roofs in a model file; for models/file/read.c and models/file/write.c. */
#ifndef CARM_MODELS_FILE_CEILINGS_FILE_H
#define CARM_MODELS_FILE_CEILINGS_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/json_read.h"
#include "models/model.h"

/* It may lack. The reader's place is the set of roofs. */
void carm_ceilings_read(struct carm_jread *r, json_t *set, struct carm_roofs *roofs);

/* Left out when there are none. returns false when memory ran out */
bool carm_ceilings_write(json_t *set, const struct carm_roofs *roofs);

#endif
