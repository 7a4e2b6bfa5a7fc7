/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One point under the roofs that were chosen for it: what `carm place` and `carm report` share. */
#ifndef CARM_MODELS_PLACE_PLACED_H
#define CARM_MODELS_PLACE_PLACED_H

#include "models/place/choice.h"
#include "cli/place/print.h"

/* Whether a point tells another host than the model's; node7 and node7.cluster.example are one.
 * note  [size] out: a sentence about it, "" where it does not */
bool carm_place_elsewhere(const struct carm_point *point, const struct carm_model *model,
                          char *note, size_t size);

/* Fills in all of *placed but what a merge or the runtime-oriented roofline adds (rows is 1).
 * unplaced  why it stands under no roof, or NULL
 * host      as carm_place_elsewhere wrote it; borrowed, as are point and choice */
void carm_place_under(struct carm_placed *placed, const struct carm_point *point,
                      const struct carm_place_choice *choice, const char *unplaced,
                      const char *host);

#endif
