/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/ceilings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "harness/machine/search.h"
#include "models/ceilings.h"
#include "models/roofline.h"
#include "validation/series.h"

enum {
    SEARCH_REPS = 900, /* repetitions of the search before a ceiling, for each candidate */
    CACHES = 8,        /* size of a set of random lines, in last caches: an eighth of the loads
                        * may hit */
};

static const double memory_target = 20e-6; /* the target of memory in harness/machine/search.c */

struct ceilings {
    const struct carm_build *build;
    const struct carm_build_levels *levels; /* of the set's threads */
    double more_seconds;                    /* for further rounds of doubtful ceilings */
    struct carm_roofs *roofs;               /* to which the ceilings are added */
    const struct carm_code *dot;            /* the best streaming read; NULL = not known yet */
};

/* Bytes of the last cache, all instances that the threads reach: the reported size, or the knee
 * of the curve if it is larger. */
static double last_cache(const struct carm_build *build, const struct carm_build_levels *levels,
                         int threads)
{
    const struct carm_topo *topo = build->topo;
    if (topo->ncaches == 0) {
        return 0.0;
    }
    const double size = fmax((double)topo->caches[topo->ncaches - 1].size_bytes,
                             (double)levels->levels[levels->n - 2].knee_bytes);
    return size * carm_build_instances(topo, topo->ncaches - 1, threads);
}

static const struct carm_build_level *memory_level(const struct ceilings *c)
{
    const struct carm_build_levels *levels = c->levels;
    const struct carm_build_level *l = levels->n ? &levels->levels[levels->n - 1] : NULL;
    return l && l->nsets > 0 && carm_level_list_has(&c->build->config->levels, "DRAM") ? l : NULL;
}

/* Memory's working set, all threads together; 0 where memory is no level of this build. */
static double memory_set(const struct ceilings *c)
{
    const struct carm_build_level *l = memory_level(c);
    return l ? (double)l->sets[0] * c->levels->threads : 0.0;
}

