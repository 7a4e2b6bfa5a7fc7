/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/place.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/roofline.h"

const char *carm_bound_name(enum carm_bound bound)
{
    static const char *const names[] = {"memory", "compute", "both"};
    return names[bound];
}

/* ---- ceilings at a point --------------------------------------------------------------------- */

static void put(struct carm_place *p, const struct carm_ceiling *c, double at, bool roof)
{
    struct carm_ceiling *out = &p->ceilings[p->nceilings++];
    *out = *c;
    out->at = at;
    out->roof = roof;
}

/* What the ceilings allow at this intensity, lowest first: both lists ascend, and so does what they
 * allow. A ceiling that lies on the other side of the ridge does not show there and is left out. */
static void evaluate(struct carm_place *p, const struct carm_place_side *side)
{
    const double flat_limit = p->intensity * side->slope;
    size_t s = 0;
    size_t f = 0;
    p->nceilings = 0;
    p->roof = carm_roofline_eval(p->intensity, side->slope, side->peak);
    for (;;) {
        const struct carm_ceiling *slope =
            s < side->ceilings.nmemory ? &side->ceilings.memory[s] : NULL;
        const struct carm_ceiling *flat =
            f < side->ceilings.ncompute ? &side->ceilings.compute[f] : NULL;
        const double height = slope ? slope->rate * p->intensity : INFINITY;
        if (slope && height <= side->peak && (!flat || height <= flat->rate)) {
            put(p, slope, height, slope->rate >= side->slope);
            s++;
        } else if (flat && flat->rate <= flat_limit) {
            put(p, flat, flat->rate, flat->rate >= side->peak);
            f++;
        } else {
            return;
        }
    }
}

/* Whether a ceiling of the other kind lies near above ceiling i. */
static bool binds_with_other(const struct carm_place *p, int i)
{
    const struct carm_ceiling *a = &p->ceilings[i];
    for (size_t k = (size_t)i + 1; k < p->nceilings; k++) {
        const struct carm_ceiling *c = &p->ceilings[k];
        if (!c->aside && c->compute != a->compute && c->at <= a->at * (1.0 + CARM_PLACE_TOGETHER)) {
            return true;
        }
    }
    return false;
}

static void find_neighbours(struct carm_place *p)
{
    p->above = -1;
    p->below = -1;
    for (size_t i = 0; i < p->nceilings && p->above < 0; i++) {
        if (p->ceilings[i].aside && !p->ceilings[i].roof) {
            continue;
        }
        /* just above a ceiling is on it */
        if (p->ceilings[i].at * (1.0 + CARM_PLACE_TOLERANCE) >= p->performance) {
            p->above = (int)i;
        } else {
            p->below = (int)i;
        }
    }
    p->over = p->above < 0;
    const int binding = p->over ? (int)p->nceilings - 1 : p->above;
    p->bound = p->ceilings[binding].compute ? CARM_BOUND_COMPUTE : CARM_BOUND_MEMORY;
    if (!p->over && binds_with_other(p, p->above)) {
        p->bound = CARM_BOUND_BOTH;
    }
}

