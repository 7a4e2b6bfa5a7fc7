/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CARM_MODELS_FLEET_HINT_H
#define CARM_MODELS_FLEET_HINT_H

#include "models/fleet/fleet.h"

/* Where the deviation of a slow node comes from as a rule, by its flagged roofs and its core clock; "" where
 * that tells nothing. */
const char *carm_fleet_hint(const struct carm_fleet_table *table, size_t node);

#endif
