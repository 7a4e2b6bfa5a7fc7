/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of points, one for each commit: the values of each point over them, and their steps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/file/points.h"
#include "models/place/steps.h"
#include "models/place/change.h"

/* One quantity of one point. */
struct carm_history_series {
    char *name;
    enum carm_change_kind kind;
    bool exact; /* each change is a step; else the values scatter */
    bool
        asks; /* exact but for what the program asks the system for: each change by CARM_HISTORY_ASKS */
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

/* Chance of a step in what scatters and has none; share of exact counts that may vary */
#define CARM_HISTORY_ALARM 0.001
#define CARM_HISTORY_ASKS  0.001

/* Reads a folder's *.csv, or files in their order. Where a name of a folder's file is that of a commit, or the begin of
 * one, git tells the order, else the names, with numbers in them as numbers.
 * how    borrowed for the call
 * noise  least step of what scatters, a share
 * only   a pattern of names; NULL = all
 * returns 0; -CARM_EINVAL (fewer than two files); as carm_points_compare. carm_history_close in each case */
int carm_history_read(struct carm_history *history, char *const *operands, size_t n,
                      const struct carm_points_how *how, double noise, const char *only,
                      struct carm_err *err);
void carm_history_close(struct carm_history *history);
