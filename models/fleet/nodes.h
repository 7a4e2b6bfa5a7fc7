/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rows are of one node, and which nodes are equal machines. */
#pragma once

#include "models/fleet/fleet.h"

/* Two models that were begun within less time are of two machines: the shortest build takes as long, and a machine runs
 * one build at a time. */
enum { CARM_FLEET_APART_SECONDS = 2 };

/* A node before it has a group. */
struct carm_fleet_found {
    struct carm_fleet_node node;
    ptrdiff_t machine;
    uint64_t memory_bytes;
};

/* Sorts the rows with models into nodes. Rows of one host name are one node. They are several
 * nodes where CPU, cores, caches or memory (by more than 3%) differ, where two rows are of one
 * job, or where two were begun at the same time. Rows with the same boot id are always one node.
 * The same model in two files counts once.
 * found  out: [*nfound], to be released with free; the nodes' rows are in fleet->row_index
 * returns 0 or -CARM_ENOMEM */
int carm_fleet_find_nodes(struct carm_fleet *fleet, struct carm_fleet_found **found, size_t *nfound,
                          struct carm_err *err);

/* Sorts nodes into fleet->groups. returns 0 or -CARM_ENOMEM */
int carm_fleet_make_groups(struct carm_fleet *fleet, struct carm_fleet_found *found, size_t nfound,
                           struct carm_err *err);
