/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where carm's files are when the user names none. */
#ifndef CARM_PATHS_H
#define CARM_PATHS_H

#include <stddef.h>

#include "asm/err.h"

/* The default model of this machine: $XDG_DATA_HOME/carm/HOST.json, or below ~/.local/share when
 * that variable is unset, empty or no absolute path (as the XDG specification has it).
 * path  [size_bytes]; untouched on error
 * returns 0 or -CARM_EIO (no home folder, path too long) */
int carm_default_model_path(char *path, size_t size_bytes, struct carm_err *err);

#endif