double carm_place_next(const struct carm_place *place, int i)
{
    for (size_t k = (size_t)i + 1; k < place->nceilings; k++) {
        if (!place->ceilings[k].aside &&
            place->ceilings[k].at > place->ceilings[i].at * (1.0 + CARM_PLACE_TOLERANCE)) {
            return place->ceilings[k].at;
        }
    }
    return place->roof;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static double or_exact(double bound, double value)
{
    return bound > 0.0 ? bound : value;
}

/* The share of the roof is the larger of bytes / (seconds x slope) and flops / (seconds x peak), so
 * both of its bounds come with those of flops and bytes. */
static double share_of(const struct carm_place_side *side, double flops, double bytes,
                       double seconds)
{
    return fmax(bytes / (seconds * side->slope), flops / (seconds * side->peak));
}

static void find_bounds(struct carm_place *p, const struct carm_place_side *side,
                        const struct carm_place_input *in)
{
    const double flops_low = or_exact(in->flops_low, in->flops);
    const double flops_high = or_exact(in->flops_high, in->flops);
    const double bytes_low = or_exact(in->bytes_low, in->bytes);
    const double bytes_high = or_exact(in->bytes_high, in->bytes);
    p->intensity_low = flops_low / bytes_high;
    p->intensity_high = flops_high / bytes_low;
    p->share_low = share_of(side, flops_low, bytes_low, in->seconds);
    p->share_high = share_of(side, flops_high, bytes_high, in->seconds);
}

/* ---- the two models -------------------------------------------------------------------------- */

static bool usable(double v)
{
    return isfinite(v) && v > 0.0;
}

static int check_roofs(const struct carm_place_set *set, enum carm_place_which which,
                       struct carm_err *err)
{
    const struct carm_place_side *side = &set->sides[which];
    const struct carm_roofs *r = set->roofs;
    if (side->peak > 0.0 && side->slope > 0.0) {
        return 0;
    }
    const char *lacks = side->peak > 0.0                  ? "memory roof"
                        : which == CARM_PLACE_CACHE_AWARE ? "compute roof"
                                                          : "DRAM peak or no compute roof";
    lacks = side->peak > 0.0 && which == CARM_PLACE_ORIGINAL ? "DRAM peak" : lacks;
    return carm_fail(err, CARM_ENOTSUP,
                     "the model has no %s of %.16s %.16s with %d thread%s; carm build measures "
                     "it",
                     lacks, r->isa, r->precision, r->threads, r->threads == 1 ? "" : "s");
}

/* What the ceilings says of this intensity and performance (0 = not known). */
static void find_gains(const struct carm_place_set *set, enum carm_place_which which,
                       struct carm_place *p)
{
    p->ngains = 0;
    p->has_region = set->has_measured && which == CARM_PLACE_ORIGINAL;
    if (p->has_region) {
        p->ngains =
            carm_ceilings_gains(&set->measured, p->intensity, p->performance, &p->region, p->gains);
    }
}

int carm_place_intensity(const struct carm_place_set *set, enum carm_place_which which,
                         double intensity, struct carm_place *out, struct carm_err *err)
{
    memset(out, 0, sizeof *out);
    if (!usable(intensity)) {
        return carm_fail(err, CARM_EINVAL,
                         "an operational intensity is a number greater than zero");
    }
    const int rc = check_roofs(set, which, err);
    if (rc) {
        return rc;
    }
    out->intensity = out->intensity_low = out->intensity_high = intensity;
    out->above = out->below = -1;
    evaluate(out, &set->sides[which]);
    const struct carm_ceiling *roof = &out->ceilings[out->nceilings - 1];
    out->bound = roof->compute ? CARM_BOUND_COMPUTE : CARM_BOUND_MEMORY;
    find_gains(set, which, out);
    return 0;
}

int carm_place_point(const struct carm_place_set *set, enum carm_place_which which,
                     const struct carm_place_input *in, struct carm_place *out,
                     struct carm_err *err)
{
    const struct carm_place_side *side = &set->sides[which];
    out->nceilings = 0;
    if (!usable(in->flops) || !usable(in->bytes) || !usable(in->seconds) ||
        !usable(in->flops / in->bytes) || !usable(in->flops / in->seconds)) {
        return carm_fail(err, CARM_EINVAL,
                         "a point needs flops, bytes and seconds greater than zero");
    }
    const int rc = check_roofs(set, which, err);
    if (rc) {
        return rc;
    }
    out->intensity = in->flops / in->bytes;
    out->performance = in->flops / in->seconds;
    evaluate(out, side);
    out->share = out->performance / out->roof;
    find_neighbours(out);
    find_bounds(out, side, in);
    find_gains(set, which, out);
    carm_place_advise(set, which, in, out);
    return 0;
}

static int place_one(const struct carm_model *model, const struct carm_roofs *roofs,
                     enum carm_place_which which, const struct carm_place_input *in,
                     struct carm_place *out, struct carm_err *err)
{
    struct carm_place_set set;
    carm_place_prepare(&set, model, roofs);
    memset(out, 0, sizeof *out);
    return carm_place_point(&set, which, in, out, err);
}

int carm_place_cache_aware(const struct carm_model *model, const struct carm_roofs *roofs,
                           double flops, double bytes, double seconds, struct carm_place *out,
                           struct carm_err *err)
{
    const struct carm_place_input in = {.flops = flops, .bytes = bytes, .seconds = seconds};
    return place_one(model, roofs, CARM_PLACE_CACHE_AWARE, &in, out, err);
}

int carm_place_original(const struct carm_model *model, const struct carm_roofs *roofs,
                        double flops, double dram_bytes, double seconds, struct carm_place *out,
                        struct carm_err *err)
{
    const struct carm_place_input in = {.flops = flops, .bytes = dram_bytes, .seconds = seconds};
    return place_one(model, roofs, CARM_PLACE_ORIGINAL, &in, out, err);
}

/* ---- the roofs that a point is placed under, and their ceilings, gathered once ------------------ */

bool carm_place_same_isa(const char *a, const char *b)
{
    /* avx2 adds integers only: floating point has 256 bits in both */
    return strcmp(a, b) == 0 ||
           (strncmp(a, "avx", 3) == 0 && strncmp(b, "avx", 3) == 0 &&
            (!a[3] || strcmp(a + 3, "2") == 0) && (!b[3] || strcmp(b + 3, "2") == 0));
}

/* Vector width as a rank; -1 = not known. */
static int width_of(const char *isa)
{
    static const char *const names[] = {"scalar", "sse", "avx2", "avx512"};
    for (int i = 0; isa && i < CARM_PLACE_WIDTHS; i++) {
        if (carm_place_same_isa(isa, names[i])) {
            return i;
        }
    }
    return -1;
}

/* ---- which roofs ----------------------------------------------------------------------------- */

static bool same_precision(const struct carm_roofs *r, const char *precision)
{
    return !*precision || strcmp(r->precision, precision) == 0;
}

/* 2 = that very one, 1 = one as wide, 0 = another */
static int same_isa(const struct carm_roofs *r, const char *isa)
{
    return !*isa || strcmp(r->isa, isa) == 0 ? 2 : carm_place_same_isa(r->isa, isa);
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

__attribute__((format(printf, 2, 3))) static void add_note(char *note, const char *fmt, ...)
{
    size_t used = strlen(note);
    va_list ap;
    if (used && used + 3 < CARM_TEXT_MAX) {
        memcpy(note + used, "; ", 3);
        used += 2;
    }
    va_start(ap, fmt);
    vsnprintf(note + used, CARM_TEXT_MAX - used, fmt, ap);
    va_end(ap);
}

/* Appends a name to a list of them. */
static void add_name(char names[64], const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, 64 - used, "%s%.12s", used ? ", " : "", name);
}

/* The roofs that bound points: the levels at the model's mix, and the peak. */
void carm_place_note_disturbed(const struct carm_model *model, const struct carm_roofs *roofs,
                               char note[CARM_TEXT_MAX])
{
    char names[64] = "";
    const struct carm_compute_roof *peak = carm_roofs_find_peak(roofs);
    for (size_t i = 0; i < model->nlevels; i++) {
        const struct carm_memory_roof *m =
            carm_roofs_find_memory(roofs, model->levels[i].level, model->config.ldst);
        if (m && m->disturbed) {
            add_name(names, m->level);
        }
    }
    if (peak && peak->disturbed) {
        add_name(names, peak->op);
    }
    if (*names) {
        add_note(note,
                 "disturbed while measured, so perhaps too low: %s (carm build on a quiet machine "
                 "measures them again)",
                 names);
    }
}

const struct carm_roofs *carm_place_roofs_of(const struct carm_model *model, const char *isa,
                                             const char *precision, int threads,
                                             char note[CARM_TEXT_MAX])
{
    const struct carm_roofs *best = NULL;
    note[0] = '\0';
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (!best) {
            best = r;
            continue;
        }
        const int precise = same_precision(r, precision) - same_precision(best, precision);
        const int wide = same_isa(r, isa) - same_isa(best, isa);
        const int d = thread_distance(r, threads) - thread_distance(best, threads);
        const int better = precise ? precise : wide ? wide : -d;
        if (better > 0 || (better == 0 && peak_of(r) > peak_of(best))) {
            best = r;
        }
    }
    if (best && threads > 0 && best->threads != threads) {
        add_note(note,
                 "the model has no roofs for %d thread%s, so those for %d are used (carm build "
                 "--threads %d measures them)",
                 threads, threads == 1 ? "" : "s", best->threads, threads);
    }
    if (best && !same_precision(best, precision)) {
        add_note(note,
                 "the model has no %.16s roofs, so those of %.16s are used (carm build --precision "
                 "%.16s measures them)",
                 precision, best->precision, precision);
    }
    if (best && !same_isa(best, isa)) {
        add_note(note,
                 "the model has no %.16s roofs, so those of %.16s are used (carm build --isa %.16s "
                 "measures them)",
                 isa, best->isa, isa);
    }
    if (best) {
        carm_place_note_disturbed(model, best, note);
    }
    return best;
}

