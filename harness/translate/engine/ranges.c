/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's executable memory, in order of addresses. */
#include <string.h>

#include "harness/translate/engine/engine.h"

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
            insert(i, (struct carm_range){old.begin, begin, old.flags, old.translated});
            i++;
        }
        if (old.end > end) {
            insert(i, (struct carm_range){end, old.end, old.flags, old.translated});
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
        insert(first_behind(begin), (struct carm_range){begin, end, flags, 0});
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
        insert(first_behind(begin), (struct carm_range){begin, end, flags, 0});
    }
    return translated;
}
