/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "models/fleet/nodes.h"
#include "models/fleet/pool.h"

static int by_machine(const void *a, const void *b)
{
    const struct carm_fleet_found *x = a;
    const struct carm_fleet_found *y = b;
    if (x->machine != y->machine) {
        return x->machine > y->machine ? 1 : -1;
    }
    if (x->memory_bytes != y->memory_bytes) {
        return x->memory_bytes > y->memory_bytes ? 1 : -1;
    }
    return strcmp(x->node.name, y->node.name);
}

/* node9 before node10 */
static int by_name(const void *a, const void *b)
{
    const struct carm_fleet_node *x = a;
    const struct carm_fleet_node *y = b;
    const int versions = strverscmp(x->name, y->name);
    return versions ? versions : (x->rows > y->rows) - (x->rows < y->rows);
}

/* The largest first; the rest only so that it is the same in each run. */
static int by_size(const void *a, const void *b)
{
    const struct carm_fleet_group *x = a;
    const struct carm_fleet_group *y = b;
    if (x->nnodes != y->nnodes) {
        return x->nnodes < y->nnodes ? 1 : -1;
    }
    const int keys = strcmp(x->machine.key, y->machine.key);
    return keys ? keys : (x->memory_min > y->memory_min) - (x->memory_min < y->memory_min);
}

static int add_group(struct carm_fleet *fleet, const struct carm_fleet_found *found, size_t n,
                     struct carm_err *err)
{
    struct carm_fleet_node *nodes = calloc(n, sizeof *nodes);
    if (!nodes || carm_fleet_grow(&fleet->groups, fleet->ngroups, sizeof *fleet->groups)) {
        free(nodes);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a fleet's groups");
    }
    for (size_t i = 0; i < n; i++) {
        nodes[i] = found[i].node;
    }
    qsort(nodes, n, sizeof *nodes, by_name);
    fleet->groups[fleet->ngroups++] =
        (struct carm_fleet_group){.machine = fleet->machines[found->machine],
                                  .memory_min = found[0].memory_bytes,
                                  .memory_max = found[n - 1].memory_bytes,
                                  .nodes = nodes,
                                  .nnodes = n};
    return 0;
}

int carm_fleet_make_groups(struct carm_fleet *fleet, struct carm_fleet_found *found, size_t nfound,
                           struct carm_err *err)
{
    int rc = 0;
    if (nfound) {
        qsort(found, nfound, sizeof *found, by_machine);
    }
    for (size_t i = 0; i < nfound && rc == 0;) {
        size_t end = i + 1;
        while (end < nfound && found[end].machine == found[i].machine &&
               carm_fleet_same_memory(found[i].memory_bytes, found[end].memory_bytes)) {
            end++;
        }
        rc = add_group(fleet, found + i, end - i, err);
        i = end;
    }
    if (fleet->ngroups) {
        qsort(fleet->groups, fleet->ngroups, sizeof *fleet->groups, by_size);
    }
    return rc;
}
