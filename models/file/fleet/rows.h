/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of fleet.jsonl: one JSON object a line, with a node's model or the reason why it has
 * none; and appending to the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The origin of a row: identifies a node among nodes of the same name. */
struct carm_fleet_who {
    char host[256];
    char job[128];    /* of the batch system; "" = none */
    char boot_id[40]; /* the kernel's boot id, new at every boot of every node; "" = unknown */
    int rank;         /* of MPI; -1 = none */
};

/* This process's host, job and boot. */
void carm_fleet_who_read(struct carm_fleet_who *who, int rank);

/* A row's line, its end included; to be released with free.
 * status  "ok", "failed" (carm build said why), "killed" (by a signal), "timeout" or "lost" (the rank
 *         never reported)
 * reason  a sentence; NULL = none
 * model   text of a model file; NULL = none
 * returns NULL when out of memory, or where model is no JSON */
char *carm_fleet_row_text(const struct carm_fleet_who *who, const char *status, const char *reason,
                          const char *model);

/* The result that a row reports, for messages. */
struct carm_fleet_row_said {
    bool ok;
    char status[16];
    char reason[512]; /* "" = none */
};

/* Reads status and reason from a row's line. A line that is no row gives status "failed" with a
 * reason. */
void carm_fleet_row_read(const char *line, struct carm_fleet_row_said *said);

/* The file that rows are appended to. An appended row is written at once, whole or not at all.
 * Replacing the file at the end, as other outputs do, would lose every row of a job that is
 * stopped. */
struct carm_fleet_file {
    int fd;          /* -1 when closed */
    char name[4096]; /* for messages */
};

/* Creates missing folders and the file, or opens it behind its last row; a last line without an
 * end (its writer was killed) is ended, so that it spoils no other. Locks it.
 * returns 0 or -CARM_EIO (cannot be written, is no regular file, another job writes it) */
int carm_fleet_file_open(struct carm_fleet_file *file, const char *name, struct carm_err *err);

/* Appends one line, its end included. A line that could not be written whole is removed again.
 * returns 0 or -CARM_EIO */
int carm_fleet_file_append(struct carm_fleet_file *file, const char *line, struct carm_err *err);

/* Brings the rows to the disk and closes; a new file without rows stays, empty. NULL and a closed file are allowed.
 * returns 0 or -CARM_EIO */
int carm_fleet_file_close(struct carm_fleet_file *file, struct carm_err *err);
