/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/place.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/latency.h"
#include "models/roofline.h"

const char *carm_bound_name(enum carm_bound bound)
{
    static const char *const names[] = {"memory", "compute", "both"};
    return names[bound];
}

/* ---- ceilings at a point ---- */

static void put(struct carm_place *p, const struct carm_ceiling *c, double at, bool roof)
{
    struct carm_ceiling *out = &p->ceilings[p->nceilings++];
    *out = *c;
    out->at = at;
    out->roof = roof;
}

/* Merges the two ascending lists of ceilings by the performance that each allows at this intensity.
 * Ceilings on the other side of the ridge are left out. */
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

/* Whether a ceiling is of one missing optimisation. It binds only programs without this
 * optimisation, which a point's position does not show. Levels, operations and the roof bind every
 * program. */
static bool is_conditional(const struct carm_ceiling *c)
{
    return *c->step && !c->roof;
}

/* Whether the next unconditional ceiling at or above the point is horizontal. */
static bool is_under_compute(const struct carm_place *p)
{
    for (size_t i = 0; i < p->nceilings; i++) {
        const struct carm_ceiling *c = &p->ceilings[i];
        if ((!c->aside || c->roof) && !is_conditional(c) &&
            c->at * (1.0 + CARM_PLACE_TOLERANCE) >= p->performance) {
            return c->compute;
        }
    }
    return false;
}

/* Whether a ceiling of the other kind (slope, horizontal) is close above ceiling i. */
static bool binds_with_other(const struct carm_place *p, int i, bool ladder)
{
    const struct carm_ceiling *a = &p->ceilings[i];
    for (size_t k = (size_t)i + 1; k < p->nceilings; k++) {
        const struct carm_ceiling *c = &p->ceilings[k];
        if (!c->aside && (ladder || !is_conditional(c)) && c->compute != a->compute &&
            c->at <= a->at * (1.0 + CARM_PLACE_TOGETHER)) {
            return true;
        }
    }
    return false;
}

/* ladder  all ceilings count in order, as in the Roofline paper, whose regions name both kinds */
static void find_neighbours(struct carm_place *p, bool ladder)
{
    const bool compute = is_under_compute(p);
    p->above = -1;
    p->below = -1;
    for (size_t i = 0; i < p->nceilings && p->above < 0; i++) {
        const struct carm_ceiling *c = &p->ceilings[i];
        if ((c->aside && !c->roof) || (!ladder && is_conditional(c) && c->compute != compute)) {
            continue;
        }
        /* a point just above a ceiling counts as on it */
        if (c->at * (1.0 + CARM_PLACE_TOLERANCE) >= p->performance) {
            p->above = (int)i;
        } else {
            p->below = (int)i;
        }
    }
    p->over = p->above < 0;
    const int binding = p->over ? (int)p->nceilings - 1 : p->above;
    const struct carm_ceiling *c = &p->ceilings[binding];
    p->bound = c->compute ? CARM_BOUND_COMPUTE : CARM_BOUND_MEMORY;
    /* a conditional ceiling above the point: either kind may bind the program */
    if (!p->over &&
        (binds_with_other(p, p->above, ladder) || (is_conditional(c) && c->compute != compute))) {
        p->bound = CARM_BOUND_BOTH;
    }
}

/* The height of the first ceiling that lies clearly above ceiling i, or the roof, flop/s. */
static double next_ceiling(const struct carm_place *place, int i)
{
    for (size_t k = (size_t)i + 1; k < place->nceilings; k++) {
        if (!place->ceilings[k].aside &&
            place->ceilings[k].at > place->ceilings[i].at * (1.0 + CARM_PLACE_TOLERANCE)) {
            return place->ceilings[k].at;
        }
    }
    return place->roof;
}

/* ---- bounds ---- */

static double or_exact(double bound, double value)
{
    return bound > 0.0 ? bound : value;
}

/* The share of the roof is the larger of bytes / (seconds x slope) and flops / (seconds x peak);
 * the bounds of flops and bytes give the bounds of the share. */
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

