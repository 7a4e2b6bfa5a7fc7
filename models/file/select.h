/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operands of commands: a model, or files of points. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "models/select.h"

/* Reads the model at operand, or the default one when operand is NULL or "mine". The name of a built-in machine
 * (models/file/gallery.h) gives its model. Roofs of other tools (models/import/import.h) become a model whose roofs_of
 * is not empty.
 * text  out, may be NULL: the file's text, to be released with free; NULL for another tool's file
 * returns 0 or as carm_model_read and carm_default_model_path do */
int carm_select_open(const char *operand, struct carm_model **model, char **text,
                     struct carm_err *err);

/* Whether an operand is a model rather than a file of points: "mine", a machine's name, a file
 * whose first non-blank character is '{' and that is not another tool's points, or a file of
 * another tool's roofs. A file that cannot be read counts as a model if its name is *.json, so
 * that the model's reader reports the error. "-" is not a model. */
bool carm_select_is_model(const char *path);

/* Operands [MODEL] POINTS... in any order: the model, of which there is one at most, is moved to the front. Refuses a
 * second "-" and missing files. models  out: 1 = the first operand is a model
 * returns 0, -CARM_EINVAL or -CARM_EIO */
int carm_select_sort_operands(int n, char **operands, int *models, struct carm_err *err);
