/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/look.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
#include "plots/panel.h"
#include "base/text.h"

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

/* Characters beyond ASCII are letters as far as a font's name goes. */
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
    /* what hides or is no UTF-8 does not stay the same */
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
    (void)snprintf(look->theme, sizeof look->theme, "%s", theme);
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
    (void)fprintf(out,
                  "# Made by carm plot. Draw it with: gnuplot FILE.gp > FILE.%s\n"
                  "# or, in another format: gnuplot -e 'format=\"pdf\"' FILE.gp > FILE.pdf\n"
                  "if (!exists(\"format\")) format = \"%s\"\n",
                  format, format);
    if (look) {
        (void)fprintf(out,
                      "if (!exists(\"theme\")) theme = \"%s\" # light, dark or print\n"
                      "if (!exists(\"font_name\")) font_name = \"%s\"\nzoom = %.9g\n",
                      look->theme, look->font, zoom_of(look));
    }
    if (look && look->width > 0) { /* so many dots and no more */
        (void)fputs("density = 1\n", out);
    }
    (void)fprintf(out, "canvas_width = %.9g\ncanvas_height = %.9g\n$title << CARM_END\n", width,
                  height);
    /* Its font is larger than the others: 14 to 12 (plots/scripts/common.gp). */
    carm_plot_put_line(out, title, (width - 40) * 12 / 14.0);
    (void)fprintf(out, "CARM_END\n%s", carm_asset_plot_common);
}
