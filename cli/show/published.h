/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A published machine as text: figures, ceilings, kernels between their ceilings, and
 * contradictions in the paper. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "models/file/published.h"

/* `carm show OPERAND` for an operand that names a published machine.
 * misplaced  an option for models only, which is refused; NULL = none
 * json  print the whole data file instead
 * code  out: the command's exit code
 * returns false for a model's file or name, which the caller shows */
bool carm_show_published_operand(const char *operand, const char *misplaced, bool json, bool plot,
                                 bool ascii, int *code);

/* Prints the names of all built-in machines: measured ones with their CPU and date, and those of papers. returns 0, or
 * errors as carm_gallery_open and carm_published_load */
int carm_show_machines(bool ascii, struct carm_err *err);
