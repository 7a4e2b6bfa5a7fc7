/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Topology of the machine inside this process's cpuset (hwloc). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CARM_TOPO_CACHES_MAX = 8, CARM_TOPO_PLACE_MAX = 80 };

struct carm_topo_cache {
    int level;
    uint64_t size_bytes; /* one instance; 0 = not reported */
    int shared_by;       /* usable hardware threads that share one instance (the largest share of
                          * instances of this size) */
    int instances;       /* instances that usable hardware threads reach */
    int ways;            /* associativity; 0 = not reported, -1 = fully associative */
    int inclusive;       /* whether it includes the levels before it, by CPUID: 1, 0; -1 = not
                          * reported */
};

struct carm_topo {
    int pus;             /* usable hardware threads */
    int cores;           /* cores that they belong to */
    int packages, nodes; /* sockets and NUMA nodes that they belong to, at least 1; memory-only
                          * nodes do not count */
    int machine_pus;     /* hardware threads of the whole machine */
    double quota;        /* processors' worth of time that the cgroup allows; 0 = no quota */
    bool elsewhere;      /* hwloc describes another machine (HWLOC_XMLFILE and the like) */
    bool restricted;     /* the cpuset leaves out some of the machine */
    int *order;          /* [pus] OS indices in the order in which threads are placed: one for each
                          * core first, then the second hardware thread of each, ...; of a hybrid
                          * CPU the fastest kind first; harness/place/place.h changes it */
    char on[CARM_TOPO_PLACE_MAX];     /* the words of --on that it is restricted to; "" = none */
    char layout[CARM_TOPO_PLACE_MAX]; /* the words of --threads, where they place threads in another
                                  * order than usual; "" = the usual order */
    struct carm_topo_cache caches[CARM_TOPO_CACHES_MAX]; /* data and unified, level ascending */
    size_t ncaches;
    void *hwloc; /* hwloc_topology_t */
    bool synthetic;
};

/* Reads the machine's topology, restricted to the CPUs that this process may use.
 * synthetic  NULL, or a description of a synthetic machine (hwloc's notation) for tests
 * cpuset     NULL, or an hwloc cpuset string ("0x3") to restrict it to (for tests)
 * returns 0 or -CARM_ENOTSUP */
int carm_topo_open(struct carm_topo **out, const char *synthetic, const char *cpuset,
                   struct carm_err *err);
void carm_topo_close(struct carm_topo *topo); /* NULL allowed */

/* Restricts an open topology to some of its hardware threads (OS indices), and reads them back:
 * everything is as if the process had been started on them.
 * returns 0 or -CARM_ENOTSUP; on error it can only be closed */
int carm_topo_keep(struct carm_topo *topo, const int *pus, int n, struct carm_err *err);

/* The number of an hwloc object in the words of --on: the OS's for a NUMA node, hwloc's logical index for
 * other objects. It stays when a topology is restricted. -1 = a memory-only node. */
int carm_topo_number(const void *object);

/* Whether an hwloc object has all hardware threads that it had before the topology was restricted. */
bool carm_topo_is_whole(const void *object);

/* Whether hwloc describes this machine: 0, or -CARM_ENOTSUP for another machine, on which
 * nothing can be pinned or measured. */
int carm_topo_check_here(const struct carm_topo *topo, struct carm_err *err);

/* Threads that can compute at the same time: one for each core, at most the quota's number of
 * processors. */
int carm_topo_cores(const struct carm_topo *topo);

/* A sentence on the effect of a quota on measurements; "" when the quota is enough for all
 * hardware threads. returns dst */
char *carm_topo_quota_note(char *dst, size_t size, const struct carm_topo *topo);

/* Whether n threads can be placed, one to a hardware thread: 0, or -CARM_EINVAL with the largest
 * number. */
int carm_topo_check_threads(const struct carm_topo *topo, int n, struct carm_err *err);

/* The number of instances of a cache that the first n threads of the order reach, and the
 * largest number of these threads that share an instance. */
void carm_topo_cache_share(const struct carm_topo *topo, int level, int n, int *instances,
                           int *sharers);

/* Rank of the slowest core of the first n threads of the order, by hwloc's kinds of cores: higher = faster; 0
 * where there is one kind. */
int carm_topo_slowest(const struct carm_topo *topo, int n);

/* Pins the calling thread to a hardware thread, and reads its affinity back: 0 or -CARM_ENOTSUP. */
int carm_topo_pin(const struct carm_topo *topo, int pu, struct carm_err *err);

/* NUMA nodes with a hardware thread that this process may use. */
int carm_topo_nodes(const struct carm_topo *topo);

/* The node (hwloc's logical index) of a hardware thread, -1 = unknown. */
int carm_topo_node_of(const struct carm_topo *topo, int pu);

/* A NUMA node that has memory. */
struct carm_topo_memory {
    int node;  /* the OS's number */
    int cores; /* usable ones; 0 = memory only (HBM, CXL) */
    uint64_t bytes;
    char kind[48]; /* as hwloc names it ("HBM", "CXL-DRAM"); "" = DRAM, or not known */
};

/* All nodes whose memory this process may use.
 * returns how many of out[most] were filled */
size_t carm_topo_memories(const struct carm_topo *topo, struct carm_topo_memory *out, size_t most);

/* Whether a hardware thread belongs to a NUMA node (the OS's number). A memory-only node has none. */
bool carm_topo_memory_has(const struct carm_topo *topo, int node, int pu);

/* The hardware thread that must touch memory first so that n threads run without memory affinity.
 * When the n threads are all on one node: a hardware thread of another node, so that every access
 * is remote. Otherwise the first of the n threads, like a program that fills its arrays before it
 * starts its threads.
 * returns the OS index, or -1 on a machine with one node
 * source: Williams et al. 2009, A.1.2: "allocates all data on one processor" */
int carm_topo_far_pu(const struct carm_topo *topo, int n);
