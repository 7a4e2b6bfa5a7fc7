/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofline in a terminal, as large as is asked for, both axes logarithmic. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    CARM_DRAW_LEVELS_MAX = 8,
    CARM_DRAW_COLUMNS_MIN = 40, /* of the whole picture; in less space, a line of text replaces
                                 * it */
    CARM_DRAW_ROWS_MIN = 12,
    CARM_DRAW_COLUMNS_MAX = 200, /* largest size */
    CARM_DRAW_ROWS_MAX = 60,
};

struct carm_draw_level {
    const char *name; /* clean text */
    double bandwidth; /* byte/s, > 0 */
    size_t colour;    /* as for carm_draw_colour */
};

struct carm_draw_roofline {
    const char *title;                    /* cut at the last column */
    const struct carm_draw_level *levels; /* [nlevels], any order */
    size_t nlevels;                       /* 1 .. CARM_DRAW_LEVELS_MAX */
    const char *peak_name;                /* clean text */
    double peak;                          /* > 0, in unit */
    const char *operation;                /* "flop" or "op": in the units of performance and
                                           * intensity */
    int columns, rows;                    /* largest size, from carm_screen_size */
    bool ascii;                           /* dots from . - ' instead of braille */
    bool colour;                          /* a colour for each level */
};

/* Escape sequence of a colour, 0 for the first level; the colours repeat. Static. */
const char *carm_draw_colour(size_t colour);

/* Draws the picture. Errors of the stream stay in it (ferror). */
void carm_draw_print(FILE *out, const struct carm_draw_roofline *picture);
