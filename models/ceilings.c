/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ceilings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "models/model.h"

static const char *const group_names[CARM_CEILING_GROUP_COUNT] = {
    [CARM_CEILING_IN_CORE] = "in-core", [CARM_CEILING_MIX] = "mix",
    [CARM_CEILING_MEMORY] = "memory",   [CARM_CEILING_BUSY] = "busy",
    [CARM_CEILING_TRAFFIC] = "traffic",
};

const char *carm_ceiling_group_name(enum carm_ceiling_group group)
{
    return (unsigned)group < CARM_CEILING_GROUP_COUNT ? group_names[group] : "";
}

int carm_ceiling_group_parse(const char *name, enum carm_ceiling_group *group, struct carm_err *err)
{
    for (size_t i = 0; i < CARM_CEILING_GROUP_COUNT; i++) {
        if (strcmp(name, group_names[i]) == 0) {
            *group = (enum carm_ceiling_group)i;
            return 0;
        }
    }
    return carm_fail(err, CARM_EINVAL,
                     "unknown group of ceilings '%.32s': in-core, mix, memory, busy or traffic",
                     name);
}

const struct carm_ceiling_roof *carm_ceilings_find(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group, const char *name)
{
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == group && strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

const struct carm_ceiling_roof *carm_ceilings_measured(const struct carm_roofs *roofs,
                                                       enum carm_ceiling_group group,
                                                       const char *name)
{
    const struct carm_ceiling_roof *c = carm_ceilings_find(roofs, group, name);
    return c && c->rate > 0.0 ? c : NULL;
}

const struct carm_ceiling_roof *carm_ceilings_best(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group,
                                                   const char *prefix)
{
    const struct carm_ceiling_roof *best = NULL;
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == group && strncmp(c->name, prefix, strlen(prefix)) == 0 &&
            c->rate > (best ? best->rate : 0.0)) {
            best = c;
        }
    }
    return best;
}

/* ---- the next ceiling up ---- */

/* In-core: width by width with one operation, then from additions alone to both.
 * source: Williams et al. 2009, A.1.3 */
static const struct carm_ceiling_roof *next_in_core(const struct carm_roofs *roofs,
                                                    const struct carm_ceiling_roof *c,
                                                    const char **by)
{
    static const struct {
        const char *name, *by;
    } steps[] = {
        {"tlp", ""}, {"ilp", "ILP"}, {"simd16", "SIMD"}, {"simd32", "SIMD"}, {"simd64", "SIMD"}};
    static const char *const both[] = {"fma", "mad"};
    enum { STEPS = sizeof steps / sizeof *steps };
    const char *op = strchr(c->name, ' ');
    size_t at = 0;
    char name[CARM_NAME_MAX];
    if (!op) {
        return NULL;
    }
    const size_t length = (size_t)(op - c->name);
    while (at < STEPS &&
           (strlen(steps[at].name) != length || strncmp(steps[at].name, c->name, length) != 0)) {
        at++;
    }
    for (size_t i = at + 1; i < STEPS; i++) {
        snprintf(name, sizeof name, "%s%.16s", steps[i].name, op);
        const struct carm_ceiling_roof *next =
            carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, name);
        if (next) {
            *by = i > 2 && at >= 2 ? "wider SIMD" : steps[i].by;
            return next;
        }
    }
    for (size_t i = 0; at < STEPS && i < 2; i++) {
        snprintf(name, sizeof name, "%s %s", steps[at].name, both[i]);
        const struct carm_ceiling_roof *next =
            strcmp(op, " add") == 0 || strcmp(op, " mul") == 0
                ? carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, name)
                : NULL;
        if (next) {
            *by = i == 0 ? "FMA" : "balance";
            return next;
        }
    }
    return NULL;
}

/* The best streaming read: reads without one of its optimisations are compared with it. */
static const struct carm_ceiling_roof *next_memory(const struct carm_roofs *roofs,
                                                   const struct carm_ceiling_roof *c,
                                                   const char **by)
{
    static const struct {
        const char *name, *next, *by;
    } steps[] = {
        {"random", "dot", "order"},
        {"jump 8", "jump 2", "shorter strides"},
        {"jump 2", "dot", "unit stride"},
        {"no affinity", "dot", "affinity"},
        {"dot no-prefetch", "dot", "software prefetch"},
        {"copy no-prefetch", "copy", "software prefetch"},
        {"dot", "small set", "a smaller set"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (strcmp(c->name, steps[i].name) == 0) {
            *by = steps[i].by;
            return carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, steps[i].next);
        }
    }
    return NULL;
}

