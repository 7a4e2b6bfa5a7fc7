/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one sentence that follows from a place. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/place/place.h"

__attribute__((format(printf, 2, 3))) static void say(struct carm_place *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(p->advice, sizeof p->advice, fmt, ap);
    va_end(ap);
}

/* "flops", or "exchanges" of another metric. returns dst */
static const char *operations_of(const struct carm_place_set *set, char dst[CARM_NAME_MAX + 2])
{
    (void)snprintf(dst, CARM_NAME_MAX + 2, "%ss", *set->metric ? set->metric : "flop");
    return dst;
}

/* ---- above the roof -------------------------------------------------------------------------- */

/* Vector width as a rank; -1 = not known. */
static int width_of(const char *isa)
{
    static const char *const names[] = {"scalar", "sse", "avx2", "avx512"};
    for (int i = 0; isa && i < 4; i++) {
        if (carm_place_same_isa(isa, names[i])) {
            return i;
        }
    }
    return -1;
}

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
            "%.2f times the roof (%s): --peak is lower than what this machine does, %.40s "
            "operations were counted that did not run, or the time is too short",
            p->share, roof->name, set->metric);
    }
    return *set->metric && roof->compute;
}

/* The certain reasons first, then those that the numbers suggest. */
static void advise_over(const struct carm_place_set *set, enum carm_place_which which,
                        const struct carm_place_input *in, struct carm_place *p)
{
    const struct carm_place_side *side = &set->sides[which];
    const struct carm_roofs *r = set->roofs;
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    const double rate = in->bytes / in->seconds;
    if (in->elsewhere) {
        say(p, "%.2f times the roof (%s), which is another machine's: build a model where it ran",
            p->share, roof->name);
    } else if (in->threads > r->threads) {
        say(p,
            "%.2f times the roof (%s): it ran %d threads, the roof is of %d; carm build --threads "
            "%d measures the right one",
            p->share, roof->name, in->threads, r->threads, in->threads);
    } else if (advise_over_metric(set, p)) {
        return;
    } else if (!*set->metric && known(in->precision) && strcmp(in->precision, r->precision) != 0 &&
               strcmp(r->precision, "dp") == 0) {
        say(p,
            "%.2f times the roof (%s): it computes in %.16s, the roof is of dp; carm build "
            "--precision sp measures the right one",
            p->share, roof->name, in->precision);
    } else if (!*set->metric && width_of(in->isa) > width_of(r->isa) && width_of(r->isa) >= 0) {
        say(p,
            "%.2f times the roof (%s): it computes in %.16s, the roof is of %.16s; carm build "
            "--isa %.16s measures the right one",
            p->share, roof->name, in->isa, r->isa, in->isa);
    } else if (roof->compute) {
        say(p,
            "%.2f times the roof (%s): %s%sflops were counted that did not run (removed or shared "
            "by the compiler), the time is too short%s",
            p->share, roof->name, in->threads ? "" : "its threads are not known, ",
            p->share < 1.0 + CARM_PLACE_TOGETHER ? "the clock was higher than the roof's, " : "",
            in->threads ? " or another unit (GPU) computes" : "");
    } else if (which == CARM_PLACE_ORIGINAL) {
        say(p,
            "%.2f times the roof (%s): %.4g GB/s is more than memory gives, so %sthe DRAM bytes are "
            "too many (other programs', or served by a cache) or the time is too short",
            p->share, roof->name, rate / 1e9, in->threads ? "" : "its threads are not known, ");
    } else if (rate <= side->any_mix * (1.0 + CARM_PLACE_TOLERANCE)) {
        say(p,
            "%.2f times the roof (%s): its mix of loads and stores is a faster one than the "
            "model's; %s gives %.4g GB/s at %.16s",
            p->share, roof->name, roof->name, side->any_mix / 1e9, side->mix);
    } else {
        say(p,
            "%.2f times the roof (%s): %.4g GB/s is more than the core moves, so %sbytes were "
            "counted that stayed in registers, or the time is too short",
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

/* "at most 1.5x until the next ceiling, 2.8x to the roof", or under this one where it is not at it */
static const char *rest(char dst[96], const struct carm_place *p)
{
    const double under = p->ceilings[p->above].at / p->performance;
    const bool at_it = under < 1.0 + CARM_PLACE_TOGETHER;
    (void)snprintf(dst, 96, "at most %.1fx %s, %.1fx to the roof",
                   at_it ? carm_place_next(p, p->above) / p->performance : under,
                   at_it ? "until the next ceiling" : "under it", p->roof / p->performance);
    return dst;
}

/* What breaks through a horizontal ceiling. */
static const char *step_of(const struct carm_place_set *set, const struct carm_ceiling *c)
{
    if (c->rung > 0 && set->ladder.compute[c->rung - 1].step[0]) {
        return set->ladder.compute[c->rung - 1].step;
    }
    return c->narrow ? "wider vectors"
                     : "FMA, or as many multiplies as adds, in independent chains";
}

static void advise_compute(const struct carm_place_set *set, enum carm_place_which which,
                           struct carm_place *p, const char *also)
{
    char until[96];
    const struct carm_ceiling *a = &p->ceilings[p->above];
    const struct carm_ceiling *slower = which == CARM_PLACE_CACHE_AWARE ? slope_below(p) : NULL;
    const double under = a->at / p->performance;
    const bool at_it = under < 1.0 + CARM_PLACE_TOGETHER;
    if (a->roof && at_it) {
        say(p, "at the peak (%s)%s: %.2fx is left; fewer or cheaper operations are what remains",
            a->name, also, under);
    } else if (at_it) {
        say(p, "at the ceiling of %s%s: %s; %s", a->name, also, step_of(set, a), rest(until, p));
    } else if (slower) {
        say(p,
            "between %s and the ceiling of %s%s: data that come from %s (block for a faster level) "
            "or operations that wait for each other (more independent chains) hold it; %s",
            slower->name, a->name, also, slower->name, rest(until, p));
    } else {
        say(p,
            "below the ceiling of %s%s: more independent operations, fewer other instructions "
            "between them; %s",
            a->name, also, rest(until, p));
    }
}

/* ---- under a slope --------------------------------------------------------------------------- */

/* The level next above that slope, also where it does not show at this intensity. */
static const char *faster_level(const struct carm_place_set *set, const struct carm_ceiling *slope)
{
    const struct carm_place_side *side = &set->sides[CARM_PLACE_CACHE_AWARE];
    for (size_t i = 0; i < side->nslopes; i++) {
        if (side->slopes[i].rate > slope->rate && !side->slopes[i].narrow) {
            return side->slopes[i].name;
        }
    }
    return "a faster cache";
}

static void advise_memory(const struct carm_place_set *set, enum carm_place_which which,
                          struct carm_place *p, const char *also)
{
    const struct carm_ceiling *a = &p->ceilings[p->above];
    const struct carm_ceiling *slower = slope_below(p);
    const double under = a->at / p->performance;
    char until[96], operations[CARM_NAME_MAX + 2];
    const bool at_it = under < 1.0 + CARM_PLACE_TOGETHER;
    (void)operations_of(set, operations);
    if (a->roof && which == CARM_PLACE_ORIGINAL) {
        say(p,
            at_it ? "at the slope of %s%s: %.2fx is left; more %s for each of its bytes "
                    "(blocking for the caches) raise it"
                  : "below the slope of %s%s: %.1fx is left; longer streams, prefetching and pages "
                    "near their threads come before more %s for each of its bytes",
            a->name, also, under, operations);
    } else if (a->roof && at_it) {
        say(p,
            "at the slope of %s%s, the roof: %.2fx is left; more %s for each byte (values kept in "
            "registers, wider blocks) raise it",
            a->name, also, under, operations);
    } else if (a->narrow) {
        say(p, "%s the %s ceiling%s: wider loads and stores; %s", at_it ? "at" : "below", a->name,
            also, rest(until, p));
    } else if (at_it) {
        say(p, "bound by %s%s: block for %s; %s", a->name, also, faster_level(set, a),
            rest(until, p));
    } else if (slower) {
        say(p, "between %s and %s%s: part of its data comes from %s; block for %s: %s",
            slower->name, a->name, also, slower->name, a->name, rest(until, p));
    } else {
        say(p,
            "below the %s ceiling%s (latency, short streams or dependent operations are the usual "
            "reasons): %s",
            a->name, also, rest(until, p));
    }
}

/* ---- measured ceilings ----------------------------------------------------------------------- */

/* The first optimisation that is worth it, in the order in which to try them. */
static void advise_ladder(const struct carm_place_set *set, struct carm_place *p)
{
    char operations[CARM_NAME_MAX + 2];
    const char *region = carm_region_name(p->region);
    const struct carm_ceiling *roof = &p->ceilings[p->nceilings - 1];
    const double left = p->roof / p->performance;
    for (size_t i = 0; i < p->ngains; i++) {
        const struct carm_gain *g = &p->gains[i];
        const struct carm_rung *rung =
            g->compute ? &set->ladder.compute[g->index] : &set->ladder.memory[g->index];
        if (g->times >= CARM_PLACE_WORTHWHILE) {
            say(p, "%s region: %s (ceiling '%s'): at most %.1fx, %.1fx to the roof", region,
                *rung->step ? rung->step : "break through it", rung->name, g->times, left);
            return;
        }
    }
    if (left >= CARM_PLACE_WORTHWHILE) {
        say(p,
            "%s region: no optimisation that was measured gives a tenth, and %.1fx is left to the "
            "roof (%s): something else holds it, such as latency, imbalance or other instructions",
            region, left, roof->name);
    } else if (roof->compute) {
        say(p, "%s region, at the roof (%s): %.2fx is left; fewer or cheaper operations remain",
            region, roof->name, left);
    } else {
        say(p,
            "%s region, at the roof (%s): %.2fx is left; more %s for each of its bytes (blocking "
            "for the caches) raise it",
            region, roof->name, left, operations_of(set, operations));
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
        advise_ladder(set, out);
        return;
    }
    const struct carm_ceiling *a = &out->ceilings[out->above];
    if (out->bound == CARM_BOUND_BOTH) {
        for (size_t k = (size_t)out->above + 1; k < out->nceilings && !*also; k++) {
            if (!out->ceilings[k].aside && out->ceilings[k].compute != a->compute) {
                (void)snprintf(also, sizeof also, " and of %.60s", out->ceilings[k].name);
            }
        }
    }
    if (a->compute) {
        advise_compute(set, which, out, also);
    } else {
        advise_memory(set, which, out, also);
    }
}
