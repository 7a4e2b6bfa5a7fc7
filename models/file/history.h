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
    bool exact;     /* each change of the value is a step; false = the values scatter */
    bool asks;      /* exact except for memory and input from the system: a change above
                 * CARM_HISTORY_ASKS is a step */
    double *values; /* [nfiles] NaN = missing */
    char **causes;  /* [nfiles] causes of a step at the file: "75% in parse, 25% in sum"; NULL = not
                     * known */
    size_t nsteps;
    struct carm_history_step *steps;
};

struct carm_history {
    size_t nfiles;
    char **paths;
    char **labels;   /* names of the files, without folder and .csv */
    bool by_commit;  /* in git's order of the repository of the current folder */
    size_t ncommits; /* files named after a commit of the repository; the others come last, by
                      * name */
    size_t unlike;   /* pairs of neighbouring files without a common name */
    struct carm_history_series *series;
    size_t nseries;
};

/* ALARM: probability of a false step in a series of scattered values; ASKS: share by which counts may vary that depend
 * on memory and input */
#define CARM_HISTORY_ALARM 0.001
#define CARM_HISTORY_ASKS  0.001

/* returns the hashes of all commits, oldest first, a line each, for fclose; NULL = no commit is known */
typedef FILE *carm_history_commits(void);

/* Reads a folder's *.csv, or files in their order. Files of a folder are in the order of commits where a name is a
 * commit's hash or its beginning; otherwise by name, numbers in names by value.
 * how    borrowed for the call
 * noise  smallest step of values that scatter, a share
 * only   a pattern of names; NULL = all
 * list   called where a name may be the hash of a commit
 * returns 0; -CARM_EINVAL (fewer than two files); as carm_points_compare. carm_history_close in each case */
int carm_history_read(struct carm_history *history, char *const *operands, size_t n,
                      const struct carm_points_how *how, double noise, const char *only,
                      carm_history_commits *list, struct carm_err *err);
void carm_history_close(struct carm_history *history);
