/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a validation left in a model, as a table: fitness of each model on each level. */
#ifndef CARM_CLI_SHOW_VALIDATION_H
#define CARM_CLI_SHOW_VALIDATION_H

#include "models/file/select.h"

/* Prints the scores of the selected sets to standard output; nothing when there are none. Strings
 * of the model are made safe. ascii: plain ASCII alone */
void carm_show_validation(const struct carm_model *model, const struct carm_select *select,
                          bool ascii);

#endif
