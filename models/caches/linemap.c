/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/linemap.h"

#include <stdlib.h>
#include <string.h>

bool carm_linemap_open(struct carm_linemap *t, unsigned bits, unsigned width)
{
    *t = (struct carm_linemap){.bits = bits, .width = width};
    t->keys = calloc((size_t)1 << bits, sizeof *t->keys);
    t->words = calloc((size_t)width << bits, sizeof *t->words);
    return t->keys && t->words;
}

void carm_linemap_close(struct carm_linemap *t)
{
    free(t->keys);
    free(t->words);
}

uint64_t carm_linemap_bytes(const struct carm_linemap *t)
{
    return (uint64_t)(1 + t->width) * sizeof(uint64_t) << t->bits;
}

static bool grow(struct carm_linemap *t)
{
    struct carm_linemap more;
    if (!carm_linemap_open(&more, t->bits + 1, t->width)) {
        carm_linemap_close(&more);
        return false;
    }
    for (uint64_t i = 0; i >> t->bits == 0; i++) {
        if (t->keys[i] != 0) {
            const uint64_t at = carm_linemap_at(&more, t->keys[i]);
            more.keys[at] = t->keys[i];
            memcpy(more.words + at * t->width, t->words + i * t->width,
                   t->width * sizeof *t->words);
        }
    }
    more.used = t->used;
    carm_linemap_close(t);
    *t = more;
    return true;
}

bool carm_linemap_full(const struct carm_linemap *t)
{
    return 2 * (t->used + 1) >> t->bits != 0;
}

uint64_t *carm_linemap_add(struct carm_linemap *t, uint64_t key)
{
    uint64_t at = carm_linemap_at(t, key);
    if (t->keys[at] == 0) {
        if (carm_linemap_full(t)) {
            if (!grow(t)) {
                return NULL;
            }
            at = carm_linemap_at(t, key);
        }
        t->keys[at] = key;
        t->used++;
    }
    return t->words + at * t->width; // NOLINT(clang-analyzer-unix.Malloc): grow has replaced it
}

uint64_t *carm_linemap_find(const struct carm_linemap *t, uint64_t key)
{
    const uint64_t at = carm_linemap_at(t, key);
    return t->keys[at] ? t->words + at * t->width : NULL;
}

/* Entries behind an erased one move up, so that no gap cuts a probe sequence. */
void carm_linemap_erase(struct carm_linemap *t, uint64_t key)
{
    const uint64_t mask = (UINT64_C(1) << t->bits) - 1;
    uint64_t gap = carm_linemap_at(t, key);
    if (t->keys[gap] == 0) {
        return;
    }
    for (uint64_t at = (gap + 1) & mask; t->keys[at] != 0; at = (at + 1) & mask) {
        const uint64_t home = carm_linemap_hash(t->keys[at], t->bits);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            t->keys[gap] = t->keys[at];
            memcpy(t->words + gap * t->width, t->words + at * t->width,
                   t->width * sizeof *t->words);
            gap = at;
        }
    }
    t->keys[gap] = 0;
    memset(t->words + gap * t->width, 0, t->width * sizeof *t->words);
    t->used--;
}