/* The next faster ceiling of the group: after a quarter of the threads, half of them. */
static const struct carm_ceiling_roof *next_faster(const struct carm_roofs *roofs,
                                                   const struct carm_ceiling_roof *c)
{
    const struct carm_ceiling_roof *next = NULL;
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *o = &roofs->ceilings[i];
        if (o->group == c->group && o->rate > c->rate && (!next || o->rate < next->rate)) {
            next = o;
        }
    }
    return next;
}

double carm_ceiling_gap(const struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                        const char **by)
{
    const struct carm_ceiling_roof *next = NULL;
    *by = "";
    if (!(ceiling->rate > 0.0)) {
        return 0.0;
    }
    switch (ceiling->group) {
    case CARM_CEILING_IN_CORE:
        next = next_in_core(roofs, ceiling, by);
        break;
    case CARM_CEILING_MEMORY:
        next = next_memory(roofs, ceiling, by);
        break;
    case CARM_CEILING_MIX:
        *by = "a higher FP share";
        next = next_faster(roofs, ceiling);
        break;
    case CARM_CEILING_BUSY:
    case CARM_CEILING_TRAFFIC:
        *by = "more threads";
        next = next_faster(roofs, ceiling);
        if (!next) { /* all threads: the number of threads of the set itself */
            next = ceiling->group == CARM_CEILING_BUSY
                       ? carm_ceilings_best(roofs, CARM_CEILING_IN_CORE, "")
                       : carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, "dot");
        }
        break;
    default:
        break;
    }
    return next ? next->rate / ceiling->rate : 0.0;
}

/* ---- growing ---- */

int carm_ceilings_add(struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                      struct carm_err *err)
{
    return carm_array_append(&roofs->ceilings, NULL, &roofs->nceilings, ceiling, sizeof *ceiling,
                             "the model", err);
}

/* ---- arithmetic: ceilings around a point, and optimisations in reach ---- */

static const struct carm_ceiling *last_of_chain(const struct carm_ceiling *list, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (!list[i].aside) {
            return &list[i];
        }
    }
    return NULL;
}

const struct carm_ceiling *carm_ceilings_slope(const struct carm_ceilings *ceilings)
{
    return last_of_chain(ceilings->memory, ceilings->nmemory);
}

const struct carm_ceiling *carm_ceilings_peak(const struct carm_ceilings *ceilings)
{
    return last_of_chain(ceilings->compute, ceilings->ncompute);
}

double carm_ceilings_ridge(const struct carm_ceilings *ceilings)
{
    const struct carm_ceiling *slope = carm_ceilings_slope(ceilings);
    const struct carm_ceiling *peak = carm_ceilings_peak(ceilings);
    return slope && peak ? peak->rate / slope->rate : 0;
}

const char *carm_region_name(enum carm_region region)
{
    switch (region) {
    case CARM_REGION_MEMORY:
        return "memory";
    case CARM_REGION_BOTH:
        return "memory and compute";
    case CARM_REGION_COMPUTE:
        return "compute";
    }
    return "unknown";
}

/* The roof above an intensity; INFINITY = none. */
static double roof_at(const struct carm_ceilings *l, double intensity)
{
    const struct carm_ceiling *slope = carm_ceilings_slope(l);
    const struct carm_ceiling *peak = carm_ceilings_peak(l);
    return fmin(slope ? slope->rate * intensity : INFINITY, peak ? peak->rate : INFINITY);
}

/* Finds the neighbours of a point among the ceilings of one side. Of two ceilings at the same
 * height the later one counts, as its optimisation is needed in addition. Ceilings above the roof
 * bind nothing at this intensity. */
static void squeeze(const struct carm_ceilings *l, bool compute, double intensity,
                    double performance, bool with_aside, struct carm_ceiling_around *upper,
                    struct carm_ceiling_around *lower)
{
    const struct carm_ceiling *list = compute ? l->compute : l->memory;
    const size_t n = compute ? l->ncompute : l->nmemory;
    const double roof = roof_at(l, intensity);
    for (size_t i = 0; i < n; i++) {
        const double at = compute ? list[i].rate : list[i].rate * intensity;
        if (at > roof || (list[i].aside && !with_aside)) {
            continue;
        }
        const struct carm_ceiling_around side = {true, compute, i, at};
        if (at >= performance && (!upper->known || at <= upper->at)) {
            *upper = side;
        } else if (at < performance && (!lower->known || at >= lower->at)) {
            *lower = side;
        }
    }
}

