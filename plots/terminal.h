/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofline in a terminal, as large as is asked for, both axes logarithmic. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    CARM_DRAW_LEVELS_MAX = 8,
    CARM_DRAW_COLUMNS_MIN = 40, /* of the whole picture; below, a line says so in its place */
    CARM_DRAW_ROWS_MIN = 12,
    CARM_DRAW_COLUMNS_MAX = 200, /* it grows no further */
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
    const char *operation;                /* "flop" or "op": of the unit, and of the intensity */
    int columns, rows;                    /* that it may fill, as of carm_screen_size */
    bool ascii;                           /* dots from . - ' instead of braille */
    bool colour;                          /* one for each level */
};

/* Escape sequence of a colour, 0 for the first level; they repeat. Static. */
const char *carm_draw_colour(size_t colour);

/* Draws. Errors of the stream stay in it (ferror). */
void carm_draw_print(FILE *out, const struct carm_draw_roofline *picture);
