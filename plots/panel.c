/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/panel.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
#include "base/text.h"

unsigned carm_plot_rgb(size_t i)
{
    static const unsigned rgb[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9};
    return rgb[i % (sizeof rgb / sizeof *rgb)];
}

double carm_plot_text_px(const char *s)
{
    /* DejaVu Sans, the widest of the usual fonts, has digits of 0.64 em. */
    return 0.64 * CARM_PLOT_FONT_PX * (double)carm_text_width(s);
}

void carm_plot_put_text(FILE *out, const char *s)
{
    char clean[CARM_TEXT_MAX];
    carm_text_clean(clean, sizeof clean, s, false);
    fputc('"', out);
    for (const char *p = clean; *p; p++) {
        fputc(*p == '"' ? '\'' : *p == '\\' ? '/' : *p, out);
    }
    fputc('"', out);
}

void carm_plot_put_line(FILE *out, const char *s, double max_px)
{
    char clean[2 * CARM_TEXT_MAX];
    carm_text_clean(clean, sizeof clean, s, false);
    bool cut = carm_plot_text_px(clean) > max_px;
    while (*clean && carm_plot_text_px(clean) > max_px - (cut ? carm_plot_text_px("\u2026") : 0)) {
        char *end = clean + strlen(clean) - 1;
        while (end > clean && ((unsigned char)*end & 0xc0) == 0x80) {
            end--;
        }
        *end = 0;
    }
    fprintf(out, "|%s%s\n", clean, cut ? "\u2026" : "");
}

void carm_plot_put_box(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                       struct carm_plot_axis x, struct carm_plot_axis y, const char *title)
{
    FILE *out = canvas->out;
    fprintf(out, "set lmargin at screen %.6f\n", box.left / canvas->width);
    fprintf(out, "set rmargin at screen %.6f\n", (box.left + box.width) / canvas->width);
    fprintf(out, "set bmargin at screen %.6f\n", box.bottom / canvas->height);
    fprintf(out, "set tmargin at screen %.6f\n", (box.bottom + box.height) / canvas->height);
    fprintf(out, "set xrange [%.9g:%.9g]\n", pow(10, x.lo), pow(10, x.hi));
    fprintf(out, "set yrange [%.9g:%.9g]\n", pow(10, y.lo), pow(10, y.hi));
    fputs("$panel << CARM_END\n", out);
    carm_plot_put_line(out, title, box.width + 40);
    fputs("CARM_END\nset title $panel[1][2:*]\n", out);
}

/* Writes ticks at powers of two whose exponents are multiples of a step: the smallest step that
 * gives each tick tick_px pixels. text: makes a tick's label */
static void put_ticks2(FILE *out, struct carm_plot_axis x, double width_px, double tick_px,
                       void (*text)(char *dst, size_t size, int exponent))
{
    double lo = x.lo / log10(2), hi = x.hi / log10(2);
    int step = 1;
    while (width_px / (hi - lo) * step < tick_px) {
        step *= 2;
    }
    const char *comma = "";
    fputs("set xtics (", out);
    for (int e = (int)ceil(lo / step) * step; e <= hi; e += step) {
        char label[CARM_TEXT_NUMBER_MAX];
        text(label, sizeof label, e);
        fprintf(out, "%s\"%s\" %.9g", comma, label, exp2(e));
        comma = ", ";
    }
    fputs(")\n", out);
}

static void intensity_text(char *dst, size_t size, int e)
{
    if (e > 13 || e < -13) {
        snprintf(dst, size, "2^%d", e);
    } else if (e < 0) {
        snprintf(dst, size, "1/%d", 1 << -e);
    } else {
        snprintf(dst, size, "%d", 1 << e);
    }
}

static void size_text(char *dst, size_t size, int e)
{
    carm_text_bytes(dst, size, e < 0 || e > 62 ? 0 : (uint64_t)1 << e);
}

