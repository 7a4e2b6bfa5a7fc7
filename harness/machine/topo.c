/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/topo.h"

#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/limits.h"

/* Caches that hold data, by level. */
static const hwloc_obj_type_t cache_types[] = {
    HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE};

/* The NUMA node at an index, NULL = none. In a restricted topology hwloc keeps nodes that have
 * no processor left; usable() is false for them. */
static hwloc_obj_t node_at(const struct carm_topo *topo, int index)
{
    return hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)index);
}

/* Whether a node is the first node near some usable hardware thread. Memory-only nodes are not: they
 * have no processors (CXL), or hwloc gives them the processors of a neighbouring node (HBM in flat
 * mode, by the initiators that the kernel reports). */
static bool usable(const struct carm_topo *topo, hwloc_obj_t node)
{
    bool own = node && node->cpuset && hwloc_bitmap_weight(node->cpuset) > 0;
    for (int i = 0; own && node_at(topo, i) != node; i++) {
        const hwloc_obj_t before = node_at(topo, i);
        own = !before->cpuset || !hwloc_bitmap_isincluded(node->cpuset, before->cpuset);
    }
    return own;
}

/* The cache at an index where usable hardware threads reach it, or NULL. */
static hwloc_obj_t cache_at(hwloc_topology_t hw, hwloc_obj_type_t type, int index)
{
    const hwloc_obj_t obj = hwloc_get_obj_by_type(hw, type, (unsigned)index);
    return obj && hwloc_bitmap_weight(obj->cpuset) > 0 ? obj : NULL;
}

/* Finds the data and unified caches; in hwloc, instruction caches have other types. On a hybrid CPU,
 * size and sharing are of the first thread's kind of core: only caches of this size count. */
static void find_caches(struct carm_topo *topo, hwloc_topology_t hw)
{
    topo->ncaches = 0;
    for (size_t i = 0; i < sizeof cache_types / sizeof *cache_types; i++) {
        const int n = hwloc_get_nbobjs_by_type(hw, cache_types[i]);
        if (n <= 0) {
            continue;
        }
        struct carm_topo_cache *c = &topo->caches[topo->ncaches++];
        *c = (struct carm_topo_cache){.level = (int)i + 1};
        for (int k = 0; k < n; k++) {
            const hwloc_obj_t obj = cache_at(hw, cache_types[i], k);
            c->instances += obj ? 1 : 0;
            if (obj && hwloc_bitmap_isset(obj->cpuset, (unsigned)topo->order[0])) {
                c->size_bytes = obj->attr->cache.size;
                c->ways = obj->attr->cache.associativity; /* hwloc: 0 = unknown, -1 = full */
                const char *inclusive = hwloc_obj_get_info_by_name(obj, "Inclusive");
                c->inclusive = inclusive ? *inclusive == '1' : -1;
            }
        }
        for (int k = 0; k < n; k++) {
            const hwloc_obj_t obj = cache_at(hw, cache_types[i], k);
            const int pus = obj ? hwloc_bitmap_weight(obj->cpuset) : 0;
            if (obj && obj->attr->cache.size == c->size_bytes && pus > c->shared_by) {
                c->shared_by = pus;
            }
        }
    }
}

/* Rank of a core's kind (hwloc's efficiency), higher = faster; 0 where hwloc ranks no kinds. */
static int rank_of_core(hwloc_topology_t hw, hwloc_const_cpuset_t core)
{
    int efficiency = 0;
    const int kind = hwloc_cpukinds_get_by_cpuset(hw, core, 0);
    if (kind < 0 || hwloc_cpukinds_get_info(hw, (unsigned)kind, NULL, &efficiency, NULL, NULL, 0)) {
        return 0;
    }
    return efficiency > 0 ? efficiency : 0;
}

/* A core, or a hardware thread where hwloc reports no cores. */
static hwloc_obj_t core_at(const struct carm_topo *topo, int index)
{
    const hwloc_obj_t core = hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_CORE, (unsigned)index);
    return core ? core : hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_PU, (unsigned)index);
}

