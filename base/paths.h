/* SPDX-License-Identifier: MIT */
/* Where carm's files are when the user names none. */
#ifndef CARM_BASE_PATHS_H
#define CARM_BASE_PATHS_H

#include <stddef.h>

#include "base/err.h"

enum { CARM_HOST_MAX = 256 };

/* Makes text a part of a file's name: no folders, no blanks, nothing hidden. */
void carm_clean_name(char *name);

/* The name of this host as a part of a file's name; "localhost" where it has none. */
void carm_host_name(char host[CARM_HOST_MAX]);

/* The default model of this machine: $XDG_DATA_HOME/carm/HOST.json, or below ~/.local/share when
 * that variable is unset, empty or no absolute path (as the XDG specification has it).
 * path  [size_bytes]; untouched on error
 * returns 0 or -CARM_EIO (no home folder, path too long) */
int carm_default_model_path(char *path, size_t size_bytes, struct carm_err *err);

#endif
