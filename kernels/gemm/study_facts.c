/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/gemm/study.h"
#include "models/roofline.h"

/* A step that is slower than the step before by less than this, or less than its spread, counts as equal. Chosen by
 * hand. */
static const double holds = 0.02;
/* Share by which a point may exceed a ceiling, beside the time's own spread, as roofs have errors, too. Chosen by
 * hand. */
static const double on_it = 0.03;

static void find_intensities(const struct carm_gemm_study *s, struct carm_gemm_facts *f)
{
    const double tile = CARM_GEMM_ROWS * CARM_GEMM_COLUMNS;
    f->tile_intensity = 2.0 * tile / (8.0 * s->kernels.vector->loads_per_step);
    f->intensity_low = f->dram_low = INFINITY;
    for (int i = 0; i < CARM_GEMM_VERSIONS; i++) {
        const struct carm_gemm_point *p = &s->steps[i];
        if (!p->known) {
            continue;
        }
        const double n = (double)s->n;
        const double rows = (double)p->rows / n;
        const double at = p->flops / p->bytes;
        const double dram = p->dram_bytes > 0.0 ? p->flops / p->dram_bytes : NAN;
        f->intensity_low = fmin(f->intensity_low, at);
        f->intensity_high = fmax(f->intensity_high, at);
        f->deviation = fmax(f->deviation, fabs(at / f->tile_intensity - 1.0));
        f->dram_low = fmin(f->dram_low, dram);
        f->dram_high = fmax(f->dram_high, dram);
        f->extra_flops = fmax(f->extra_flops, p->flops / (2.0 * n * n * n * rows) - 1.0);
        if (p->dram_by == CARM_COUNTED_SIMULATED && p->dram_low / p->seconds > f->dram_implied) {
            f->dram_implied = p->dram_low / p->seconds;
            f->dram_implied_by = i + 1;
        }
    }
}

/* The step of the fastest library, or -1. */
static int best_library(const struct carm_gemm_study *s)
{
    int best = -1;
    for (int i = CARM_GEMM_LIBRARY; i < CARM_GEMM_STEPS; i++) {
        if (s->steps[i].known && (best < 0 || s->steps[i].seconds < s->steps[best].seconds)) {
            best = i;
        }
    }
    return best;
}

static void find_steps(const struct carm_gemm_study *s, struct carm_gemm_facts *f)
{
    const struct carm_gemm_point *before = NULL;
    f->rises = true;
    for (int i = 0; i <= CARM_GEMM_LIBRARY; i++) {
        const int at = i < CARM_GEMM_VERSIONS ? i : f->library;
        const struct carm_gemm_point *p = at >= 0 ? &s->steps[at] : NULL;
        if (!p || !p->known) {
            continue;
        }
        if (before) {
            const double up = carm_gemm_performance(p) / carm_gemm_performance(before);
            const double slack = fmax(holds, carm_gemm_spread(p) + carm_gemm_spread(before));
            f->steps_up[at] = up;
            if (up < 1.0 - slack && f->rises) {
                f->rises = false;
                f->falls_at = i + 1;
            }
        }
        before = p;
    }
}

/* Compares versions 3 to 5 with the slopes of the levels for which they are blocked. */
static void find_blocked(const struct carm_gemm_study *s, struct carm_gemm_facts *f)
{
    static const char *const levels[] = {"L3", "L2", "L1"};
    for (size_t i = 0; i < 3; i++) {
        const struct carm_gemm_point *p = &s->steps[2 + i];
        const struct carm_memory_roof *roof =
            carm_roofs_find_memory(s->base.roofs, levels[i], s->base.model->config.ldst);
        snprintf(f->blocked[i].level, sizeof f->blocked[i].level, "%s", levels[i]);
        if (!p->known || !roof || !(f->peak > 0.0)) {
            continue;
        }
        f->blocked[i].known = true;
        f->blocked[i].ceiling = carm_roofline_eval(p->flops / p->bytes, roof->bandwidth, f->peak);
        f->blocked[i].share = carm_gemm_performance(p) / f->blocked[i].ceiling;
        f->blocked[i].holds = f->blocked[i].share <= 1.0 + on_it + carm_gemm_spread(p);
    }
}

/* Whether a point is right of the ridge: its roof is as high as the peak. */
static bool right_of_ridge(const struct carm_place *p, double peak)
{
    return p->roof >= peak;
}

void carm_gemm_facts(const struct carm_gemm_study *s, struct carm_gemm_facts *f)
{
    const struct carm_compute_roof *peak = carm_roofs_find_plain_peak(s->base.roofs);
    memset(f, 0, sizeof *f);
    f->peak = peak ? peak->rate : 0.0;
    f->dram_peak = carm_original_bandwidth(s->base.roofs, "DRAM", true, NULL);
    f->library = best_library(s);
    if (f->library >= 0 && f->peak > 0.0) {
        f->library_share = carm_gemm_performance(&s->steps[f->library]) / f->peak;
    }
    f->aware_compute = right_of_ridge(&s->steps[0].aware, f->peak);
    f->original_compute = right_of_ridge(&s->steps[0].original, f->peak);
    find_intensities(s, f);
    find_steps(s, f);
    find_blocked(s, f);
}
