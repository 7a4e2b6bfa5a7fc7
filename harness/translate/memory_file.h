/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files in memory that carm shares with programs. */
#pragma once

#include <stdint.h>

/* A file of `bytes` zero bytes; closed by exec. Sealed against shrinking, so that mappings of the
 * file stay readable.
 * returns a descriptor, or -1 (errno) */
int carm_memory_file(const char *name, uint64_t bytes);
