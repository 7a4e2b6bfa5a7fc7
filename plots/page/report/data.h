/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data of carm report's page for the page's scripts: one JSON object. */
#pragma once

#include <stdio.h>

#include "models/file/points.h"
#include "models/model.h"

struct carm_report_input {
    const struct carm_model *model;
    const char *text; /* the contents of the model's file */
    const char *title;
    size_t npoints;
    char **points;                     /* [npoints] files of points; "-" = standard input */
    const struct carm_points_how *how; /* NULL = as usual */
    const char
        *loops; /* JSON: an array with an object or null for each point, of carm run; NULL = none */
};

/* The object as text: title, generated, version, model (the file's text), ceilings (of the sets that
 * have measured ones), places and, of many points, many (plots/page/report/many.h), loops.
 * *text is to be released with free
 * returns 0, -CARM_ENOMEM, -CARM_EINVAL (files without points), or as carm_points_open and
 * carm_points_next do */
int carm_report_data(const struct carm_report_input *input, char **text, struct carm_err *err);

/* Writes JSON that is safe inside a script element: <, > and &, and the two line separators that
 * JSON allows and older scripts do not, become \uXXXX. In JSON these characters occur only
 * inside strings. */
void carm_report_put_escaped(FILE *out, const char *json);