const struct carm_roofs *carm_place_roofs(const struct carm_model *model, const char *precision,
                                          int threads, char note[CARM_TEXT_MAX])
{
    return carm_place_roofs_of(model, "", precision, threads, note);
}

/* ---- their ceilings -------------------------------------------------------------------------- */

/* Puts c where its rate belongs; where there is no room the lowest goes. */
static void insert(struct carm_ceiling *list, size_t *n, const struct carm_ceiling *c)
{
    if (*n == CARM_CEILINGS_MAX) {
        if (c->rate <= list[0].rate) {
            return;
        }
        memmove(list, list + 1, (--*n) * sizeof *list);
    }
    size_t at = *n;
    for (; at > 0 && list[at - 1].rate > c->rate; at--) {
        list[at] = list[at - 1];
    }
    list[at] = *c;
    ++*n;
}

static void add(struct carm_place_side *side, const char *isa, const char *name, bool compute,
                double rate, bool disturbed)
{
    struct carm_ceiling c = {
        .compute = compute, .narrow = *isa != '\0', .rate = rate, .disturbed = disturbed};
    if (!(rate > 0.0)) {
        return;
    }
    snprintf(c.name, sizeof c.name, "%.20s%s%.40s", isa, *isa ? " " : "", name);
    c.aside = compute && strcmp(name, "div") == 0;
    if (compute) {
        insert(side->ceilings.compute, &side->ceilings.ncompute, &c);
    } else {
        insert(side->ceilings.memory, &side->ceilings.nmemory, &c);
    }
}