int carm_ceilings_around(const struct carm_ceilings *ceilings, double intensity, double performance,
                         bool with_aside, struct carm_ceiling_around *upper,
                         struct carm_ceiling_around *lower, struct carm_err *err)
{
    *upper = *lower = (struct carm_ceiling_around){.known = false};
    if (!isfinite(intensity) || intensity <= 0) {
        return carm_fail(err, CARM_EINVAL,
                         "the operational intensity is %g; it has to be a positive number of "
                         "operations per byte",
                         intensity);
    }
    if (!isfinite(performance) || performance <= 0) {
        return carm_fail(err, CARM_EINVAL,
                         "the performance is %g; it has to be a positive number of operations per "
                         "second",
                         performance);
    }
    squeeze(ceilings, false, intensity, performance, with_aside, upper, lower);
    squeeze(ceilings, true, intensity, performance, with_aside, upper, lower);
    return 0;
}

/* Adds the optimisations of one side that are in reach at an intensity. Where the roof is a slope,
 * a point above a horizontal ceiling already has that optimisation; likewise with slopes under the
 * peak.
 * performance  0 = not known
 * inreach      out: whether any ceiling of this list is below the roof, broken or not
 * returns how many were added */
static size_t add_gains(const struct carm_ceilings *l, bool compute, double intensity,
                        double performance, bool *inreach, struct carm_gain *gains)
{
    const struct carm_ceiling *list = compute ? l->compute : l->memory;
    const size_t n = compute ? l->ncompute : l->nmemory;
    const double roof = roof_at(l, intensity), scale = compute ? 1 : intensity;
    const bool other = compute == (intensity < carm_ceilings_ridge(l));
    size_t filled = 0, below = CARM_CEILINGS_MAX; /* the ceiling before, none yet */
    *inreach = false;
    for (size_t i = 0; i < n; i++) {
        if (list[i].aside) {
            continue;
        }
        if (below < CARM_CEILINGS_MAX) {
            const double from = list[below].rate * scale, to = fmin(list[i].rate * scale, roof);
            const double times = to / fmax(from, performance);
            *inreach = *inreach || from < roof;
            if (times > 1 && !(other && from < performance)) {
                gains[filled++] = (struct carm_gain){compute, below, from, to, times};
            }
        }
        below = i;
    }
    return filled;
}

/* Lowest first. Of two ceilings at one height the memory ceiling comes first, as in the paper. */
static int by_height(const void *a, const void *b)
{
    const struct carm_gain *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (int)x->compute - (int)y->compute;
}

size_t carm_ceilings_gains(const struct carm_ceilings *ceilings, double intensity,
                           double performance, enum carm_region *region, struct carm_gain *gains)
{
    *region = CARM_REGION_MEMORY;
    if (!(intensity > 0)) {
        return 0;
    }
    const double known = isfinite(performance) && performance > 0 ? performance : 0;
    bool memory, compute;
    size_t n = add_gains(ceilings, false, intensity, known, &memory, gains);
    n += add_gains(ceilings, true, intensity, known, &compute, gains + n);
    /* below the ridge point the slope itself limits, with or without lower slopes */
    const bool slope = intensity < carm_ceilings_ridge(ceilings);
    if ((memory || slope) && compute) {
        *region = CARM_REGION_BOTH;
    } else if (compute || (!memory && !slope)) {
        *region = CARM_REGION_COMPUTE;
    }
    qsort(gains, n, sizeof *gains, by_height);
    return n;
}

/* ---- the ceilings of a measured model ------------------------------------------------------------
 * source: Williams et al. 2009, section 4 (order of the ceilings), A.1.2 to A.1.4, A.2 */

/* Intervals are of one measurement's repetitions. From one measurement to the next a core's own
 * rates repeat within 1%, those of memory within 2% on a quiet machine (ten builds,
 * docs/results.md): a smaller step is no ceiling. */
static const double repeat_compute = 0.01;
static const double repeat_memory = 0.02;

enum { CHAIN_MAX = 12 };

/* A ceiling, and the core clock during its measurement; 0 = not known, or no matter. */
struct found {
    struct carm_ceiling ceiling;
    double clock_hz;
};

/* One side under construction: the chain from the bottom to below the roof, and the ceilings
 * aside. */
struct side {
    double repeat;
    struct found roof; /* rate 0 = none */
    struct found chain[CHAIN_MAX];
    size_t nchain;
    struct found aside[CARM_CEILINGS_MAX];
    size_t naside;
};

