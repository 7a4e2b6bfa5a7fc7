/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The built-in test codes, assembled when carm is built (asm/image.h): those of the default
 * plans of `carm build` and `carm validate`, on every CPU. */
#ifndef CARM_VALIDATION_BUILTIN_PLAN_H
#define CARM_VALIDATION_BUILTIN_PLAN_H

#include "asm/code.h"

/* All of them, each once, sorted by name as strcmp orders them. They come from the functions that
 * make the plans themselves; nothing of the machine that this runs on matters.
 * *specs is to be released with free
 * returns 0, -CARM_ENOMEM or, as the plans do, -CARM_EINVAL */
int carm_builtin_plan(struct carm_code_spec **specs, size_t *n, struct carm_err *err);

#endif
