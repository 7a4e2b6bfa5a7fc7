/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run --levels: the program's addresses go to a simulation of the model's caches, and what that
 * counts to the row. */
#ifndef CARM_CLI_RUN_LEVELS_H
#define CARM_CLI_RUN_LEVELS_H

#include "harness/program/count.h"
#include "models/model.h"

struct carm_run_levels;

/* prefetch  "none", "next", "streams" or "both"
 * sink      out: for struct carm_run
 * returns 0; -CARM_ENOTSUP, -CARM_ENOMEM, -CARM_EINVAL with the reason */
int carm_run_levels_open(struct carm_run_levels **out, const struct carm_model *model,
                         const char *prefetch, struct carm_address_sink *sink,
                         struct carm_err *err);
void carm_run_levels_close(struct carm_run_levels *levels); /* NULL allowed */

/* When the program has ended: fills the row's bytes of the levels where the program was counted; else, or
 * when the simulation failed, the row's note says why there are none. */
void carm_run_levels_take(struct carm_run_levels *levels, struct carm_run *run);

/* Prints the levels, the reasons of their misses, and what is unused. */
void carm_run_levels_report(const struct carm_run_levels *levels);

#endif
