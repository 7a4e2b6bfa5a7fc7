/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/affinity.h"

#include <hwloc.h>
#include <pthread.h>

/* A restricted topology keeps nodes that have lost their processors: they do not count. */
static hwloc_obj_t node_at(const struct carm_topo *topo, int index)
{
    return hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)index);
}

static bool usable(const struct carm_topo *topo, hwloc_obj_t node)
{
    for (int i = 0; node && node->cpuset && i < topo->pus; i++) {
        if (hwloc_bitmap_isset(node->cpuset, (unsigned)topo->order[i])) {
            return true;
        }
    }
    return false;
}

int carm_affinity_nodes(const struct carm_topo *topo)
{
    int n = 0;
    for (int i = 0; node_at(topo, i); i++) {
        n += usable(topo, node_at(topo, i)) ? 1 : 0;
    }
    return n;
}

int carm_affinity_node_of(const struct carm_topo *topo, int pu)
{
    for (int i = 0; node_at(topo, i); i++) {
        const hwloc_obj_t node = node_at(topo, i);
        if (node->cpuset && hwloc_bitmap_isset(node->cpuset, (unsigned)pu)) {
            return i;
        }
    }
    return -1;
}

int carm_affinity_pu(const struct carm_topo *topo, int n)
{
    const int first = carm_affinity_node_of(topo, topo->order[0]);
    if (first < 0 || carm_affinity_nodes(topo) < 2) {
        return -1;
    }
    for (int i = 1; i < n && i < topo->pus; i++) {
        if (carm_affinity_node_of(topo, topo->order[i]) != first) {
            return topo->order[0];
        }
    }
    for (int i = n; i < topo->pus; i++) {
        const int node = carm_affinity_node_of(topo, topo->order[i]);
        if (node >= 0 && node != first) {
            return topo->order[i];
        }
    }
    return -1;
}

struct touching {
    struct carm_team *team;
    int pu;
    size_t bytes;
    int rc;
    struct carm_err err;
};

static void *touch(void *arg)
{
    struct touching *t = arg;
    t->rc = carm_topo_pin(t->team->topo, t->pu, &t->err);
    for (int i = 0; i < t->team->n && !t->rc; i++) {
        carm_buffer_touch(&t->team->workers[i].buffer, t->bytes);
    }
    return NULL;
}

/* Whether the memory lies where the touching thread runs. A system that does not tell is believed. */
static int check_place(const struct carm_team *team, int pu, size_t bytes, struct carm_err *err)
{
    const struct carm_topo *topo = team->topo;
    const hwloc_obj_t node = node_at(topo, carm_affinity_node_of(topo, pu));
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = 0;
    if (!set) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to look where memory lies");
    }
    for (int i = 0; i < team->n && node && !rc; i++) {
        /* a page in the middle stands for all */
        const char *page = (const char *)team->workers[i].buffer.start + bytes / 2;
        if (hwloc_get_area_memlocation(topo->hwloc, page, 1, set, HWLOC_MEMBIND_BYNODESET) == 0 &&
            !hwloc_bitmap_iszero(set) && !hwloc_bitmap_isset(set, node->os_index)) {
            rc = carm_fail(err, CARM_ENOTSUP,
                           "memory touched on NUMA node %u lies on another one (a memory policy: "
                           "run without numactl)",
                           node->os_index);
        }
    }
    hwloc_bitmap_free(set);
    return rc;
}

int carm_affinity_touch(struct carm_team *team, int pu, size_t bytes_per_thread,
                        struct carm_err *err)
{
    struct touching t = {.team = team, .pu = pu, .bytes = bytes_per_thread};
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch, &t) != 0) {
        return carm_fail(err, CARM_ENOMEM,
                         "cannot start a thread to touch memory: raise the limit of processes "
                         "(ulimit -u)");
    }
    (void)pthread_join(thread, NULL);
    if (t.rc) {
        *err = t.err;
        return t.rc;
    }
    return check_place(team, pu, bytes_per_thread, err);
}
