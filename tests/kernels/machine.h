/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that tests of kernels run on: a cmocka group's set-up and tear-down, teams, and its
 * processor as if it had no wider ISA than one. */
#ifndef CARM_TESTS_KERNEL_MACHINE_H
#define CARM_TESTS_KERNEL_MACHINE_H

#include "harness/machine/cpu.h"
#include "harness/machine/team.h"
#include "kernels/repeat.h"
#include "tests/unit.h"

static struct carm_cpu cpu;
static struct carm_topo *topo;
static struct carm_clock clock_here;

static inline int open_machine(void **state)
{
    carm_cpu_read(&cpu);
    return carm_topo_open(&topo, NULL, NULL, &err) || carm_clock_open(&clock_here, &err);
}

static inline int close_machine(void **state)
{
    carm_topo_close(topo);
    return 0;
}

/* The test is skipped where there are fewer hardware threads; closed by the caller. */
static inline struct carm_team *team_of(int threads)
{
    struct carm_team *team = NULL;
    if (threads > topo->pus) {
        print_message("needs %d hardware threads\n", threads);
        skip();
    }
    assert_ok(carm_team_open(&team, topo, &clock_here, threads, 4096, CARM_REPEAT_MAX, &err));
    return team;
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

#endif
