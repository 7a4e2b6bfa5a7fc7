/* SPDX-License-Identifier: MIT */
/* Text for people: numbers with scaled units, and strings from files made safe to print. */
#ifndef CARM_BASE_TEXT_H
#define CARM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CARM_TEXT_NUMBER_MAX = 32, /* any text below that stands for one number */
    CARM_TEXT_COLUMNS = 80,    /* of a terminal that does not tell */
    CARM_TEXT_ROWS = 24,
};

/* Copies src without what could steer a terminal or hide text: control characters (C0, DEL, C1),
 * bidirectional and zero-width format characters and bytes that are no UTF-8 become '?'; with
 * ascii, so does each character that is not ASCII. Cut at a character when dst is too small.
 * dst   [size], always terminated
 * returns dst */
char *carm_text_clean(char *dst, size_t size, const char *src, bool ascii);

/* The same for text that stands in a grid: cut at so many columns, and characters that take none or
 * two of them (wcwidth in this locale) become '?', too. returns dst */
char *carm_text_fit(char *dst, size_t size, const char *src, size_t columns, bool ascii);

/* Columns that a clean UTF-8 string takes, one for each character. */
size_t carm_text_width(const char *s);

/* v with four significant digits and an SI prefix: "712.3 GB/s", "63.80 Gflop/s". returns dst */
char *carm_text_si(char *dst, size_t size, double v, const char *unit);

/* A size in binary units: "48 KiB", "1.9 MiB", "480 MiB". returns dst */
char *carm_text_bytes(char *dst, size_t size, uint64_t bytes);

/* The time now, ISO 8601 in UTC: "2026-11-21T08:28:11Z". returns dst */
char *carm_text_now(char *dst, size_t size);

/* True when the locale's characters are UTF-8. */
bool carm_text_locale_utf8(void);

/* True when braille and the like may go to that stream: the locale has UTF-8, and the stream is no
 * terminal that is known to lack them (TERM is linux, dumb, vt..., or not set). */
bool carm_text_may_unicode(int fd);

/* The size in characters that a picture may fill on that stream: that of the terminal, less a row
 * for the prompt; 80 by 24 less that row where it is none or does not tell. On a dumb terminal a
 * column less, since some wrap after the last one. */
void carm_text_screen(int fd, int *columns, int *rows);

/* True when colour may go to that stream: a terminal, not a dumb one, NO_COLOR unset or empty. */
bool carm_text_may_colour(int fd);

#endif
