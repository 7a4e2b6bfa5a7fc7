/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of points, one for each commit: the values of each point over them, and their steps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "models/file/points.h"
#include "models/place/steps.h"
#include "models/place/change.h"

/* One quantity of one point. */
struct carm_history_series {
    char *name;
    enum carm_change_kind kind;
    bool exact; /* each change is a step; else the values scatter */
    bool asks;  /* exact but for memory and input of the system: each change by CARM_HISTORY_ASKS */
    double *values; /* [nfiles] NaN = missing */
    char **causes;  /* [nfiles] of a change there: "75% in parse, 25% in sum"; NULL = not known */
    size_t nsteps;
    struct carm_history_step *steps;
};

struct carm_history {
    size_t nfiles;
    char **paths;
    char **labels;   /* names of the files, without folder and .csv */
    bool by_commit;  /* in git's order of the repository of the current folder */
    size_t ncommits; /* files that are commits there; the others come last, by name */
    size_t unlike;   /* neighbours that have no name in common */
    struct carm_history_series *series;
    size_t nseries;
};

/* Chance that a series of scattered values without a step shows one; share by which exact counts may vary */
#define CARM_HISTORY_ALARM 0.001
#define CARM_HISTORY_ASKS  0.001

/* returns the hashes of all commits, oldest first, a line each, for fclose; NULL = no commit is known */
typedef FILE *carm_history_commits(void);

/* Reads a folder's *.csv, or files in their order. Files of a folder are in the order of commits where the name of one
 * is the hash of a commit or its beginning; otherwise in the order of their names, with numbers in them as numbers.
 * how    borrowed for the call
 * noise  least step of values that scatter, a share
 * only   a pattern of names; NULL = all
 * list   called where a name may be the hash of a commit
 * returns 0; -CARM_EINVAL (fewer than two files); as carm_points_compare. carm_history_close in each case */
int carm_history_read(struct carm_history *history, char *const *operands, size_t n,
                      const struct carm_points_how *how, double noise, const char *only,
                      carm_history_commits *list, struct carm_err *err);
void carm_history_close(struct carm_history *history);