/* The fastest mix of a level; update and loads alone can pass the model's. */
static void find_any_mix(struct carm_place_side *side, const struct carm_roofs *roofs,
                         const char *level)
{
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        if (strcmp(m->level, level) == 0 && m->bandwidth > fmax(side->slope, side->any_mix)) {
            side->any_mix = m->bandwidth;
            memcpy(side->mix, m->ldst, sizeof side->mix);
        }
    }
}

/* A narrower ISA can be faster. */
static void find_other_isa(struct carm_place_side *side, const struct carm_model *model,
                           const struct carm_roofs *roofs, const char *level)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r == roofs || r->threads != roofs->threads ||
            strcmp(r->precision, roofs->precision) != 0) {
            continue;
        }
        for (size_t k = 0; k < r->nmemory; k++) {
            const struct carm_memory_roof *m = &r->memory[k];
            if (strcmp(m->level, level) == 0 && m->bandwidth > fmax(side->slope, side->isa_slope)) {
                side->isa_slope = m->bandwidth;
                memcpy(side->slope_isa, r->isa, sizeof side->slope_isa);
                memcpy(side->slope_isa_mix, m->ldst, sizeof side->slope_isa_mix);
            }
        }
        if (peak_of(r) > fmax(peak_of(roofs), side->isa_peak)) {
            side->isa_peak = peak_of(r);
            memcpy(side->peak_isa, r->isa, sizeof side->peak_isa);
        }
    }
}

static void add_levels(struct carm_place_side *side, const struct carm_model *model,
                       const struct carm_roofs *roofs)
{
    const char *fastest = "";
    for (size_t i = 0; i < model->nlevels; i++) {
        const struct carm_memory_roof *m =
            carm_roofs_find_memory(roofs, model->levels[i].level, model->config.ldst);
        if (m) {
            add(side, "", m->level, false, m->bandwidth, m->disturbed);
            fastest = m->bandwidth > side->slope ? m->level : fastest;
            side->slope = fmax(side->slope, m->bandwidth);
        }
    }
    find_any_mix(side, roofs, fastest);
    find_other_isa(side, model, roofs, fastest);
}

/* Operations, and what narrower ISAs reach with as many threads: their peak, and their first level,
 * whose bandwidth goes with the width of an access. */
static void add_operations(struct carm_place_set *set, const struct carm_model *model,
                           enum carm_place_which which)
{
    struct carm_place_side *side = &set->sides[which];
    const struct carm_roofs *roofs = set->roofs;
    side->peak = peak_of(roofs);
    for (size_t i = 0; i < roofs->ncompute; i++) {
        add(side, "", roofs->compute[i].op, true, roofs->compute[i].rate,
            roofs->compute[i].disturbed);
    }
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const struct carm_compute_roof *peak = carm_roofs_find_peak(r);
        if (r == roofs || r->threads != roofs->threads ||
            strcmp(r->precision, roofs->precision) != 0) {
            continue;
        }
        if (peak && peak->rate < side->peak) {
            add(side, r->isa, peak->op, true, peak->rate, peak->disturbed);
        }
        const struct carm_memory_roof *m =
            model->nlevels ? carm_roofs_find_memory(r, model->levels[0].level, model->config.ldst)
                           : NULL;
        if (which == CARM_PLACE_CACHE_AWARE && m && m->bandwidth < side->slope) {
            add(side, r->isa, m->level, false, m->bandwidth, m->disturbed);
        }
    }
}

/* ---- measured ceilings ----------------------------------------------------------------------- */

static void add_measured(struct carm_place_side *side, const struct carm_ceiling *from,
                         bool compute)
{
    struct carm_ceilings *all = &side->ceilings;
    struct carm_ceiling c = *from;
    c.compute = compute;
    if (!(c.rate > 0.0) || c.aside) {
        return;
    }
    if (compute) {
        insert(all->compute, &all->ncompute, &c);
    } else {
        insert(all->memory, &all->nmemory, &c);
    }
}

void carm_place_use_ceilings(struct carm_place_set *set, const struct carm_ceilings *ceilings)
{
    struct carm_place_side *aware = &set->sides[CARM_PLACE_CACHE_AWARE];
    struct carm_place_side *original = &set->sides[CARM_PLACE_ORIGINAL];
    const struct carm_ceiling *slope = carm_ceilings_slope(ceilings);
    const struct carm_ceiling *peak = carm_ceilings_peak(ceilings);
    if (!slope || !peak) {
        return; /* gains need both sides */
    }
    set->has_measured = true;
    set->measured = *ceilings;
    original->ceilings.nmemory = original->ceilings.ncompute = 0;
    original->slope = slope->rate;
    original->peak = peak->rate;
    for (size_t i = 0; i < ceilings->nmemory; i++) {
        add_measured(original, &ceilings->memory[i], false);
    }
    for (size_t i = 0; i < ceilings->ncompute; i++) {
        add_measured(original, &ceilings->compute[i], true);
        if (ceilings->compute[i].rate < aware->peak) { /* the peak stands there already */
            add_measured(aware, &ceilings->compute[i], true);
        }
    }
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* The peak of DRAM is one of the memory roofs, or a code of its own, of which nothing is known. */
static bool peak_is_disturbed(const struct carm_roofs *roofs)
{
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        if (m->disturbed && strcmp(m->level, "DRAM") == 0 &&
            strcmp(m->code, roofs->dram_peak.code) == 0) {
            return true;
        }
    }
    return false;
}

