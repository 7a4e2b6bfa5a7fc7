/* SPDX-License-Identifier: MIT */
/* Names of output files: %h, %j, %t and %d stand for this host, job, rank and day, so that one
 * command line serves every node of a cluster. */
#ifndef CARM_BASE_OUTNAME_H
#define CARM_BASE_OUTNAME_H

#include <stddef.h>

#include "base/err.h"

/* For --help and the man page, of every command with such an option. */
#define CARM_OUTNAME_HELP                                                                           \
    "In the names of files that are written, %h stands for this host, %j for the job (Slurm, with " \
    "the task of an array; PBS, LSF), %t for this process's rank (srun, mpirun; else 0), %d for "   \
    "the day in UTC (2026-11-21) and %% for a percent sign. Folders that lack are made."

/* Writes the name that a pattern stands for. Host and job come without slashes, blanks and a leading
 * dot.
 * path  [size]; untouched on error
 * returns 0, or -CARM_EINVAL: no such letter, %j outside a job, too long */
int carm_outname_expand(const char *pattern, char *path, size_t size, struct carm_err *err);

#endif
