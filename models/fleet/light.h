/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model read for a fleet only: several times as fast as carm_model_read. */
#ifndef CARM_MODELS_FLEET_LIGHT_H
#define CARM_MODELS_FLEET_LIGHT_H

#include "models/model.h"

/* Reads machine, configuration and levels as carm_model_parse does, and of the roofs what a fleet looks at:
 * names, rates, intervals, clocks, disturbed. The rest of a roof, curves and validation are left as zeros,
 * and not checked but for their brackets.
 * text     zero-terminated
 * returns NULL where anything is not as expected: carm_model_parse says what, or takes it */
struct carm_model *carm_fleet_light_parse(const char *text, size_t size);

#endif
