/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of `carm run` after the program's end, on standard error, since standard output is
 * the program's. */
#pragma once

#include "models/model.h"
#include "run/count.h"

/* A line: its head, "" = one that goes on, and the rest. */
__attribute__((format(printf, 2, 3))) void carm_run_say(const char *head, const char *fmt, ...);

/* Of a parallel program rank 0 says all, each other one a line.
 * model    NULL: none, and why says so
 * missing  why no loop has a share of the time, "" = it is known; NULL: the answer was printed before
 * parts    the program's parts are shown after it: the whole program has its place, the parts have the advice */
void carm_run_report(const struct carm_run *run, const struct carm_model *model, const char *why,
                     const char *missing, bool parts);

/* Beside verdicts, which are the answer: waiting, signals and what is missing; of other ranks than 0 their line. */
void carm_run_report_briefly(const struct carm_run *run);