/* ---- the two models ---- */

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
                     "the model has no %s of %.16s %.16s with %d thread%s; carm build%s measures "
                     "it",
                     lacks, r->isa, r->precision, r->threads, r->threads == 1 ? "" : "s",
                     which == CARM_PLACE_ORIGINAL ? " without --quick" : "");
}

/* The ceilings around this intensity and performance (0 = not known). */
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

int carm_place_find(const struct carm_place_set *set, enum carm_place_which which,
                    const struct carm_place_input *in, struct carm_place *out, struct carm_err *err)
{
    const struct carm_place_side *side = &set->sides[which];
    const bool moves =
        in->bytes !=
        0.0; /* without bytes the operational intensity is infinite, so the peak bounds the point */
    out->nceilings = 0;
    if (!usable(in->flops) || (moves && !usable(in->bytes)) || !usable(in->seconds) ||
        (moves && !usable(in->flops / in->bytes)) || !usable(in->flops / in->seconds)) {
        return carm_fail(
            err, CARM_EINVAL,
            "a point needs flops and seconds greater than zero, and bytes of zero or more");
    }
    const int rc = check_roofs(set, which, err);
    if (rc) {
        return rc;
    }
    if (!moves && !isfinite(side->peak)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "it moves no bytes, and the model has no peak of its operations (--peak)");
    }
    out->intensity = moves ? in->flops / in->bytes : INFINITY;
    out->performance = in->flops / in->seconds;
    evaluate(out, side);
    out->share = out->performance / out->roof;
    find_neighbours(out, set->has_measured && which == CARM_PLACE_ORIGINAL);
    find_bounds(out, side, in);
    find_gains(set, which, out);
    return 0;
}

int carm_place_point(const struct carm_place_set *set, enum carm_place_which which,
                     const struct carm_place_input *in, struct carm_place *out,
                     struct carm_err *err)
{
    const int rc = carm_place_find(set, which, in, out, err);
    if (!rc) {
        carm_place_advise(set, which, in, out);
    }
    return rc;
}

static int place_one(const struct carm_model *model, const struct carm_roofs *roofs,
                     enum carm_place_which which, const struct carm_place_input *in,
                     struct carm_place *out, struct carm_err *err)
{
    struct carm_place_set *set = malloc(sizeof *set);
    if (!set) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the roofs");
    }
    carm_place_prepare(set, model, roofs);
    memset(out, 0, sizeof *out);
    const int rc = carm_place_point(set, which, in, out, err);
    free(set);
    return rc;
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

/* ---- advice: the one sentence that follows from a place ---- */

#define SAY(place, ...) carm_text_format((place)->advice, sizeof(place)->advice, __VA_ARGS__)

/* "flops", or "exchanges" of another metric. returns dst */
static const char *operations_of(const struct carm_place_set *set, char dst[CARM_NAME_MAX + 2])
{
    return carm_text_format(dst, CARM_NAME_MAX + 2, "%ss", *set->metric ? set->metric : "flop");
}

/* ---- above the roof ---- */

static bool known(const char *s)
{
    return s && *s;
}

/* Whether the set's metric has no ISA and no precision: neither flops nor operations on
 * integers. */
static bool is_foreign(const struct carm_place_set *set)
{
    return *set->metric && carm_precision_rank(set->roofs->precision) != 2;
}

static bool advise_over_metric(const struct carm_place_set *set, struct carm_place *p)
{
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    const bool over = is_foreign(set) && roof->compute;
    if (over) {
        SAY(p,
            "%.2f times the roof (%s); possible reasons: --peak is too low for this machine, "
            "%.40s operations were counted that did not run, or the time is too short",
            p->share, roof->name, set->metric);
    }
    return over;
}

/* Whether a roof explains a performance, within the errors of roofs and counts. */
static bool explains(double roof, double reached)
{
    return roof > 0.0 && reached <= roof * (1.0 + CARM_PLACE_TOLERANCE);
}

