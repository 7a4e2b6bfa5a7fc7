/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A kernel's case on teams of one and two threads. */
#pragma once

#include <sys/prctl.h>

#include "tests/kernels/machine.h"

static inline int open_teams(void **state)
{
    /* hundreds of small cases: clearing 2 MiB for each array would take most of the time */
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    return open_machine(state);
}

static inline void run(struct carm_dwarf_case *c, int threads)
{
    fail_if(c->ops->run(c, teams[threads], &err), "%s", err.text);
}

static inline int check(struct carm_dwarf_case *c)
{
    char by[96] = "";
    double error = -1.0;
    const int rc = c->ops->check(c, teams[1], &error, by, &err);
    assert_true(rc != 0 || (error >= 0.0 && error < 1e-12));
    return rc;
}

#ifdef __SANITIZE_ADDRESS__
#define EXACT false /* the sanitizers' own instructions are stepped, too */
#else
#define EXACT true
#endif

/* Stepped counts are exact; with tests/harness/count/step/stepping.h. */
#define NEEDS_EXACT()                                                      \
    do {                                                                   \
        needs_stepping();                                                  \
        skip_if(!EXACT, "this compiler adds loads and stores of its own"); \
    } while (0)
