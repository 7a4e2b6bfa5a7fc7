/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet show: the groups of a fleet and its outliers as text, CSV and JSON. */
#ifndef CARM_CLI_FLEET_SHOW_H
#define CARM_CLI_FLEET_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/fleet/words.h"
#include "models/fleet/fleet.h"

struct carm_fleet_page {
    const struct carm_fleet *fleet;
    struct carm_fleet_options options;
    size_t group;     /* the only one, from 1; 0 = all */
    const char *roof; /* a part of a label; NULL = all */
    size_t top;       /* nodes in a list */
    bool suspects;    /* list them */
    bool ascii;
};

/* Reads, judges and prints.
 * returns 0; -CARM_EINVAL (misuse); -CARM_EIO; -CARM_EFORMAT (nothing to judge, or a broken file under
 * --strict, after the rest was printed); -CARM_ENOMEM */
int carm_fleet_show(const struct carm_fleet_words *words, struct carm_err *err);

/* By --group and --roof. */
bool carm_fleet_wants_group(const struct carm_fleet_page *page, size_t group);
bool carm_fleet_wants_column(const struct carm_fleet_page *page,
                             const struct carm_fleet_column *column);

/* Groups, then the lists: outliers, suspects, drift, failed nodes, notes. */
void carm_fleet_put_text(const struct carm_fleet_page *page);

/* returns 0 or -CARM_ENOMEM */
int carm_fleet_put_json(const struct carm_fleet_page *page, struct carm_err *err);

#endif
