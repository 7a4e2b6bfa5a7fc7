/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/place.h"

#include <math.h>
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
        const struct carm_ceiling *slope = s < side->nslopes ? &side->slopes[s] : NULL;
        const struct carm_ceiling *flat = f < side->nflats ? &side->flats[f] : NULL;
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

/* What the ladder says of this intensity and performance (0 = not known). */
static void find_gains(const struct carm_place_set *set, enum carm_place_which which,
                       struct carm_place *p)
{
    p->ngains = 0;
    p->has_region = set->has_ladder && which == CARM_PLACE_ORIGINAL;
    if (p->has_region) {
        p->ngains =
            carm_ladder_gains(&set->ladder, p->intensity, p->performance, &p->region, p->gains);
    }
}

int carm_place_intensity(const struct carm_place_set *set, enum carm_place_which which,
                         double intensity, struct carm_place *out, struct carm_err *err)
{
    memset(out, 0, sizeof *out);
    if (!usable(intensity)) {
        return carm_fail(err, CARM_EINVAL, "an intensity is a number greater than zero");
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
