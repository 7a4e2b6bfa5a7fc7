/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/counts.h"

void carm_hierarchy_add(struct carm_hierarchy_counts *a, const struct carm_hierarchy_counts *b)
{
    a->accesses += b->accesses;
    a->bytes_loaded += b->bytes_loaded;
    a->bytes_stored += b->bytes_stored;
    a->prefetches += b->prefetches;
    a->nt_lines += b->nt_lines;
    a->nt_partial += b->nt_partial;
    a->transfers += b->transfers;
    a->invalidations += b->invalidations;
    a->contested += b->contested;
    for (size_t k = 0; k < CARM_HIERARCHY_LEVELS_MAX; k++) {
        struct carm_hierarchy_level_counts *x = &a->levels[k];
        const struct carm_hierarchy_level_counts *y = &b->levels[k];
        x->lookups += y->lookups;
        for (size_t r = 0; r < CARM_MISS_REASONS; r++) {
            x->misses[r] += y->misses[r];
        }
        x->fills += y->fills;
        x->writebacks += y->writebacks;
        x->prefetched += y->prefetched;
        x->useless += y->useless;
        x->left += y->left;
        x->wasted_bytes += y->wasted_bytes;
    }
}

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
