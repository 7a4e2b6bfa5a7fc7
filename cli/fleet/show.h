/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet show: the groups of a fleet and its outliers as text, CSV and JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "models/fleet/fleet.h"

/* The command line of show and report; NULL where not given. */
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

struct carm_fleet_page {
    const struct carm_fleet *fleet;
    struct carm_fleet_options options;
    size_t group;     /* number of the only group to print, from 1; 0 = all */
    const char *roof; /* part of a roof's label; NULL = all roofs */
    size_t top;       /* nodes in a list */
    bool suspects;    /* list them */
    bool ascii;
};

/* Reads the options for judging, and checks that there are paths. command: "show" or "report" */
int carm_fleet_parse(const struct carm_fleet_words *words, const char *command,
                     struct carm_fleet_options *o, struct carm_err *err);

/* Reads, judges and prints.
 * returns 0; -CARM_EINVAL (misuse); -CARM_EIO; -CARM_EFORMAT (nothing to judge, or a broken file under
 * --strict, after the rest was printed); -CARM_ENOMEM */
int carm_fleet_show(const struct carm_fleet_words *words, struct carm_err *err);

/* Whether --group and --roof select a group and a column. */
static inline bool carm_fleet_wants_group(const struct carm_fleet_page *page, size_t group)
{
    return page->group == 0 || page->group == group + 1;
}

static inline bool carm_fleet_wants_column(const struct carm_fleet_page *page,
                                           const struct carm_fleet_column *column)
{
    char label[CARM_FLEET_LABEL_MAX];
    return !page->roof ||
           strcasestr(carm_fleet_label(label, sizeof label, column, page->ascii), page->roof);
}

/* Groups, then the lists: outliers, suspects, drift, failed nodes, notes. */
void carm_fleet_put_text(const struct carm_fleet_page *page);

/* returns 0 or -CARM_ENOMEM */
int carm_fleet_put_json(const struct carm_fleet_page *page, struct carm_err *err);