__attribute__((format(printf, 2, 3))) static void say(struct carm_ceiling_roof *ceiling,
                                                      const char *fmt, ...)
{
    const size_t used = strlen(ceiling->note);
    char words[CARM_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    snprintf(ceiling->note + used, sizeof ceiling->note - used, "%s%s", used ? "; " : "", words);
}

static struct carm_ceiling_roof unmeasured(enum carm_ceiling_group group, const char *name)
{
    struct carm_ceiling_roof ceiling = {.group = group};
    snprintf(ceiling.name, sizeof ceiling.name, "%s", name);
    return ceiling;
}

double carm_build_traffic_share(const struct carm_code *code)
{
    const struct carm_account *a = &code->account;
    const struct carm_stream s = {.load_bytes = (double)a->load_bytes,
                                  .store_bytes = (double)a->store_bytes,
                                  .update = code->spec.mix.update,
                                  .nontemporal = code->spec.mix.nontemporal};
    return carm_traffic_bytes(&s, 1, 1) / (s.load_bytes + s.store_bytes);
}

static void describe(const struct carm_series *s, const struct carm_pooled *pooled, int threads,
                     struct carm_ceiling_roof *ceiling)
{
    if (s->n == 0) {
        say(ceiling, "not measured: the budget was over");
        return;
    }
    if (!(pooled->rate > 0.0)) { /* no rate: the time was below the empty code's */
        say(ceiling, "not measured: the machine was too busy to time it");
        return;
    }
    char fault[CARM_TEXT_MAX];
    const bool flops =
        ceiling->group != CARM_CEILING_MEMORY && ceiling->group != CARM_CEILING_TRAFFIC;
    const struct carm_account *a = &s->code->account;
    const double share =
        flops ? 1.0 : carm_build_traffic_share(s->code); /* traffic per unit of the rounds'
                                                                * work */
    snprintf(ceiling->code, sizeof ceiling->code, "%s", s->code->name);
    ceiling->rate = pooled->rate * share;
    ceiling->ci95 = (struct carm_ci){pooled->ci95.lo * share, pooled->ci95.hi * share};
    ceiling->clock_hz = pooled->clock_hz;
    ceiling->threads = threads;
    ceiling->reps = s->reps;
    snprintf(ceiling->counted_by, sizeof ceiling->counted_by, "constructed");
    ceiling->disturbed = carm_series_fault(s, pooled, fault, sizeof fault);
    if (ceiling->group == CARM_CEILING_MIX) {
        say(ceiling, "%llu of %llu instructions are floating point",
            (unsigned long long)a->fp_instructions, (unsigned long long)a->instructions);
    }
    if (!flops && a->stores > 0 && !s->code->spec.mix.update && !s->code->spec.mix.nontemporal) {
        say(ceiling, "lines stored to are filled first, by construction");
    }
    if (fault[0]) {
        say(ceiling, "%s", fault);
    }
}

/* Chooses the best code and measures it. set_bytes: of one thread; 0 = no memory */
static const struct carm_code *measure(struct ceilings *c, struct carm_team *team,
                                       const struct carm_code *const *codes, size_t n,
                                       uint64_t set_bytes, struct carm_ceiling_roof *ceiling)
{
    const bool memory = set_bytes > 0;
    const double target = memory ? memory_target : CARM_TARGET_CORE;
    struct carm_series series;
    struct carm_pooled pooled = {.n = 0};
    size_t k = 0;
    if (n > 1) {
        k = carm_measure_best(team, codes, n, set_bytes, target,
                              memory ? CARM_SEARCH_MEMORY : CARM_SEARCH_CORE, NULL);
    }
    carm_series_open(&series, team, codes[k], set_bytes, target, memory);
    team->patience_seconds = CARM_WAIT_ROUND;
    carm_series_run(&series, team, c->build->clock, c->build->reps, &c->more_seconds, &pooled);
    ceiling->working_set_bytes =
        memory ? carm_measure_set_bytes(codes[k], &series.shape) * (uint64_t)team->n : 0;
    describe(&series, &pooled, team->n, ceiling);
    return codes[k];
}

/* The team's deadline is the end of the whole budget. */
static void limit(const struct ceilings *c, struct carm_team *team)
{
    team->deadline = (struct carm_deadline){c->build->end, c->build->observer->stop};
}

static double seconds_of(const struct carm_build *build, bool memory, size_t candidates)
{
    const double reps = (double)(build->reps + SEARCH_REPS * candidates);
    return reps * ((memory ? memory_target : CARM_TARGET_CORE) + 1e-6);
}

static int begin(const struct ceilings *c, int threads, const char *name, struct carm_err *err)
{
    carm_observer_step(c->build->observer, "%d thread%s: ceiling %s", threads,
                       threads == 1 ? "" : "s", name);
    return carm_observer_check(c->build->observer, err);
}

static const char no_memory[] = "not measured: memory is not among the levels of this build "
                                "(--levels, --memory)";

/* Working set of one thread for codes that read only some of its lines in a lap: the lines of one lap should exceed
 * the last cache, if the buffers have room. caches: size of these lines, in last caches */
static uint64_t far_set(const struct ceilings *c, const struct carm_team *team, unsigned caches,
                        struct carm_ceiling_roof *ceiling)
{
    const double want = caches * last_cache(c->build, c->levels, team->n);
    const double most = (double)carm_team_room(team) * team->n;
    const double set = fmin(fmax(want, memory_set(c)), most);
    char a[CARM_TEXT_NUMBER_MAX];
    if (set < 0.9 * want) {
        say(ceiling, "some lines may come from the last cache: %s would be enough, see --memory",
            carm_text_bytes(a, sizeof a, (uint64_t)want));
    }
    return (uint64_t)(set / team->n);
}

static int measure_point(struct ceilings *c, struct carm_team *team,
                         const struct carm_ceiling_point *point, struct carm_err *err)
{
    const struct carm_code *codes[CARM_CEILING_CANDIDATES] = {NULL};
    struct carm_ceiling_roof ceiling = unmeasured(point->group, point->name);
    const bool memory = point->place != CARM_CEILING_CORE;
    int rc = begin(c, team->n, point->name, err);
    for (size_t i = 0; i < point->ncodes; i++) {
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(&point->codes[i], name);
        codes[i] = carm_image_find(c->build->plan->image, name);
    }
    if (rc) {
        return rc;
    }
    if (memory && !memory_level(c)) {
        say(&ceiling, "%s", no_memory);
    } else {
        const unsigned caches = point->codes[0].stride > 1 ? point->codes[0].stride : CACHES;
        const uint64_t set = !memory                            ? 0
                             : point->place == CARM_CEILING_FAR ? far_set(c, team, caches, &ceiling)
                                                                : memory_level(c)->sets[0];
        const struct carm_code *best = measure(c, team, codes, point->ncodes, set, &ceiling);
        if (strcmp(point->name, "dot") == 0) {
            c->dot = best;
        }
    }
    carm_observer_advance(c->build->observer, seconds_of(c->build, memory, point->ncodes));
    return point->group == CARM_CEILING_TRAFFIC ? 0 /* only its code was needed */
                                                : carm_ceilings_add(c->roofs, &ceiling, err);
}

/* A.1.2: a set larger than the last cache, but small enough for a snoop filter. */
static int measure_small_set(struct ceilings *c, struct carm_team *team, struct carm_err *err)
{
    struct carm_ceiling_roof ceiling = unmeasured(CARM_CEILING_MEMORY, "small set");
    const double last = last_cache(c->build, c->levels, team->n);
    int rc = begin(c, team->n, ceiling.name, err);
    if (rc) {
        return rc;
    }
    if (!c->dot) {
        say(&ceiling, "%s", no_memory);
    } else {
        const double set = fmax(2.0 * last, memory_level(c)->range.lo);
        if (set > 0.7 * memory_set(c)) {
            say(&ceiling, "not measured: the working set of memory's roofs is hardly larger");
        } else {
            measure(c, team, &c->dot, 1, (uint64_t)(set / team->n), &ceiling);
        }
    }
    carm_observer_advance(c->build->observer, seconds_of(c->build, true, 1));
    return carm_ceilings_add(c->roofs, &ceiling, err);
}

/* Measures the ceilings that the set's own team can run. */
static int measure_here(struct ceilings *c, struct carm_team *team, struct carm_err *err)
{
    struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
    const size_t n = carm_ceilings_plan(c->build->config, c->build->cpu, points);
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = measure_point(c, team, &points[i], err);
    }
    if (!rc && c->build->config->ceilings[CARM_CEILING_MEMORY]) {
        rc = measure_small_set(c, team, err);
    }
    return rc;
}

