/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/levels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "models/place/points.h"
#include "models/roofline.h"
#include "models/scaling.h"

/* least share of unused bytes, and of conflict and coherence misses, that the advice names; chosen by
 * hand */
static const double much = 0.25;
/* below this share of every roof, no level binds; chosen by hand */
static const double near_roof = 0.5;
static const double sure_roof = 0.8; /* share of a roof above which the level surely binds:
                                      * simulated bytes and bandwidths both have errors of some per
                                      * cent */
/* share of a roof above which bytes or roof are wrong: more than the roofs' intervals explain;
 * chosen by hand */
static const double above_roof = 1.1;

static const char *const names[CARM_AT_COUNT] = {"L1", "L2", "L3", "DRAM"};

double carm_levels_bandwidth(const struct carm_model *model, const struct carm_roofs *roofs, int at)
{
    if (at != CARM_AT_L1) {
        return carm_original_bandwidth(roofs, names[at], at == CARM_AT_DRAM, NULL);
    }
    const struct carm_memory_roof *roof =
        carm_model_best_memory(model, roofs, names[at], model->config.ldst, NULL);
    return roof ? roof->bandwidth : 0.0;
}

const char *carm_levels_name(int at)
{
    return names[at];
}

/* The level before this one, whose misses fetch this level's bytes; NULL = registers. */
static const char *before(const struct carm_levels *l, int level)
{
    return level > 0 ? l->at[level - 1].name : NULL;
}

/* The level with the largest share of coherence misses, if this share is large; NULL = none. */
static const struct carm_levels_at *shared(const struct carm_levels *l)
{
    const struct carm_levels_at *most = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const double share = l->at[i].misses[CARM_MISS_COHERENCE];
        most = share >= much && (!most || share > most->misses[CARM_MISS_COHERENCE]) ? &l->at[i]
                                                                                     : most;
    }
    return most;
}

/* Advice on the bytes of a level that is near its roof. */
static void remedy(const struct carm_levels *l, const struct carm_levels_at *at, char *dst,
                   size_t size)
{
    const double *m = at->misses;
    const char *cache = before(l, l->binds);
    const double most = fmax(fmax(m[CARM_MISS_COMPULSORY], m[CARM_MISS_CAPACITY]),
                             fmax(m[CARM_MISS_CONFLICT], m[CARM_MISS_COHERENCE]));
    if (at->unused >= much) {
        snprintf(dst, size, "change the layout, so that lines bring only what is used");
    } else if (!cache) {
        snprintf(dst, size, "keep more in registers, use wider accesses");
    } else if (m[CARM_MISS_COHERENCE] >= much) {
        snprintf(
            dst, size,
            "%.0f%% coherence misses: put what different threads write into different cache lines "
            "(false sharing)",
            100.0 * m[CARM_MISS_COHERENCE]);
    } else if (m[CARM_MISS_CONFLICT] >= much) {
        snprintf(
            dst, size,
            "%.0f%% conflict misses of %s: pad rows and arrays, so that they fall into different "
            "sets",
            100.0 * m[CARM_MISS_CONFLICT], cache);
    } else if (most > 0.0 && m[CARM_MISS_COMPULSORY] >= most) {
        snprintf(
            dst, size,
            "%.0f%% compulsory misses of %s: each line comes once, so only smaller data or fused "
            "passes help",
            100.0 * m[CARM_MISS_COMPULSORY], cache);
    } else if (most > 0.0) {
        snprintf(dst, size, "block for %s: %.0f%% capacity misses", cache,
                 100.0 * m[CARM_MISS_CAPACITY]);
    } else {
        snprintf(dst, size, "block for %s", cache);
    }
}

static void advise(struct carm_levels *l)
{
    char text[80] = "", todo[160];
    const struct carm_levels_at *at = l->binds >= 0 ? &l->at[l->binds] : NULL;
    if (!at && l->nearest < near_roof) {
        snprintf(
            l->advice, sizeof l->advice,
            "it reaches %.0f%% of the peak, and less of the bandwidth of each level: latency or "
            "dependent operations may limit it",
            100.0 * l->nearest);
        return;
    }
    if (!at) {
        snprintf(
            l->advice, sizeof l->advice,
            "computation binds: it reaches more of the peak than of the bandwidth of any level");
        return;
    }
    if (at->unused >= 0.005) {
        snprintf(text, sizeof text, "; %.0f%% of its bytes are never used", 100.0 * at->unused);
    }
    if (at->share > above_roof) {
        snprintf(
            l->advice, sizeof l->advice,
            "%s is above its roof, at %.0f%% of it%s: too many bytes were counted, or the roof was "
            "disturbed while it was measured",
            at->name, 100.0 * at->share, text);
    } else if (at->share < near_roof) {
        const struct carm_levels_at *of = shared(l);
        if (of) {
            snprintf(
                todo, sizeof todo,
                "%.0f%% of the misses that lead to %s are coherence misses: put what different "
                "threads write into different cache lines (false sharing)",
                100.0 * of->misses[CARM_MISS_COHERENCE], of->name);
        }
        snprintf(l->advice, sizeof l->advice, "%s is nearest to its roof, at %.0f%% of it%s: %s",
                 at->name, 100.0 * at->share, text,
                 of ? todo : "latency, or too few accesses at a time, may limit it");
    } else {
        remedy(l, at, todo, sizeof todo);
        snprintf(l->advice, sizeof l->advice,
                 at->share < sure_roof ? "%s may bind it, at %.0f%% of its roof%s: %s"
                                       : "%s bound, %.0f%% of its roof%s: %s",
                 at->name, 100.0 * at->share, text, todo);
    }
}

