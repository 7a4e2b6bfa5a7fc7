/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of `carm sol`, to standard output, at most 80 columns wide. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "models/sol/estimate.h"

/* The graph's limit and possible remedies, then the estimates. */
void carm_sol_print(const struct carm_sol_view *view);

/* A table of operations, the longest unfused first.
 * most  number of operations; the others are one line
 * returns 0 or -CARM_ENOMEM */
int carm_sol_print_layers(const struct carm_sol_view *view, size_t most, struct carm_err *err);

/* The built-in architectures and examples, each with its description. */
void carm_sol_print_list(void);