static int open_team(const struct ceilings *c, int threads, uint64_t set_bytes,
                     struct carm_team **team, struct carm_err *err)
{
    const struct carm_build *b = c->build;
    enum { LEAST = 2048 };
    const size_t reps = b->reps > LEAST ? b->reps : LEAST;
    const int rc =
        carm_team_open(team, b->topo, b->clock, threads, set_bytes + ((size_t)2 << 20), reps, err);
    if (!rc) {
        limit(c, *team);
    }
    return rc;
}

/* Measures with memory on one node, which the threads of other nodes, or all threads, access
 * remotely. */
static int measure_no_affinity(struct ceilings *c, struct carm_err *err)
{
    struct carm_ceiling_roof ceiling = unmeasured(CARM_CEILING_MEMORY, "no affinity");
    const struct carm_topo *topo = c->build->topo;
    const int threads = c->levels->threads;
    const int pu = carm_topo_far_pu(topo, threads);
    const uint64_t set = (uint64_t)(memory_set(c) / threads);
    struct carm_team *team = NULL;
    struct carm_err why = {""};
    int rc = begin(c, threads, ceiling.name, err);
    if (rc) {
        return rc;
    }
    if (pu < 0) {
        say(&ceiling, "not measurable: one NUMA node");
    } else if (!c->dot) {
        say(&ceiling, "%s", no_memory);
    } else {
        rc = open_team(c, threads, set, &team, err);
        if (rc) {
            return rc;
        }
        if (carm_team_touch_from(team, pu, team->workers[0].buffer.bytes, &why)) {
            say(&ceiling, "not measurable: %s", why.text);
        } else {
            carm_measure_calibrate(team, c->build->plan->empty);
            measure(c, team, &c->dot, 1, set, &ceiling);
            say(&ceiling, "all memory on NUMA node %d", carm_topo_node_of(topo, pu));
        }
        carm_team_close(team);
    }
    carm_observer_advance(c->build->observer, seconds_of(c->build, true, 1));
    return carm_ceilings_add(c->roofs, &ceiling, err);
}

/* The compute code with the highest rate in this set. */
static const struct carm_code *fastest(const struct ceilings *c)
{
    const struct carm_ceiling_roof *ceiling =
        carm_ceilings_best(c->roofs, CARM_CEILING_IN_CORE, "");
    const struct carm_compute_roof *roof = carm_roofs_find_peak(c->roofs);
    const char *name = ceiling ? ceiling->code : NULL;
    if (roof && (!ceiling || roof->rate > ceiling->rate)) {
        name = roof->code;
    }
    return name ? carm_image_find(c->build->plan->image, name) : NULL;
}

