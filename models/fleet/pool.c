/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/pool.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct carm_fleet_pool {
    void *root; /* of tsearch */
};

struct carm_fleet_pool *carm_fleet_pool_open(void)
{
    return calloc(1, sizeof(struct carm_fleet_pool));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *carm_fleet_pool_keep(struct carm_fleet_pool *pool, const char *text)
{
    /* tsearch hands back a pointer to what its node holds, which is the string */
    const char *const *found = tfind(text, &pool->root, by_text);
    if (found) {
        return *found;
    }
    char *copy = strdup(text);
    found = copy ? tsearch(copy, &pool->root, by_text) : NULL;
    if (!found) {
        free(copy);
        return NULL;
    }
    return *found;
}

void carm_fleet_pool_close(struct carm_fleet_pool *pool)
{
    if (pool) {
        tdestroy(pool->root, free);
        free(pool);
    }
}

static void store(void *items, void *more)
{
    memcpy(items, &more, sizeof more);
}

int carm_fleet_grow(void *items, size_t n, size_t size)
{
    void *old;
    if (n & (n - 1)) {
        return 0; /* not a power of two: there is room */
    }
    memcpy(&old, items, sizeof old);
    void *more = realloc(old, (n ? 2 * n : 1) * size);
    if (!more) {
        return -1;
    }
    store(items, more);
    return 0;
}
