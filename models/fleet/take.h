/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a model that a fleet keeps. */
#pragma once

#include "models/fleet/fleet.h"
#include "models/model.h"

/* Adds a model's machine and roofs to the fleet, and its measurements to the row.
 * returns 0, -CARM_EFORMAT (too many kinds of roofs) or -CARM_ENOMEM */
int carm_fleet_take_model(struct carm_fleet *fleet, const struct carm_model *model, bool ceilings,
                          struct carm_fleet_row *row, struct carm_err *err);

/* Sorts the fleet's roofs, after the last model was added. returns 0 or -CARM_ENOMEM */
int carm_fleet_order_roofs(struct carm_fleet *fleet, struct carm_err *err);
