/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ready code on disk (layout.h), for the next count of a program: a file for each program, in
 * $XDG_CACHE_HOME/carm/translated/, or ~/.cache.
 * A file is read under four conditions: the file and its folder belong to this user and nobody else may write them; its
 * hash shows that it is whole; its key names this engine, libZydis, processor and program; its parts are within it.
 * Other files are ignored. The program compares each of its own files' code before it executes any of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/translate/layout.h"

/* Bytes and files in all: the oldest files go. */
enum { CARM_KEPT_MOST = 256 << 20, CARM_KEPT_FILES = 2048 };

/* Whose code is kept, by CARM_KEEP_CODE: 0; not set; another word. */
enum carm_keep { CARM_KEEP_NONE, CARM_KEEP_COUNTED_AGAIN, CARM_KEEP_ALL };
enum carm_keep carm_kept_wanted(void);
/* Fills ready code, zeroed memory of CARM_READY_BYTES, which is not whole when the file is ignored.
 * memory  its file, at offset 0
 * key     of the engine and the program; also the name on disk
 * returns whether the program was counted before: there is a file, empty or not */
bool carm_kept_read(struct carm_ready *ready, int memory, uint64_t key);
/* Failures, such as no home folder, are silent: the next count is slower. */
void carm_kept_write(const struct carm_ready *ready, uint64_t key);
/* An empty file: the program was counted. */
void carm_kept_mark(uint64_t key);
