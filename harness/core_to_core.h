/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far apart the threads of a team are: what shared levels give depends on it, and a hypervisor can
 * change it behind the topology that it shows. */
#ifndef CARM_HARNESS_CORE_TO_CORE_H
#define CARM_HARNESS_CORE_TO_CORE_H

#include "harness/team.h"

/* Seconds in which a cache line goes from the first thread to another of the team, one way: the mean
 * over up to 16 others, of each the least of several runs (a neighbour's burst only slows it).
 * 0 for a team of one. */
double carm_core_to_core_seconds(struct carm_team *team);

#endif
