/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which counter back ends work on this machine, and why the others do not; for `carm info`. */
#pragma once

#include <jansson.h>

#include "harness/machine/cpu.h"

void carm_info_counters_print(const struct carm_cpu *cpu); /* to standard output */

/* The same as a new JSON object, or NULL when out of memory. */
json_t *carm_info_counters_json(const struct carm_cpu *cpu);
