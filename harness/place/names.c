/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/place/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/place/units.h"

/* Number of the first n hardware threads on each core of a unit, if it is the same for all cores; else 0. */
static int on_each_core(const struct carm_seat *seats, const struct carm_topo *topo, int n,
                        hwloc_const_bitmap_t unit)
{
    int each = 0;
    for (int i = 0; i < topo->pus; i++) {
        int inside = 0;
        for (int k = 0; k < n; k++) {
            inside += seats[k].unit[CORE] == seats[i].unit[CORE] ? 1 : 0;
        }
        if (!hwloc_bitmap_isset(unit, (unsigned)seats[i].cpu)) {
            if (inside) {
                return 0;
            }
            continue;
        }
        if (inside == 0 || (each && inside != each)) {
            return 0;
        }
        each = inside;
    }
    return each;
}

/* Number of the first n hardware threads on each unit of a sort, if it is the same for all units; else 0. */
static int on_each_unit(const struct carm_seat *seats, const struct carm_topo *topo, int n,
                        enum carm_place_unit unit)
{
    int each = 0;
    for (int i = 0; i < topo->pus; i++) {
        int inside = 0;
        for (int k = 0; k < n; k++) {
            inside += seats[k].unit[unit] == seats[i].unit[unit] ? 1 : 0;
        }
        if (inside == 0 || seats[i].unit[unit] == NO_UNIT || (each && inside != each)) {
            return 0;
        }
        each = inside;
    }
    return each;
}

static void say_unit(char *dst, enum carm_place_unit unit, int number, int each)
{
    char word[24];
    if (unit == KIND) {
        snprintf(word, sizeof word, "kind:%s", carm_place_kind_words[number]);
    } else {
        snprintf(word, sizeof word, "%s:%d", carm_place_units[unit].word, number);
    }
    snprintf(dst, CARM_TOPO_PLACE_MAX, each > 1 ? "%s %d/core" : "%s", word, each);
}

/* Names the whole place, or the largest unit whose cores the threads fill. returns false if there is none */
static bool name_unit(const struct carm_seat *seats, const struct carm_topo *topo, int n, char *dst)
{
    static const enum carm_place_unit sorts[] = {SOCKET, NUMA, KIND, L4, L3, L2, CORE};
    const hwloc_bitmap_t whole = hwloc_get_root_obj(topo->hwloc)->cpuset;
    int each = n > 1 ? on_each_core(seats, topo, n, whole) : 0;
    snprintf(dst, CARM_TOPO_PLACE_MAX, each > 1 ? "%.60s %d/core" : "%.60s",
             *topo->on ? topo->on : "machine", each);
    if (each && !*topo->on) {
        return true;
    }
    const bool filled = each > 0;
    each = 0;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (size_t i = 0; set && i < sizeof sorts / sizeof *sorts && !each; i++) {
        int number = 0;
        for (int k = 0, there = n > 1 || sorts[i] == CORE; there && !each; k++) {
            there = carm_place_unit_at(topo, sorts[i], k, set, &number);
            each = there > 0 && hwloc_bitmap_isset(set, (unsigned)seats[0].cpu) &&
                           (sorts[i] == CORE || carm_place_cores(topo, set) > 1) &&
                           (sorts[i] == KIND || sorts[i] == CORE ||
                            carm_topo_is_whole(hwloc_get_obj_by_type(
                                topo->hwloc, carm_place_units[sorts[i]].type, (unsigned)k)))
                       ? on_each_core(seats, topo, n, set)
                       : 0;
            if (each) {
                say_unit(dst, sorts[i], number, each);
            }
        }
    }
    hwloc_bitmap_free(set);
    return each > 0 || filled;
}

char *carm_topo_name(const struct carm_topo *topo, int n, char dst[CARM_TOPO_PLACE_MAX])
{
    static const enum carm_place_unit sorts[] = {SOCKET, NUMA, L4, L3, L2};
    struct carm_seat *seats = carm_place_seats(topo);
    int least = 0;
    dst[0] = '\0';
    if (seats && !name_unit(seats, topo, n, dst)) {
        for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
            const int each = on_each_unit(seats, topo, n, sorts[i]);
            if (each && each < n && (!least || each < least)) {
                least = each;
                snprintf(dst, CARM_TOPO_PLACE_MAX, "%d/%s", each, carm_place_units[sorts[i]].word);
            }
        }
        if (!least) {
            memcpy(dst, "cpu:", sizeof "cpu:");
            carm_topo_cpus(topo, n, dst + 4, CARM_TOPO_PLACE_MAX - 4);
            dst[dst[4] ? strlen(dst) : 0] = '\0'; /* too many ranges: no words */
        }
    }
    free(seats);
    return dst;
}

char *carm_topo_cpus(const struct carm_topo *topo, int n, char *dst, size_t size)
{
    carm_place_cpus_text(topo->order, n < topo->pus ? n : topo->pus, dst, size);
    return dst;
}

