/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "kernels/classes/study.h"
#include "models/roofline.h"

/* Thresholds: share of a roof that counts as reached, relative change that counts as constant; chosen by hand. */
static const double reached = 0.9;
static const double constant = 0.01;
static const double near_intensity = 16.0; /* the paper's, observation 2 */

static double rate(const struct carm_classes_point *p)
{
    return p->flops / p->seconds;
}

int carm_classes_place(const struct carm_classes *study, const struct carm_classes_point *point,
                       bool original, struct carm_place *place, struct carm_err *err)
{
    return original ? carm_place_original(study->base.model, study->base.roofs, point->flops,
                                          point->dram_bytes, point->seconds, place, err)
                    : carm_place_cache_aware(study->base.model, study->base.roofs, point->flops,
                                             point->bytes, point->seconds, place, err);
}

/* Share of the performance that a level's slope, times a factor, and the peak allow at the point's intensity; 0 = no
 * such roof. */
static double slope_share(const struct carm_classes *study, size_t level, double factor,
                          const struct carm_classes_point *p)
{
    const struct carm_model *m = study->base.model;
    const struct carm_memory_roof *roof =
        carm_roofs_find_memory(study->base.roofs, m->levels[level].level, m->config.ldst);
    const struct carm_compute_roof *peak = carm_roofs_find_plain_peak(study->base.roofs);
    return roof && peak && roof->bandwidth > 0.0 && peak->rate > 0.0
               ? rate(p) /
                     carm_roofline_eval(p->flops / p->bytes, factor * roof->bandwidth, peak->rate)
               : 0.0;
}

static double level_share(const struct carm_classes *study, size_t level,
                          const struct carm_classes_point *p)
{
    return slope_share(study, level, 1.0, p);
}

/* Share of memory's slope. The slope is of a stream, which waits for write-backs of lines that it stored long
 * before. A single pass over a set that a cache keeps has no such write-backs, so memory transfers
 * (loads + 2 stores) / (loads + stores) times as many bytes in a time. */
static double dram_share(const struct carm_classes *study, const struct carm_classes_side *s,
                         const struct carm_classes_point *p)
{
    const struct carm_mix *mix = &study->target.mix;
    const size_t memory = study->base.model->nlevels - 1;
    const double factor =
        s->home < memory ? (mix->loads + 2.0 * mix->stores) / (mix->loads + mix->stores) : 1.0;
    return slope_share(study, memory, factor, p);
}

static double share_of(const struct carm_classes *study, const struct carm_classes_point *p,
                       bool original)
{
    struct carm_place place;
    struct carm_err ignored;
    return carm_classes_place(study, p, original, &place, &ignored) == 0 ? place.share : 0.0;
}

static void find_near(const struct carm_classes *study, const struct carm_classes_side *s,
                      struct carm_classes_fact *f)
{
    for (int k = 0; k < CARM_CLASSES_K; k++) {
        const struct carm_classes_point *p = &s->points[k];
        const double at = p->known ? p->flops / p->dram_bytes : 0.0;
        /* within half an octave, as instances differ by factors of 2. Of several, the longest instance:
         * its start weighs least. */
        if (p->known && fabs(log2(at / near_intensity)) <= 0.51 &&
            (f->near < 0 || fabs(log2(at / near_intensity)) <=
                                fabs(log2(f->near_intensity / near_intensity)) + 1e-9)) {
            f->near = k;
            f->near_intensity = at;
            f->near_performance = rate(p);
            f->near_share = share_of(study, p, true);
            f->near_cache_aware_share = share_of(study, p, false);
        }
    }
}

static void find_single(const struct carm_classes *study, const struct carm_classes_side *s,
                        struct carm_classes_fact *f)
{
    const struct carm_classes_point *p = &s->points[0];
    struct carm_place place;
    struct carm_err ignored;
    if (!p->known || carm_classes_place(study, p, true, &place, &ignored) != 0) {
        return;
    }
    const double bandwidth = carm_original_bandwidth(study->base.roofs, "DRAM", true, NULL);
    const struct carm_compute_roof *peak = carm_roofs_find_plain_peak(study->base.roofs);
    f->single_bound = place.intensity * bandwidth < peak->rate;
    f->single_share = place.share;
    f->single_dram_share = dram_share(study, s, p);
}

static void find_fact(const struct carm_classes *study, size_t c, struct carm_classes_fact *f)
{
    const struct carm_classes_side *s = &study->sides[c];
    *f = (struct carm_classes_fact){.first = -1, .last = -1, .near = -1};
    for (int k = 0; k < CARM_CLASSES_K; k++) {
        if (s->points[k].known) {
            f->first = f->first < 0 ? k : f->first;
            f->last = k;
        }
    }
    if (f->last < 0) {
        return;
    }
    const struct carm_classes_point *first = &s->points[f->first];
    const struct carm_classes_point *last = &s->points[f->last];
    f->intensity = last->flops / last->bytes;
    for (int k = f->first; k <= f->last; k++) {
        const struct carm_classes_point *p = &s->points[k];
        if (p->known) {
            f->deviation = fmax(f->deviation, fabs(p->flops / p->bytes / f->intensity - 1.0));
        }
    }
    f->dram_first = first->flops / first->dram_bytes;
    f->dram_last = last->flops / last->dram_bytes;
    f->share = share_of(study, last, false);
    f->level_share = level_share(study, s->home, last);
    find_near(study, s, f);
    find_single(study, s, f);
}

/* Whether the original model's intensity grows with N if the sets fit a cache, and is constant if they do
 * not. */
static bool moved_by_n(const struct carm_classes *study, size_t c,
                       const struct carm_classes_fact *f)
{
    const bool cached = study->sides[c].home + 1 < study->base.model->nlevels;
    const double n = cached ? exp2(f->last - f->first) : 1.0;
    return fabs(f->dram_last / f->dram_first / n - 1.0) <= constant;
}

void carm_classes_facts(const struct carm_classes *study, struct carm_classes_facts *facts)
{
    size_t near = 0;
    memset(facts, 0, sizeof *facts);
    facts->constant = true;
    facts->shifts = true;
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        struct carm_classes_fact *f = &facts->classes[c];
        find_fact(study, c, f);
        if (f->last < 0) {
            continue;
        }
        facts->constant = facts->constant && f->deviation <= constant;
        facts->shifts = facts->shifts && moved_by_n(study, c, f);
        if (f->near >= 0) {
            const struct carm_classes_fact *all = facts->classes;
            facts->slowest = near && all[facts->slowest].near_performance <= f->near_performance
                                 ? facts->slowest
                                 : c;
            facts->fastest = near && all[facts->fastest].near_performance >= f->near_performance
                                 ? facts->fastest
                                 : c;
            near++;
        }
        if (f->first == 0 && f->single_bound) {
            facts->nbound++;
            facts->nbelow += f->single_share < reached ? 1 : 0;
            facts->nline += fabs(f->single_dram_share - 1.0) <= 1.0 - reached ? 1 : 0;
        }
    }
    if (near >= 2) {
        facts->spread = facts->classes[facts->fastest].near_performance /
                        facts->classes[facts->slowest].near_performance;
    }
    const struct carm_classes_fact *l1 = &facts->classes[CARM_APP_L1];
    facts->l1_reached =
        l1->last >= 0 && study->sides[CARM_APP_L1].home == 0 && l1->level_share >= reached;
}
