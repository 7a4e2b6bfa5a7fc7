/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofline in a terminal: 80 columns, at most 24 rows, both axes logarithmic. */
#ifndef CARM_DRAW_H
#define CARM_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CARM_DRAW_COLUMNS = 80, CARM_DRAW_LEVELS_MAX = 8 };

struct carm_draw_level {
    const char *name; /* clean text */
    double bandwidth; /* byte/s, > 0 */
    size_t colour;    /* as for carm_draw_colour */
};

struct carm_draw_roofline {
    const char *title;                    /* clean text; cut at 80 columns */
    const struct carm_draw_level *levels; /* [nlevels], any order */
    size_t nlevels;                       /* 1 .. CARM_DRAW_LEVELS_MAX */
    const char *peak_name;                /* clean text */
    double peak;                          /* flop/s, > 0 */
    bool ascii;                           /* dots from . - ' instead of braille */
    bool colour;                          /* one for each level */
};

/* Escape sequence of a colour, 0 for the first level; they repeat. Static. */
const char *carm_draw_colour(size_t colour);

/* Draws. Errors of the stream stay in it (ferror). */
void carm_draw_print(FILE *out, const struct carm_draw_roofline *picture);

#endif
