/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run: the verdicts on the parts of a program, as text and JSON. */
#ifndef CARM_CLI_RUN_VERDICT_H
#define CARM_CLI_RUN_VERDICT_H

#include <jansson.h>
#include <stdbool.h>

#include "run/verdict.h"

/* A row's name in so many columns: a long name is cut in the middle, its file and line never. returns dst */
char *carm_run_name_cut(char *dst, size_t size, const struct carm_profile_row *row, size_t columns);

/* Prints the answer: the largest limit of the program, then a line for each part.
 * verdicts  [profile->nrows] */
void carm_run_verdicts_show(const struct carm_run *run, const struct carm_profile *profile,
                            const struct carm_run_verdict *verdicts);

/* The member "verdict" of a part; none where the part has no verdict. */
bool carm_run_verdict_json(const struct carm_run_verdict *verdict, json_t *part);

#endif
