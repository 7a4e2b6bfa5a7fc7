/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that tests of kernels run on: a cmocka group's set-up and tear-down, teams, and its
 * processor as if it had no wider ISA than one. */
#pragma once

#include "harness/machine/cpu.h"
#include "harness/machine/team.h"
#include "kernels/repeat.h"
#include "tests/unit.h"

static struct carm_cpu cpu;
static struct carm_topo *topo;
static struct carm_clock clock_here;
static struct carm_team *teams[3]; /* [threads]; NULL where there are fewer hardware threads */

static inline int open_machine(void **state)
{
    carm_cpu_read(&cpu);
    int rc = carm_topo_open(&topo, NULL, NULL, &err) || carm_clock_open(&clock_here, &err);
    for (int n = 1; !rc && n <= 2 && n <= topo->pus; n++) {
        rc = carm_team_open(&teams[n], topo, &clock_here, n, 4096, CARM_REPEAT_MAX, &err);
    }
    return rc;
}

static inline int close_machine(void **state)
{
    carm_team_close(teams[1]);
    carm_team_close(teams[2]);
    carm_topo_close(topo);
    return 0;
}

/* The test is skipped where there are fewer hardware threads. */
static inline struct carm_team *team_of(int threads)
{
    if (!teams[threads]) {
        print_message("needs %d hardware threads\n", threads);
        skip();
    }
    return teams[threads];
}

static inline struct carm_cpu up_to(enum carm_isa isa)
{
    struct carm_cpu c = cpu;
    for (int i = (int)isa + 1; i < CARM_ISA_COUNT; i++) {
        c.isa[i] = false;
    }
    return c;
}

/* As the kernels ask: those of AVX2 and AVX-512 use FMA. */
static inline bool has(enum carm_isa isa)
{
    return cpu.isa[isa] && (isa < CARM_AVX2 || cpu.fma);
}