/* Sets topo->order: one hardware thread of each core in turn, then the second of each. The cores of
 * the fastest kind go first. returns 0 or -CARM_ENOMEM */
static int find_order(struct carm_topo *topo, hwloc_topology_t hw, struct carm_err *err)
{
    int highest = 0;
    int found = 0;
    free(topo->order);
    topo->order = calloc((size_t)topo->pus, sizeof *topo->order);
    if (!topo->order) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the topology");
    }
    for (int c = 0; c < topo->cores; c++) {
        const int rank = rank_of_core(hw, core_at(topo, c)->cpuset);
        highest = rank > highest ? rank : highest;
    }
    for (unsigned turn = 0; found < topo->pus; turn++) {
        const int before = found;
        for (int rank = highest; rank >= 0; rank--) {
            for (int c = 0; c < topo->cores; c++) {
                const hwloc_obj_t core = core_at(topo, c);
                const hwloc_obj_t pu =
                    hwloc_get_obj_inside_cpuset_by_type(hw, core->cpuset, HWLOC_OBJ_PU, turn);
                if (pu && found < topo->pus &&
                    (highest == 0 || rank_of_core(hw, core->cpuset) == rank)) {
                    topo->order[found++] = (int)pu->os_index;
                }
            }
        }
        if (found == before) {
            topo->pus = found;
        }
    }
    return 0;
}

/* Reads counts, order and caches of the topology in its present form. returns 0 or negative */
static int read_topology(struct carm_topo *topo, struct carm_err *err)
{
    const hwloc_topology_t hw = topo->hwloc;
    topo->pus = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_PU);
    const int cores = hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_CORE);
    int packages = 0; /* hwloc keeps packages without usable processors, for their memory */
    for (hwloc_obj_t p = NULL; (p = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_PACKAGE, p));) {
        packages += hwloc_bitmap_weight(p->cpuset) > 0 ? 1 : 0;
    }
    topo->cores = cores > 0 ? cores : topo->pus;
    topo->packages = packages > 0 ? packages : 1;
    topo->restricted = topo->pus < topo->machine_pus;
    if (topo->pus < 1) {
        return carm_fail(err, CARM_ENOTSUP, "hwloc finds no processor that this process may use");
    }
    const int rc = find_order(topo, hw, err);
    if (!rc) {
        const int nodes = carm_topo_nodes(topo);
        topo->nodes = nodes > 0 ? nodes : 1;
        find_caches(topo, hw);
    }
    return rc;
}

/* Restricts the topology to the processors that the process may run on. returns 0 or negative */
static int restrict_to(hwloc_topology_t hw, const char *cpuset, bool synthetic,
                       struct carm_err *err)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = 0;
    if (!set) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the topology");
    }
    if (cpuset) {
        rc = hwloc_bitmap_sscanf(set, cpuset);
    } else if (synthetic) {
        goto out;
    } else {
        rc = hwloc_get_cpubind(hw, set, HWLOC_CPUBIND_PROCESS);
    }
    if (rc == 0) {
        rc = hwloc_topology_restrict(hw, set, 0);
    }
    if (rc != 0) {
        rc = carm_fail(err, CARM_ENOTSUP, "cannot use this process's cpuset: %s", strerror(errno));
    }
out:
    hwloc_bitmap_free(set);
    return rc;
}

/* Userdata of an object: its number + 1 in the lower half, its number of hardware threads in the upper. */
static void *remember(hwloc_obj_t obj, unsigned number)
{
    const uint64_t pus = (uint64_t)hwloc_bitmap_weight(obj->cpuset);
    return (void *)(uintptr_t)(pus << 32 | ((uint64_t)number + 1));
}

/* Numbers the objects that are places, so that they keep their numbers when a topology is
 * restricted. Memory-only nodes get none. */
