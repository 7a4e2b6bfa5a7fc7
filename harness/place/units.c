/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/place/units.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const struct carm_place_sort carm_place_units[UNITS] = {
    [SOCKET] = {"socket", HWLOC_OBJ_PACKAGE, 0},
    [NUMA] = {"numa", HWLOC_OBJ_NUMANODE, 0},
    [L4] = {"l4", HWLOC_OBJ_L4CACHE, 4},
    [L3] = {"l3", HWLOC_OBJ_L3CACHE, 3},
    [L2] = {"l2", HWLOC_OBJ_L2CACHE, 2},
    [CORE] = {"core", HWLOC_OBJ_CORE, 0},
    [KIND] = {"kind", HWLOC_OBJ_PU, 0}, /* of hwloc_cpukinds */
    [CPU] = {"cpu", HWLOC_OBJ_PU, 0},
};

const char *const carm_place_kind_words[KINDS] = {"p", "e", "lp"};

/* The kinds that hwloc ranks; 0 where all cores are of one kind, or their order is not known. */
int carm_place_kinds(const struct carm_topo *topo)
{
    const int n = hwloc_cpukinds_get_nr(topo->hwloc, 0);
    int efficiency = -1;
    if (n < 2 || n > KINDS ||
        hwloc_cpukinds_get_info(topo->hwloc, 0, NULL, &efficiency, NULL, NULL, 0)) {
        return 0;
    }
    return efficiency >= 0 ? n : 0;
}

/* The hardware threads of one unit.
 * at      counts from 0
 * set     out, changed only where the unit exists
 * number  out: the number in its word
 * returns 1; 0 behind the last; -1 = it has no processors of its own, and is no place */
int carm_place_unit_at(const struct carm_topo *topo, enum carm_place_unit unit, int at,
                       hwloc_bitmap_t set, int *number)
{
    if (unit == KIND) {
        const int n = carm_place_kinds(topo);
        *number = at; /* hwloc numbers the slowest kind 0 */
        return at < n && hwloc_cpukinds_get_info(topo->hwloc, (unsigned)(n - 1 - at), set, NULL,
                                                 NULL, NULL, 0) == 0;
    }
    const hwloc_obj_t obj =
        hwloc_get_obj_by_type(topo->hwloc, carm_place_units[unit].type, (unsigned)at);
    if (!obj) {
        return 0;
    }
    *number = unit == CPU ? (int)obj->os_index : carm_topo_number(obj);
    if (*number < 0 || hwloc_bitmap_weight(obj->cpuset) <= 0) {
        return -1;
    }
    hwloc_bitmap_copy(set, obj->cpuset);
    return 1;
}

/* The numbers of all places of one sort. */
static void numbers_of(const struct carm_topo *topo, enum carm_place_unit unit,
                       hwloc_bitmap_t numbers)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int number = 0;
    hwloc_bitmap_zero(numbers);
    for (int i = 0, there = 1; set && there; i++) {
        there = carm_place_unit_at(topo, unit, i, set, &number);
        if (there > 0) {
            hwloc_bitmap_set(numbers, (unsigned)number);
        }
    }
    hwloc_bitmap_free(set);
}

/* "l3:0-3", "kind:p,e"; "" where the machine has none. */
char *carm_place_words(const struct carm_topo *topo, enum carm_place_unit unit,
                       char dst[CARM_TOPO_PLACE_MAX])
{
    hwloc_bitmap_t numbers = hwloc_bitmap_alloc();
    char list[CARM_TOPO_PLACE_MAX - 8] = "";
    dst[0] = '\0';
    if (numbers) {
        numbers_of(topo, unit, numbers);
        hwloc_bitmap_list_snprintf(list, sizeof list, numbers);
    }
    if (unit == KIND && *list) {
        list[0] = '\0';
        for (int i = 0; i < carm_place_kinds(topo); i++) {
            carm_text_list(list, sizeof list, ",", "%s", carm_place_kind_words[i]);
        }
    }
    if (*list) {
        snprintf(dst, CARM_TOPO_PLACE_MAX, "%s:%s", carm_place_units[unit].word, list);
    }
    hwloc_bitmap_free(numbers);
    return dst;
}

