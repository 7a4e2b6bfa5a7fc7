/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run --what-if: the table of measured changes, and their JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "run/whatif.h"

/* Prints the table to standard error. */
void carm_run_whatif_show(const struct carm_run_whatif *whatif, const struct carm_profile *profile);

/* The member "what_if" of the run's object. returns false: no memory */
bool carm_run_whatif_json(const struct carm_run_whatif *whatif, const struct carm_profile *profile,
                          json_t *o);