static void number_objects(const struct carm_topo *topo)
{
    for (int depth = 0; depth < hwloc_topology_get_depth(topo->hwloc); depth++) {
        for (unsigned i = 0; i < hwloc_get_nbobjs_by_depth(topo->hwloc, depth); i++) {
            const hwloc_obj_t obj = hwloc_get_obj_by_depth(topo->hwloc, depth, i);
            obj->userdata = remember(obj, i);
        }
    }
    for (int i = 0; node_at(topo, i); i++) {
        const hwloc_obj_t node = node_at(topo, i);
        node->userdata = usable(topo, node) ? remember(node, node->os_index) : NULL;
    }
}

int carm_topo_number(const void *object)
{
    const struct hwloc_obj *obj = object;
    return (int)((uint64_t)(uintptr_t)obj->userdata & UINT32_MAX) - 1;
}

bool carm_topo_is_whole(const void *object)
{
    const struct hwloc_obj *obj = object;
    return (uint64_t)(uintptr_t)obj->userdata >> 32 == (uint64_t)hwloc_bitmap_weight(obj->cpuset);
}

/* hwloc's plugins find graphics cards and buses, for which it loads 20 libraries, twice as long as the rest takes.
 * Files of hwloc are read by its plugin for XML. The program that carm starts must not see the variable. */
static int init_without_plugins(hwloc_topology_t *hw)
{
    static const char path[] = "HWLOC_PLUGINS_PATH";
    /* NOLINTBEGIN(concurrency-mt-unsafe) */
    const bool own = !getenv(path) && !getenv("HWLOC_XMLFILE") && setenv(path, "", 0) == 0;
    const int rc = hwloc_topology_init(hw);
    if (own) {
        (void)unsetenv(path);
    }
    /* NOLINTEND(concurrency-mt-unsafe) */
    return rc;
}

int carm_topo_open(struct carm_topo **out, const char *synthetic, const char *cpuset,
                   struct carm_err *err)
{
    hwloc_topology_t hw = NULL;
    struct carm_topo *topo = calloc(1, sizeof *topo);
    int rc = 0;
    if (!topo || init_without_plugins(&hw) != 0) {
        free(topo);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the topology");
    }
    topo->hwloc = hw;
    topo->synthetic = synthetic != NULL;
    if ((synthetic && hwloc_topology_set_synthetic(hw, synthetic) != 0) ||
        hwloc_topology_load(hw) != 0) {
        rc = carm_fail(err, CARM_ENOTSUP, "hwloc cannot read this machine's topology: %s",
                       strerror(errno));
        goto out;
    }
    topo->elsewhere = !topo->synthetic && !hwloc_topology_is_thissystem(hw);
    if (!topo->synthetic) {
        struct carm_limits limits;
        carm_limits_read("", &limits);
        topo->quota = limits.cpus;
    }
    topo->machine_pus = hwloc_bitmap_weight(hwloc_topology_get_complete_cpuset(hw));
    number_objects(topo);
    rc = restrict_to(hw, cpuset, topo->synthetic || topo->elsewhere, err);
    if (rc) {
        goto out;
    }
    rc = read_topology(topo, err);
    if (!rc) {
        *out = topo;
        topo = NULL;
    }
out:
    carm_topo_close(topo);
    return rc;
}

int carm_topo_keep(struct carm_topo *topo, const int *pus, int n, struct carm_err *err)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = 0;
    for (int i = 0; set && i < n; i++) {
        hwloc_bitmap_set(set, (unsigned)pus[i]);
    }
    if (!set || hwloc_topology_restrict(topo->hwloc, set, 0) != 0) {
        rc = carm_fail(err, CARM_ENOTSUP, "hwloc cannot restrict the topology to %d CPUs: %s", n,
                       strerror(errno));
    } else {
        rc = read_topology(topo, err);
    }
    /* read back: the topology has exactly these hardware threads */
    if (!rc && (topo->pus != hwloc_bitmap_weight(set) ||
                !hwloc_bitmap_isequal(hwloc_get_root_obj(topo->hwloc)->cpuset, set))) {
        rc = carm_fail(err, CARM_ENOTSUP, "hwloc kept %d hardware threads in place of %d",
                       topo->pus, hwloc_bitmap_weight(set));
    }
    hwloc_bitmap_free(set);
    return rc;
}

