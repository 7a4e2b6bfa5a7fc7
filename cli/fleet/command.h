/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet: the nodes of a cluster. */
#ifndef CARM_CLI_FLEET_COMMAND_H
#define CARM_CLI_FLEET_COMMAND_H

#include "base/err.h"
#include "cli/fleet/build.h"
#include "cli/opt.h"

/* The words of `carm fleet`, NULL where not given. */
struct carm_fleet_words {
    char **paths; /* [npaths] operands behind the first */
    int npaths;
    const char *group;                  /* a number */
    const char *roof;                   /* a part of a roof's label */
    const char *top;                    /* a number */
    const char *fdr;                    /* percent */
    const char *min_percent;            /* percent */
    const char *csv;                    /* file, - = standard output */
    const char *json;                   /* "" = print JSON in place of tables */
    const char *ceilings;               /* "" = judge measured ceilings, too */
    const char *suspects;               /* "" = list them */
    const char *strict;                 /* "" = a broken file is a failure */
    const char *ascii;                  /* "" = plain ASCII */
    const char *output;                 /* of build and report */
    const char *title;                  /* of report */
    struct carm_fleet_build_words node; /* of build; its output and ceilings are those above */
};

extern const struct carm_command carm_command_fleet;

#endif
