/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of `carm run` after the program's end, on standard error, since standard output is
 * the program's. */
#pragma once

#include "models/model.h"
#include "run/count.h"

/* Prints a line: head, then the text. head "" = the line continues the one before. */
__attribute__((format(printf, 2, 3))) void carm_run_say(const char *head, const char *fmt, ...);

/* Prints the report. In a parallel program rank 0 prints all, each other rank one line.
 * model    NULL = none, with the reason in why
 * missing  why loops have no share of the time, "" = they have; NULL = the answer was already printed
 * parts    the program's parts are printed afterwards, with the advice: the report only places the whole program */
void carm_run_report(const struct carm_run *run, const struct carm_model *model, const char *why,
                     const char *missing, bool parts);

/* The short report beside verdicts: waiting, signals and missing counts; on ranks other than 0 their one line. */
void carm_run_report_briefly(const struct carm_run *run);