void carm_topo_close(struct carm_topo *topo)
{
    if (topo) {
        hwloc_topology_destroy(topo->hwloc);
        free(topo->order);
        free(topo);
    }
}

int carm_topo_check_here(const struct carm_topo *topo, struct carm_err *err)
{
    static const char *const names[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT",
                                        "HWLOC_CPUID_PATH", "HWLOC_THISSYSTEM"};
    const char *set = "HWLOC_XMLFILE";
    if (!topo->elsewhere) {
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (getenv(names[i])) {
            set = names[i];
            break;
        }
    }
    return carm_fail(err, CARM_ENOTSUP,
                     "hwloc describes another machine than this one, because %s is set: "
                     "threads cannot be pinned, so nothing can be measured; unset %s",
                     set, set);
}

int carm_topo_cores(const struct carm_topo *topo)
{
    const int most = topo->quota >= 1.0 ? (int)fmin(topo->quota + 0.01, 1e6) : 1;
    return topo->quota > 0.0 && most < topo->cores ? most : topo->cores;
}

char *carm_topo_quota_note(char *dst, size_t size, const struct carm_topo *topo)
{
    const int n = carm_topo_cores(topo);
    dst[0] = '\0';
    if (topo->quota > 0.0 && topo->quota < 1.0) {
        snprintf(
            dst, size,
            "this cgroup has a CPU quota of %.3g CPUs: the kernel stops even one thread for %.0f%% of "
            "the time, so measurements take longer, and those that it stops are too low",
            topo->quota, 100.0 * (1.0 - topo->quota));
    } else if (topo->quota > 0.0 && topo->quota < (double)topo->pus) {
        snprintf(
            dst, size,
            "this cgroup has a CPU quota of %.3g CPUs: the kernel stops more than %d thread%s for a "
            "part of the time, and their results are too low",
            topo->quota, n, n == 1 ? "" : "s");
    }
    return dst;
}

int carm_topo_check_threads(const struct carm_topo *topo, int n, struct carm_err *err)
{
    if (n < 1) {
        return carm_fail(err, CARM_EINVAL, "at least 1 thread is needed, not %d", n);
    }
    if (n > topo->machine_pus) {
        return carm_fail(
            err, CARM_EINVAL,
            "%d threads are more than this machine's %d hardware threads: give 1 to %d", n,
            topo->machine_pus, topo->pus);
    }
    if (n > topo->pus) {
        return carm_fail(err, CARM_EINVAL,
                         "%d threads do not fit this process's cpuset of %d hardware threads (the "
                         "machine has %d): give 1 to %d, or widen the cpuset (taskset, cgroup)",
                         n, topo->pus, topo->machine_pus, topo->pus);
    }
    return 0;
}

void carm_topo_cache_share(const struct carm_topo *topo, int level, int n, int *instances,
                           int *sharers)
{
    *instances = 0;
    *sharers = 0;
    if (level < 1 || level > 5) {
        return;
    }
    int count = hwloc_get_nbobjs_by_type(topo->hwloc, cache_types[level - 1]);
    for (int k = 0; k < count; k++) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(topo->hwloc, cache_types[level - 1], (unsigned)k);
        int inside = 0;
        for (int t = 0; t < n && t < topo->pus; t++) {
            inside += hwloc_bitmap_isset(obj->cpuset, (unsigned)topo->order[t]) ? 1 : 0;
        }
        *instances += inside > 0 ? 1 : 0;
        *sharers = inside > *sharers ? inside : *sharers;
    }
}

