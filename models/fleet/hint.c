/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/hint.h"

#include <math.h>
#include <string.h>

/* The share by which the core clocks of a node lie off, of the one that lies farthest. */
static double clock_share(const struct carm_fleet_table *table, size_t node)
{
    double most = 0.0;
    for (size_t j = 0; j < table->ncolumns; j++) {
        const double share = carm_fleet_test_of(table, node, j)->share;
        if (table->columns[j].roof.clock && fabs(share) > fabs(most)) {
            most = share;
        }
    }
    return most;
}

static bool accuses(const struct carm_fleet_table *table, size_t node, const char *family)
{
    for (size_t j = 0; j < table->ncolumns; j++) {
        if (carm_fleet_test_of(table, node, j)->flagged &&
            strcmp(table->columns[j].roof.family, family) == 0) {
            return true;
        }
    }
    return false;
}

const char *carm_fleet_hint(const struct carm_fleet_table *table, size_t node)
{
    const ptrdiff_t worst = table->judged[node].worst;
    const double share =
        worst >= 0 ? (double)carm_fleet_test_of(table, node, (size_t)worst)->share : 0.0;
    const bool core = accuses(table, node, "compute") || accuses(table, node, "L1");
    const bool dram = accuses(table, node, "DRAM");
    const double clock = clock_share(table, node);
    if (!(share < 0.0)) {
        return "";
    }
    if (clock < -0.005 && clock < 0.5 * share) {
        return "its core clock is as low: power cap, governor, cooling";
    }
    if (core && dram) {
        return "core and memory: another load on the node, or a throttled package";
    }
    if (core) {
        return "the core itself: another load, firmware settings, SMT sibling";
    }
    if (dram) {
        return "memory: a DIMM that lacks or runs slower, NUMA settings, neighbours";
    }
    return accuses(table, node, "L2") || accuses(table, node, "L3")
               ? "caches: neighbours, cache partitioning, prefetcher settings"
               : "";
}