void carm_plot_put_intensity_ticks(FILE *out, struct carm_plot_axis x, double width_px)
{
    put_ticks2(out, x, width_px, 46, intensity_text);
}

void carm_plot_put_size_ticks(FILE *out, struct carm_plot_axis x, double width_px)
{
    put_ticks2(out, x, width_px, 66, size_text);
}

/* A tick's label: "20 k", "1 M" with si, else "20000", "1e6" */
static void decimal_text(char *dst, size_t size, double v, bool si)
{
    static const char *const prefixes[] = {"", " k", " M", " G", " T", " P"};
    size_t i = 0;
    while (si && v > 999 && i + 1 < sizeof prefixes / sizeof *prefixes) {
        v /= 1000;
        i++;
    }
    if (v >= 0.0099 && v < 99999) {
        snprintf(dst, size, "%.6g%s", v, prefixes[i]);
    } else {
        const double exponent = floor(log10(v) + 1e-9);
        snprintf(dst, size, "%.0fe%.0f%s", v / pow(10, exponent), exponent, prefixes[i]);
    }
}

/* Whether a value is inside a range, which is in logarithms. */
static bool is_inside(struct carm_plot_axis range, double v)
{
    return log10(v) >= range.lo - 1e-9 && log10(v) <= range.hi + 1e-9;
}

/* Leading digits of ticks: 1; 1, 2 and 5 if there is room; all digits if there would be fewer than
 * three ticks. */
static const char *leading_digits(struct carm_plot_axis range, double decade_px, double tick_px)
{
    int n = 0;
    for (int d = (int)floor(range.lo); d <= range.hi; d++) {
        n += is_inside(range, pow(10, d)) + is_inside(range, 2 * pow(10, d)) +
             is_inside(range, 5 * pow(10, d));
    }
    return n < 3 && decade_px * log10(10.0 / 9.0) >= tick_px ? "123456789"
           : decade_px * log10(2) >= tick_px                 ? "125"
                                                             : "1";
}

void carm_plot_put_decimal_ticks(FILE *out, char axis, struct carm_plot_axis range, double px)
{
    const double decade_px = px / (range.hi - range.lo);
    const char *digits = leading_digits(range, decade_px, axis == 'y' ? 22 : 60);
    int step = 1;
    while (decade_px * step < (axis == 'y' ? 22 : 50)) {
        step *= 2;
    }
    const char *comma = "";
    fprintf(out, "set %ctics (", axis);
    for (int d = (int)floor(range.lo / step) * step; d <= range.hi; d += step) {
        for (const char *k = digits; *k; k++) {
            const double v = pow(10, d) * (*k - '0');
            if (!is_inside(range, v)) {
                continue;
            }
            char label[CARM_TEXT_NUMBER_MAX];
            decimal_text(label, sizeof label, v, axis == 'x');
            fprintf(out, "%s\"%s\" %.9g", comma, label, v);
            comma = ", ";
        }
    }
    fputs(")\n", out);
}

double carm_plot_prefix(double max, const char **prefix)
{
    *prefix = max >= 1e13 ? "T" : max >= 1e8 ? "G" : "M";
    return max >= 1e13 ? 1e12 : max >= 1e8 ? 1e9 : 1e6;
}

enum { SIZE_LEAST = 240, SIZE_MOST = 10000, FONT_LEAST = 4, FONT_MOST = 96, FONT_USUAL = 12 };

static bool parse_pixels(const char **at, char end, int *pixels)
{
    char *behind = NULL;
    errno = 0;
    const long n = isdigit((unsigned char)**at) ? strtol(*at, &behind, 10) : 0;
    if (n < SIZE_LEAST || n > SIZE_MOST || errno || *behind != end) {
        return false;
    }
    *pixels = (int)n;
    *at = behind + 1;
    return true;
}

static bool parse_size(struct carm_plot_look *look, const char *size)
{
    return !size ||
           (parse_pixels(&size, 'x', &look->width) && parse_pixels(&size, '\0', &look->height));
}

