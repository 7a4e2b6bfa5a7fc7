/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/set.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/latency.h"
#include "models/roofline.h"
#include "models/scaling.h"

/* avx2 adds integers only: floating point has 256 bits in both */
static bool is_avx(const char *isa)
{
    return strcmp(isa, "avx") == 0 || strcmp(isa, "avx2") == 0;
}

bool carm_place_same_isa(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (is_avx(a) && is_avx(b));
}

int carm_place_width(const char *isa)
{
    static const char *const names[] = {"scalar", "sse", "avx2", "avx512"};
    for (int i = 0; isa && i < CARM_PLACE_WIDTHS; i++) {
        if (carm_place_same_isa(isa, names[i])) {
            return i;
        }
    }
    return -1;
}

static bool same_precision(const struct carm_roofs *r, const char *precision)
{
    return !*precision || strcmp(r->precision, precision) == 0;
}

/* 2 = the requested ISA, 1 = an ISA of the same width, 0 = another ISA */
static int same_isa(const struct carm_roofs *r, const char *isa)
{
    return !*isa || strcmp(r->isa, isa) == 0 ? 2 : carm_place_same_isa(r->isa, isa);
}

static double peak_of(const struct carm_roofs *r)
{
    const struct carm_compute_roof *p = carm_roofs_find_peak(r);
    return p ? p->rate : 0.0;
}

#define ADD_NOTE(note, ...) carm_text_list(note, CARM_TEXT_MAX, "; ", __VA_ARGS__)

/* Appends a name to a list of names. */
static void add_name(char names[64], const char *name)
{
    carm_text_list(names, 64, ", ", "%.12s", name);
}

/* Notes only roofs that bound points: the levels at the model's mix, and the peak. */
void carm_place_note_disturbed(const struct carm_model *model, const struct carm_roofs *roofs,
                               char note[CARM_TEXT_MAX])
{
    char names[64] = "";
    const struct carm_compute_roof *peak = carm_model_best_peak(model, roofs, NULL);
    for (size_t i = 0; i < model->nlevels; i++) {
        const struct carm_memory_roof *m =
            carm_model_best_memory(model, roofs, model->levels[i].level, model->config.ldst, NULL);
        if (m && m->disturbed) {
            add_name(names, m->level);
        }
    }
    if (peak && peak->disturbed) {
        add_name(names, peak->op);
    }
    if (*names) {
        ADD_NOTE(note,
                 "disturbed while measured, so perhaps too low: %s (carm build on a quiet machine "
                 "measures them again)",
                 names);
    }
}

/* Whether roofs of this ISA are drawn as ceilings of these roofs. */
static bool has_ceilings_of(const struct carm_model *model, const struct carm_roofs *roofs,
                            const char *isa)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r->threads == roofs->threads && strcmp(r->precision, roofs->precision) == 0 &&
            carm_place_same_isa(r->isa, isa)) {
            return true;
        }
    }
    return false;
}