/* Memory has a clock of its own. */
static double clock_of(const struct carm_ceiling_roof *c)
{
    return c->group == CARM_CEILING_MEMORY || c->group == CARM_CEILING_TRAFFIC ? 0.0 : c->clock_hz;
}

static struct found found_of(const struct carm_ceiling_roof *c, const char *name, const char *step)
{
    struct found f = {.clock_hz = clock_of(c)};
    f.ceiling.rate = c->rate;
    f.ceiling.ci95 = c->ci95;
    snprintf(f.ceiling.name, sizeof f.ceiling.name, "%s", name);
    snprintf(f.ceiling.step, sizeof f.ceiling.step, "%s", step);
    return f;
}

/* Whether `lower` is below `upper` by more than their errors together: per second and per cycle,
 * since the core's clock may differ between the two measurements. A difference that vanishes per
 * cycle comes from the clock. */
static bool is_below(const struct found *lower, const struct found *upper, double repeat)
{
    const struct carm_ceiling *l = &lower->ceiling;
    const struct carm_ceiling *u = &upper->ceiling;
    const double error = hypot(l->ci95.hi - l->rate, u->rate - u->ci95.lo) / u->rate;
    const double margin = fmax(error, repeat);
    const bool clocks = lower->clock_hz > 0.0 && upper->clock_hz > 0.0;
    return 1.0 - l->rate / u->rate > margin &&
           (!clocks || 1.0 - l->rate / u->rate * (upper->clock_hz / lower->clock_hz) > margin);
}

static void put_chain(struct side *s, const struct carm_ceiling_roof *c, const char *name,
                      const char *step)
{
    if (c && s->nchain < CHAIN_MAX) {
        s->chain[s->nchain++] = found_of(c, name, step);
    }
}

static void put_aside(struct side *s, const struct carm_ceiling_roof *c, const char *name,
                      const char *step)
{
    if (c->rate > 0.0 && s->naside < CARM_CEILINGS_MAX) {
        struct found *f = &s->aside[s->naside++];
        *f = found_of(c, name, step);
        f->ceiling.aside = true;
    }
}

static void raise_roof(struct side *s, double rate, struct carm_ci ci95, double clock_hz)
{
    if (rate > s->roof.ceiling.rate) {
        s->roof.ceiling.rate = rate;
        s->roof.ceiling.ci95 = ci95;
        s->roof.clock_hz = clock_hz;
    }
}

static void raise_roof_to(struct side *s, const struct carm_ceiling_roof *c)
{
    if (c) {
        raise_roof(s, c->rate, c->ci95, clock_of(c));
    }
}

/* Drops ceilings that are not below the next one up: the missing optimisation costs nothing
 * here. The roof stays. */
static void drop_costless(struct side *s)
{
    struct found kept[CHAIN_MAX];
    size_t n = 0;
    const struct found *next = &s->roof;
    for (size_t i = s->nchain; i-- > 0;) {
        if (is_below(&s->chain[i], next, s->repeat)) {
            kept[n] = s->chain[i];
            next = &kept[n++];
        }
    }
    s->nchain = n;
    for (size_t i = 0; i < n; i++) {
        s->chain[i] = kept[n - 1 - i];
    }
}

/* Merges the chain, the ceilings aside that are below the roof, and the roof, by rate. returns how
 * many */
static size_t merge(struct side *s, struct carm_ceiling out[CARM_CEILINGS_MAX])
{
    size_t n = 0;
    if (!(s->roof.ceiling.rate > 0.0)) {
        return 0;
    }
    drop_costless(s);
    for (size_t i = 0; i < s->nchain; i++) {
        out[n++] = s->chain[i].ceiling;
    }
    for (size_t i = 0; i < s->naside && n + 1 < CARM_CEILINGS_MAX; i++) {
        const struct carm_ceiling *r = &s->aside[i].ceiling;
        size_t at = n;
        if (!is_below(&s->aside[i], &s->roof, s->repeat)) {
            continue;
        }
        while (at > 0 && out[at - 1].rate > r->rate) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = *r;
        n++;
    }
    out[n++] = s->roof.ceiling;
    return n;
}

/* ---- in-core ---- */

enum { STAGE_TLP, STAGE_ILP, STAGE_SIMD, STAGES = 5 }; /* SIMD of 16, 32 and 64 bytes */
static const unsigned simd_bytes[STAGES] = {[2] = 16, [3] = 32, [4] = 64};

