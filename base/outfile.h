/* SPDX-License-Identifier: MIT */
/* A file that replaces its target in one step. The text goes to a temporary file in the target's
 * folder; a commit renames it. A run that fails or stops leaves the old file whole. The new file
 * has the mode and the owner of the old one where this is permitted. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

struct carm_outfile;

/* Creates missing folders and the temporary file, and removes temporary files that killed
 * processes of this host left in the folder. A link is followed to the file it names. A target
 * that exists and is not a regular file is refused.
 * returns 0 or -CARM_EIO (names path and remedy) or -CARM_ENOMEM; *out is NULL then */
int carm_outfile_open(const char *path, struct carm_outfile **out, struct carm_err *err);

/* Whether a file can be made at path, with nothing left behind: errors as carm_outfile_open. */
int carm_outfile_check(const char *path, struct carm_err *err);

/* Creates the missing folders of path, for a file that is opened in another way: errors as
 * carm_outfile_open. */
int carm_outfile_folders(const char *path, struct carm_err *err);

/* Writes all bytes to a descriptor, also where signals interrupt. returns 0, or -1 with errno */
int carm_outfile_write_all(int fd, const void *data, size_t size_bytes);

/* Appends size_bytes bytes. returns 0 or -CARM_EIO */
int carm_outfile_write(struct carm_outfile *file, const void *data, size_t size_bytes,
                       struct carm_err *err);

/* Brings the bytes to the disk and renames. returns 0 or -CARM_EIO; the target is untouched then */
int carm_outfile_commit(struct carm_outfile *file, struct carm_err *err);

/* Releases; without an earlier commit the temporary file is removed. NULL allowed. */
void carm_outfile_close(struct carm_outfile *file);

/* Opens, writes size_bytes bytes and commits. Errors as carm_outfile_open, _write and _commit. */
int carm_outfile_put(const char *path, const void *data, size_t size_bytes, struct carm_err *err);

/* Like carm_outfile_put, through a stream.
 * path  NULL is standard output, which is neither flushed nor checked
 * put   writes everything; returns 0 or a negative CARM_E*: the old file stays then
 * returns the value of put, or errors as carm_outfile_put */
int carm_outfile_print(const char *path,
                       int (*put)(FILE *out, const void *context, struct carm_err *err),
                       const void *context, struct carm_err *err);
