/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/roofline.h"

/* A point this little above the roof is on it: roofs and counts have errors of their own. */
static const double over_tolerance = 0.03;
/* Ceilings that lie this near to each other bind together. */
static const double together = 0.10;

/* ---- which roofs ----------------------------------------------------------------------------- */

static bool same_precision(const struct carm_roofs *r, const char *precision)
{
    return !*precision || strcmp(r->precision, precision) == 0;
}

/* Distance of thread counts, fewer before more: a roof of more threads is never reached. */
static int thread_distance(const struct carm_roofs *r, int threads)
{
    if (threads <= 0) {
        return -r->threads; /* any: the most */
    }
    const int d = abs(r->threads - threads);
    return 2 * d + (r->threads > threads ? 1 : 0);
}

static double peak_of(const struct carm_roofs *r)
{
    const struct carm_compute_roof *p = carm_roofs_find_peak(r);
    return p ? p->rate : 0.0;
}

const struct carm_roofs *carm_place_roofs(const struct carm_model *model, const char *precision,
                                          int threads, char note[CARM_TEXT_MAX])
{
    const struct carm_roofs *best = NULL;
    note[0] = '\0';
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (!best) {
            best = r;
            continue;
        }
        const bool fits = same_precision(r, precision);
        const bool best_fits = same_precision(best, precision);
        const int d = thread_distance(r, threads) - thread_distance(best, threads);
        if (fits != best_fits ? fits : (d < 0 || (d == 0 && peak_of(r) > peak_of(best)))) {
            best = r;
        }
    }
    if (best && threads > 0 && best->threads != threads) {
        (void)snprintf(note, CARM_TEXT_MAX,
                       "the model has no roofs of %d thread%s, so those of %d stand here (carm "
                       "build --threads %d measures them)",
                       threads, threads == 1 ? "" : "s", best->threads, threads);
    }
    if (best && !same_precision(best, precision)) {
        const size_t used = strlen(note);
        (void)snprintf(note + used, CARM_TEXT_MAX - used,
                       "%sthe model has no %s roofs, so those of %s stand here (carm build "
                       "--precision %s measures them)",
                       used ? "; " : "", precision, best->precision, precision);
    }
    return best;
}

/* ---- ceilings -------------------------------------------------------------------------------- */

static void add_ceiling(struct carm_place *p, const char *isa, const char *name, bool compute,
                        double rate)
{
    if (p->nceilings == CARM_PLACE_CEILINGS_MAX || !(rate > 0.0)) {
        return;
    }
    struct carm_ceiling *c = &p->ceilings[p->nceilings++];
    memset(c, 0, sizeof *c);
    (void)snprintf(c->name, sizeof c->name, "%.20s%s%.40s", isa, *isa ? " " : "", name);
    c->compute = compute;
    c->rate = rate;
}

static void add_operations(struct carm_place *p, const struct carm_model *model,
                           const struct carm_roofs *roofs)
{
    for (size_t i = 0; i < roofs->ncompute; i++) {
        add_ceiling(p, "", roofs->compute[i].op, true, roofs->compute[i].rate);
    }
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const struct carm_compute_roof *peak = carm_roofs_find_peak(r);
        if (r != roofs && peak && r->threads == roofs->threads &&
            strcmp(r->precision, roofs->precision) == 0) {
            add_ceiling(p, r->isa, peak->op, true, peak->rate);
        }
    }
}

static int by_height(const void *a, const void *b)
{
    const struct carm_ceiling *x = a;
    const struct carm_ceiling *y = b;
    return x->at != y->at ? (x->at > y->at ? 1 : -1) : (x->rate > y->rate) - (x->rate < y->rate);
}

/* What a ceiling allows at this intensity; a ceiling that lies on the other side of the ridge does
 * not show there and is left out. */
static void evaluate(struct carm_place *p, double slope, double peak)
{
    size_t n = 0;
    p->roof = carm_roofline_eval(p->intensity, slope, peak);
    for (size_t i = 0; i < p->nceilings; i++) {
        struct carm_ceiling c = p->ceilings[i];
        const bool of_roof = c.rate >= (c.compute ? peak : slope);
        c.at = c.compute ? carm_roofline_eval(p->intensity, slope, c.rate)
                         : carm_roofline_eval(p->intensity, c.rate, peak);
        c.roof = of_roof && c.at >= p->roof;
        const bool own_side =
            c.compute ? c.rate <= p->intensity * slope : c.rate * p->intensity <= peak;
        if (own_side) {
            p->ceilings[n++] = c;
        }
    }
    p->nceilings = n;
    qsort(p->ceilings, n, sizeof *p->ceilings, by_height);
}

static void find_neighbours(struct carm_place *p)
{
    p->above = -1;
    p->below = -1;
    for (size_t i = 0; i < p->nceilings; i++) {
        /* just above a ceiling is on it */
        if (p->ceilings[i].at * (1.0 + over_tolerance) >= p->performance) {
            p->above = (int)i;
            break;
        }
        p->below = (int)i;
    }
    p->over = p->performance > p->roof * (1.0 + over_tolerance);
    if (p->above < 0) {
        p->bound = p->nceilings && p->ceilings[p->nceilings - 1].compute ? CARM_BOUND_COMPUTE
                                                                         : CARM_BOUND_MEMORY;
        return;
    }
    const struct carm_ceiling *a = &p->ceilings[p->above];
    p->bound = a->compute ? CARM_BOUND_COMPUTE : CARM_BOUND_MEMORY;
    for (size_t i = (size_t)p->above + 1; i < p->nceilings; i++) {
        if (p->ceilings[i].compute != a->compute && p->ceilings[i].at <= a->at * (1.0 + together)) {
            p->bound = CARM_BOUND_BOTH;
        }
    }
}

