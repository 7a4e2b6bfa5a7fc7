/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/sets.h"

#include <stdlib.h>
#include <string.h>

bool carm_sets_open(struct carm_sets *c, uint64_t lines, uint32_t ways, bool tree_lru,
                    uint64_t shadow)
{
    c->ways = ways;
    c->sets = lines / ways;
    c->mask = (c->sets & (c->sets - 1)) == 0 ? c->sets - 1 : 0;
    c->entries = calloc(lines, sizeof *c->entries);
    c->used = calloc(lines, sizeof *c->used);
    c->whose = calloc(lines, sizeof *c->whose);
    c->trees = tree_lru ? calloc(c->sets, sizeof *c->trees) : NULL;
    return c->entries && c->used && c->whose && (c->trees || !tree_lru) &&
           carm_lru_open(&c->shadow, shadow);
}

void carm_sets_close(struct carm_sets *c)
{
    free(c->entries);
    free(c->used);
    free(c->whose);
    free(c->trees);
    carm_lru_close(&c->shadow);
}

uint64_t carm_sets_bytes(uint64_t lines)
{
    return lines * (2 * sizeof(uint64_t) + sizeof(struct carm_whose) +
                    sizeof(struct carm_lru_node) + 2 * sizeof(uint32_t));
}

uint64_t carm_sets_touch(struct carm_sets *c, uint64_t at, uint64_t i)
{
    if (c->trees) {
        uint64_t *tree = &c->trees[at / c->ways];
        uint64_t n = 1;
        for (uint32_t half = c->ways / 2; half; half /= 2) {
            const uint64_t right = ((i - at) & half) != 0;
            *tree = right ? *tree & ~(UINT64_C(1) << n) : *tree | UINT64_C(1) << n;
            n = 2 * n + right;
        }
        return i;
    }
    const uint64_t entry = c->entries[i];
    const uint64_t used = c->used[i];
    const struct carm_whose whose = c->whose[i];
    for (; i > at; i--) {
        c->entries[i] = c->entries[i - 1];
        c->used[i] = c->used[i - 1];
        c->whose[i] = c->whose[i - 1];
    }
    c->entries[at] = entry;
    c->used[at] = used;
    c->whose[at] = whose;
    return at;
}

uint64_t carm_sets_victim(const struct carm_sets *c, uint64_t line)
{
    const uint64_t at = carm_sets_place(c, line);
    if (!c->trees) {
        return at + c->ways - 1; /* empty ways are at the end */
    }
    for (uint64_t i = at; i < at + c->ways; i++) {
        if (c->entries[i] == 0) {
            return i;
        }
    }
    uint64_t n = 1;
    uint64_t way = 0;
    for (uint32_t half = c->ways / 2; half; half /= 2) {
        const uint64_t right = c->trees[at / c->ways] >> n & 1;
        way += right ? half : 0;
        n = 2 * n + right;
    }
    return at + way;
}

void carm_sets_empty(struct carm_sets *c, uint64_t line, uint64_t i)
{
    if (!c->trees) {
        const uint64_t last = carm_sets_place(c, line) + c->ways - 1;
        memmove(c->entries + i, c->entries + i + 1, (last - i) * sizeof *c->entries);
        memmove(c->used + i, c->used + i + 1, (last - i) * sizeof *c->used);
        memmove(c->whose + i, c->whose + i + 1, (last - i) * sizeof *c->whose);
        i = last;
    }
    c->entries[i] = 0;
    c->used[i] = 0;
}
