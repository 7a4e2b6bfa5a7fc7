/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What model.json is made of, beside the functions of models/model.h that read and write it. */
#ifndef CARM_MODELS_FILE_MODEL_H
#define CARM_MODELS_FILE_MODEL_H

#include "models/file/table.h"
#include "models/model.h"

/* The whole file; its objects and arrays have tables of their own. */
extern const struct carm_table carm_model_table;

/* Reads what a fleet looks at, several times as fast as carm_model_parse does: machine, configuration and
 * levels, and of the roofs names, rates, intervals, clocks and disturbed. The rest is left as zeros, and not
 * checked but for its brackets.
 * returns NULL where anything is not as expected: carm_model_parse says what */
struct carm_model *carm_model_parse_lean(const char *text, size_t size);

#endif
