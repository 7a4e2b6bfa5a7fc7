/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measured ceilings of a set of roofs, for `carm show`. */
#ifndef CARM_CLI_SHOW_CEILINGS_H
#define CARM_CLI_SHOW_CEILINGS_H

#include "models/model.h"

/* Prints them by group, with what breaks through each, and in the paper's order; nothing where the
 * set has none. */
void carm_show_ceilings(const struct carm_model *model, const struct carm_roofs *roofs, bool ascii);

#endif