int carm_topo_slowest(const struct carm_topo *topo, int n)
{
    int slowest = INT_MAX;
    for (int t = 0; t < n && t < topo->pus; t++) {
        const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topo->hwloc, (unsigned)topo->order[t]);
        const int rank = pu ? rank_of_core(topo->hwloc, pu->cpuset) : 0;
        slowest = rank < slowest ? rank : slowest;
    }
    return slowest < INT_MAX ? slowest : 0;
}

int carm_topo_pin(const struct carm_topo *topo, int pu, struct carm_err *err)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to pin a thread");
    }
    hwloc_bitmap_only(set, (unsigned)pu);
    int rc = carm_topo_check_here(topo, err);
    if (rc == 0 &&
        hwloc_set_cpubind(topo->hwloc, set, HWLOC_CPUBIND_THREAD | HWLOC_CPUBIND_STRICT) != 0) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "cannot pin a thread to CPU %d (%s): check taskset and "
                       "the cgroup's cpuset",
                       pu, strerror(errno));
    }
    if (rc == 0 && sched_getcpu() != pu) { /* the call returned success without effect */
        rc = carm_fail(err, CARM_ENOTSUP,
                       "a thread was pinned to CPU %d, but runs on CPU %d: something else sets "
                       "affinities here (a preloaded library, a sandbox)",
                       pu, sched_getcpu());
    }
    hwloc_bitmap_free(set);
    return rc;
}

int carm_topo_nodes(const struct carm_topo *topo)
{
    int n = 0;
    for (int i = 0; node_at(topo, i); i++) {
        n += usable(topo, node_at(topo, i)) ? 1 : 0;
    }
    return n;
}

int carm_topo_node_of(const struct carm_topo *topo, int pu)
{
    for (int i = 0; node_at(topo, i); i++) {
        const hwloc_obj_t node = node_at(topo, i);
        if (node->cpuset && hwloc_bitmap_isset(node->cpuset, (unsigned)pu)) {
            return i;
        }
    }
    return -1;
}

bool carm_topo_memory_has(const struct carm_topo *topo, int node, int pu)
{
    bool has = false;
    for (int i = 0; node_at(topo, i) && !has; i++) {
        const hwloc_obj_t at = node_at(topo, i);
        has = (int)at->os_index == node && usable(topo, at) &&
              hwloc_bitmap_isset(at->cpuset, (unsigned)pu);
    }
    return has;
}

size_t carm_topo_memories(const struct carm_topo *topo, struct carm_topo_memory *out, size_t most)
{
    size_t n = 0;
    for (int i = 0; node_at(topo, i) && n < most; i++) {
        const hwloc_obj_t at = node_at(topo, i);
        if (at->attr->numanode.local_memory == 0) {
            continue;
        }
        struct carm_topo_memory *m = &out[n++];
        *m = (struct carm_topo_memory){.node = (int)at->os_index,
                                       .bytes = at->attr->numanode.local_memory};
        snprintf(m->kind, sizeof m->kind, "%.47s", at->subtype ? at->subtype : "");
        for (int k = 0; usable(topo, at) && k < topo->cores && k < topo->pus; k++) {
            /* the first threads of the order are one thread of each core */
            m->cores += hwloc_bitmap_isset(at->cpuset, (unsigned)topo->order[k]) ? 1 : 0;
        }
    }
    return n;
}

int carm_topo_far_pu(const struct carm_topo *topo, int n)
{
    const int first = carm_topo_node_of(topo, topo->order[0]);
    if (first < 0 || carm_topo_nodes(topo) < 2) {
        return -1;
    }
    for (int i = 1; i < n && i < topo->pus; i++) {
        if (carm_topo_node_of(topo, topo->order[i]) != first) {
            return topo->order[0];
        }
    }
    for (int i = n; i < topo->pus; i++) {
        const int node = carm_topo_node_of(topo, topo->order[i]);
        if (node >= 0 && node != first) {
            return topo->order[i];
        }
    }
    return -1;
}