/* Whether a point of this or of an unknown ISA can reach the performance of another ISA. */
static bool may_be(const char *isa, const char *other)
{
    return !known(isa) || carm_place_same_isa(isa, other);
}

/* Advises on reasons in the roof: it was disturbed, or another mix or ISA is faster. returns
 * false without such a reason */
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
        SAY(p,
            "%.2f times the roof (%s), which was disturbed while it was measured and may be too "
            "low: carm build on a quiet machine measures it again",
            p->share, roof->name);
    } else if (aware_slope && explains(side->any_mix, rate)) {
        SAY(p,
            "%.2f times the roof (%s): its mix of loads and stores is faster than the model's; "
            "%s reaches %.4g GB/s with the mix %.16s",
            p->share, roof->name, roof->name, side->any_mix / 1e9, side->mix);
    } else if (aware_slope && explains(side->isa_slope, rate) && may_be(in->isa, side->slope_isa)) {
        SAY(p,
            "%.2f times the roof (%s), which is for %.16s: %.16s is faster there and reaches %.4g "
            "GB/s with the mix %.16s; --isa %.16s places it under the right roof",
            p->share, roof->name, r->isa, side->slope_isa, side->isa_slope / 1e9,
            side->slope_isa_mix, side->slope_isa);
    } else if (roof->compute && !is_foreign(set) && explains(isa_peak, p->performance) &&
               may_be(in->isa, peak_isa)) {
        SAY(p,
            "%.2f times the roof (%s), which is for %.16s: %.16s is faster and reaches %.4g "
            "G%s; --isa %.16s places it under the right roof",
            p->share, roof->name, r->isa, peak_isa, isa_peak / 1e9,
            carm_precision_rate(r->precision), peak_isa);
    } else if ((aware_slope || roof->compute) && !is_foreign(set) &&
               carm_place_width(in->isa) > 0 &&
               carm_place_width(in->isa) == carm_place_width(r->isa) - 1 &&
               !set->has_isa[carm_place_width(in->isa)]) {
        SAY(p,
            "%.2f times the roof (%s), which is for %.16s: it computes in %.16s, which can be "
            "faster; carm build --isa %.16s measures it",
            p->share, roof->name, r->isa, in->isa, in->isa);
    } else {
        return false;
    }
    return true;
}

/* Advises on the remaining reasons, when neither the machine, nor the number of threads, nor the
 * metric explains a point above the roof. */
static void advise_over_rest(const struct carm_place_set *set, enum carm_place_which which,
                             const struct carm_place_input *in, struct carm_place *p)
{
    const struct carm_roofs *r = set->roofs;
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    const double rate = in->bytes / in->seconds;
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): known() has looked at the pointer */
    if (!is_foreign(set) && known(in->precision) && strcmp(in->precision, r->precision) != 0 &&
        strcmp(r->precision, "dp") == 0) {
        SAY(p,
            "%.2f times the roof (%s): it computes in %.16s, but the roof is for dp; carm build "
            "--precision sp measures the right one",
            p->share, roof->name, in->precision);
    } else if (!is_foreign(set) && carm_place_width(in->isa) > carm_place_width(r->isa) &&
               carm_place_width(r->isa) >= 0) {
        SAY(p,
            "%.2f times the roof (%s): it computes in %.16s, but the roof is for %.16s; carm "
            "build --isa %.16s measures the right one",
            p->share, roof->name, in->isa, r->isa, in->isa);
    } else if (advise_over_roof(set, which, in, p)) {
        return;
    } else if (roof->compute) {
        SAY(p,
            "%.2f times the roof (%s); possible reasons: %s%sthe roof was measured too low (carm "
            "build on a quiet machine), %ss were counted that did not run (removed or shared by "
            "the compiler), the time is too short%s",
            p->share, roof->name, in->threads ? "" : "its threads are not known, ",
            p->share < 1.0 + CARM_PLACE_TOGETHER
                ? "the clock was higher than when the roof was measured, "
                : "",
            carm_precision_operation(r->precision),
            in->threads ? ", another unit (GPU) computes" : "");
    } else if (which == CARM_PLACE_ORIGINAL) {
        SAY(p,
            "%.2f times the roof (%s): %.4g GB/s is more than memory delivers; possible reasons: "
            "%stoo many DRAM bytes were counted (of other programs, or served by a cache), or "
            "the time is too short",
            p->share, roof->name, rate / 1e9, in->threads ? "" : "its threads are not known, ");
    } else {
        SAY(p,
            "%.2f times the roof (%s): %.4g GB/s is more than any mix and ISA of the model; "
            "possible reasons: %sanother mix or ISA (carm build --ldst, --isa), the roof was "
            "measured too low, bytes were counted that stayed in registers, or the time is too short",
            p->share, roof->name, rate / 1e9, in->threads ? "" : "its threads are not known, ");
    }
}

