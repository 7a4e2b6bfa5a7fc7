/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ready code on disk (layout.h), for the next count of a program: a file for each program, in
 * $XDG_CACHE_HOME/carm/translated/, or ~/.cache.
 * A file is read under four conditions: the file and its folder belong to this user and nobody else may write them; its
 * hash shows that it is whole; its key names this engine, libZydis, processor and program; its parts lie within it.
 * Other files are ignored. The program compares the code of each of its mapped files before it executes kept code. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/translate/layout.h"

/* Most bytes and files in all; beyond, the oldest files are deleted. */
enum { CARM_KEPT_MOST = 256 << 20, CARM_KEPT_FILES = 2048 };

bool carm_kept_wanted(void); /* CARM_KEEP_CODE is not 0 */
/* Whether all parts of ready code lie within its bytes. The engine checks the tables of its cache itself (cache.c). */
bool carm_kept_fits(const struct carm_ready *ready);
uint64_t carm_kept_hash(const struct carm_ready *ready); /* of all bytes except the member check */
/* Maps the ready code that is kept under a key, which is also its name on disk. The file is this user's, and nobody
 * writes to it: newer code is a new file.
 * fd  out: descriptor of the file; -1 = none
 * returns NULL: there is none, or the file is ignored */
struct carm_ready *carm_kept_read(uint64_t key, int *fd);
/* Sets its key and check. Failures, such as no home folder, are silent: the next count is slower. */
void carm_kept_write(struct carm_ready *ready, uint64_t key);