/* A stage's ceiling with additions alone, or with additions and multiplications in balance. */
static const struct carm_ceiling_roof *stage_of(const struct carm_roofs *roofs, size_t stage,
                                                bool balanced)
{
    static const char *const names[STAGES] = {"tlp", "ilp", "simd16", "simd32", "simd64"};
    static const char *const ops[] = {"fma", "mad"};
    const struct carm_ceiling_roof *c = NULL;
    char name[32];
    if (!balanced) {
        snprintf(name, sizeof name, "%s add", names[stage]);
        return carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, name);
    }
    for (size_t i = 0; i < 2 && !c; i++) {
        snprintf(name, sizeof name, "%s %s", names[stage], ops[i]);
        c = carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, name);
    }
    return c;
}

/* The next measured stage, whose optimisation breaks through this stage's ceiling; STAGES =
 * none. */
static size_t next_stage(const struct carm_roofs *roofs, size_t stage, bool balanced)
{
    do {
        stage++;
    } while (stage < STAGES && !stage_of(roofs, stage, balanced));
    return stage;
}

static void put_stages(struct side *s, const struct carm_roofs *roofs, bool balanced,
                       const char *missing, const char *balance)
{
    for (size_t i = STAGE_TLP; i < STAGES; i++) {
        const size_t next = next_stage(roofs, i, balanced);
        char name[CARM_NAME_MAX];
        char step[CARM_CEILING_STEP_MAX];
        if (next == STAGES && balanced) {
            return; /* the widest balanced stage is the peak, or below a mixture: put_plain_peak */
        }
        if (i == STAGE_TLP || i == STAGE_ILP) {
            snprintf(name, sizeof name, "%s", i == STAGE_TLP ? "TLP only" : "ILP, no SIMD");
        } else {
            snprintf(name, sizeof name, "%u-byte SIMD", simd_bytes[i]);
        }
        if (next == STAGES) {
            snprintf(name, sizeof name, "%s", missing);
            snprintf(step, sizeof step, "%s", balance);
        } else if (next == STAGE_ILP) {
            snprintf(step, sizeof step, "keep several independent chains of operations");
        } else if (i < STAGE_SIMD) {
            snprintf(step, sizeof step, "use SIMD instructions");
        } else {
            snprintf(step, sizeof step, "use SIMD instructions of %u bytes", simd_bytes[next]);
        }
        put_chain(s, stage_of(roofs, i, balanced), name, step);
    }
}

/* The best balance of multiplications and additions, where the peak is of a mixture of
 * operations. */
static void put_plain_peak(struct side *s, const struct carm_roofs *roofs, bool fma)
{
    const struct carm_compute_roof *peak = carm_roofs_find_peak(roofs);
    size_t widest = STAGE_TLP;
    for (size_t i = next_stage(roofs, widest, true); i < STAGES; i = next_stage(roofs, i, true)) {
        widest = i;
    }
    if (peak && carm_op_is_mixture(peak->op)) {
        put_chain(s, stage_of(roofs, widest, true), fma ? "FMA alone" : "multiply-add balance",
                  "run additions beside the FMAs (few programs have additions to spare)");
    }
}

static void put_in_core(struct side *s, const struct carm_roofs *roofs,
                        enum carm_ceilings_order order)
{
    const struct carm_ceiling_roof *best = carm_ceilings_best(roofs, CARM_CEILING_IN_CORE, "");
    const struct carm_compute_roof *peak = carm_roofs_find_peak(roofs);
    const bool fma = carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, "tlp fma") != NULL;
    const char *balance = fma ? "fuse multiplications and additions into FMA"
                              : "balance multiplications and additions";
    snprintf(s->roof.ceiling.name, sizeof s->roof.ceiling.name, "peak");
    if (peak) {
        raise_roof(s, peak->rate, peak->ci95, peak->clock_hz);
    }
    raise_roof_to(s, best);
    if (order == CARM_BALANCE_BOTTOM) {
        put_chain(s, stage_of(roofs, STAGE_TLP, false),
                  fma ? "TLP only, no FMA" : "TLP only, additions alone", balance);
        put_stages(s, roofs, true, "", "");
    } else {
        put_stages(s, roofs, false, fma ? "no FMA" : "no multiply-add balance", balance);
    }
    put_plain_peak(s, roofs, fma);
}

/* ---- memory ---- */

