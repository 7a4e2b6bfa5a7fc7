/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/machine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* a knee that differs from the reported size by at most this share is the reported size: curves bend before a cache
 * is full. Chosen by hand. */
static const double same_size = 0.25;
/* the share for caches in front of another cache, which no neighbour uses. A build of a restless guest measured 0.71 of
 * an L2 of 1 MiB, a size whose sets can hardly be sampled */
static const double same_inner_size = 0.35;

uint64_t carm_caches_bytes(const struct carm_model *model, const struct carm_level *level,
                           bool *measured)
{
    const int number = (int)strtol(level->level + 1, NULL, 10);
    uint64_t size = level->os_size_bytes;
    double near = same_size;
    for (size_t i = 0; i < model->machine.ncaches; i++) {
        const struct carm_cache *c = &model->machine.caches[i];
        size = size == 0 && c->level == number ? c->size_bytes : size;
        near = c->level > number ? same_inner_size : near;
    }
    const bool knee =
        level->resolved && level->knee_bytes > 0 &&
        (size == 0 || fabs((double)level->knee_bytes - (double)size) > near * (double)size);
    if (measured) {
        *measured = knee;
    }
    return knee ? level->knee_bytes : size;
}

double carm_caches_from_memory(const struct carm_model *model, int threads, double bytes)
{
    const struct carm_level *last = NULL;
    const struct carm_curve *curve = NULL;
    double held = 0.0, at = 0.0;
    bool measured = false;
    for (size_t i = 0; i < model->nlevels; i++) {
        last = carm_caches_bytes(model, &model->levels[i], NULL) ? &model->levels[i] : last;
    }
    for (size_t i = 0; i < model->ncurves && !curve; i++) {
        const bool fits = model->curves[i].threads == threads && model->curves[i].npoints > 1;
        curve = fits ? &model->curves[i] : NULL;
    }
    const double room = last ? (double)carm_caches_bytes(model, last, &measured) : 0.0;
    if (!curve || !measured || bytes <= room || bytes >= (double)last->os_size_bytes) {
        return 1.0;
    }
    for (size_t i = 0; i < curve->npoints; i++) {
        const struct carm_curve_point *p = &curve->points[i];
        held = p->x > 0.5 * room && p->x <= room ? fmax(held, p->value) : held;
        if (i > 0 && p->x >= bytes && !(at > 0.0)) {
            const double t = fmax(0.0, (bytes - p[-1].x) / (p->x - p[-1].x));
            at = (1.0 - t) * p[-1].value + t * p->value;
        }
    }
    const double memory = curve->points[curve->npoints - 1].value;
    return at > memory && held > at ? (1.0 / at - 1.0 / held) / (1.0 / memory - 1.0 / held)
           : at > memory            ? 0.0
                                    : 1.0;
}

/* Number of cores that share one cache; a multiple of the number for the level before. */
static uint32_t sharers(const struct carm_model *model, int number, uint32_t before)
{
    const struct carm_machine *m = &model->machine;
    const int smt = m->cores > 0 && m->threads > m->cores ? m->threads / m->cores : 1;
    uint32_t by = before;
    for (size_t i = 0; i < m->ncaches; i++) {
        if (m->caches[i].level == number && m->caches[i].shared_by / smt > (int)by) {
            by = (uint32_t)(m->caches[i].shared_by / smt);
        }
    }
    return by / before * before;
}

static const struct carm_cache_ways *ways_of(const struct carm_cache_ways *ways, size_t n,
                                             int number)
{
    for (size_t i = 0; i < n; i++) {
        if (ways[i].level == number) {
            return &ways[i];
        }
    }
    return NULL;
}

/* Whether the model's caches have the same sizes as these. */
static bool same_machine(const struct carm_model *model, const struct carm_cache_ways *ways,
                         size_t n)
{
    bool all = true;
    for (size_t i = 0; i < n && all; i++) {
        bool same = false;
        for (size_t k = 0; k < model->machine.ncaches; k++) {
            const struct carm_cache *c = &model->machine.caches[k];
            same |= c->level == ways[i].level && c->size_bytes == ways[i].size_bytes;
        }
        all = same;
    }
    return all;
}

/* ways  see struct carm_cache_ways
 * knee  the size was measured, to within 6%: the number of sets is then rounded to a multiple of a power of two, so
 * that sets can be sampled */
