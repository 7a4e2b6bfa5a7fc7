/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `carm place --intensity`: the roofs at an intensity, before there is any point. */
#ifndef CARM_CLI_PLACE_INTENSITY_H
#define CARM_CLI_PLACE_INTENSITY_H

#include "models/place/choice.h"
#include "cli/place/print.h"

/* Prints roofs, ceilings, regions and gains of both models at each intensity.
 * printer  its format is the table or JSON
 * list     "0.25,1/2,8": operations for each byte
 * returns 0 or -CARM_EINVAL (not such a list) */
int carm_place_intensities(struct carm_place_printer *printer, const struct carm_model *model,
                           struct carm_place_choices *choices, const char *list,
                           struct carm_err *err);

#endif
