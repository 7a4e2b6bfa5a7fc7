/* SPDX-License-Identifier: MIT */
/* Text for people: numbers with scaled units, and strings from files made safe to print. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CARM_TEXT_NUMBER_MAX = 32 }; /* any text below that is one number */

/* Length in bytes of the printable ASCII text at the begin of s; it needs no cleaning. */
size_t carm_text_plain(const char *s);

/* Copies src with '?' in place of characters that could steer a terminal or hide text: control
 * characters (C0, DEL, C1), bidirectional and zero-width format characters, and bytes that are
 * not UTF-8. With ascii, '?' also replaces every character that is not ASCII. The copy ends at a
 * character's end when dst is too small.
 * dst   [size], always terminated
 * returns dst */
char *carm_text_clean(char *dst, size_t size, const char *src, bool ascii);

/* Like carm_text_clean, for text in a grid: at most `columns` columns. Characters that take no or
 * two columns (wcwidth in this locale) become '?', too.
 * returns dst */
char *carm_text_fit(char *dst, size_t size, const char *src, size_t columns, bool ascii);

/* Whether a zero-terminated text has a control character (C0, DEL, or C1 in UTF-8): a name in a file could steer a
 * terminal with it. */
bool carm_text_has_controls(const char *s);

/* Writes text in width columns, to the left, or to the right where width is negative. The stream is not locked. */
void carm_text_put(FILE *out, int width, const char *text);

/* Like carm_text_clean, and cuts the text to `columns` columns (> 3), ending with a mark: an
 * ellipsis, or three points with ascii. returns dst */
char *carm_text_cut(char *dst, size_t size, const char *src, size_t columns, bool ascii);

/* Like carm_text_cut, but cuts the begin, and puts the mark there: for names of hosts and layers, which differ at
 * their ends. */
char *carm_text_cut_begin(char *dst, size_t size, const char *src, size_t columns, bool ascii);

/* Like carm_text_cut, but cuts the middle: for names that end with file and line. */
char *carm_text_cut_middle(char *dst, size_t size, const char *src, size_t columns, bool ascii);

/* Columns that a clean UTF-8 string takes, one for each character. */
size_t carm_text_width(const char *s);

/* v with four significant digits and an SI prefix: "712.3 GB/s", "63.80 Gflop/s". returns dst */
char *carm_text_si(char *dst, size_t size, double v, const char *unit);

/* A size in binary units: "48 KiB", "1.9 MiB", "480 MiB". returns dst */
char *carm_text_bytes(char *dst, size_t size, uint64_t bytes);

/* Like vsnprintf and snprintf, several times as fast if all conversions are %s and %.1f (0 to 6 decimals).
 * dst   [size], size > 0 */
__attribute__((format(printf, 3, 0))) void carm_text_vformat(char *dst, size_t size,
                                                             const char *fmt, va_list ap);
/* returns dst */
__attribute__((format(printf, 3, 4))) char *carm_text_format(char *dst, size_t size,
                                                             const char *fmt, ...);

/* Formats what a function with variable arguments got after its parameter fmt.
 * text  an array; longer text is cut off */
#define CARM_TEXT_OF_ARGS(text, fmt)                 \
    do {                                             \
        va_list args_;                               \
        va_start(args_, fmt);                        \
        vsnprintf((text), sizeof(text), fmt, args_); \
        va_end(args_);                               \
    } while (0)

/* Appends to a text, like snprintf; text that does not fit is cut off. */
__attribute__((format(printf, 3, 4))) void carm_text_append(char *text, size_t size,
                                                            const char *fmt, ...);

/* Appends an item to a list, after the separator if the list is not empty; text that does not fit is cut off. */
__attribute__((format(printf, 4, 5))) void carm_text_list(char *list, size_t size,
                                                          const char *separator, const char *fmt,
                                                          ...);
/* Like carm_text_list, but leaves out an item that does not fit. returns false if it was left out */
__attribute__((format(printf, 4, 5))) bool carm_text_list_whole(char *list, size_t size,
                                                                const char *separator,
                                                                const char *fmt, ...);

enum { CARM_TEXT_TIMES_MAX = 16 };
/* A factor with two significant digits, or as a whole number: "1.5", "43", "450"; "over 1e9" above 1e9. returns dst */
char *carm_text_times(char dst[CARM_TEXT_TIMES_MAX], double factor);

/* The time now, ISO 8601 in UTC: "2026-11-21T08:28:11Z". returns dst */
char *carm_text_now(char *dst, size_t size);
