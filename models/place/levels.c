/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/levels.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "models/roofline.h"

/* a share of unused bytes that is worth a word */
static const double much_unused = 0.25;
/* below this share of every roof, no level binds */
static const double near_roof = 0.5;
/* beyond what intervals of roofs explain */
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

static void advise(struct carm_levels *l)
{
    char text[80] = "";
    const struct carm_levels_at *at = l->binds >= 0 ? &l->at[l->binds] : NULL;
    if (!at) {
        snprintf(l->advice, sizeof l->advice,
                 "computation binds: no level is nearer to its roof than the peak");
        return;
    }
    if (at->unused >= 0.005) {
        snprintf(text, sizeof text, "; %.0f%% of its bytes are never used", 100.0 * at->unused);
    }
    if (at->share > above_roof) {
        snprintf(
            l->advice, sizeof l->advice,
            "%s is above its roof, at %.0f%% of it%s: its bytes are more than really came, or the "
            "roof was disturbed while it was measured",
            at->name, 100.0 * at->share, text);
    } else if (at->share < near_roof) {
        snprintf(l->advice, sizeof l->advice,
                 "%s is nearest to its roof, at %.0f%% of it%s: latency, or too few accesses at a "
                 "time, limit it more than bandwidth",
                 at->name, 100.0 * at->share, text);
    } else {
        snprintf(l->advice, sizeof l->advice, "%s bound, %.0f%% of its roof%s: %s", at->name,
                 100.0 * at->share, text,
                 at->unused >= much_unused
                     ? "change the layout, so that lines bring only what is used"
                 : l->binds == 0 ? "keep more in registers, use wider accesses"
                                 : "block for the level before it");
    }
}

bool carm_levels_place(const struct carm_model *model, const struct carm_roofs *roofs,
                       const struct carm_levels_input *in, struct carm_levels *out)
{
    const struct carm_compute_roof *peak = carm_model_best_peak(model, roofs, NULL);
    double most = 0.0;
    bool compute = false;
    out->n = 0;
    out->binds = -1;
    for (int i = 0; i < CARM_AT_COUNT && peak && in->flops > 0.0; i++) {
        const double bandwidth = carm_levels_bandwidth(model, roofs, i);
        if (!(in->bytes[i] > 0.0) || !(bandwidth > 0.0)) {
            continue;
        }
        struct carm_levels_at *at = &out->at[out->n];
        at->level = i;
        at->name = names[i];
        at->intensity = in->flops / in->bytes[i];
        at->bandwidth = bandwidth;
        at->roof = carm_roofline_eval(at->intensity, bandwidth, peak->rate);
        at->share = in->flops > 0.0 ? in->flops / in->seconds / at->roof
                                    : in->bytes[i] / in->seconds / bandwidth;
        at->unused = in->unused[i] >= 0.0 ? fmin(in->unused[i] / in->bytes[i], 1.0) : -1.0;
        if (at->share > most) {
            most = at->share;
            compute = at->intensity * bandwidth >= peak->rate;
            out->binds = (int)out->n;
        }
        out->n++;
    }
    out->binds = compute ? -1 : out->binds;
    advise(out);
    return out->n >= 2;
}

char *carm_levels_text(char *dst, size_t size, const struct carm_levels *levels)
{
    char roof[CARM_TEXT_NUMBER_MAX];
    size_t used = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < levels->n && used < size; i++) {
        const struct carm_levels_at *at = &levels->at[i];
        const int n = snprintf(dst + used, size - used, "%s%s %.3g flop/byte %.1f%% of %s",
                               i ? ", " : "", at->name, at->intensity, 100.0 * at->share,
                               carm_text_si(roof, sizeof roof, at->roof, "flop/s"));
        used += n > 0 ? (size_t)n : 0;
    }
    return dst;
}
