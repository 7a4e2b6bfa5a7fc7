/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory domains of a build: bandwidth and latency from the cores of each NUMA node to the memory of each node. */
#pragma once

#include "validation/latency/latency.h"
#include "validation/roofs/build.h"

/* Estimate of the seconds; 0 on a machine with one node. */
double carm_build_numa_seconds(const struct carm_topo *topo);

/* Measures one pair: fills in all but from and to.
 * returns 0, with a note where something could not be measured, or an error that ends the build */
typedef int carm_numa_measure(void *arg, const struct carm_numa_node *from,
                              const struct carm_numa_node *to, struct carm_numa_pair *pair,
                              struct carm_err *err);

/* Measures the pairs of a plan in its order until the deadline, and adds them and the nodes to the model. Pairs for which
 * there was no time are left out, and the observer says how many.
 * nodes  [n] with memory
 * returns 0, -CARM_EINTR, -CARM_ENOMEM or as measure */
int carm_build_fill_numa(struct carm_model *model, const struct carm_numa_node *nodes, size_t n,
                         struct carm_deadline deadline, struct carm_observer *observer,
                         carm_numa_measure *measure, void *arg, struct carm_err *err);

/* Measures all pairs with teams of its own, after the roofs. Does nothing on a machine with one node.
 * host  of the build
 * returns as carm_build_fill_numa */
int carm_build_measure_numa(const struct carm_build *build, const struct carm_host *host,
                            struct carm_model *model, struct carm_err *err);
