/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a picture looks: its size, font and theme, and the beginning of its script. */
#ifndef CARM_PLOTS_LOOK_H
#define CARM_PLOTS_LOOK_H

#include <stdio.h>

#include "base/err.h"

struct carm_plot_look {
    int width, height; /* pixels; 0 = the kind's own */
    char font[80];     /* a family's name, "" = the format's own */
    double font_px;    /* 12 unless told */
    char theme[8];     /* "light", "dark", "print" */
};

/* Reads --size, --font and --theme; NULL = as usual. A font's name may have letters, digits, blanks
 * and -_. only: it goes into the picture's markup as it is.
 * returns 0 or -CARM_EINVAL (what the option takes) */
int carm_plot_look_parse(struct carm_plot_look *look, const char *size, const char *font,
                         const char *theme, struct carm_err *err);

/* Pictures are laid out in units of which a font takes 12: pixels unless --font has a size. Puts the
 * size that was asked for in place of the kind's own. look  NULL = as usual */
void carm_plot_look_size(const struct carm_plot_look *look, double *width, double *height);

/* The beginning of every script: terminal, palette, the picture's title.
 * format  that it draws unless told otherwise
 * width   and height: in units */
void carm_plot_put_head(FILE *out, const struct carm_plot_look *look, double width, double height,
                        const char *format, const char *title);

#endif
