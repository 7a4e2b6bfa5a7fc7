/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties of the terminal: its size, Unicode, colour. */
#pragma once

#include <stdbool.h>

enum { CARM_SCREEN_COLUMNS = 80, CARM_SCREEN_ROWS = 24 }; /* for an unknown size */

/* The size in characters that a picture may fill on that stream: the terminal's size, or 80 by 24 where the stream is
 * no terminal or its size is unknown, less a row for the prompt. On a dumb terminal one column less, since some wrap
 * after the last column. */
void carm_screen_size(int fd, int *columns, int *rows);

/* True when the locale's characters are UTF-8. */
bool carm_screen_utf8(void);

/* True when the stream can show braille and similar characters: the locale has UTF-8, and the stream is not a
 * terminal that is known not to show them (TERM is linux, dumb, vt..., or not set). */
bool carm_screen_unicode(int fd);

/* Begins a line on standard error where another program may have left one unfinished. In a file, the last byte shows
 * it. On a terminal, as many blanks as it has columns reach the next line from every column except the first. On a
 * pipe, a dumb terminal or a terminal of unknown size, nothing is written. */
void carm_screen_begin_line(void);

/* True when colour may go to that stream: a terminal, not a dumb one, NO_COLOR unset or empty. */
bool carm_screen_colour(int fd);