bool carm_levels_place(const struct carm_model *model, const struct carm_roofs *roofs,
                       const struct carm_levels_input *in, struct carm_levels *out)
{
    const bool none = !(in->flops > 0.0);
    /* no operations, or integers under roofs of flops: only memory bounds the point */
    const bool by_memory = none || (in->integers && carm_precision_rank(roofs->precision) != 2);
    const double flops = none ? 0.0 : in->flops;
    const struct carm_compute_roof *peak = carm_model_best_peak(model, roofs, NULL);
    double most = 0.0;
    bool compute = false;
    out->operation = in->integers ? CARM_METRIC_INTEGERS : "flop";
    out->n = 0;
    out->binds = -1;
    for (int i = 0; i < CARM_AT_COUNT && peak; i++) {
        const double bandwidth = carm_levels_bandwidth(model, roofs, i);
        if (!(in->bytes[i] > 0.0) || !(bandwidth > 0.0)) {
            continue;
        }
        struct carm_levels_at *at = &out->at[out->n];
        at->level = i;
        at->name = names[i];
        at->intensity = flops / in->bytes[i];
        at->intensity_low = flops / (in->high[i] > 0.0 ? in->high[i] : in->bytes[i]);
        at->intensity_high = flops / (in->low[i] > 0.0 ? in->low[i] : in->bytes[i]);
        at->bandwidth = bandwidth;
        at->roof = by_memory ? at->intensity * bandwidth
                             : carm_roofline_eval(at->intensity, bandwidth, peak->rate);
        at->share =
            by_memory ? in->bytes[i] / in->seconds / bandwidth : flops / in->seconds / at->roof;
        at->unused = in->unused[i] >= 0.0 ? fmin(in->unused[i] / in->bytes[i], 1.0) : -1.0;
        double misses = 0.0;
        for (int r = 0; r < CARM_MISS_REASONS; r++) {
            misses += fmax(in->misses[i][r], 0.0);
        }
        for (int r = 0; r < CARM_MISS_REASONS; r++) {
            at->misses[r] = misses > 0.0 ? fmax(in->misses[i][r], 0.0) / misses : 0.0;
        }
        if (at->share > most) {
            most = at->share;
            compute = !by_memory && at->intensity * bandwidth >= peak->rate;
            out->binds = (int)out->n;
        }
        out->n++;
    }
    out->binds = compute ? -1 : out->binds;
    out->nearest = most;
    advise(out);
    if (out->binds >= 0 && most >= sure_roof && most <= above_roof) {
        char enough[120];
        carm_scaling_words(enough, sizeof enough, model, out->at[out->binds].name, roofs->threads);
        carm_text_append(out->advice, sizeof out->advice, "%s%s", *enough ? "; " : "", enough);
    }
    return out->n >= 2;
}

char *carm_levels_text(char *dst, size_t size, const struct carm_levels *levels)
{
    char roof[CARM_TEXT_NUMBER_MAX];
    dst[0] = '\0';
    for (size_t i = 0; i < levels->n; i++) {
        const struct carm_levels_at *at = &levels->at[i];
        char interval[64] = "";
        if (!(at->intensity > 0.0)) {
            carm_text_list(dst, size, ", ", "%s %.1f%% of %s", at->name, 100.0 * at->share,
                           carm_text_si(roof, sizeof roof, at->bandwidth, "B/s"));
            continue;
        }
        if (at->intensity_low < at->intensity_high) {
            snprintf(interval, sizeof interval, " (%.3g to %.3g)", at->intensity_low,
                     at->intensity_high);
        }
        carm_text_list(dst, size, ", ", "%s %.3g%s %s/byte %.1f%% of %s/s", at->name, at->intensity,
                       interval, levels->operation, 100.0 * at->share,
                       carm_text_si(roof, sizeof roof, at->roof, levels->operation));
    }
    return dst;
}