/* "socket:0, numa:0-1, core:0-7, cpu:0-15" */
char *carm_place_all_words(const struct carm_topo *topo, char *dst, size_t size)
{
    char words[CARM_TOPO_PLACE_MAX];
    dst[0] = '\0';
    for (enum carm_place_unit u = 0; u < UNITS; u++) {
        if (*carm_place_words(topo, u, words)) {
            carm_text_list(dst, size, ", ", "%s", words);
        }
    }
    return dst;
}

int carm_place_cores(const struct carm_topo *topo, hwloc_const_bitmap_t set)
{
    const int n = hwloc_get_nbobjs_inside_cpuset_by_type(topo->hwloc, set, HWLOC_OBJ_CORE);
    return n > 0 ? n : hwloc_bitmap_weight(set);
}

/* The last cache that some cores share, or the memory domain. */
enum carm_place_unit carm_place_last_cache(const struct carm_topo *topo)
{
    char own[CARM_TOPO_PLACE_MAX];
    return *carm_place_words(topo, L3, own) ? L3 : *carm_place_words(topo, L2, own) ? L2 : NUMA;
}

/* [pus] in topo->order; NULL = not enough memory */
struct carm_seat *carm_place_seats(const struct carm_topo *topo)
{
    struct carm_seat *seats = calloc((size_t)topo->pus, sizeof *seats);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int number = 0;
    if (!seats || !set) {
        hwloc_bitmap_free(set);
        free(seats);
        return NULL;
    }
    for (int i = 0; i < topo->pus; i++) {
        seats[i].cpu = topo->order[i];
        for (enum carm_place_unit u = 0; u < UNITS; u++) {
            seats[i].unit[u] = u == CPU || u == CORE ? i : NO_UNIT;
        }
    }
    for (enum carm_place_unit u = 0; u < CPU; u++) {
        for (int k = 0, there = 1; there; k++) {
            there = carm_place_unit_at(topo, u, k, set, &number);
            for (int i = 0; i < topo->pus && there > 0; i++) {
                if (hwloc_bitmap_isset(set, (unsigned)seats[i].cpu)) {
                    seats[i].unit[u] = k;
                }
            }
        }
    }
    for (int i = 0; i < topo->pus; i++) {
        for (int k = 0; k < i; k++) {
            seats[i].smt += seats[k].unit[CORE] == seats[i].unit[CORE] ? 1 : 0;
        }
    }
    hwloc_bitmap_free(set);
    return seats;
}

void carm_place_cpus_text(const int *cpus, int n, char *dst, size_t size)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    dst[0] = '\0';
    for (int i = 0; set && i < n; i++) {
        hwloc_bitmap_set(set, (unsigned)cpus[i]);
    }
    if (set && hwloc_bitmap_list_snprintf(dst, size, set) >= (int)size) {
        dst[0] = '\0';
    }
    hwloc_bitmap_free(set);
}

const char *carm_kind_word(int kind)
{
    return carm_place_kind_words[kind];
}

/* The processors of one of the kernel's PMUs; nothing where there is none. */
static void read_cpus(const char *folder, const char *name, hwloc_bitmap_t set)
{
    char path[4096];
    char text[4096];
    hwloc_bitmap_zero(set);
    snprintf(path, sizeof path, "%.4000s/%s/cpus", folder, name);
    FILE *f = fopen(path, "re");
    if (f && fgets(text, sizeof text, f)) {
        text[strcspn(text, "\n")] = '\0';
        hwloc_bitmap_list_sscanf(set, text);
    }
    if (f) {
        fclose(f);
    }
}

size_t carm_kinds_of_cpus(const char *folder, uint8_t *kinds, size_t most)
{
    static const char *const names[KINDS] = {"cpu_core", "cpu_atom", "cpu_lowpower"};
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    size_t n = 0;
    int there = 0;
    memset(kinds, UINT8_MAX, most);
    for (int k = 0; set && k < KINDS; k++) {
        read_cpus(folder, names[k], set);
        const int last = hwloc_bitmap_last(set); /* -1 = empty, or no end */
        there += last >= 0 ? 1 : 0;
        for (int cpu = 0; cpu <= last && (size_t)cpu < most; cpu++) {
            if (hwloc_bitmap_isset(set, (unsigned)cpu)) {
                kinds[cpu] = (uint8_t)k;
                n = (size_t)cpu + 1 > n ? (size_t)cpu + 1 : n;
            }
        }
    }
    hwloc_bitmap_free(set);
    return there < 2 ? 0 : n;
}
