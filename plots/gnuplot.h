/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gnuplot as a child: a script goes in, a picture comes out. */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* The format that a file name's end asks for: "svg", "png", "pdf", or NULL. */
const char *carm_gnuplot_format(const char *path);

/* An empty file in memory for a script or a picture: a child process can inherit it, and no folder for temporary files
 * is needed. fclose releases it. returns 0 or -CARM_EIO; *out is NULL then */
int carm_gnuplot_open(FILE **out, struct carm_err *err);

/* Draws the script (from its beginning) into the file at path, which is replaced in one step.
 * returns 0 or -CARM_EIO (gnuplot is missing or complains, path cannot be written) */
int carm_gnuplot_draw(FILE *script, const char *path, struct carm_err *err);

/* Copies the file `from` (a script, a picture) into the file at path, which is replaced in one
 * step, or to standard output for NULL. returns 0 or -CARM_EIO */
int carm_gnuplot_deliver(FILE *from, const char *path, struct carm_err *err);
