/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's executable memory, in order of addresses. */
#include <fcntl.h>
#include <string.h>

#include "harness/translate/engine/engine.h"
#include "harness/translate/engine/sys.h"

enum { RANGES_MAX = 16384 };

static struct carm_range ranges[RANGES_MAX];
static uint32_t n;

void carm_ranges_begin(const struct carm_boot *boot)
{
    memcpy(ranges, boot->ranges, boot->nranges * sizeof *ranges);
    n = boot->nranges;
}

/* The first range that ends behind at. */
static uint32_t first_behind(uint64_t at)
{
    uint32_t low = 0;
    uint32_t high = n;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (ranges[middle].end > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
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

/* Takes [begin, end) out. was: flags that were there */
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
        const uint32_t flags = (was & CARM_RANGE_SHARED) | (writable ? CARM_RANGE_WRITABLE : 0U);
        insert(first_behind(begin), (struct carm_range){begin, end, flags, 0, 0});
    }
    return translated;
}

/* ---- which file it is of ---- */

enum { LINE_MAX = CARM_TALLY_PATH_MAX + 128, CHUNK = 4096 };

/* A hexadecimal number and the character behind it. */
static uint64_t hexadecimal(const char **at)
{
    uint64_t value = 0;
    for (;; (*at)++) {
        const char c = **at;
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                      : 16;
        if (digit == 16) {
            *at += c ? 1 : 0;
            return value;
        }
        value = value << 4 | digit;
    }
}

static const char *behind_blanks(const char *at)
{
    while (*at == ' ') {
        at++;
    }
    return at;
}

static const char *behind_word(const char *at)
{
    while (*at && *at != ' ') {
        at++;
    }
    return behind_blanks(at);
}

/* "begin-end rwxp offset device inode  path". returns whether at is in it */
static bool read_line(const char *line, uint64_t at, struct carm_tally_map *map)
{
    map->begin = hexadecimal(&line);
    map->end = hexadecimal(&line);
    if (at < map->begin || at >= map->end) {
        return false;
    }
    line = behind_word(line);
    map->offset = hexadecimal(&line);
    line = behind_word(behind_word(behind_blanks(line)));
    size_t length = strlen(line);
    length = length < sizeof map->path ? length : 0; /* half a path is of another file */
    memcpy(map->path, line, length);
    map->path[length] = '\0';
    return true;
}

static bool read_maps(uint64_t at, struct carm_tally_map *map)
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
                found = read_line(line, at, map);
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

uint16_t carm_ranges_map(struct carm_range *range, uint64_t at)
{
    struct carm_tally *tally = CARM_TALLY;
    static struct carm_tally_map map;
    if (range->map || range->translated) {
        return range->map;
    }
    if (read_maps(at, &map)) {
        const uint32_t number = __atomic_fetch_add(&tally->maps, 1, __ATOMIC_ACQ_REL);
        if (number < CARM_TALLY_MAPS) {
            ((struct carm_tally_map *)(CARM_TALLY_AT + CARM_TALLY_MAPS_AT))[number] = map;
            range->map = (uint16_t)(number + 1);
        } else {
            __atomic_store_n(&tally->maps, CARM_TALLY_MAPS, __ATOMIC_RELEASE);
        }
    }
    return range->map;
}
