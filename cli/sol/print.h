/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of `carm sol`, to standard output, at most 100 columns wide. */
#ifndef CARM_CLI_SOL_PRINT_H
#define CARM_CLI_SOL_PRINT_H

#include <stddef.h>

#include "models/sol/view.h"

/* The estimates, the ridge point, and what they mean. */
void carm_sol_print(const struct carm_sol_view *view);

/* What limits and what could help, in a few sentences. */
void carm_sol_print_advice(const struct carm_sol_view *view);

/* A table of operations, the dearest unfused first.
 * most  how many; the others are one line
 * returns 0 or -CARM_ENOMEM */
int carm_sol_print_layers(const struct carm_sol_view *view, size_t most, struct carm_err *err);

#endif
