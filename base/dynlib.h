/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded at run time, where there are any. */
#ifndef CARM_BASE_DYNLIB_H
#define CARM_BASE_DYNLIB_H

#include <stddef.h>

/* Loads a library; it stays loaded.
 * title     what messages call it
 * variable  of the environment: names its file in place of the usual ones
 * usual     [n] sonames, the best first; the first one's failure is the reason
 * version   out: as its file's name has it, "" when it cannot be loaded; NULL = not wanted
 * reason    [size] out: why it cannot be loaded
 * returns a handle or NULL */
void *carm_dynlib_open(const char *title, const char *variable, const char *const *usual, size_t n,
                       char version[32], char *reason, size_t size);

#endif
