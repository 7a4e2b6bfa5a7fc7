/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's executable memory, in order of addresses. */
#include <fcntl.h>
#include <string.h>

#include "base/array.h"
#include "harness/translate/engine/cache/cache.h"
#include "harness/translate/engine/sys.h"
#include "harness/translate/maps.h"

enum { RANGES_MAX = 16384, REALTIME = 0 /* CLOCK_REALTIME, which strict C17 does not name */ };

static struct carm_range ranges[RANGES_MAX];
static uint32_t n;

void carm_ranges_begin(const struct carm_boot *boot)
{
    memcpy(ranges, boot->ranges, boot->nranges * sizeof *ranges);
    n = boot->nranges;
}

/* Index of the first range that ends after an address. */
static uint32_t first_behind(uint64_t at)
{
    uint32_t i;
    CARM_ARRAY_BISECT(i, n, middle, ranges[middle].end <= at);
    return i;
}

struct carm_range *carm_ranges_find(uint64_t at)
{
    const uint32_t i = first_behind(at);
    return i < n && ranges[i].begin <= at ? &ranges[i] : NULL;
}

static void insert(uint32_t i, struct carm_range range)
{
    if (n == RANGES_MAX) {
        carm_give_up("it has more than 16384 pieces of executable memory");
        return;
    }
    memmove(&ranges[i + 1], &ranges[i], (n - i) * sizeof *ranges);
    ranges[i] = range;
    n++;
}

/* Removes [begin, end) from the ranges.
 * was  out: the flags of the removed ranges */
static bool take_out(uint64_t begin, uint64_t end, uint32_t *was)
{
    bool translated = false;
    uint32_t i = first_behind(begin);
    *was = 0;
    while (i < n && ranges[i].begin < end) {
        const struct carm_range old = ranges[i];
        translated |= old.translated;
        *was |= old.flags;
        memmove(&ranges[i], &ranges[i + 1], (n - i - 1) * sizeof *ranges);
        n--;
        if (old.begin < begin) {
            insert(i, (struct carm_range){old.begin, begin, old.flags, old.translated, old.map});
            i++;
        }
        if (old.end > end) {
            insert(i, (struct carm_range){end, old.end, old.flags, old.translated, old.map});
            i++;
        }
    }
    return translated;
}

bool carm_ranges_set(uint64_t begin, uint64_t end, bool executable, uint32_t flags)
{
    uint32_t was = 0;
    if (begin >= end || (!executable && (n == 0 || ranges[n - 1].end <= begin))) {
        return false;
    }
    const bool translated = take_out(begin, end, &was);
    if (executable) {
        insert(first_behind(begin), (struct carm_range){begin, end, flags, 0, 0});
    }
    return translated;
}

bool carm_ranges_protect(uint64_t begin, uint64_t end, bool executable, bool writable)
{
    uint32_t was = 0;
    if (begin >= end) {
        return false;
    }
    const bool translated = take_out(begin, end, &was);
    if (executable) {
        const uint32_t flags = (was & CARM_RANGE_SHARED) | (writable ? CARM_RANGE_WRITABLE : 0U) |
                               CARM_RANGE_PROTECTED;
        insert(first_behind(begin), (struct carm_range){begin, end, flags, 0, 0});
    }
    return translated;
}

bool carm_ranges_translated(uint64_t begin, uint64_t end)
{
    for (uint32_t i = first_behind(begin); i < n && ranges[i].begin < end; i++) {
        if (ranges[i].translated) {
            return true;
        }
    }
    return false;
}

uint32_t carm_ranges_flags(uint64_t begin, uint64_t end)
{
    uint32_t flags = 0;
    for (uint32_t i = first_behind(begin); i < n && ranges[i].begin < end; i++) {
        flags |= ranges[i].flags;
    }
    return flags;
}

void carm_ranges_mark(uint64_t begin, uint64_t end)
{
    for (uint32_t i = first_behind(begin); i < n && ranges[i].begin < end; i++) {
        ranges[i].translated = 1;
    }
}

uint64_t carm_ranges_left(uint64_t at, uint64_t most)
{
    uint64_t end = at;
    for (uint32_t i = first_behind(at); i < n && ranges[i].begin <= end && end - at < most; i++) {
        end = ranges[i].end;
    }
    return end - at < most ? end - at : most;
}

bool carm_ranges_fixed(uint64_t at, uint64_t bytes)
{
    return carm_ranges_left(at, bytes) == bytes &&
           !(carm_ranges_flags(at, at + bytes) & (CARM_RANGE_CHANGES | CARM_RANGE_PROTECTED));
}

enum {
    LINE_MAX = 4 * CARM_TALLY_PATH_MAX + 128,
    CHUNK = 4096
}; /* with room for newlines, which take 4 characters each (\012) */

/* A line of /proc/self/maps. */
struct line {
    struct carm_tally_map map;
    bool executable;
    uint32_t flags;
};

