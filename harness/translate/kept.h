/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translated blocks on disk, for the next count of a program: $XDG_CACHE_HOME/carm/translated/, or ~/.cache.
 * A file is read under four conditions: the file and its folder belong to this user and nobody else may write them; its
 * hash shows that it is whole; its key names this engine, libZydis and program; each number in it is within bounds.
 * Other files are ignored. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/translate/layout.h"

enum { CARM_KEPT_MOST = 256 << 20 }; /* bytes in all: the oldest files go */

/* Whether CARM_KEEP_CODE is set. Not by default: the first count of a program then translates its code twice
 * (gcc on a small file: 917 ms in place of 497 ms, 42 MB on disk), and a second one gains a fifth (409 ms). */
bool carm_kept_wanted(void);
/* Fills an empty stock, which stays empty when the file is ignored.
 * key  of the engine and the program; also the file's name */
void carm_kept_read(struct carm_stock *stock, uint64_t key);
/* Failures, such as no home folder, are silent: the next count is slower. */
void carm_kept_write(const struct carm_stock *stock, uint64_t key);
