/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words for places of a machine, the same for every command:
 *
 * --on       socket:0  numa:1  l3:2-3  core:0-7,12  kind:p  kind:e  cpu:4  S0:0-3@S1:0-3  M0:  C1:  N:0-7
 * --threads  8  cores  all  4/l3  1/core  2/core  spread  compact
 *
 * Numbers: numa and cpu as the OS counts them (numactl, taskset), all others as hwloc counts
 * what this process may use. Capitals are likwid's domains (likwid-pin -c): N = all, S = socket, M = memory
 * domain, C = last cache; the numbers behind the colon count inside the domain, one hardware thread of
 * each core first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/machine/topo.h"

/* Restricts a topology to the words of --on, and keeps them in topo->on. NULL does nothing.
 * returns 0, -CARM_EINVAL (unknown words, or a place that this machine does not have: the sentence
 * names those that it has), -CARM_ENOTSUP or -CARM_ENOMEM */
int carm_topo_on(struct carm_topo *topo, const char *on, struct carm_err *err);

/* Reads the words of --threads, joined by commas: each is a number of threads and the hardware
 * threads that they take. N/UNIT is N on each unit. Threads fill the machine in the order of topo->order
 * (compact), or go round sockets, memory domains and caches in turn (spread). Sets topo->order so that its first n
 * threads are the set for each number n; topo->layout keeps the words if a set differs from the usual one.
 * threads  [most] out: numbers of threads, ascending
 * returns 0, -CARM_EINVAL (unknown words, too many, sets that do not contain one another) or
 * -CARM_ENOMEM */
int carm_topo_threads(struct carm_topo *topo, const char *words, int *threads, size_t most,
                      size_t *n, struct carm_err *err);

/* The order of --threads spread. order: [topo->pus] out. returns 0 or -CARM_ENOMEM */
int carm_topo_spread(const struct carm_topo *topo, int *order);

/* The threads of a default build: one; the cores of the first cache, memory domain, socket and kind
 * of core that have several cores and not all; all cores.
 * words  out: as --threads takes them */
void carm_topo_usual(const struct carm_topo *topo, char words[CARM_TOPO_PLACE_MAX]);

/* Where the first n threads run, in words: "l3:0", "socket:1", "machine", "4/l3", "machine 2/core", or
 * the CPUs. returns dst */
char *carm_topo_name(const struct carm_topo *topo, int n, char dst[CARM_TOPO_PLACE_MAX]);

/* The CPUs of the first n threads: "0-7,96"; "" where size is too little. returns dst */
char *carm_topo_cpus(const struct carm_topo *topo, int n, char *dst, size_t size);

/* One line of a machine's map: all units of a sort. */
struct carm_topo_unit {
    char words[CARM_TOPO_PLACE_MAX]; /* "l3:0-3"; of one kind of core "kind:p" */
    int count;
    int cores, pus;              /* of the largest unit; 0 for a node without processors */
    int least_cores, least_pus;  /* of the smallest unit */
    uint64_t bytes, least_bytes; /* size of the largest and the smallest cache, or a memory-only
                                  * node's memory; 0 = unknown */
    int level;                   /* of a cache, else 0 */
    bool memory;                 /* a NUMA node without processors of its own */
    char note[80];               /* of a memory-only node its sort ("HBM", "CXL-DRAM"), of a kind
                                 * of core its CPUID type and its L2; "" = unknown */
};

/* The map of a machine, from the largest units to the smallest.
 * returns the number of lines, at most most */
size_t carm_topo_map(const struct carm_topo *topo, struct carm_topo_unit *out, size_t most);

/* "p", "e", "lp": the word of kind:p; kind below 3 */
const char *carm_kind_word(int kind);

/* The kind of each processor of a hybrid Intel CPU, as the kernel's PMUs have them (cpu_core, cpu_atom, cpu_lowpower),
 * without hwloc, which takes some 10 ms.
 * folder  "/sys/devices", or a test's
 * kinds   [most] out: 0 = p, 1 = e, 2 = lp, 255 = none of these
 * returns the largest number of a processor + 1; 0 = fewer than two kinds */
size_t carm_kinds_of_cpus(const char *folder, uint8_t *kinds, size_t most);

/* Binds this process, and what it executes, to the topology's hardware threads, and reads the
 * binding back. returns 0 or -CARM_ENOTSUP */
int carm_topo_bind(const struct carm_topo *topo, struct carm_err *err);
