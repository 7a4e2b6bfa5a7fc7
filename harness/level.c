/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/level.h"

double carm_level_target(size_t level, size_t n)
{
    if (level + 1 == n) {
        return 20e-6;
    }
    return level + 2 == n && level > 0 ? 9e-6 : CARM_TARGET_CORE;
}

enum carm_search carm_level_search(size_t level, size_t n)
{
    if (level + 1 == n) {
        return CARM_SEARCH_MEMORY;
    }
    return level + 2 == n ? CARM_SEARCH_SHARED : CARM_SEARCH_CORE;
}
