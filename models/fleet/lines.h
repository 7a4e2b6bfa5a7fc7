/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file that rows are appended to. A row is on its way to the disk as soon as it is appended, and
 * is there whole or not at all: what other files do by a rename at the end would lose every row of a
 * job that is stopped. */
#ifndef CARM_MODELS_FLEET_LINES_H
#define CARM_MODELS_FLEET_LINES_H

#include <stddef.h>

#include "base/err.h"

struct carm_fleet_file {
    int fd;           /* -1 when closed */
    char name[4096];  /* for messages */
    size_t had_bytes; /* size before the first row; rows of earlier jobs stay */
};

/* Makes the folders that lack and the file, or opens it behind its last row; a last line without an
 * end (its writer was killed) is ended, so that it spoils no other. Locks it.
 * returns 0 or -CARM_EIO (cannot be written, is no regular file, another job writes it) */
int carm_fleet_file_open(struct carm_fleet_file *file, const char *name, struct carm_err *err);

/* Appends one line, its end included. What could not be written whole is taken back.
 * returns 0 or -CARM_EIO */
int carm_fleet_file_append(struct carm_fleet_file *file, const char *line, struct carm_err *err);

/* Brings the rows to the disk and closes; a file that was made for nothing is left empty. NULL and a
 * closed one are allowed. returns 0 or -CARM_EIO */
int carm_fleet_file_close(struct carm_fleet_file *file, struct carm_err *err);

#endif