static void prepare_slopes(struct carm_place_set *set, const struct carm_model *model,
                           const struct carm_roofs *roofs)
{
    struct carm_place_side *original = &set->sides[CARM_PLACE_ORIGINAL];
    memset(set, 0, sizeof *set);
    set->roofs = roofs;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const int width = width_of(r->isa);
        if (width >= 0 && r->threads == roofs->threads &&
            strcmp(r->precision, roofs->precision) == 0) {
            set->has_isa[width] = true;
        }
    }
    add_levels(&set->sides[CARM_PLACE_CACHE_AWARE], model, roofs);
    original->slope = carm_original_bandwidth(roofs, "DRAM", true, NULL);
    add(original, "", "DRAM", false, original->slope, peak_is_disturbed(roofs));
}

/* Without measured ceilings, or where none can be made of them, all stays as it was. */
static bool find_measured(const struct carm_model *model, const struct carm_roofs *roofs,
                          enum carm_ceilings_order order, struct carm_ceilings *ceilings)
{
    struct carm_err err = {""};
    return roofs->nceilings > 0 && carm_ceilings_of_roofs(model, roofs, order, ceilings, &err) == 0;
}

void carm_place_prepare_ordered(struct carm_place_set *set, const struct carm_model *model,
                                const struct carm_roofs *roofs, enum carm_ceilings_order order)
{
    struct carm_ceilings ceilings;
    prepare_slopes(set, model, roofs);
    add_operations(set, model, CARM_PLACE_CACHE_AWARE);
    add_operations(set, model, CARM_PLACE_ORIGINAL);
    if (find_measured(model, roofs, order, &ceilings)) {
        carm_place_use_ceilings(set, &ceilings);
    }
}

void carm_place_prepare(struct carm_place_set *set, const struct carm_model *model,
                        const struct carm_roofs *roofs)
{
    carm_place_prepare_ordered(set, model, roofs, CARM_BALANCE_TOP);
}

/* One horizontal, and none of those of flops. */
static void use_memory_ceilings(struct carm_place_set *set, struct carm_ceilings *ceilings,
                                double peak)
{
    ceilings->ncompute = 1;
    ceilings->compute[0] =
        (struct carm_ceiling){.name = "peak", .rate = peak, .ci95 = {peak, peak}, .compute = true};
    carm_place_use_ceilings(set, ceilings);
}

void carm_place_prepare_metric(struct carm_place_set *set, const struct carm_model *model,
                               const struct carm_roofs *roofs, const char *metric, double peak)
{
    struct carm_ceilings ceilings;
    prepare_slopes(set, model, roofs);
    snprintf(set->metric, sizeof set->metric, "%s", metric);
    for (int i = 0; i < 2; i++) {
        set->sides[i].peak = peak > 0.0 ? peak : HUGE_VAL;
        add(&set->sides[i], "", "peak", true, peak, false);
    }
    if (find_measured(model, roofs, CARM_BALANCE_TOP, &ceilings)) {
        use_memory_ceilings(set, &ceilings, peak > 0.0 ? peak : HUGE_VAL);
        snprintf(set->measured.metric, sizeof set->measured.metric, "%.15s", metric);
    }
}

/* ---- advice: the one sentence that follows from a place ----------------------------------------- */

__attribute__((format(printf, 2, 3))) static void say(struct carm_place *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->advice, sizeof p->advice, fmt, ap);
    va_end(ap);
}

/* "flops", or "exchanges" of another metric. returns dst */
static const char *operations_of(const struct carm_place_set *set, char dst[CARM_NAME_MAX + 2])
{
    snprintf(dst, CARM_NAME_MAX + 2, "%ss", *set->metric ? set->metric : "flop");
    return dst;
}

/* ---- above the roof -------------------------------------------------------------------------- */

static bool known(const char *s)
{
    return s && *s;
}

/* Another metric has no ISA and no precision. */
static bool advise_over_metric(const struct carm_place_set *set, struct carm_place *p)
{
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    if (*set->metric && roof->compute) {
        say(p,
            "%.2f times the roof (%s); possible reasons: --peak is too low for this machine, "
            "%.40s operations were counted that did not run, or the time is too short",
            p->share, roof->name, set->metric);
    }
    return *set->metric && roof->compute;
}