/* Adds a ceiling of loads if it is below the best stream of loads. The roof may be of a stream that also writes. */
static void put_loads(struct side *s, const struct carm_roofs *roofs, const char *ceiling,
                      const char *name, const char *step)
{
    const struct carm_ceiling_roof *c = carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, ceiling);
    const struct carm_ceiling_roof *dot = carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, "dot");
    if (c && dot) {
        const struct found lower = found_of(c, "", "");
        const struct found upper = found_of(dot, "", "");
        c = is_below(&lower, &upper, s->repeat) ? c : NULL;
    }
    put_chain(s, c, name, step);
}

/* The bandwidth behind the original model's roof, with the interval of the same measured memory roof. */
static void raise_dram_peak(struct side *s, const struct carm_roofs *roofs)
{
    const struct carm_dram_peak *d = &roofs->dram_peak;
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        if (m->bandwidth == d->bandwidth && strcmp(m->code, d->code) == 0) {
            raise_roof(s, m->bandwidth, m->ci95, 0.0);
            return;
        }
    }
    raise_roof(s, d->bandwidth, (struct carm_ci){d->bandwidth, d->bandwidth}, 0.0);
}

static void put_memory(struct side *s, const struct carm_roofs *roofs)
{
    /* Left out: a copy with plain stores, as processors differ in whether they fill its lines first, so that its
     * traffic is not known without counters; and the paper's small set (snoop filter), as a part of a set of twice the
     * last cache may stay in the cache. */
    static const char *const streams[] = {"dot", "dot no-prefetch", "copy nt"};
    snprintf(s->roof.ceiling.name, sizeof s->roof.ceiling.name, "streaming bandwidth");
    raise_dram_peak(s, roofs);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        raise_roof_to(s, carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, streams[i]));
    }
    put_loads(s, roofs, "random", "random lines",
              "visit memory in an order that prefetchers can follow");
    put_loads(s, roofs, "jump 8", "every 8th line", "use shorter strides");
    put_loads(s, roofs, "jump 2", "every 2nd line", "use unit stride");
    put_loads(s, roofs, "no affinity", "no affinity",
              "keep memory on the node of the threads that use it");
    put_loads(s, roofs, "dot no-prefetch", "no software prefetch",
              "prefetch in software at a tuned distance");
    const struct carm_ceiling_roof *dot = carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, "dot");
    if (dot) {
        put_aside(s, dot, "loads alone", "let the same loop write as well");
    }
}

/* ---- measured roofs of a set, as further ceilings ---- */

static void put_others(struct side *compute, struct side *memory, const struct carm_roofs *roofs)
{
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        const char *share = strchr(c->name, ' ');
        char name[CARM_NAME_MAX];
        share = share ? share + 1 : c->name;
        if (c->group == CARM_CEILING_MIX) {
            snprintf(name, sizeof name, "FP %.32s of instructions", share);
            put_aside(compute, c, name, "spend fewer instructions on all but floating point");
        } else if (c->group == CARM_CEILING_BUSY) {
            snprintf(name, sizeof name, "%.32s of the threads busy", share);
            put_aside(compute, c, name, "balance the computation over the threads");
        } else if (c->group == CARM_CEILING_TRAFFIC) {
            snprintf(name, sizeof name, "%.32s of the threads load", share);
            put_aside(memory, c, name, "let all threads generate memory traffic");
        }
    }
}

int carm_ceilings_of_roofs(const struct carm_model *model, const struct carm_roofs *roofs,
                           enum carm_ceilings_order order, struct carm_ceilings *out,
                           struct carm_err *err)
{
    struct side compute = {.repeat = repeat_compute};
    struct side memory = {.repeat = repeat_memory};
    if (roofs->nceilings == 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no ceilings for %.16s %.8s with %d thread%s; `carm build "
                         "--ceilings` measures them",
                         roofs->isa, roofs->precision, roofs->threads,
                         roofs->threads == 1 ? "" : "s");
    }
    memset(out, 0, sizeof *out);
    snprintf(out->title, sizeof out->title, "%.160s, %.16s %.8s, %d thread%s",
             model->machine.cpu[0] ? model->machine.cpu : "unknown processor", roofs->isa,
             roofs->precision, roofs->threads, roofs->threads == 1 ? "" : "s");
    snprintf(out->metric, sizeof out->metric, "flop");
    put_in_core(&compute, roofs, order);
    put_memory(&memory, roofs);
    put_others(&compute, &memory, roofs);
    out->ncompute = merge(&compute, out->compute);
    out->nmemory = merge(&memory, out->memory);
    return 0;
}