/* Factor above the roof beyond which the roof cannot be the point's. */
enum { ABSURD = 1000 };

/* Advises on a point above the roof: certain reasons first, then reasons that the model or the
 * numbers only suggest. */
static void advise_over(const struct carm_place_set *set, enum carm_place_which which,
                        const struct carm_place_input *in, struct carm_place *p)
{
    const struct carm_roofs *r = set->roofs;
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    if (p->share > ABSURD) {
        SAY(p, "over %d times the roof (%s): no processor does that, so its numbers are wrong",
            ABSURD, roof->name);
    } else if (in->elsewhere) {
        SAY(p,
            "%.2f times the roof (%s) of another machine: build a model on the machine where it "
            "ran",
            p->share, roof->name);
    } else if (in->threads > r->threads) {
        SAY(p,
            "%.2f times the roof (%s): it ran %d threads, but the roof is for %d; carm build "
            "--threads %d measures the right one",
            p->share, roof->name, in->threads, r->threads, in->threads);
    } else if (!advise_over_metric(set, p)) {
        advise_over_rest(set, which, in, p);
    }
}

/* ---- under a horizontal ceiling ---- */

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

/* "1.5x", "over 1000x". returns dst */
static char *times_text(char dst[32], double times)
{
    return carm_text_format(dst, 32, times < ABSURD ? "%.1fx" : "over 1000x", times);
}

/* "at most 1.5x to the next ceiling, 2.8x to the roof", or "to the ceiling above" where the point is not at a
 * ceiling */
static const char *rest(char dst[96], const struct carm_place *p)
{
    char near[32], far[32];
    const double under = p->ceilings[p->above].at / p->performance;
    const bool at_it = under < 1.0 + CARM_PLACE_TOGETHER;
    const double next = at_it ? next_ceiling(p, p->above) / p->performance : under;
    times_text(near, next);
    times_text(far, p->roof / p->performance);
    return next < ABSURD
               ? carm_text_format(dst, 96, "at most %s %s, %s to the roof", near,
                                  at_it ? "to the next ceiling" : "to the ceiling above", far)
               : carm_text_format(dst, 96, "%s to the roof", far);
}

/* "1.07x is left"; a point may be a little above its roof, as both have errors. returns dst */
static const char *left_text(char dst[32], double left)
{
    if (left < 1.005) {
        return "nothing is left";
    }
    return carm_text_format(dst, 32, "%.2fx is left", left);
}

/* The ceiling for the advice: the ceiling above the point, or the roof where it is of the same kind and so close that
 * the ceiling gives no gain. */
static const struct carm_ceiling *advised(const struct carm_place *p)
{
    const struct carm_ceiling *above = &p->ceilings[p->above];
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    return (p->has_region || roof->compute == above->compute) &&
                   p->roof < p->performance * CARM_PLACE_WORTHWHILE
               ? roof
               : above;
}

/* Whether only mixtures of operations, or equal ceilings, are above a ceiling. */
static bool mixtures_alone_above(const struct carm_place *p, const struct carm_ceiling *c)
{
    bool any = false;
    for (size_t i = 0; i < p->nceilings; i++) {
        const struct carm_ceiling *other = &p->ceilings[i];
        if (!other->compute || other->narrow || other->at <= c->at * (1.0 + CARM_PLACE_TOGETHER)) {
            continue;
        }
        if (!carm_op_is_mixture(other->name)) {
            return false;
        }
        any = true;
    }
    return any;
}