const struct carm_roofs *carm_place_roofs_of(const struct carm_model *model, const char *isa,
                                             const char *precision, int threads,
                                             char note[CARM_TEXT_MAX])
{
    const struct carm_roofs *best = NULL;
    const bool mixed = strcmp(precision, "mixed") == 0;
    precision = mixed ? "" : precision;
    note[0] = '\0';
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (carm_model_is_beside(model, r) &&
            !(*isa && carm_place_same_isa(r->isa, isa) && carm_model_has_levels(model, r))) {
            continue;
        }
        if (!best) {
            best = r;
            continue;
        }
        const int precise = same_precision(r, precision) - same_precision(best, precision);
        const int wide = same_isa(r, isa) - same_isa(best, isa);
        const int d = carm_roofs_distance(r, threads) - carm_roofs_distance(best, threads);
        const int rank = carm_precision_rank(best->precision) - carm_precision_rank(r->precision);
        const int better = precise ? precise : rank ? rank : wide ? wide : -d;
        if (better > 0 || (better == 0 && carm_roofs_precede(r, best))) {
            best = r;
        }
    }
    if (best && threads > 0 && best->threads != threads) {
        ADD_NOTE(note,
                 "the model has no roofs for %d thread%s, so those for %d are used (carm build "
                 "--threads %d measures them)",
                 threads, threads == 1 ? "" : "s", best->threads, threads);
    }
    if (best && *model->changed) {
        ADD_NOTE(note, "%s", model->changed);
    } else if (best && model->nnuma > 1) {
        ADD_NOTE(
            note,
            "DRAM roofs are of memory on the threads' own node (--pages numa:N takes those of another)");
    }
    if (best && best->between[1]) {
        char origin[160];
        ADD_NOTE(note, "%s", carm_scaling_origin(origin, sizeof origin, best));
    }
    if (best && !same_precision(best, precision)) {
        ADD_NOTE(
            note,
            carm_precision_rank(precision) == 2
                ? "the model has no %.16s roofs, so only memory bounds it, by the roofs of %.16s "
                  "(carm build --precision %.16s measures them)"
                : "the model has no %.16s roofs, so those of %.16s are used (carm build "
                  "--precision %.16s measures them)",
            precision, best->precision, precision);
    }
    if (best && !same_isa(best, isa) && !has_ceilings_of(model, best, isa)) {
        ADD_NOTE(note,
                 *model->roofs_of
                     ? "the model has no %.16s roofs, so those of %.16s are used"
                     : "the model has no %.16s roofs, so those of %.16s are used (carm build --isa "
                       "%.16s measures them)",
                 isa, best->isa, isa);
    }
    if (best && mixed && strcmp(best->precision, "dp") == 0) {
        ADD_NOTE(
            note,
            "it computes in dp and sp, but the roofs are for dp, and its sp part may exceed them");
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

/* Inserts c by its rate; in a full list the lowest ceiling is dropped. */
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

/* isa  the ceiling's ISA, "" = that of the roofs themselves */
static void add(struct carm_place_side *side, const char *isa, const char *name,
                struct carm_ceiling c)
{
    if (!(c.rate > 0.0)) {
        return;
    }
    snprintf(c.name, sizeof c.name, "%.20s%s%.40s", isa, *isa ? " " : "", name);
    /* aside from the chain: faster operations cannot replace these */
    c.aside = c.compute && (strcmp(name, "div") == 0 || strcmp(name, "sqrt") == 0 ||
                            strcmp(name, "popcnt") == 0);
    if (c.compute) {
        insert(side->ceilings.compute, &side->ceilings.ncompute, &c);
    } else {
        insert(side->ceilings.memory, &side->ceilings.nmemory, &c);
    }
}

static struct carm_ceiling slope_of(const struct carm_memory_roof *m, bool narrow)
{
    return (struct carm_ceiling){.narrow = narrow, .rate = m->bandwidth, .disturbed = m->disturbed};
}

static struct carm_ceiling flat_of(const struct carm_compute_roof *c, bool narrow)
{
    return (struct carm_ceiling){
        .compute = true, .narrow = narrow, .rate = c->rate, .disturbed = c->disturbed};
}

/* Finds the fastest mix of a level; update and loads alone can be faster than the model's mix. */
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

/* Finds another ISA that is faster than the roofs, as a narrower one can be. */
static void find_other_isa(struct carm_place_side *side, const struct carm_model *model,
                           const struct carm_roofs *roofs, const char *level)
{
    const struct carm_compute_roof *best = carm_model_best_peak(model, roofs, NULL);
    const double peak = best ? best->rate : 0.0;
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
        if (peak_of(r) > fmax(peak, side->isa_peak)) {
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
        const char *level = model->levels[i].level;
        const struct carm_roofs *whose = NULL;
        const struct carm_memory_roof *own =
            carm_roofs_find_memory(roofs, level, model->config.ldst);
        const struct carm_memory_roof *best =
            carm_model_best_memory(model, roofs, level, model->config.ldst, &whose);
        if (own) {
            add(side, "", level, slope_of(own, false));
        }
        if (best && best != own) {
            add(side, whose->isa, level, slope_of(best, false));
        }
        if (best && best->bandwidth > side->slope) {
            fastest = level;
            side->slope = best->bandwidth;
        }
    }
    find_any_mix(side, roofs, fastest);
    find_other_isa(side, model, roofs, fastest);
}

/* Adds ceilings of operations, and of narrower ISAs with the same threads: their peak, and their
 * first level, whose bandwidth depends on the width of an access. */
static void add_operations(struct carm_place_set *set, const struct carm_model *model,
                           enum carm_place_which which)
{
    struct carm_place_side *side = &set->sides[which];
    const struct carm_roofs *roofs = set->roofs;
    const struct carm_compute_roof *best = carm_model_best_peak(model, roofs, NULL);
    side->peak = best ? best->rate : 0.0;
    for (size_t i = 0; i < roofs->ncompute; i++) {
        add(side, "", roofs->compute[i].op, flat_of(&roofs->compute[i], false));
    }
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const struct carm_compute_roof *peak = carm_roofs_find_peak(r);
        if (r == roofs || r->threads != roofs->threads ||
            strcmp(r->precision, roofs->precision) != 0) {
            continue;
        }
        if (peak && (peak == best || peak->rate < side->peak)) {
            add(side, r->isa, peak->op, flat_of(peak, peak != best));
        }
        const struct carm_memory_roof *m =
            model->nlevels ? carm_roofs_find_memory(r, model->levels[0].level, model->config.ldst)
                           : NULL;
        if (which == CARM_PLACE_CACHE_AWARE && m && m->bandwidth < side->slope) {
            add(side, r->isa, m->level, slope_of(m, true));
        }
    }
}

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
        if (ceilings->compute[i].rate < aware->peak) { /* the peak is in the list already */
            add_measured(aware, &ceilings->compute[i], true);
        }
    }
}