/* A.2.1 and A.2.2 with some of the threads. team NULL: ceilings that cannot be measured get the
 * reason. */
static int measure_part(struct ceilings *c, struct carm_team *team, enum carm_ceiling_group group,
                        const char *share, const char *reason, struct carm_err *err)
{
    char name[64];
    snprintf(name, sizeof name, "%s %s", carm_ceiling_group_name(group), share);
    struct carm_ceiling_roof ceiling = unmeasured(group, name);
    const bool memory = group == CARM_CEILING_TRAFFIC;
    const struct carm_code *code = memory ? c->dot : fastest(c);
    int rc = begin(c, team ? team->n : 1, name, err);
    if (rc) {
        return rc;
    }
    if (!team) {
        say(&ceiling, "%s", reason);
    } else if (memory && !code) {
        say(&ceiling, "%s", no_memory);
    } else if (!code) {
        say(&ceiling, "not measured: the set has no compute roof");
    } else {
        const double set = memory ? memory_set(c) / team->n : 0.0;
        measure(c, team, &code, 1, (uint64_t)set, &ceiling);
    }
    carm_observer_advance(c->build->observer, seconds_of(c->build, memory, 1));
    return carm_ceilings_add(c->roofs, &ceiling, err);
}

static int measure_parts(struct ceilings *c, int part, const char *reason, struct carm_err *err)
{
    const bool *asked = c->build->config->ceilings;
    const double bytes = asked[CARM_CEILING_TRAFFIC] ? memory_set(c) : 0.0;
    struct carm_team *team = NULL;
    char share[32] = "1/2";
    int rc = 0;
    if (!reason) {
        carm_ceilings_share(part, c->levels->threads, share);
        rc = open_team(c, part, (uint64_t)(bytes / part), &team, err);
        if (!rc) {
            carm_measure_calibrate(team, c->build->plan->empty);
        }
    }
    if (!rc && asked[CARM_CEILING_BUSY]) {
        rc = measure_part(c, team, CARM_CEILING_BUSY, share, reason, err);
    }
    if (!rc && asked[CARM_CEILING_TRAFFIC]) {
        rc = measure_part(c, team, CARM_CEILING_TRAFFIC, share, reason, err);
    }
    carm_team_close(team);
    return rc;
}

/* Measures the ceilings that need teams of their own: fewer threads, or memory on one node. */
static int measure_apart(struct ceilings *c, struct carm_err *err)
{
    const bool *asked = c->build->config->ceilings;
    int parts[32];
    const size_t n = carm_ceilings_parts(c->levels->threads, parts);
    int rc = asked[CARM_CEILING_MEMORY] ? measure_no_affinity(c, err) : 0;
    if (rc || !(asked[CARM_CEILING_BUSY] || asked[CARM_CEILING_TRAFFIC])) {
        return rc;
    }
    if (n == 0) {
        return measure_parts(c, 1, "not measurable: the set has one thread", err);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        rc = measure_parts(c, parts[i], NULL, err);
    }
    return rc;
}

int carm_build_measure_ceilings(struct carm_build_set *s, struct carm_roofs *roofs,
                                struct carm_err *err)
{
    struct ceilings c = {.build = s->build,
                         .levels = &s->levels,
                         .more_seconds = s->build->config->quick ? 0.5 : 5.0,
                         .roofs = roofs};
    limit(&c, s->team);
    const int rc = measure_here(&c, s->team, err);
    carm_team_close(s->team); /* frees the team's memory before other teams are opened */
    s->team = NULL;
    return rc ? rc : measure_apart(&c, err);
}

double carm_build_ceilings_seconds(const struct carm_build *build, int threads)
{
    struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
    int parts[32];
    const bool *asked = build->config->ceilings;
    const size_t n = carm_ceilings_plan(build->config, build->cpu, points);
    const double halves = (double)carm_ceilings_parts(threads, parts);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += seconds_of(build, points[i].place != CARM_CEILING_CORE, points[i].ncodes);
    }
    sum += asked[CARM_CEILING_MEMORY] ? 2.0 * seconds_of(build, true, 1) : 0.0;
    sum += asked[CARM_CEILING_BUSY] ? halves * seconds_of(build, false, 1) : 0.0;
    sum += asked[CARM_CEILING_TRAFFIC] ? halves * seconds_of(build, true, 1) : 0.0;
    return sum;
}