/* Within the errors of roofs and counts. */
static bool explains(double roof, double reached)
{
    return roof > 0.0 && reached <= roof * (1.0 + CARM_PLACE_TOLERANCE);
}

/* Whether a point of that ISA, or of one that is not known, can be what another ISA does. */
static bool may_be(const char *isa, const char *other)
{
    return !known(isa) || carm_place_same_isa(isa, other);
}

/* Reasons that lie in the roof: it was disturbed, or another mix or ISA is faster. returns false where
 * there is none */
static bool advise_over_roof(const struct carm_place_set *set, enum carm_place_which which,
                             const struct carm_place_input *in, struct carm_place *p)
{
    const struct carm_place_side *side = &set->sides[which];
    const struct carm_roofs *r = set->roofs;
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    const double rate = in->bytes / in->seconds;
    const bool aware_slope = !roof->compute && which == CARM_PLACE_CACHE_AWARE;
    const double isa_peak = set->sides[CARM_PLACE_CACHE_AWARE].isa_peak;
    const char *peak_isa = set->sides[CARM_PLACE_CACHE_AWARE].peak_isa;
    if (roof->disturbed) {
        say(p,
            "%.2f times the roof (%s), which was disturbed while it was measured and may be too "
            "low: carm build on a quiet machine measures it again",
            p->share, roof->name);
    } else if (aware_slope && explains(side->any_mix, rate)) {
        say(p,
            "%.2f times the roof (%s): its mix of loads and stores is faster than the model's; "
            "%s reaches %.4g GB/s with the mix %.16s",
            p->share, roof->name, roof->name, side->any_mix / 1e9, side->mix);
    } else if (aware_slope && explains(side->isa_slope, rate) && may_be(in->isa, side->slope_isa)) {
        say(p,
            "%.2f times the roof (%s), which is for %.16s: %.16s is faster there and reaches %.4g "
            "GB/s with the mix %.16s; --isa %.16s places it under the right roof",
            p->share, roof->name, r->isa, side->slope_isa, side->isa_slope / 1e9,
            side->slope_isa_mix, side->slope_isa);
    } else if (roof->compute && !*set->metric && explains(isa_peak, p->performance) &&
               may_be(in->isa, peak_isa)) {
        say(p,
            "%.2f times the roof (%s), which is for %.16s: %.16s is faster and reaches %.4g "
            "Gflop/s; --isa %.16s places it under the right roof",
            p->share, roof->name, r->isa, peak_isa, isa_peak / 1e9, peak_isa);
    } else if ((aware_slope || roof->compute) && !*set->metric && width_of(in->isa) > 0 &&
               width_of(in->isa) == width_of(r->isa) - 1 && !set->has_isa[width_of(in->isa)]) {
        say(p,
            "%.2f times the roof (%s), which is for %.16s: it computes in %.16s, which can be "
            "faster; carm build --isa %.16s measures it",
            p->share, roof->name, r->isa, in->isa, in->isa);
    } else {
        return false;
    }
    return true;
}

/* The certain reasons first, then those that the model or the numbers suggest. */
static void advise_over(const struct carm_place_set *set, enum carm_place_which which,
                        const struct carm_place_input *in, struct carm_place *p)
{
    const struct carm_roofs *r = set->roofs;
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    const double rate = in->bytes / in->seconds;
    if (in->elsewhere) {
        say(p,
            "%.2f times the roof (%s) of another machine: build a model on the machine where it "
            "ran",
            p->share, roof->name);
    } else if (in->threads > r->threads) {
        say(p,
            "%.2f times the roof (%s): it ran %d threads, but the roof is for %d; carm build "
            "--threads %d measures the right one",
            p->share, roof->name, in->threads, r->threads, in->threads);
    } else if (advise_over_metric(set, p)) {
        return;
    } else if (!*set->metric && known(in->precision) && strcmp(in->precision, r->precision) != 0 &&
               strcmp(r->precision, "dp") == 0) {
        say(p,
            "%.2f times the roof (%s): it computes in %.16s, but the roof is for dp; carm build "
            "--precision sp measures the right one",
            p->share, roof->name, in->precision);
    } else if (!*set->metric && width_of(in->isa) > width_of(r->isa) && width_of(r->isa) >= 0) {
        say(p,
            "%.2f times the roof (%s): it computes in %.16s, but the roof is for %.16s; carm "
            "build --isa %.16s measures the right one",
            p->share, roof->name, in->isa, r->isa, in->isa);
    } else if (advise_over_roof(set, which, in, p)) {
        return;
    } else if (roof->compute) {
        say(p,
            "%.2f times the roof (%s); possible reasons: %s%sthe roof was measured too low (carm "
            "build on a quiet machine), flops were counted that did not run (removed or shared by "
            "the compiler), the time is too short%s",
            p->share, roof->name, in->threads ? "" : "its threads are not known, ",
            p->share < 1.0 + CARM_PLACE_TOGETHER
                ? "the clock was higher than when the roof was measured, "
                : "",
            in->threads ? ", another unit (GPU) computes" : "");
    } else if (which == CARM_PLACE_ORIGINAL) {
        say(p,
            "%.2f times the roof (%s): %.4g GB/s is more than memory delivers; possible reasons: "
            "%stoo many DRAM bytes were counted (of other programs, or served by a cache), or "
            "the time is too short",
            p->share, roof->name, rate / 1e9, in->threads ? "" : "its threads are not known, ");
    } else {
        say(p,
            "%.2f times the roof (%s): %.4g GB/s is more than any mix and ISA of the model; "
            "possible reasons: %sanother mix or ISA (carm build --ldst, --isa), the roof was "
            "measured too low, bytes were counted that stayed in registers, or the time is too short",
            p->share, roof->name, rate / 1e9, in->threads ? "" : "its threads are not known, ");
    }
}