static void describe(const struct carm_topo *topo, enum carm_place_unit unit,
                     hwloc_const_bitmap_t set, int at, struct carm_topo_unit *out)
{
    const int cores = carm_place_cores(topo, set);
    const int pus = hwloc_bitmap_weight(set);
    const hwloc_obj_t obj =
        unit == KIND
            ? NULL
            : hwloc_get_obj_by_type(topo->hwloc, carm_place_units[unit].type, (unsigned)at);
    out->least_cores = out->count == 0 || cores < out->least_cores ? cores : out->least_cores;
    out->least_pus = out->count == 0 || pus < out->least_pus ? pus : out->least_pus;
    out->cores = cores > out->cores ? cores : out->cores;
    out->pus = pus > out->pus ? pus : out->pus;
    out->level = carm_place_units[unit].level;
    if (out->level) {
        const uint64_t bytes = obj->attr->cache.size;
        out->bytes = bytes > out->bytes ? bytes : out->bytes;
        out->least_bytes = out->count == 0 || bytes < out->least_bytes ? bytes : out->least_bytes;
    }
    out->count++;
}

/* Adds the size and the sharing of a kind's L2. */
static void note_l2(const struct carm_topo *topo, hwloc_const_bitmap_t set, char *note, size_t size)
{
    char bytes[CARM_TEXT_NUMBER_MAX];
    const hwloc_obj_t pu =
        hwloc_get_pu_obj_by_os_index(topo->hwloc, (unsigned)hwloc_bitmap_first(set));
    const hwloc_obj_t l2 =
        pu ? hwloc_get_ancestor_obj_by_type(topo->hwloc, HWLOC_OBJ_L2CACHE, pu) : NULL;
    const int sharers = l2 ? hwloc_bitmap_weight(l2->cpuset) : 0;
    if (l2) {
        carm_text_append(note, size, "L2 %s for %d hardware thread%s",
                         carm_text_bytes(bytes, sizeof bytes, l2->attr->cache.size), sharers,
                         sharers == 1 ? "" : "s");
    }
}

/* A line for each kind, with the type that CPUID reports. */
static size_t map_kinds(const struct carm_topo *topo, hwloc_bitmap_t set,
                        struct carm_topo_unit *out, size_t most)
{
    const int n = carm_place_kinds(topo);
    size_t lines = 0;
    for (int i = 0; i < n && lines < most; i++) {
        struct carm_topo_unit *u = &out[lines++];
        struct hwloc_info_s *infos = NULL;
        unsigned ninfos = 0;
        *u = (struct carm_topo_unit){.count = 0};
        hwloc_cpukinds_get_info(topo->hwloc, (unsigned)(n - 1 - i), set, NULL, &ninfos, &infos, 0);
        for (unsigned k = 0; k < ninfos; k++) {
            if (strcmp(infos[k].name, "CoreType") == 0) {
                snprintf(u->note, sizeof u->note, "%.24s, ", infos[k].value);
            }
        }
        note_l2(topo, set, u->note, sizeof u->note);
        snprintf(u->words, sizeof u->words, "kind:%s", carm_place_kind_words[i]);
        describe(topo, KIND, set, i, u);
    }
    return lines;
}

/* A line for each group of equal memory-only nodes with consecutive numbers. */
static size_t map_memory(const struct carm_topo *topo, struct carm_topo_unit *out, size_t most)
{
    size_t lines = 0;
    unsigned first = 0;
    for (unsigned i = 0; lines < most; i++) {
        const hwloc_obj_t node = hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, i);
        if (!node) {
            break;
        }
        if (carm_topo_number(node) >= 0) {
            continue;
        }
        const char *sort = node->subtype ? node->subtype : "";
        struct carm_topo_unit *last = lines ? &out[lines - 1] : NULL;
        if (last && last->bytes == node->attr->numanode.local_memory &&
            strcmp(last->note, sort) == 0 && node->os_index == first + (unsigned)last->count) {
            snprintf(last->words, sizeof last->words, "numa:%u-%u", first, node->os_index);
            last->count++;
            continue;
        }
        first = node->os_index;
        struct carm_topo_unit *u = &out[lines++];
        *u = (struct carm_topo_unit){
            .count = 1, .bytes = node->attr->numanode.local_memory, .memory = true};
        snprintf(u->words, sizeof u->words, "numa:%u", node->os_index);
        snprintf(u->note, sizeof u->note, "%.47s", sort);
    }
    return lines;
}

size_t carm_topo_map(const struct carm_topo *topo, struct carm_topo_unit *out, size_t most)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    size_t lines = 0;
    for (enum carm_place_unit u = 0; set && u < UNITS && lines < most; u++) {
        struct carm_topo_unit *unit = &out[lines];
        int number = 0;
        if (u == KIND) {
            lines += map_kinds(topo, set, unit, most - lines);
            continue;
        }
        *unit = (struct carm_topo_unit){.count = 0};
        for (int i = 0, there = 1; there; i++) {
            there = carm_place_unit_at(topo, u, i, set, &number);
            if (there > 0) {
                describe(topo, u, set, i, unit);
            }
        }
        if (*carm_place_words(topo, u, unit->words)) {
            lines++;
        }
        if (u == NUMA) {
            lines += map_memory(topo, &out[lines], most - lines);
        }
    }
    hwloc_bitmap_free(set);
    return lines;
}
