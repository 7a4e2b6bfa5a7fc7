/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model's text without what a fleet does not look at: curves and validation are most of a file, and a
 * fleet has thousands of them. */
#ifndef CARM_MODELS_FLEET_CUT_H
#define CARM_MODELS_FLEET_CUT_H

#include <stdbool.h>
#include <stddef.h>

#include "models/fleet/scan.h"

/* Members of the object that the text holds, and nothing else: brackets and strings are followed,
 * numbers and words are not looked at.
 * names   [n]
 * values  [n] out
 * returns false where the text is no object, has one of them twice, or goes on behind its end */
bool carm_fleet_find(const char *text, size_t size, const char *const *names, size_t n,
                     struct carm_fleet_span *values);

/* Copies machine, config, levels and what names the model; roofs, curves and validation become empty. What an
 * older version left out because it did not know it may be missing.
 * dst    [size + CARM_FLEET_CUT_MORE]
 * roofs  out: where they stand in text
 * returns bytes; 0 where the text is no object, or has roofs twice */
enum { CARM_FLEET_CUT_MORE = 256 };
size_t carm_fleet_cut(const char *text, size_t size, char *dst, struct carm_fleet_span *roofs);

#endif