/* ---- under a horizontal ceiling -------------------------------------------------------------- */

/* The slope next below the point, NULL = none. */
static const struct carm_ceiling *slope_below(const struct carm_place *p)
{
    for (int i = p->below; i >= 0; i--) {
        if (!p->ceilings[i].compute && !p->ceilings[i].narrow) {
            return &p->ceilings[i];
        }
    }
    return NULL;
}

/* "at most 1.5x to the next ceiling, 2.8x to the roof", or under this one where it is not at it */
static const char *rest(char dst[96], const struct carm_place *p)
{
    const double under = p->ceilings[p->above].at / p->performance;
    const bool at_it = under < 1.0 + CARM_PLACE_TOGETHER;
    snprintf(dst, 96, "at most %.1fx %s, %.1fx to the roof",
             at_it ? carm_place_next(p, p->above) / p->performance : under,
             at_it ? "to the next ceiling" : "up to it", p->roof / p->performance);
    return dst;
}

/* "1.07x is left"; a point may be a little above its roof, for both have errors. returns dst */
static const char *left_text(char dst[32], double left)
{
    if (left < 1.005) {
        return "nothing is left";
    }
    snprintf(dst, 32, "%.2fx is left", left);
    return dst;
}

/* The ceiling to advise about: the one above the point, or the roof where that is of the same kind and
 * so near that the other gives nothing. */
static const struct carm_ceiling *advised(const struct carm_place *p)
{
    const struct carm_ceiling *above = &p->ceilings[p->above];
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    return roof->compute == above->compute && p->roof < p->performance * CARM_PLACE_WORTHWHILE
               ? roof
               : above;
}

/* What breaks through a horizontal ceiling. */
static const char *step_of(const struct carm_ceiling *c)
{
    return *c->step    ? c->step
           : c->narrow ? "wider vectors"
                       : "FMA, or as many multiplies as adds, in independent chains";
}

static void advise_compute(enum carm_place_which which, struct carm_place *p, const char *also)
{
    char until[96], left[32];
    const struct carm_ceiling *a = advised(p);
    const struct carm_ceiling *slower = which == CARM_PLACE_CACHE_AWARE ? slope_below(p) : NULL;
    const double under = a->at / p->performance;
    const bool at_it = under < 1.0 + CARM_PLACE_TOGETHER;
    if (a->roof && at_it) {
        say(p, "at the peak (%s)%s: %s; only fewer or cheaper operations make it faster", a->name,
            also, left_text(left, under));
    } else if (at_it) {
        say(p, "at the ceiling of %s%s; next: %s; %s", a->name, also, step_of(a), rest(until, p));
    } else if (slower) {
        say(p,
            "between %s and the ceiling of %s%s: it waits for data from %s (block for a faster "
            "level) or for dependent operations (use more independent chains); %s",
            slower->name, a->name, also, slower->name, rest(until, p));
    } else {
        say(p,
            "below the ceiling of %s%s: try more independent operations and fewer other "
            "instructions between them; %s",
            a->name, also, rest(until, p));
    }
}

/* ---- under a slope --------------------------------------------------------------------------- */

/* The level next above that slope, also where it does not show at this intensity. */
static const char *faster_level(const struct carm_place_set *set, const struct carm_ceiling *slope)
{
    const struct carm_place_side *side = &set->sides[CARM_PLACE_CACHE_AWARE];
    for (size_t i = 0; i < side->ceilings.nmemory; i++) {
        if (side->ceilings.memory[i].rate > slope->rate && !side->ceilings.memory[i].narrow) {
            return side->ceilings.memory[i].name;
        }
    }
    return "a faster cache";
}

