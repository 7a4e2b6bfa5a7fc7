/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files in memory that carm shares with programs. */
#ifndef CARM_HARNESS_TRANSLATE_MEMORY_FILE_H
#define CARM_HARNESS_TRANSLATE_MEMORY_FILE_H

#include <stdint.h>

/* A file of `bytes` zero bytes; closed by exec. Sealed against shrinking, so that mappings of the
 * file stay readable.
 * returns a descriptor, or -1 (errno) */
int carm_memory_file(const char *name, uint64_t bytes);

#endif
