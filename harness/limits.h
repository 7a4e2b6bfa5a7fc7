/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What no x86-64 core can exceed in one cycle. A point that does has a wrong clock. */
#ifndef CARM_LIMITS_H
#define CARM_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

struct carm_measurement;

/* Instructions of one sort that a core can at most execute in a cycle. */
struct carm_limits {
    double loads, stores; /* of one vector each */
    double fp;            /* floating-point instructions of the code's operation */
};

/* The widest known core, for a code's vector width and operation. */
void carm_limits_of(const struct carm_measurement *m, struct carm_limits *limits);

/* True when the measurement exceeds a limit by more than the clock's own error (0.5%); then note
 * says which, by how much. */
bool carm_limits_check(const struct carm_measurement *m, char *note, size_t size);

#endif