static void advise_memory(const struct carm_place_set *set, enum carm_place_which which,
                          struct carm_place *p, const char *also)
{
    const struct carm_ceiling *a = advised(p);
    const struct carm_ceiling *slower = slope_below(p);
    const double under = a->at / p->performance;
    char until[96], left[32], operations[CARM_NAME_MAX + 2];
    const bool at_it = under < 1.0 + CARM_PLACE_TOGETHER;
    operations_of(set, operations);
    if (a->roof && which == CARM_PLACE_ORIGINAL && at_it) {
        say(p, "at the slope of %s%s: %s; do more %s per DRAM byte (block for the caches)", a->name,
            also, left_text(left, under), operations);
    } else if (a->roof && which == CARM_PLACE_ORIGINAL) {
        say(p,
            "below the slope of %s%s: %.1fx is left; first try longer streams, prefetching and "
            "pages near their threads, then more %s per DRAM byte",
            a->name, also, under, operations);
    } else if (a->roof && at_it) {
        say(p,
            "at the slope of %s%s, the roof: %s; do more %s per byte (keep values in registers, use "
            "wider blocks)",
            a->name, also, left_text(left, under), operations);
    } else if (a->narrow) {
        say(p, "%s the %s ceiling%s: try wider loads and stores; %s", at_it ? "at" : "below",
            a->name, also, rest(until, p));
    } else if (at_it) {
        say(p, "bound by %s%s: block for %s; %s", a->name, also, faster_level(set, a),
            rest(until, p));
    } else if (slower) {
        say(p, "between %s and %s%s: part of its data comes from %s; block for %s: %s",
            slower->name, a->name, also, slower->name, a->name, rest(until, p));
    } else {
        say(p,
            "below the %s ceiling%s: the usual reasons are latency, short streams and dependent "
            "operations; %s",
            a->name, also, rest(until, p));
    }
}

/* ---- measured ceilings ----------------------------------------------------------------------- */

/* The first optimisation that is worth it, in the order in which to try them. */
static void advise_measured(const struct carm_place_set *set, struct carm_place *p)
{
    char operations[CARM_NAME_MAX + 2], rest_of[32];
    const char *region = carm_region_name(p->region);
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    const double left = p->roof / p->performance;
    for (size_t i = 0; i < p->ngains; i++) {
        const struct carm_gain *g = &p->gains[i];
        const struct carm_ceiling *ceiling =
            g->compute ? &set->measured.compute[g->index] : &set->measured.memory[g->index];
        if (g->times >= CARM_PLACE_WORTHWHILE) {
            say(p, "%s region: %s (ceiling '%s'): at most %.1fx, %.1fx to the roof", region,
                *ceiling->step ? ceiling->step : "break through it", ceiling->name, g->times, left);
            return;
        }
    }
    if (left >= CARM_PLACE_WORTHWHILE) {
        say(p,
            "%s region: none of the measured optimisations gives 10%% or more, but %.1fx is left "
            "to the roof (%s): look for other limits, such as latency, imbalance or other "
            "instructions",
            region, left, roof->name);
    } else if (roof->compute) {
        say(p, "%s region, at the roof (%s): %s; only fewer or cheaper operations make it faster",
            region, roof->name, left_text(rest_of, left));
    } else {
        say(p, "%s region, at the roof (%s): %s; do more %s per DRAM byte (block for the caches)",
            region, roof->name, left_text(rest_of, left), operations_of(set, operations));
    }
}

void carm_place_advise(const struct carm_place_set *set, enum carm_place_which which,
                       const struct carm_place_input *in, struct carm_place *out)
{
    char also[CARM_NAME_MAX + 16] = "";
    if (out->over) {
        advise_over(set, which, in, out);
        return;
    }
    if (out->has_region) {
        advise_measured(set, out);
        return;
    }
    const struct carm_ceiling *a = &out->ceilings[out->above];
    if (out->bound == CARM_BOUND_BOTH) {
        for (size_t k = (size_t)out->above + 1; k < out->nceilings && !*also; k++) {
            if (!out->ceilings[k].aside && out->ceilings[k].compute != a->compute) {
                snprintf(also, sizeof also, " and of %.60s", out->ceilings[k].name);
            }
        }
    }
    if (a->compute) {
        advise_compute(which, out, also);
    } else {
        advise_memory(set, which, out, also);
    }
}

/* Less is within the errors of roofs and counts. */
static const double worth_listing = 1.0 + CARM_PLACE_TOLERANCE;

char *carm_place_gains_text(char *dst, size_t size, const struct carm_place_set *set,
                            const struct carm_place *place)
{
    size_t used = 0;
    snprintf(dst, size, "none");
    for (size_t i = 0; i < place->ngains && used < size; i++) {
        const struct carm_gain *g = &place->gains[i];
        const struct carm_ceiling *ceiling =
            g->compute ? &set->measured.compute[g->index] : &set->measured.memory[g->index];
        if (g->times < worth_listing) {
            continue;
        }
        const int n = snprintf(dst + used, size - used, "%s%s%s%s%s %.2fx", used ? "; " : "",
                               ceiling->step, *ceiling->step ? " (" : "", ceiling->name,
                               *ceiling->step ? ")" : "", g->times);
        used += n > 0 ? (size_t)n : 0;
    }
    return dst;
}
