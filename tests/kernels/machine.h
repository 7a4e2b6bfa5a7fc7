/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that tests of kernels run on: a group's set-up, teams, and its processor as if it had no wider ISA than
 * one. */
#pragma once

#include "harness/machine/cpu.h"
#include "harness/machine/team.h"
#include "kernels/context.h"
#include "kernels/repeat.h"
#include "tests/topo.h"

static struct carm_cpu cpu;
static struct carm_topo *topo;
static struct carm_clock clock_here;
static struct carm_team *teams[3]; /* [threads]; NULL where there are fewer hardware threads */

CLOSED_BY(carm_team_close)
static inline int open_machine(void **state)
{
    carm_cpu_read(&cpu);
    topo = topo_of(NULL, NULL);
    int rc = carm_clock_open(&clock_here, &err);
    for (int n = 1; !rc && n <= 2 && n <= topo->pus; n++) {
        rc = carm_team_open(&teams[n], topo, &clock_here, n, 4096, CARM_REPEAT_MAX, &err);
        (void)closed_later(by_carm_team_close, teams[n]);
    }
    return rc;
}

/* The test is skipped where there are fewer hardware threads. */
static inline struct carm_team *team_of(int threads)
{
    skip_if(!teams[threads], "needs %d hardware threads", threads);
    return teams[threads];
}

static inline void by_its_kernel(void *opened)
{
    struct carm_dwarf_case *c = opened;
    c->ops->close(c);
}
static inline struct carm_dwarf_case *case_closed_later(struct carm_dwarf_case *c)
{
    return closed_later(by_its_kernel, c);
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
