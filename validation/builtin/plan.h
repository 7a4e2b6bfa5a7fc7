/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The built-in test codes, assembled when carm is built (asm/image.h): those of the default
 * plans of `carm build` and `carm validate`, on every CPU. */
#pragma once

#include "asm/code.h"

/* All built-in codes, each once, sorted by name in strcmp's order, as the functions that make the
 * plans list them. The result does not depend on the machine.
 * specs  out: to be released with free
 * returns 0, -CARM_ENOMEM, or -CARM_EINVAL from the plans */
int carm_builtin_plan(struct carm_code_spec **specs, size_t *n, struct carm_err *err);