/* Whether a character may be in a font's name. Characters beyond ASCII count as letters. */
static bool is_font_char(char c)
{
    return isalnum((unsigned char)c) || strchr(" -_.", c) || (unsigned char)c >= 0x80;
}

static bool parse_font(struct carm_plot_look *look, const char *font)
{
    if (!font) {
        return true;
    }
    const char *comma = strrchr(font, ',');
    const size_t n = comma ? (size_t)(comma - font) : strlen(font);
    char clean[sizeof look->font];
    char *end = NULL;
    if (n >= sizeof look->font || (n == 0 && !comma)) {
        return false;
    }
    memcpy(look->font, font, n);
    look->font[n] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (!is_font_char(font[i])) {
            return false;
        }
    }
    /* refuses invisible characters, and bytes that are not UTF-8, which carm_text_clean replaces */
    if (strcmp(carm_text_clean(clean, sizeof clean, look->font, false), look->font) != 0) {
        return false;
    }
    if (comma) {
        look->font_px = isdigit((unsigned char)comma[1]) ? strtod(comma + 1, &end) : 0.0;
        return end && !*end && look->font_px >= FONT_LEAST && look->font_px <= FONT_MOST;
    }
    return true;
}

int carm_plot_look_parse(struct carm_plot_look *look, const char *size, const char *font,
                         const char *theme, struct carm_err *err)
{
    memset(look, 0, sizeof *look);
    look->font_px = FONT_USUAL;
    theme = theme ? theme : "light";
    if (!parse_size(look, size)) {
        return carm_fail(err, CARM_EINVAL,
                         "--size is WIDTHxHEIGHT in pixels, each from %d to %d: --size 1200x800",
                         SIZE_LEAST, SIZE_MOST);
    }
    if (!parse_font(look, font)) {
        return carm_fail(err, CARM_EINVAL,
                         "--font is a family's name (letters, digits, blanks and -_.) and a size "
                         "from %d to %d: --font 'DejaVu Serif,14'",
                         FONT_LEAST, FONT_MOST);
    }
    if (strcmp(theme, "light") != 0 && strcmp(theme, "dark") != 0 && strcmp(theme, "print") != 0) {
        return carm_fail(err, CARM_EINVAL, "--theme is light, dark or print");
    }
    snprintf(look->theme, sizeof look->theme, "%s", theme);
    return 0;
}

static double zoom_of(const struct carm_plot_look *look)
{
    return look ? look->font_px / CARM_PLOT_FONT_PX : 1.0;
}

void carm_plot_look_size(const struct carm_plot_look *look, double *width, double *height)
{
    if (look && look->width > 0) {
        *width = look->width / zoom_of(look);
        *height = look->height / zoom_of(look);
    }
}

void carm_plot_put_head(FILE *out, const struct carm_plot_look *look, double width, double height,
                        const char *format, const char *title)
{
    fprintf(out,
            "# Made by carm plot. Draw it with: gnuplot FILE.gp > FILE.%s\n"
            "# or, in another format: gnuplot -e 'format=\"pdf\"' FILE.gp > FILE.pdf\n"
            "if (!exists(\"format\")) format = \"%s\"\n",
            format, format);
    if (look) {
        fprintf(out,
                "if (!exists(\"theme\")) theme = \"%s\" # light, dark or print\n"
                "if (!exists(\"font_name\")) font_name = \"%s\"\nzoom = %.9g\n",
                look->theme, look->font, zoom_of(look));
    }
    if (look && look->width > 0) { /* exactly this size in pixels */
        fputs("density = 1\n", out);
    }
    fprintf(out, "canvas_width = %.9g\ncanvas_height = %.9g\n$title << CARM_END\n", width, height);
    /* the title's font is larger than the others: 14 to 12 (plots/scripts/common.gp) */
    carm_plot_put_line(out, title, (width - 40) * 12 / 14.0);
    fprintf(out, "CARM_END\n%s", carm_asset_plot_common);
}