/* returns whether the line's range contains `at` */
static bool read_line(const char *text, uint64_t at, struct line *out)
{
    struct carm_maps_line line;
    struct carm_tally_map *map = &out->map;
    if (!carm_maps_read(text, &line) || at < line.begin || at >= line.end) {
        return false;
    }
    map->begin = line.begin;
    map->end = line.end;
    map->offset = line.offset;
    map->inode = line.inode;
    out->executable = line.executable;
    out->flags = 0;
    if (out->executable) {
        out->flags =
            (line.writable ? CARM_RANGE_WRITABLE : 0U) | (line.shared ? CARM_RANGE_SHARED : 0U);
    }
    carm_maps_path(line.path, map->path, sizeof map->path);
    if (strcmp(map->path, "[vdso]") == 0) { /* the kernel's code for clocks */
        __atomic_fetch_or(&CARM_CONTROL->varies, CARM_VARIES_TIME, __ATOMIC_RELAXED);
    }
    return true;
}

static bool read_maps(uint64_t at, struct line *out)
{
    static const char path[] = "/proc/self/maps";
    static char chunk[CHUNK], line[LINE_MAX];
    size_t used = 0;
    bool found = false;
    const long fd =
        carm_sys4(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t)path, O_RDONLY | O_CLOEXEC, 0);
    long got = fd;
    while (fd >= 0 && !found && got >= 0) {
        got = carm_sys4(SYS_read, (uint64_t)fd, (uint64_t)chunk, sizeof chunk, 0);
        for (long i = 0; i < got && !found; i++) {
            if (chunk[i] != '\n') {
                line[used] = chunk[i];
                used += used < sizeof line - 1 ? 1 : 0;
            } else {
                line[used] = '\0';
                used = 0;
                found = read_line(line, at, out);
            }
        }
        if (got == 0) {
            break;
        }
    }
    if (fd >= 0) {
        carm_sys2(SYS_close, (uint64_t)fd, 0);
    }
    return found;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static uint64_t realtime(void)
{
    struct timespec now = {0, 0};
    carm_sys2(SYS_clock_gettime, REALTIME, (uint64_t)&now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The number + 1 of the map in ready code, if the program has not mapped it before; 0 = none */
static uint16_t find_ready(const struct carm_tally_map *map, struct carm_tally_map *known)
{
    for (uint32_t i = 0; carm_ready && i < carm_ready->nfiles; i++) {
        struct carm_tally_map *k = &known[i];
        if (!k->time_ns && k->begin == map->begin && k->end == map->end &&
            k->offset == map->offset && k->inode == map->inode && strcmp(k->path, map->path) == 0) {
            k->time_ns = realtime();
            return (uint16_t)(i + 1);
        }
    }
    return 0;
}

/* The number of a map in the tally, + 1; 0 = memory of no file */
static uint16_t note_map(const struct carm_tally_map *map)
{
    struct carm_tally *tally = CARM_TALLY;
    struct carm_tally_map *all = (struct carm_tally_map *)(CARM_TALLY_AT + CARM_TALLY_MAPS_AT);
    const uint16_t ready = find_ready(map, all);
    if (ready) {
        return ready;
    }
    if ((map->path[0] != '/' && !begins(map->path, "[vdso]")) || begins(map->path, "/memfd:")) {
        return 0;
    }
    const uint32_t number = __atomic_fetch_add(&tally->maps, 1, __ATOMIC_ACQ_REL);
    if (number >= CARM_TALLY_MAPS) {
        __atomic_store_n(&tally->maps, CARM_TALLY_MAPS, __ATOMIC_RELEASE);
        return 0;
    }
    all[number] = *map;
    all[number].time_ns = realtime();
    return (uint16_t)(number + 1);
}

struct carm_range *carm_ranges_look(uint64_t at)
{
    static struct line line;
    struct carm_range *range = carm_ranges_find(at);
    if (range && (range->flags & CARM_RANGE_KNOWN)) {
        return range;
    }
    if (!read_maps(at, &line)) { /* no file descriptor was left to read the maps: the memory may
                                  * be shared */
        if (range && (range->flags & CARM_RANGE_PROTECTED)) {
            range->flags |= CARM_RANGE_SHARED;
        }
        return range;
    }
    if (!range && line.executable) {
        const uint32_t i = first_behind(at);
        const uint64_t begin =
            i > 0 && ranges[i - 1].end > line.map.begin ? ranges[i - 1].end : line.map.begin;
        const uint64_t end =
            i < n && ranges[i].begin < line.map.end ? ranges[i].begin : line.map.end;
        insert(i, (struct carm_range){begin, end, CARM_RANGE_PROTECTED, 0, 0});
        range = carm_ranges_find(at);
    }
    if (range) {
        range->flags |= line.flags | CARM_RANGE_KNOWN;
        range->map = note_map(&line.map);
    }
    return range;
}