/* The optimisation that breaks through a horizontal ceiling. */
static const char *step_of(const struct carm_place *p, const struct carm_ceiling *c)
{
    return *c->step    ? c->step
           : c->narrow ? "wider vectors"
           : mixtures_alone_above(p, c)
               ? "additions beside the FMAs (few programs have additions to spare)"
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
        SAY(p, "at the peak (%s)%s: %s; only fewer or cheaper operations make it faster", a->name,
            also, left_text(left, under));
    } else if (at_it) {
        SAY(p, "at the ceiling of %s%s; next: %s; %s", a->name, also, step_of(p, a),
            rest(until, p));
    } else if (slower) {
        SAY(p,
            "between the ceilings of %s and %s%s: it may wait for data from %s (block for a faster "
            "level) or for dependent operations (use more independent chains); %s",
            slower->name, a->name, also, slower->name, rest(until, p));
    } else {
        SAY(p,
            "below the ceiling of %s%s: it may wait for divisions or dependent operations (try more independent "
            "ones) or execute too many other instructions; %s",
            a->name, also, rest(until, p));
    }
}

/* ---- under a slope ---- */

/* The next faster level above a slope, even if it does not show at this intensity, and not the
 * same level with other vectors ("avx2 L1"). NULL = the slope is the fastest. */
static const char *faster_level(const struct carm_place_set *set, const struct carm_ceiling *slope)
{
    const struct carm_place_side *side = &set->sides[CARM_PLACE_CACHE_AWARE];
    for (size_t i = 0; i < side->ceilings.nmemory; i++) {
        const struct carm_ceiling *c = &side->ceilings.memory[i];
        const char *level = strrchr(c->name, ' ');
        if (c->rate > slope->rate && !c->narrow &&
            (!level || strcmp(level + 1, slope->name) != 0)) {
            return c->name;
        }
    }
    return NULL;
}

/* The advice on lines in flight: text when a core has far fewer lines in flight from DRAM
 * than it can have, below 70%, which does not limit a stream; else "" */
static void flight_text(char dst[128], const struct carm_place_set *set,
                        const struct carm_place_input *in, const struct carm_place *p)
{
    const int threads = in->threads > 0 ? in->threads : set->roofs->threads;
    const double lines =
        set->flight ? carm_in_flight_lines(set->flight, p->performance / p->intensity / threads)
                    : INFINITY;
    dst[0] = '\0';
    if (set->flight && lines < 0.7 * set->flight->lines) {
        snprintf(dst, 128,
                 "on average %.*f lines are in flight from DRAM to a core, which can have %.0f; ",
                 lines < 10.0 ? 1 : 0, lines, set->flight->lines);
    }
}