/* Whether the DRAM peak is disturbed: it is equal to a memory roof; for a code of its own, disturbance is unknown. */
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

/* Roofs with the DRAM peak of the original model. The peak is the machine's. So an ISA or precision without one (a
 * default build measures updates with the widest ISA only) gets the highest with as many threads. source: Williams et
 * al. 2009, section 3 */
static const struct carm_roofs *with_dram_peak(const struct carm_model *model,
                                               const struct carm_roofs *roofs)
{
    const struct carm_roofs *best = roofs;
    for (size_t i = 0; i < model->nroofs && !(roofs->dram_peak.bandwidth > 0.0); i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r->threads == roofs->threads && r->dram_peak.bandwidth > best->dram_peak.bandwidth) {
            best = r;
        }
    }
    return best;
}

static void prepare_slopes(struct carm_place_set *set, const struct carm_model *model,
                           const struct carm_roofs *roofs)
{
    const struct carm_roofs *dram = with_dram_peak(model, roofs);
    struct carm_place_side *original = &set->sides[CARM_PLACE_ORIGINAL];
    memset(set, 0, sizeof *set);
    set->roofs = roofs;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const int width = carm_place_width(r->isa);
        if (width >= 0 && r->threads == roofs->threads &&
            strcmp(r->precision, roofs->precision) == 0) {
            set->has_isa[width] = true;
        }
    }
    add_levels(&set->sides[CARM_PLACE_CACHE_AWARE], model, roofs);
    original->slope = carm_original_bandwidth(dram, "DRAM", true, NULL);
    add(original, "", "DRAM",
        (struct carm_ceiling){.rate = original->slope, .disturbed = peak_is_disturbed(dram)});
    for (size_t i = 0; i < model->nnuma && !*model->changed; i++) { /* adds a slope for each
                                                                     * domain */
        const struct carm_numa_pair *p = &model->numa[i];
        char name[40];
        if (p->threads == roofs->threads && p->bandwidth < original->slope) {
            carm_numa_name(name, p);
            add(original, "", name,
                (struct carm_ceiling){.rate = p->bandwidth, .disturbed = p->disturbed});
        }
    }
}

/* Finds the measured ceilings of the roofs. returns false without them; ceilings is then
 * unchanged */
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
    set->flight = carm_in_flight_find(model, "DRAM");
    carm_scaling_words(set->enough, sizeof set->enough, model, "DRAM", roofs->threads);
    if (find_measured(model, roofs, order, &ceilings)) {
        carm_place_use_ceilings(set, &ceilings);
    }
}

void carm_place_prepare(struct carm_place_set *set, const struct carm_model *model,
                        const struct carm_roofs *roofs)
{
    carm_place_prepare_ordered(set, model, roofs, CARM_BALANCE_TOP);
}

void carm_place_prepare_integers(struct carm_place_set *set, const struct carm_model *model,
                                 const struct carm_roofs *roofs, const char *precision)
{
    const char *metric = carm_precision_operation(precision);
    if (strcmp(roofs->precision, precision) == 0) {
        carm_place_prepare(set, model, roofs);
        snprintf(set->metric, sizeof set->metric, "%s", metric);
    } else {
        carm_place_prepare_metric(set, model, roofs, metric, 0.0);
    }
}

/* Uses slopes and one horizontal ceiling (peak, of another metric), without ceilings of flops. */
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
        add(&set->sides[i], "", "peak", (struct carm_ceiling){.compute = true, .rate = peak});
    }
    if (find_measured(model, roofs, CARM_BALANCE_TOP, &ceilings)) {
        use_memory_ceilings(set, &ceilings, peak > 0.0 ? peak : HUGE_VAL);
        snprintf(set->measured.metric, sizeof set->measured.metric, "%.15s", metric);
    }
}
