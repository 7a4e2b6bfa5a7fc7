/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sorts of places that a machine has, for the other files of harness/place/. */
#pragma once

#include <hwloc.h>
#include <limits.h>

#include "harness/machine/topo.h"

enum carm_place_unit { SOCKET, NUMA, L4, L3, L2, CORE, KIND, CPU, UNITS };

struct carm_place_sort {
    const char *word;
    hwloc_obj_type_t type;
    int level; /* of a cache */
};
extern const struct carm_place_sort carm_place_units[UNITS];

/* Kinds of cores, the fastest first. */
enum { KINDS = 3, NO_UNIT = INT_MAX };
extern const char *const carm_place_kind_words[KINDS];

/* The kinds that hwloc ranks; 0 where all cores are of one kind, or their order is not known. */
int carm_place_kinds(const struct carm_topo *topo);

/* The hardware threads of one unit.
 * at      counts from 0
 * set     out, changed only where the unit exists
 * number  out: the number in its word
 * returns 1; 0 after the last unit; -1 = the unit has no processors, and is no place */
int carm_place_unit_at(const struct carm_topo *topo, enum carm_place_unit unit, int at,
                       hwloc_bitmap_t set, int *number);

/* All units of a sort in words: "l3:0-3", "kind:p,e"; "" = the machine has none. returns dst */
char *carm_place_words(const struct carm_topo *topo, enum carm_place_unit unit,
                       char dst[CARM_TOPO_PLACE_MAX]);

/* "socket:0, numa:0-1, core:0-7, cpu:0-15". returns dst */
char *carm_place_all_words(const struct carm_topo *topo, char *dst, size_t size);

/* Cores of a set of hardware threads. */
int carm_place_cores(const struct carm_topo *topo, hwloc_const_bitmap_t set);

/* The last cache that some cores share, or the memory domain. */
enum carm_place_unit carm_place_last_cache(const struct carm_topo *topo);

/* A hardware thread and its place. */
struct carm_seat {
    int cpu;
    int unit[UNITS]; /* number of its unit of each sort, counted from 0; NO_UNIT = none */
    int smt;         /* number of hardware threads of its core that come before it */
    int key[6];      /* sort key of a layout */
};

/* All hardware threads in topo->order. returns [topo->pus] to be freed; NULL = not enough memory */
struct carm_seat *carm_place_seats(const struct carm_topo *topo);

/* "0-7,96"; "" where size is too little. cpus: [n] */
void carm_place_cpus_text(const int *cpus, int n, char *dst, size_t size);
