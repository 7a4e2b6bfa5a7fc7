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

enum { CARM_FLEET_LABEL_MAX = 512 };

/* Reads, judges and prints.
 * returns 0; -CARM_EINVAL (misuse); -CARM_EIO; -CARM_EFORMAT (nothing to judge, or a broken file under
 * --strict, after the rest was printed); -CARM_ENOMEM */
int carm_fleet_show(const struct carm_fleet_words *words, struct carm_err *err);

/* "avx512 dp, 1 thread: L3 2:1", or "L3 (10 roofs)" of a family; made safe. returns dst */
char *carm_fleet_label(char *dst, size_t size, const struct carm_fleet_column *column, bool ascii);

/* By --group and --roof. */
bool carm_fleet_wants_group(const struct carm_fleet_page *page, size_t group);
bool carm_fleet_wants_column(const struct carm_fleet_page *page,
                             const struct carm_fleet_column *column);

/* How many nodes of a kind of table came to that verdict. */
size_t carm_fleet_count(const struct carm_fleet *fleet, bool drift,
                        enum carm_fleet_verdict verdict);

/* Rows without a model. */
size_t carm_fleet_count_failed(const struct carm_fleet *fleet);

/* How sure it is that a whole group changed: two-sided p of the median change. 1 where it is not known. */
double carm_fleet_shift_p(const struct carm_fleet_column *column);

/* "47.1 GiB", or "46.9 to 47.1 GiB". returns dst */
char *carm_fleet_memory_text(char *dst, size_t size, const struct carm_fleet_group *group);

void carm_fleet_put_text(const struct carm_fleet_page *page);

/* The lists behind the groups: outliers, suspects, drift, failed nodes, notes. */
void carm_fleet_put_lists(const struct carm_fleet_page *page);

/* path  NULL = standard output
 * returns 0, -CARM_EIO or -CARM_ENOMEM */
int carm_fleet_put_csv(const struct carm_fleet_page *page, const char *path, struct carm_err *err);

/* returns 0 or -CARM_ENOMEM */
int carm_fleet_put_json(const struct carm_fleet_page *page, struct carm_err *err);

#endif
