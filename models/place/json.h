/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placed points as JSON: one array, an object for each point, written when the point is placed. `carm place --json` and
 * the report's page use it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "models/place/placed.h"

struct carm_place_json {
    FILE *out;     /* errors stay in the stream (ferror) */
    bool ceilings; /* write all ceilings for each point */
    bool runtime;  /* the runtime-oriented ceilings, too */
    size_t points; /* number of points written */
    size_t file;   /* index of the points' file, from 0; 0 is not written */
};

void carm_place_json_begin(const struct carm_place_json *json);
void carm_place_json_put(struct carm_place_json *json, const struct carm_placed *placed);
void carm_place_json_end(const struct carm_place_json *json);

/* Members "region" and "optimisations" of the object that is being written, with a comma in front. */
void carm_place_json_region(FILE *out, const struct carm_place_set *set,
                            const struct carm_place *place);
