/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CARM_MODELS_SOL_LOAD_H
#define CARM_MODELS_SOL_LOAD_H

#include <stddef.h>

#include "base/err.h"

/* All of a file, a pipe, or standard input ("-").
 * most  bytes; more are refused
 * size  out: its bytes, without the zero that ends the text
 * rc    out, on failure: -CARM_EIO, -CARM_EFORMAT (too large) or -CARM_ENOMEM
 * returns the text, to be released with free, or NULL */
char *carm_sol_load(const char *path, size_t most, size_t *size, int *rc, struct carm_err *err);

#endif
