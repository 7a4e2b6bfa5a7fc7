/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory without affinity: on one NUMA node, whatever node its threads run on. */
#ifndef CARM_HARNESS_AFFINITY_H
#define CARM_HARNESS_AFFINITY_H

#include <stddef.h>

#include "base/err.h"
#include "harness/team.h"
#include "harness/topo.h"

/* NUMA nodes with a hardware thread that this process may use. */
int carm_affinity_nodes(const struct carm_topo *topo);

/* The node (hwloc's logical index) of a hardware thread, -1 = unknown. */
int carm_affinity_node_of(const struct carm_topo *topo, int pu);

/* The hardware thread that has to touch memory first for n threads to lack affinity: where they all
 * run on one node, a thread of another node (every access is remote); else the first of them, as a
 * program that fills its arrays before it starts its threads does.
 * returns its OS index, or -1 where there is one node alone
 * source: Williams et al. 2009, A.1.2: "allocates all data on one processor" */
int carm_affinity_pu(const struct carm_topo *topo, int n);

/* Touches the buffers of all workers, none of which was touched yet, from one hardware thread.
 * returns 0, -CARM_ENOTSUP (cannot pin, or the memory lies elsewhere: a memory policy), -CARM_ENOMEM */
int carm_affinity_touch(struct carm_team *team, int pu, size_t bytes_per_thread,
                        struct carm_err *err);

#endif
