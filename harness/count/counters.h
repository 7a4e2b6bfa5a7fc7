/* SPDX-License-Identifier: MIT */
/* One interface to PAPI, likwid or no counters, chosen at run time. A library is loaded when it is first
 * used, so a program starts without both. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "harness/count/provider.h"

/* Which providers work and, for the others, the obstacle. */
struct carm_probe {
    enum carm_provider provider;
    bool works;       /* counts this processor's own events */
    bool software;    /* at least the kernel's events (task clock, page faults, switches) */
    char version[32]; /* of the library, "" when it is not there */
    char reason[384]; /* one sentence: which setting, permission, kernel or hypervisor is in the way
                       * (or "" when it works) */
    char remedy[256]; /* the remedy; "" = none */
    char note[256];   /* limitations of a provider that works: a counter that the NMI watchdog
                       * holds, uncore counters that need more rights; "" = none */
};

/* Finds out whether a provider works here, without counting; under 0.2 s, prints nothing.
 * recipe  NULL: this processor is unknown, so no provider works
 * lacks   why recipe is NULL, borrowed */
void carm_counters_probe(enum carm_provider p, const struct carm_recipe *recipe, const char *lacks,
                         struct carm_probe *out);

struct carm_counters;    /* a provider, opened for this process; thread-safe after opening */
struct carm_counter_set; /* some of the provider's events on one target; used by one thread */

/* recipe is borrowed until close. CARM_PAPI_LIBRARY and CARM_LIKWID_LIBRARY in the environment name a
 * library file to load instead of the system's. The libraries stay loaded. likwid prints while it
 * starts. Standard error of the whole process is redirected meanwhile (about a second), so open likwid
 * before other threads print.
 * returns 0, -CARM_ENOTSUP with carm_probe's reason and remedy, -CARM_ENOMEM. AUTO that finds nothing
 * is -CARM_ENOTSUP, too. */
int carm_counters_open(struct carm_counters **out, enum carm_provider p,
                       const struct carm_recipe *recipe, struct carm_err *err);
void carm_counters_close(struct carm_counters *counters); /* NULL allowed; all sets closed before */

/* carm_counters_open with given facts of the machine, for tests. */
int carm_counters_open_with(struct carm_counters **out, enum carm_provider p,
                            const struct carm_recipe *recipe, const struct carm_pmu_facts *facts,
                            struct carm_err *err);

enum carm_provider carm_counters_provider(const struct carm_counters *counters);
const struct carm_recipe *carm_counters_recipe(const struct carm_counters *counters);

/* Number of groups of thread events; the events of a group fit the counters. Code that can be run
 * again is counted group by group, without multiplexing. */
size_t carm_counters_groups(const struct carm_counters *counters);

/* Opens without starting; a set is used and closed by the thread that opened it. Fixed and software
 * events are in group 0.
 * group  0 .. groups-1, or CARM_GROUPS_ALL (the only one for SOCKETS). PAPI scales multiplexed counts
 *        itself and does not report the share: readings then carry counters / needed counters as
 *        running / enabled. The kernel switches groups every few milliseconds: below about 100 ms for
 *        each group such counts are unreliable. likwid does not multiplex: with several groups it
 *        counts group 0 alone, the other events are not present
 * returns 0, -CARM_ENOTSUP (with reason and remedy), -CARM_ENOMEM */
int carm_counter_set_open(struct carm_counter_set **out, struct carm_counters *counters,
                          struct carm_counter_target target, int group, struct carm_err *err);
/* start, read, stop: 0; -CARM_EINVAL (started twice; not running); -CARM_ENOTSUP, -CARM_EIO (the
 * provider's own words). A set may be started again after its stop: it counts from 0. */
int carm_counter_set_start(struct carm_counter_set *set, struct carm_err *err);
/* Counts since start, of a set that is running.
 * readings  [recipe->nevents] out: events that are not of this set are not present */
int carm_counter_set_read(struct carm_counter_set *set, struct carm_reading *readings,
                          struct carm_err *err);
/* readings NULL = not wanted */
int carm_counter_set_stop(struct carm_counter_set *set, struct carm_reading *readings,
                          struct carm_err *err);
void carm_counter_set_close(struct carm_counter_set *set); /* NULL allowed */
