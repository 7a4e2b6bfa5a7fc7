/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/counts.h"

double carm_hierarchy_bytes(const struct carm_hierarchy_counts *counts, size_t k)
{
    const uint64_t nt = k + 1 == counts->nlevels ? counts->nt_lines + counts->nt_partial : 0;
    return (double)CARM_HIERARCHY_LINE *
           (double)(counts->levels[k].fills + counts->levels[k].writebacks + nt);
}

uint64_t carm_hierarchy_misses(const struct carm_hierarchy_counts *counts, size_t k)
{
    uint64_t all = 0;
    for (size_t i = 0; i < CARM_MISS_REASONS; i++) {
        all += counts->levels[k].misses[i];
    }
    return all;
}

const char *carm_miss_reason_name(enum carm_miss_reason reason)
{
    static const char *const names[CARM_MISS_REASONS] = {"compulsory", "capacity", "conflict",
                                                         "coherence"};
    return (unsigned)reason < CARM_MISS_REASONS ? names[reason] : "";
}