static int prepare(struct carm_place *p, double flops, double bytes, double seconds,
                   struct carm_err *err)
{
    memset(p, 0, sizeof *p);
    if (!(flops > 0.0) || !(bytes > 0.0) || !(seconds > 0.0) || !isfinite(flops) ||
        !isfinite(bytes) || !isfinite(seconds)) {
        return carm_fail(err, CARM_EINVAL,
                         "a point needs flops, bytes and seconds greater than zero");
    }
    p->intensity = flops / bytes;
    p->performance = flops / seconds;
    return 0;
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* The next ceiling of the other kind of height above index i, or the roof. */
static double next_height(const struct carm_place *p, int i)
{
    for (size_t k = (size_t)i + 1; k < p->nceilings; k++) {
        if (p->ceilings[k].at > p->ceilings[i].at * (1.0 + over_tolerance)) {
            return p->ceilings[k].at;
        }
    }
    return p->roof;
}

/* The level whose slope comes next above ceiling i. */
static const char *faster_level(const struct carm_place *p, int i)
{
    for (size_t k = (size_t)i + 1; k < p->nceilings; k++) {
        if (!p->ceilings[k].compute) {
            return p->ceilings[k].name;
        }
    }
    return "a faster cache";
}

static void advise(struct carm_place *p, bool cache_aware)
{
    char *s = p->advice;
    const size_t size = sizeof p->advice;
    if (p->over || p->above < 0) {
        (void)snprintf(s, size,
                       "%.2f times the roof: the roof is of other threads, ISA or clock, or the "
                       "count is wrong (%s)",
                       p->share,
                       cache_aware ? "bytes too many, flops that the compiler did not execute"
                                   : "DRAM bytes too many");
        return;
    }
    const struct carm_ceiling *a = &p->ceilings[p->above];
    const double under = a->at / p->performance;
    const bool at_it = under < 1.0 + together;
    const double until = next_height(p, p->above) / p->performance;
    if (a->compute) {
        (void)snprintf(s, size,
                       a->roof ? "%s the peak of %s: %.1fx is left; fewer or cheaper operations "
                                 "are what remains"
                               : "%s the ceiling of %s: wider vectors, FMA or more independent "
                                 "chains; at most %.1fx until the next ceiling",
                       at_it ? "at" : "below", a->name, a->roof ? under : until);
        return;
    }
    if (a->roof) {
        (void)snprintf(s, size,
                       "%s the %s slope: %.1fx is left at this intensity; more flops for each byte "
                       "(%s) raise it",
                       at_it ? "at" : "below", a->name, under,
                       cache_aware ? "registers reused, wider blocks" : "blocking for the caches");
        return;
    }
    if (at_it) {
        (void)snprintf(s, size,
                       "bound by %s: block for %s; at most %.1fx until the next ceiling, %.1fx to "
                       "the roof",
                       a->name, faster_level(p, p->above), until, p->roof / p->performance);
    } else {
        (void)snprintf(s, size,
                       "below the %s ceiling (latency, short streams or dependent operations are "
                       "the usual reasons): at most %.1fx under it, %.1fx to the roof",
                       a->name, under, p->roof / p->performance);
    }
}

/* ---- the two models -------------------------------------------------------------------------- */

int carm_place_cache_aware(const struct carm_model *model, const struct carm_roofs *roofs,
                           double flops, double bytes, double seconds, struct carm_place *out,
                           struct carm_err *err)
{
    const int rc = prepare(out, flops, bytes, seconds, err);
    if (rc) {
        return rc;
    }
    const double peak = peak_of(roofs);
    double slope = 0.0;
    for (size_t i = 0; i < model->nlevels; i++) {
        const struct carm_memory_roof *m =
            carm_roofs_find_memory(roofs, model->levels[i].level, model->config.ldst);
        if (m) {
            add_ceiling(out, "", m->level, false, m->bandwidth);
            slope = fmax(slope, m->bandwidth);
        }
    }
    if (!(peak > 0.0) || !(slope > 0.0)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no %s roof of %s %s with %d thread%s; carm build measures "
                         "it",
                         peak > 0.0 ? "memory" : "compute", roofs->isa, roofs->precision,
                         roofs->threads, roofs->threads == 1 ? "" : "s");
    }
    add_operations(out, model, roofs);
    evaluate(out, slope, peak);
    out->share = out->performance / out->roof;
    find_neighbours(out);
    advise(out, true);
    return 0;
}

int carm_place_original(const struct carm_model *model, const struct carm_roofs *roofs,
                        double flops, double dram_bytes, double seconds, struct carm_place *out,
                        struct carm_err *err)
{
    const int rc = prepare(out, flops, dram_bytes, seconds, err);
    if (rc) {
        return rc;
    }
    const double peak = peak_of(roofs);
    const double slope = carm_original_bandwidth(roofs, "DRAM", true, NULL);
    if (!(peak > 0.0) || !(slope > 0.0)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no DRAM peak or no compute roof of %s %s with %d thread%s; "
                         "carm build measures them",
                         roofs->isa, roofs->precision, roofs->threads,
                         roofs->threads == 1 ? "" : "s");
    }
    add_ceiling(out, "", "DRAM", false, slope);
    add_operations(out, model, roofs);
    evaluate(out, slope, peak);
    out->share = out->performance / out->roof;
    find_neighbours(out);
    advise(out, false);
    return 0;
}
