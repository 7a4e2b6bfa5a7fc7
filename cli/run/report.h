/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `carm run` says after the program has ended. To standard error: standard output is the
 * program's. */
#ifndef CARM_CLI_RUN_REPORT_H
#define CARM_CLI_RUN_REPORT_H

#include "run/count.h"
#include "models/model.h"
#include "models/place/levels.h"
#include "models/place/points.h"

/* A line: its head, "" = one that goes on, and the rest. */
__attribute__((format(printf, 2, 3))) void carm_run_say(const char *head, const char *fmt, ...);

/* The parts of the counts that a mix is made of; both go by the columns' names. */
void carm_run_mix(struct carm_runmix *mix, const struct carm_counts *c);

/* One point for each level of the memory hierarchy, of a row that has their bytes.
 * returns false: it has none */
bool carm_run_place_levels(const struct carm_row *row, const struct carm_model *model,
                           const struct carm_roofs *roofs, struct carm_levels *out);

/* Of a parallel program rank 0 says all, each other one a line.
 * model  NULL: none, and why says so
 * parts  the program's parts are shown after it: the whole program has its place, the parts have the advice */
void carm_run_report(const struct carm_run *run, const struct carm_model *model, const char *why,
                     bool parts);

#endif
