/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run: the verdicts on the parts of a program, as text and JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "run/verdict.h"

/* A row's name, at most `columns` wide. A long name is cut in the middle; file and line are kept. returns dst */
char *carm_run_name_cut(char *dst, size_t size, const struct carm_profile_row *row, size_t columns);

/* Whether a part has a row of the table: with a verdict and 1% of the time. Code generated at run time needs no
 * verdict. */
bool carm_run_verdict_has_row(const struct carm_profile_row *row,
                              const struct carm_run_verdict *of);

/* Prints a row of a table whose last column is the name of a part: below the row where the terminal is too narrow. */
void carm_run_say_row(const char *row, const char *name);

/* Prints the answer: the largest limit of the program, then a line for each part.
 * verdicts  [profile->nrows] */
void carm_run_verdicts_show(const struct carm_run *run, const struct carm_profile *profile,
                            const struct carm_run_verdict *verdicts);

/* For the page: an array with an object for each row of the profile, null for those that have no verdict or hardly any
 * time. An object has the verdict, source lines with their executions (or instructions), and the strides of accesses.
 * verdicts  [profile->nrows]; NULL = none
 * returns memory to be freed, or NULL */
char *carm_run_loops_json(const struct carm_run *run, const struct carm_profile *profile,
                          const struct carm_run_verdict *verdicts);

/* {"low": 1.2, "high": 3} */
json_t *carm_run_gain_json(const struct carm_verdict_gain *gain);

/* The member "verdict" of a part; none where the part has no verdict. */
bool carm_run_verdict_json(const struct carm_run_verdict *verdict, json_t *part);
