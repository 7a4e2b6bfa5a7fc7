/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that `carm build` and `carm validate` share: lists, levels, repetitions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/model.h"

enum {
    CARM_LIST_MAX = 16, /* words of one list */
    CARM_REPS_MIN = 16, /* below, a confidence interval says nothing */
    CARM_REPS = 8192,   /* Ilic et al. 2014: "the median of 8192 micro-benchmark repetitions" */
    CARM_REPS_QUICK = 1024,
    /* seconds */
    CARM_BUDGET = 60,          /* of a build */
    CARM_BUDGET_VALIDATE = 60, /* of a validation */
    CARM_BUDGET_QUICK = 10,
    CARM_BUDGET_LEAST = 5, /* seconds of the smallest build: a smaller budget is raised to this */
    CARM_BUDGET_CEILINGS = 15, /* added by default for ceilings */
    CARM_BUDGET_LATENCY = 6,   /* added to CARM_BUDGET_QUICK for latencies */
    CARM_BUDGET_SCALING = 15,  /* added for --scaling */
};

/* Levels to measure, "L1", ..., "DRAM"; an empty list: all. */
struct carm_level_list {
    char names[CARM_LIST_MAX][CARM_NAME_MAX];
    size_t n;
};

bool carm_level_list_has(const struct carm_level_list *list, const char *level);

/* Calls take for each word of a comma-separated list.
 * option  "levels", for messages
 * returns 0, the first non-zero result of take, or -CARM_EINVAL (no word, or too many) */
int carm_list_each(const char *list, const char *option,
                   int (*take)(void *to, const char *word, struct carm_err *err), void *to,
                   struct carm_err *err);

/* Reads --budget, seconds. NULL: usual_seconds, or CARM_BUDGET_QUICK; proportionally less if fewer repetitions than
 * usual are asked for. returns 0 or -CARM_EINVAL */
int carm_budget_parse(const char *word, double usual_seconds, bool quick, size_t reps,
                      double *seconds, struct carm_err *err);

/* Repetitions behind every point. word: NULL = not given, then *reps stays
 * returns 0 or -CARM_EINVAL */
int carm_reps_parse(const char *word, size_t *reps, struct carm_err *err);
