/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/config.h"

#include <inttypes.h>

static const uint64_t lines_max = UINT64_C(1) << 26; /* 4 GiB of cache */

static int check_level(const struct carm_hierarchy_config *config, size_t k, struct carm_err *err)
{
    const struct carm_hierarchy_level *l = &config->levels[k];
    const uint64_t lines = l->size_bytes / CARM_HIERARCHY_LINE;
    if (l->ways < 1 || lines < 1 || lines > lines_max ||
        l->size_bytes % ((uint64_t)CARM_HIERARCHY_LINE * l->ways) != 0) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu has %" PRIu64 " bytes in %" PRIu32
                         " ways: give whole sets of lines of 64 bytes, 4 GiB at most",
                         k + 1, l->size_bytes, l->ways);
    }
    if (config->tree_lru && ((l->ways & (l->ways - 1)) != 0 || l->ways > 64)) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu has %" PRIu32
                         " ways: a tree of bits needs a power of two, 64 at most",
                         k + 1, l->ways);
    }
    if (l->shared_by < 1 || (k > 0 && l->shared_by % config->levels[k - 1].shared_by != 0)) {
        return carm_fail(err, CARM_EINVAL,
                         "cache level %zu is shared by %" PRIu32
                         " cores: give a multiple of those of the level before",
                         k + 1, l->shared_by);
    }
    return 0;
}

int carm_hierarchy_check(const struct carm_hierarchy_config *config, struct carm_err *err)
{
    if (config->nlevels < 1 || config->nlevels > CARM_HIERARCHY_LEVELS_MAX) {
        return carm_fail(err, CARM_EINVAL, "%zu cache levels cannot be simulated: give 1 to %d",
                         config->nlevels, (int)CARM_HIERARCHY_LEVELS_MAX);
    }
    if (config->cores < 1 || config->cores > CARM_HIERARCHY_CORES_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "caches of %" PRIu32 " cores cannot be simulated: give 1 to %d",
                         config->cores, (int)CARM_HIERARCHY_CORES_MAX);
    }
    if (config->buffers > CARM_HIERARCHY_BUFFERS_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "%u write-combining buffers cannot be simulated: give at most %d",
                         config->buffers, (int)CARM_HIERARCHY_BUFFERS_MAX);
    }
    int rc = 0;
    for (size_t k = 0; k < config->nlevels && !rc; k++) {
        rc = check_level(config, k, err);
    }
    return rc;
}
