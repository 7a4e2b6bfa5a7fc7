/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This machine, a clock and codes, for suites that measure with teams of its threads. */
#pragma once

#include "harness/machine/search.h"
#include "tests/topo.h"

#define MIB ((size_t)1 << 20)

static struct carm_topo *topo;
static struct carm_clock tsc;
static struct carm_image *image;

CLOSED_BY(carm_image_close)
CLOSED_BY(carm_team_close)

/* n codes by their names */
static inline int open_machine(const char *const *names, size_t n)
{
    struct carm_code_spec specs[16];
    for (size_t i = 0; i < n; i++) {
        if (carm_code_parse(names[i], &specs[i], &err) != 0) {
            return -1;
        }
    }
    topo = topo_of(NULL, NULL);
    if (carm_clock_open(&tsc, &err) || carm_image_open(&image, specs, n, &err)) {
        return -1;
    }
    (void)closed_later(by_carm_image_close, image);
    return 0;
}

static inline struct carm_team *open_team(int n, size_t bytes, size_t reps)
{
    struct carm_team *team = NULL;
    assert_ok(carm_team_open(&team, topo, &tsc, n, bytes, reps, &err));
    return closed_later(by_carm_team_close, team);
}