static struct carm_hierarchy_level whole_sets(uint64_t size_bytes, int ways, bool last, bool knee)
{
    const uint64_t lines = size_bytes / CARM_HIERARCHY_LINE;
    /* x86 processors since 2010: 8 to 16 ways inside, 11 to 20 in the last level */
    const uint64_t wanted = ways > 0 ? (uint64_t)ways : ways < 0 ? 64 : last ? 16 : 8;
    const uint64_t used = wanted < lines ? wanted : lines;
    uint64_t sets = lines / used;
    uint64_t unit = 1;
    while (knee && 16 * unit <= sets) {
        unit *= 2;
    }
    sets = (sets + unit / 2) / unit * unit;
    return (struct carm_hierarchy_level){.size_bytes = sets * used * CARM_HIERARCHY_LINE,
                                         .ways = (uint32_t)used};
}

static void add_level(const struct carm_model *model, const struct carm_level *level,
                      const struct carm_cache_ways *ways, size_t n, bool last,
                      struct carm_hierarchy_config *out, char *text)
{
    const int number = (int)strtol(level->level + 1, NULL, 10);
    const struct carm_cache_ways *known = ways_of(ways, n, number);
    const uint32_t before = out->nlevels ? out->levels[out->nlevels - 1].shared_by : 1;
    char size[CARM_TEXT_NUMBER_MAX];
    bool knee = false;
    const uint64_t bytes = carm_caches_bytes(model, level, &knee);
    if (bytes < CARM_HIERARCHY_LINE) {
        carm_text_list(text, CARM_CACHES_TEXT_MAX, ", ", "%s left out: its size is not known",
                       level->level);
        return;
    }
    struct carm_hierarchy_level *l = &out->levels[out->nlevels];
    *l = whole_sets(bytes, known ? known->ways : 0, last, knee);
    l->shared_by = sharers(model, number, before);
    carm_text_list(text, CARM_CACHES_TEXT_MAX, "; ", "%s %s%s, %u ways%s", level->level,
                   carm_text_bytes(size, sizeof size, l->size_bytes), knee ? " (measured)" : "",
                   l->ways, known && known->ways ? "" : " (assumed)");
    if (l->shared_by > 1) {
        carm_text_append(text, CARM_CACHES_TEXT_MAX, ", %u cores", l->shared_by);
    }
    if (last && out->nlevels > 0) {
        const int inclusive = known ? known->inclusive : -1;
        out->last = inclusive > 0    ? CARM_LAST_INCLUSIVE
                    : inclusive == 0 ? CARM_LAST_EXCLUSIVE
                                     : CARM_LAST_NONINCLUSIVE;
        carm_text_append(text, CARM_CACHES_TEXT_MAX, ", %s",
                         inclusive > 0    ? "inclusive"
                         : inclusive == 0 ? "holds victims"
                                          : "non-inclusive (assumed)");
    }
    out->nlevels++;
}

int carm_caches_of_model(const struct carm_model *model, const struct carm_cache_ways *ways,
                         size_t n, struct carm_hierarchy_config *out,
                         char text[CARM_CACHES_TEXT_MAX], struct carm_err *err)
{
    const struct carm_level *caches[CARM_HIERARCHY_LEVELS_MAX];
    const size_t known = same_machine(model, ways, n) ? n : 0;
    size_t ncaches = 0;
    text[0] = '\0';
    out->nlevels = 0;
    out->last = CARM_LAST_NONINCLUSIVE;
    out->cores = model->machine.cores > 0 ? (uint32_t)model->machine.cores : 1;
    out->cores = out->cores < CARM_HIERARCHY_CORES_MAX ? out->cores : CARM_HIERARCHY_CORES_MAX;
    for (size_t i = 0; i < model->nlevels && ncaches < CARM_HIERARCHY_LEVELS_MAX; i++) {
        const char *name = model->levels[i].level;
        if (name[0] == 'L' && name[1] >= '1' && name[1] <= '9') {
            caches[ncaches++] = &model->levels[i];
        }
    }
    for (size_t i = 0; i < ncaches; i++) {
        add_level(model, caches[i], ways, known, i + 1 == ncaches, out, text);
    }
    if (out->nlevels == 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no cache whose size is known, so nothing can be simulated: "
                         "carm build measures the levels");
    }
    return 0;
}
