/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Panels of a picture: each writes its ranges, ticks and data and then its script from plots/,
 * as gnuplot text. The places of labels are computed here, in pixels, so that no label covers
 * another. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "models/file/select.h"
#include "models/model.h"

enum {
    CARM_PLOT_FONT_PX = 12,
    CARM_PLOT_CURVES_MAX = 14, /* twice the palette of plots/scripts/common.gp */
};

/* The axes' rectangle on the canvas, in pixels from the bottom left corner. */
struct carm_plot_box {
    double left, bottom, width, height;
};

/* An axis in decades: log10 of the values at its ends. */
struct carm_plot_axis {
    double lo, hi;
};

/* Widens an axis so that it contains a value > 0. */
static inline void carm_plot_axis_widen(struct carm_plot_axis *axis, double value)
{
    axis->lo = fmin(axis->lo, log10(value));
    axis->hi = fmax(axis->hi, log10(value));
}

struct carm_plot_canvas {
    FILE *out; /* gnuplot text */
    double width, height;
    const struct carm_model *model;
    const struct carm_select *select;
};

/* The panels. returns 0, -CARM_EINVAL when the model has nothing that they show, or -CARM_ENOMEM */
int carm_plot_bandwidth(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                        struct carm_err *err);
int carm_plot_flops(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                    struct carm_err *err);

int carm_plot_latency(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                      struct carm_err *err);

int carm_plot_loaded(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                     struct carm_err *err);

int carm_plot_scaling(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                      struct carm_err *err);

int carm_plot_numa_bandwidth(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                             struct carm_err *err);
int carm_plot_numa_latency(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                           struct carm_err *err);

int carm_plot_core_to_core(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                           struct carm_err *err);

/* A validation's points against one model, and below them that model's residuals over the same x
 * axis: of the selected sets that have points, the one with the highest peak. */
int carm_plot_cache_aware(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                          struct carm_err *err);
int carm_plot_original(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                       struct carm_err *err);
int carm_plot_cache_aware_residuals(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                                    struct carm_err *err);
int carm_plot_original_residuals(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                                 struct carm_err *err);

/* Parts of a panel, for the panels themselves. */

/* Colour i of the palette of plots/scripts/common.gp in the light theme; the colours repeat. */
unsigned carm_plot_rgb(size_t i);

/* Pixels that a text takes at most in the picture's font. */
double carm_plot_text_px(const char *s);

/* A string as a field of a data block: quoted, without characters that would end the string. */
void carm_plot_put_text(FILE *out, const char *s);

/* A line of a data block, behind "|", that gnuplot reads as a string; cut to max_px pixels. */
void carm_plot_put_line(FILE *out, const char *s, double max_px);

/* The box, the ranges and the title of a panel. */
void carm_plot_put_box(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                       struct carm_plot_axis x, struct carm_plot_axis y, const char *title);

/* Ticks: powers of two of flop/byte, sizes in binary units, and 1 (2, 5) and powers of ten. */
void carm_plot_put_intensity_ticks(FILE *out, struct carm_plot_axis x, double width_px);
void carm_plot_put_size_ticks(FILE *out, struct carm_plot_axis x, double width_px);
void carm_plot_put_decimal_ticks(FILE *out, char axis, struct carm_plot_axis range, double px);

/* The SI prefix that suits values up to max, and its divisor. */
double carm_plot_prefix(double max, const char **prefix);

/* ---- how a whole picture looks ------------------------------------------------------------------- */

struct carm_plot_look {
    int width, height; /* pixels; 0 = the default of the kind */
    char font[80];     /* a font family; "" = the format's default */
    double font_px;    /* 12 by default */
    char theme[8];     /* "light", "dark", "print" */
};

/* Reads --size, --font and --theme; NULL = the default. A font's name may have letters, digits,
 * blanks and -_. only: it goes into the picture's markup unchanged.
 * returns 0 or -CARM_EINVAL (names the values that the option takes) */
int carm_plot_look_parse(struct carm_plot_look *look, const char *size, const char *font,
                         const char *theme, struct carm_err *err);

/* Replaces a kind's default size by the size in look; NULL = no change. Pictures are laid out in units of 1/12 of the
 * font's size: pixels unless --font has a size. */
void carm_plot_look_size(const struct carm_plot_look *look, double *width, double *height);

/* The beginning of every script: terminal, palette, the picture's title.
 * format  default format of the script
 * width   and height: in units */
void carm_plot_put_head(FILE *out, const struct carm_plot_look *look, double width, double height,
                        const char *format, const char *title);
