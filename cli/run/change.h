/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run --set: the table of gains on a changed machine, and its JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "run/verdict.h"

/* Prints the table to standard error. verdicts: [profile->nrows] on the measured machine */
void carm_run_change_show(const struct carm_run_changed *changed,
                          const struct carm_profile *profile,
                          const struct carm_run_verdict *verdicts);

/* The member "set" of the run's object. returns false: no memory */
bool carm_run_change_json(const struct carm_run_changed *changed,
                          const struct carm_profile *profile, json_t *o);
