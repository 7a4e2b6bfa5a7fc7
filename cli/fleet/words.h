/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the command line of `carm fleet` gives to its sub-commands; NULL where not given. */
#ifndef CARM_CLI_FLEET_WORDS_H
#define CARM_CLI_FLEET_WORDS_H

#include "validation/build/config.h"

/* Of show and report. */
struct carm_fleet_words {
    char **paths; /* [npaths] files and folders */
    int npaths;
    const char *group;       /* show: a number */
    const char *roof;        /* show: a part of a roof's label */
    const char *top;         /* show: a number */
    const char *fdr;         /* percent */
    const char *min_percent; /* percent */
    const char *csv;         /* show: file, - = standard output */
    const char *json;        /* show: "" = print JSON in place of tables */
    const char *ceilings;    /* "" = judge measured ceilings, too */
    const char *suspects;    /* show: "" = list them */
    const char *strict;      /* "" = a broken file is a failure */
    const char *ascii;       /* show: "" = plain ASCII */
    const char *output;      /* report: file of the page */
    const char *title;       /* report */
};

/* Of build. */
struct carm_fleet_build_words {
    struct carm_build_words build; /* what each node's `carm build` is given */
    const char *counters;          /* the same */
    const char *output;            /* fleet.jsonl, on the node of rank 0 */
    const char *time_limit;        /* seconds that a node may take */
};

#endif
