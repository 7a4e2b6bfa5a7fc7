/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of text into a file that is replaced in one step, or to standard output. */
#ifndef CARM_CLI_SOL_FILE_H
#define CARM_CLI_SOL_FILE_H

#include <stdio.h>

#include "base/err.h"

enum { CARM_SOL_FIELD_MAX = 256 }; /* bytes of a field, with the terminating zero */

/* path     "-" is standard output
 * put      writes all rows; returns 0 or a negative CARM_E*: the old file stays then
 * returns what put returns, -CARM_EIO or -CARM_ENOMEM */
int carm_sol_file_write(const char *path,
                        int (*put)(FILE *out, const void *context, struct carm_err *err),
                        const void *context, struct carm_err *err);

/* A field of CSV: clean, in quotes where RFC 4180 wants them. */
void carm_sol_file_text(FILE *out, const char *s);

/* A number, whole ones below 2^53 in full, others with twelve digits; nothing where it has no end. */
void carm_sol_file_number(FILE *out, double v);

#endif
