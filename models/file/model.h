/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of reading and writing model.json, beside the functions of models/model.h. */
#pragma once

#include "models/file/table.h"
#include "models/model.h"

/* The whole file; its objects and arrays have tables of their own. */
extern const struct carm_table carm_model_table;

/* Reads the members that a fleet uses, several times as fast as carm_model_parse: machine,
 * configuration and levels, and of the roofs names, rates, intervals, clocks and disturbed.
 * Other members stay zero; of these only the brackets are checked.
 * returns NULL where anything is unexpected: carm_model_parse then names the error */
struct carm_model *carm_model_parse_lean(const char *text, size_t size);
