/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the libraries that stand in for PAPI and likwid are told, and what they have seen. Their events
 * are named "fake::E3" (likwid: "E3"): a count of 3 for each tick. W: the same, but takes two counters;
 * F: has its own counter; "perf::": the kernel's. Found by dlsym of "fake". */
#pragma once

#include <stdbool.h>

struct fake_counters {
    long ticks;    /* the time that counts */
    long each_run; /* PAPI: ticks that go by before each stop */

    int init;               /* what the initialisation returns instead of success; 0 = success */
    const char *noise;      /* what it prints to standard error */
    int counters;           /* general-purpose counters that are free */
    bool conflict_at_start; /* PAPI: too many events fail at start, else when they are added */
    const char *missing;    /* an event that does not exist */
    int attach;             /* what PAPI_attach returns */
    bool never_ran;         /* multiplexed events had no turn */
    int units;              /* of the uncore PMU; 0: no uncore component */

    int inits, sets_open, unregistered, attached, inherited, multiplexed;
    char last_events[512]; /* likwid: of the last event set */
    int mode, setups, running;
};
