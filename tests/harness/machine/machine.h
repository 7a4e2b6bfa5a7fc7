/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This machine, a clock and codes, for suites that measure with teams of its threads. */
#pragma once

#include "harness/machine/search.h"
#include "tests/unit.h"

#define MIB ((size_t)1 << 20)

static struct carm_topo *topo;
static struct carm_clock tsc;
static struct carm_image *image;

/* n codes by their names */
static inline int open_machine(const char *const *names, size_t n)
{
    struct carm_code_spec specs[16];
    for (size_t i = 0; i < n; i++) {
        if (carm_code_parse(names[i], &specs[i], &err) != 0) {
            return -1;
        }
    }
    return carm_topo_open(&topo, NULL, NULL, &err) || carm_clock_open(&tsc, &err) ||
           carm_image_open(&image, specs, n, &err);
}

static inline int tear_down(void **state)
{
    carm_image_close(image);
    carm_topo_close(topo);
    return 0;
}

static inline struct carm_team *open_team(int n, size_t bytes, size_t reps)
{
    struct carm_team *team = NULL;
    assert_ok(carm_team_open(&team, topo, &tsc, n, bytes, reps, &err));
    return team;
}
