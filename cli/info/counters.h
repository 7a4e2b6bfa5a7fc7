/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which counter back ends work on this machine, and why the others do not; for `carm info`. */
#pragma once

#include <jansson.h>

#include "harness/machine/cpu.h"

struct carm_info_counters;

/* Probes all back ends. returns NULL when out of memory */
struct carm_info_counters *carm_info_counters_open(const struct carm_cpu *cpu);
void carm_info_counters_close(struct carm_info_counters *counters); /* NULL allowed */

/* The way in which `carm run` counts programs on this machine, in one line. */
const char *carm_info_counters_answer(const struct carm_info_counters *counters);

void carm_info_counters_print(const struct carm_info_counters *counters); /* to standard output */

/* The same as a new JSON object, or NULL when out of memory. */
json_t *carm_info_counters_json(const struct carm_info_counters *counters);
