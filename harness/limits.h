/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What no x86-64 core can exceed in one cycle. A point that does has a wrong clock. */
#ifndef CARM_HARNESS_LIMITS_H
#define CARM_HARNESS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

struct carm_measurement;

/* True when the measurement exceeds a limit by more than the clock's own error (0.5%); then note
 * says which, by how much. */
bool carm_limits_check(const struct carm_measurement *m, char *note, size_t size);

#endif