static void advise_memory(const struct carm_place_set *set, enum carm_place_which which,
                          const struct carm_place_input *in, struct carm_place *p, const char *also)
{
    const struct carm_ceiling *a = advised(p);
    const struct carm_ceiling *slower = slope_below(p);
    const double under = a->at / p->performance;
    const char *faster = faster_level(set, a);
    char until[96], left[32], operations[CARM_NAME_MAX + 2], flight[128];
    const bool at_it = under < 1.0 + CARM_PLACE_TOGETHER;
    operations_of(set, operations);
    flight_text(flight, set, in, p);
    if (a->roof && which == CARM_PLACE_ORIGINAL && at_it) {
        SAY(p, "at the slope of %s%s: %s; do more %s per DRAM byte (block for the caches)%s%s",
            a->name, also, left_text(left, under), operations, *set->enough ? "; " : "",
            set->enough);
    } else if (a->roof && which == CARM_PLACE_ORIGINAL) {
        SAY(p,
            "below the slope of %s%s: %s is left; %sfirst try %slonger streams, prefetching and "
            "pages on the node of their threads, then more %s per DRAM byte",
            a->name, also, times_text(left, under), flight,
            *flight ? "more independent loads, " : "", operations);
    } else if (a->roof && at_it) {
        SAY(p,
            "at the slope of %s%s, the roof: %s; do more %s per byte (keep values in registers, use "
            "wider blocks)",
            a->name, also, left_text(left, under), operations);
    } else if (a->narrow) {
        SAY(p, "%s the ceiling of %s%s: try wider loads and stores; %s", at_it ? "at" : "below",
            a->name, also, rest(until, p));
    } else if (at_it && faster) {
        SAY(p, "at the ceiling of %s%s, which may bind it: try blocking for %s; %s", a->name, also,
            faster, rest(until, p));
    } else if (at_it) {
        SAY(p,
            "at the ceiling of %s%s, which may bind it: do more %s per byte (keep values in "
            "registers, use wider blocks); %s",
            a->name, also, operations, rest(until, p));
    } else if (slower) {
        SAY(p,
            "between the ceilings of %s and %s%s: part of its data may come from %s; try blocking "
            "for %s; %s",
            slower->name, a->name, also, slower->name, a->name, rest(until, p));
    } else {
        SAY(p,
            "below the ceiling of %s%s: it may wait for latency, short streams, dependent "
            "operations or divisions; %s",
            a->name, also, rest(until, p));
    }
}

/* ---- measured ceilings ---- */

/* Advises the first worthwhile optimisation, in the order in which to try them.
 * returns whether there is one */
static bool advise_measured(const struct carm_place_set *set, struct carm_place *p)
{
    char rest_of[32], gain[32];
    for (size_t i = 0; i < p->ngains; i++) {
        const struct carm_gain *g = &p->gains[i];
        const struct carm_ceiling *ceiling =
            g->compute ? &set->measured.compute[g->index] : &set->measured.memory[g->index];
        if (g->times >= CARM_PLACE_WORTHWHILE) {
            SAY(p, "%s region: %s (ceiling '%s'): at most %s, %s to the roof",
                carm_region_name(p->region), *ceiling->step ? ceiling->step : "break through it",
                ceiling->name, times_text(gain, g->times),
                times_text(rest_of, p->roof / p->performance));
            return true;
        }
    }
    return false;
}

void carm_place_advise(const struct carm_place_set *set, enum carm_place_which which,
                       const struct carm_place_input *in, struct carm_place *out)
{
    char also[CARM_NAME_MAX + 16] = "";
    if (out->over) {
        advise_over(set, which, in, out);
        return;
    }
    if (out->has_region && advise_measured(set, out)) {
        return;
    }
    const struct carm_ceiling *a = advised(out);
    if (out->bound == CARM_BOUND_BOTH && !out->has_region) {
        for (size_t k = (size_t)out->above + 1; k < out->nceilings && !*also; k++) {
            if (!out->ceilings[k].aside && out->ceilings[k].compute != a->compute) {
                snprintf(also, sizeof also, " and of %.60s", out->ceilings[k].name);
            }
        }
    }
    if (a->compute) {
        advise_compute(which, out, also);
    } else {
        advise_memory(set, which, in, out, also);
    }
}

/* Less is within the errors of roofs and counts. */
static const double worth_listing = 1.0 + CARM_PLACE_TOLERANCE;

char *carm_place_gains_text(char *dst, size_t size, const struct carm_place_set *set,
                            const struct carm_place *place)
{
    dst[0] = '\0';
    for (size_t i = 0; i < place->ngains; i++) {
        const struct carm_gain *g = &place->gains[i];
        const struct carm_ceiling *ceiling =
            g->compute ? &set->measured.compute[g->index] : &set->measured.memory[g->index];
        if (g->times >= worth_listing) {
            carm_text_list(dst, size, "; ", "%s%s%s%s %.2fx", ceiling->step,
                           *ceiling->step ? " (" : "", ceiling->name, *ceiling->step ? ")" : "",
                           g->times);
        }
    }
    carm_text_append(dst, size, "%s", *dst ? "" : "none");
    return dst;
}
