/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far apart the threads of a team are: what shared levels give depends on it, and a hypervisor can
 * change it behind the topology that it shows. */
#ifndef CARM_HANDOVER_H
#define CARM_HANDOVER_H

#include "harness/team.h"

/* Seconds in which a cache line goes from the first thread to another of the team, one way: the mean
 * over up to 16 others, of each the least of several runs (a neighbour's burst only slows it).
 * 0 for a team of one. */
double carm_handover_seconds(struct carm_team *team);

#endif
