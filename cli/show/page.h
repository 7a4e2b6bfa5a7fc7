/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text of carm show on standard output: the terminal's properties, and strings of a model's file made safe. */
#pragma once

#include <stdbool.h>

#include "models/model.h"

struct carm_show_page {
    bool ascii, colour;
    bool foreign; /* the model is roofs of another tool: rates without intervals and clocks */
    int columns;  /* of the terminal; INT_MAX = standard output is no terminal */
    const char *plus_minus;
};

/* A string of the model's file, made safe, in at least width columns; a negative width aligns it to the right. */
void carm_show_put(const struct carm_show_page *page, int width, const char *s);

/* The same, cut after width columns. */
void carm_show_put_cut(const struct carm_show_page *page, int width, const char *s);

/* A note of the model's file on lines of its own, indented; an empty note prints nothing. */
void carm_show_note(const struct carm_show_page *page, int indent, const char *note);

/* An empty line, then a bold one. */
__attribute__((format(printf, 2, 3))) void carm_show_heading(const struct carm_show_page *page,
                                                             const char *fmt, ...);

/* The longer side of an interval, in percent of the value. */
double carm_show_interval_percent(double value, struct carm_ci ci);
