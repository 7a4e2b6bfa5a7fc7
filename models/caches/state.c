/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void carm_holders_add(struct carm_hierarchy *h, uint32_t core, uint64_t line)
{
    uint64_t *mask = carm_linemap_add(&h->map, line + 1); /* the map has no more lines than the
                                                           * caches hold */
    if (mask) {
        mask[core / 64] |= UINT64_C(1) << core % 64;
    } else {
        h->failed = true;
    }
}

bool carm_holders_has(const struct carm_hierarchy *h, uint32_t core, uint64_t line)
{
    for (size_t k = 0; k < h->nprivate; k++) {
        if (carm_sets_find(carm_state_cache(h, k, core), line) != CARM_SETS_NOWHERE) {
            return true;
        }
    }
    return false;
}

void carm_holders_clear(struct carm_hierarchy *h, uint64_t line, uint64_t *mask, uint32_t core)
{
    mask[core / 64] &= ~(UINT64_C(1) << core % 64);
    for (unsigned i = 0; i < h->mapwords; i++) {
        if (mask[i]) {
            return;
        }
    }
    carm_linemap_erase(&h->map, line + 1);
}

void carm_holders_left(struct carm_hierarchy *h, size_t k, uint32_t core, uint64_t line)
{
    const uint32_t by = h->config.levels[k].shared_by;
    const uint32_t first = core / by * by;
    for (uint32_t c = first; c < first + by && c < h->config.cores; c++) {
        uint64_t *mask = carm_linemap_find(&h->map, line + 1);
        if (!mask) {
            return;
        }
        if (carm_holders_bit(mask, c) && !carm_holders_has(h, c, line)) {
            carm_holders_clear(h, line, mask, c);
        }
    }
}

static bool open_cache(struct carm_hierarchy *h, size_t k, struct carm_sets *c)
{
    const struct carm_hierarchy_level *l = &h->config.levels[k];
    const uint64_t lines = l->size_bytes / CARM_HIERARCHY_LINE;
    const uint64_t shadow =
        h->config.share > 0.0 && k > 0 ? (uint64_t)ceil(h->config.share * (double)lines) : lines;
    h->taken += carm_sets_bytes(lines);
    return h->taken <= h->config.memory_bytes &&
           carm_sets_open(c, lines, l->ways, h->config.tree_lru, shadow);
}

static bool open_level(struct carm_hierarchy *h, size_t k)
{
    enum { SEEN_BITS = 8 };
    const uint32_t by = h->config.levels[k].shared_by;
    const uint32_t n = (h->config.cores + by - 1) / by;
    const uint32_t before = k > 0 ? h->ncaches[k - 1] : 0;
    h->ncaches[k] = n;
    h->nprivate = n > 1 ? k + 1 : h->nprivate;
    h->group[k] = k > 0 && before == n ? h->group[k - 1] : k;
    assert(n > 0); /* a machine has a core */
    h->caches[k] = calloc(n, sizeof *h->caches[k]);
    h->seen[k] = h->group[k] == k ? calloc(n, sizeof *h->seen[k]) : NULL;
    bool got = h->caches[k] && (h->seen[k] || h->group[k] != k);
    for (uint32_t x = 0; got && x < n; x++) {
        got = open_cache(h, k, &h->caches[k][x]) &&
              (!h->seen[k] || carm_linemap_open(&h->seen[k][x], SEEN_BITS, 1));
    }
    for (uint32_t core = 0; got && core < h->config.cores; core++) {
        h->ways[(size_t)core * CARM_HIERARCHY_LEVELS_MAX + k] = &h->caches[k][core / by];
    }
    return got;
}

bool carm_state_open(struct carm_hierarchy *h)
{
    enum { MAP_BITS = 12, CONTESTED_BITS = 8 };
    const uint32_t cores = h->config.cores;
    h->by = calloc(1, sizeof *h->by);
    h->nby = 1;
    h->cores = calloc(cores, sizeof *h->cores);
    h->ways = calloc((size_t)cores * CARM_HIERARCHY_LEVELS_MAX, sizeof(struct carm_sets *));
    bool got = h->by && h->cores && h->ways;
    for (size_t k = 0; got && k < h->config.nlevels; k++) {
        got = open_level(h, k);
    }
    if (got && h->nprivate) {
        h->mapwords = (cores + 63) / 64;
        got = carm_linemap_open(&h->map, MAP_BITS, h->mapwords) &&
              carm_linemap_open(&h->contested, CONTESTED_BITS, 1);
    }
    return got;
}

void carm_state_close(struct carm_hierarchy *h)
{
    for (size_t k = 0; k < h->config.nlevels; k++) {
        for (uint32_t x = 0; h->caches[k] && x < h->ncaches[k]; x++) {
            carm_sets_close(&h->caches[k][x]);
        }
        for (uint32_t x = 0; h->seen[k] && x < h->ncaches[k]; x++) {
            carm_linemap_close(&h->seen[k][x]);
        }
        free(h->caches[k]);
        free(h->seen[k]);
    }
    for (uint32_t i = 0; h->cores && i < h->config.cores; i++) {
        free(h->cores[i].lost);
    }
    carm_linemap_close(&h->map);
    carm_linemap_close(&h->contested);
    free(h->cores);
    free(h->ways);
    free(h->by);
}
