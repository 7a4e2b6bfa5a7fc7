/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/roofline.h"

enum { WIDTHS = CARM_PLACE_WIDTHS };
static const unsigned width_bytes[WIDTHS] = {0, 16, 32, 64};
static const char *const width_isa[WIDTHS] = {"scalar", "sse", "avx2", "avx512"};

/* Largest share of flops of unknown width that is ignored; chosen by hand. */
static const double stray = 0.01;
/* Prefetches per load from which a program counts as prefetching: one prefetch serves a line of 8 loads of dp or 64
 * loads of bytes. */
static const double prefetching = 0.01;
/* Rate of mad over the rate of adds from which adds have units of their own: the quotient is 1
 * without own units, 2 with them. */
static const double own_units = 1.6;

const char *carm_runtime_name(enum carm_runtime_kind kind)
{
    static const char *const names[] = {"simd", "balance", "fp-share", "prefetch"};
    return names[kind];
}

static double part(const struct carm_runmix *mix, int which)
{
    return fmax(mix->q[which], 0.0);
}

static void set_known(struct carm_runtime_ceiling *c, double rate, double architecture)
{
    c->known = true;
    c->architecture = architecture;
    c->rate = fmin(rate, architecture);
    c->gain = architecture / c->rate;
}

static void unknown(struct carm_runtime_ceiling *c, const char *why)
{
    snprintf(c->how, sizeof c->how, "%s", why);
}

/* The width of an ISA; for roofs, an unknown width counts as the widest. */
static int width_of(const char *isa)
{
    const int w = carm_place_width(isa);
    return w < 0 ? WIDTHS - 1 : w;
}

/* The peak of FMAs or of the best balance, without mixtures of operations, which only a program's
 * own mix reaches. */
static double peak_of(const struct carm_roofs *roofs)
{
    const struct carm_compute_roof *peak = carm_roofs_find_plain_peak(roofs);
    return peak ? peak->rate : 0.0;
}

/* The best in-core ceiling of a width: "ilp fma", "simd16 add". op  NULL = any; 0 = not measured */
static double ceiling_of(const struct carm_roofs *roofs, int w, const char *op)
{
    static const char *const heads[WIDTHS] = {"ilp ", "simd16 ", "simd32 ", "simd64 "};
    const char *head = heads[w];
    double best = 0.0;
    const size_t n = strlen(head);
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == CARM_CEILING_IN_CORE && strncmp(c->name, head, n) == 0 &&
            (!op || strcmp(c->name + n, op) == 0)) {
            best = fmax(best, c->rate);
        }
    }
    return best;
}

/* The peak of the model's roofs of that width, with as many threads; 0 = it has none. */
static double roof_of(const struct carm_model *model, const struct carm_roofs *roofs, int w)
{
    double best = 0.0;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r->threads == roofs->threads && strcmp(r->precision, roofs->precision) == 0 &&
            carm_place_same_isa(r->isa, width_isa[w])) {
            best = fmax(best, peak_of(r));
        }
    }
    return best;
}

enum source { FROM_CEILINGS = 1, FROM_ROOFS = 2, FROM_LANES = 4 };

static unsigned lanes_of(int w, unsigned element_bytes)
{
    return w == 0 ? 1 : width_bytes[w] / element_bytes;
}

double carm_runtime_narrow_pipes(const struct carm_roofs *roofs, unsigned lanes)
{
    const struct carm_compute_roof *peak = carm_roofs_find_plain_peak(roofs);
    if (!peak) {
        return 1.0;
    }
    const double flops = strcmp(peak->op, "fma") == 0 ? 2.0 : 1.0;
    const double instructions = peak->flops_per_cycle / (flops * lanes);
    return instructions > 0.0 && instructions < 1.5 ? 2.0 : 1.0;
}

/* The best rate of a width, and its source. */
static double width_rate(const struct carm_model *model, const struct carm_roofs *roofs, int w,
                         unsigned *sources)
{
    const double peak = peak_of(roofs);
    const int own = width_of(roofs->isa);
    if (w >= own) {
        return peak;
    }
    double rate = ceiling_of(roofs, w, NULL);
    *sources |= rate > 0.0 ? FROM_CEILINGS : 0U;
    if (!(rate > 0.0)) {
        rate = roof_of(model, roofs, w);
        *sources |= rate > 0.0 ? FROM_ROOFS : 0U;
    }
    if (!(rate > 0.0)) {
        const unsigned element = strcmp(roofs->precision, "sp") == 0 ? 4 : 8;
        const unsigned lanes = lanes_of(own, element);
        rate = peak * lanes_of(w, element) / lanes * carm_runtime_narrow_pipes(roofs, lanes);
        *sources |= FROM_LANES;
    }
    return fmin(rate, peak);
}

static double op_rate(const struct carm_roofs *roofs, const char *op)
{
    const struct carm_compute_roof *r = carm_roofs_find_compute(roofs, op);
    return r ? r->rate : ceiling_of(roofs, width_of(roofs->isa), op);
}

/* Whether the flops of each width are known. A processor without a width has no event for it and
 * does no work in it. But most flops must have a width. */
static bool widths_known(const struct carm_runmix *mix, double flops)
{
    double sum = part(mix, CARM_RUNMIX_OTHER);
    bool any = false;
    for (int i = CARM_RUNMIX_DP; i < CARM_RUNMIX_COUNT; i++) {
        any = any || mix->q[i] > 0.0;
        sum += part(mix, i);
    }
    return any && sum >= (1.0 - stray) * flops;
}

/* "scalar 63%, 32 bytes 37% of its dp flops; rates: in-core ceilings" */
static void describe_widths(struct carm_runtime_ceiling *c, const double *in, double all,
                            const char *precision, unsigned sources)
{
    c->how[0] = '\0';
    for (int w = 0; w < WIDTHS; w++) {
        char bytes[16] = "scalar";
        if (w > 0) {
            snprintf(bytes, sizeof bytes, "%u bytes", width_bytes[w]);
        }
        if (in[w] > 0.0) {
            carm_text_list(c->how, sizeof c->how, ", ", "%s %.3g%%", bytes, 100.0 * in[w] / all);
        }
    }
    carm_text_append(c->how, sizeof c->how, " of its %.8s flops; rates: %s%s%s%s", precision,
                     sources & FROM_CEILINGS ? "in-core ceilings, " : "",
                     sources & FROM_ROOFS ? "narrower ISAs, " : "",
                     sources & FROM_LANES ? "the peak scaled by lanes, " : "", "the peak");
}

static void find_simd(const struct carm_model *model, const struct carm_roofs *roofs,
                      const struct carm_runmix *mix, double flops, struct carm_runtime_ceiling *c)
{
    const bool single = strcmp(roofs->precision, "sp") == 0;
    const double *in = &mix->q[single ? CARM_RUNMIX_SP : CARM_RUNMIX_DP];
    double all = 0.0;
    double seconds = 0.0;
    unsigned sources = 0;
    if (!widths_known(mix, flops)) {
        unknown(c, "its vector widths were not counted");
        return;
    }
    for (int w = 0; w < WIDTHS; w++) {
        if (in[w] > 0.0) {
            all += in[w];
            seconds += in[w] / width_rate(model, roofs, w, &sources);
        }
    }
    if (!(all > 0.0) || !(peak_of(roofs) > 0.0)) {
        unknown(c, "none of its flops have the roofs' precision");
        return;
    }
    set_known(c, all / seconds, peak_of(roofs));
    c->share = 1.0 - fmax(in[0], 0.0) / all;
    c->step = c->share < 0.9 ? "vectorise" : "wider vectors";
    snprintf(c->name, sizeof c->name, "SIMD as run: %.3g%% of flops in vectors", 100.0 * c->share);
    snprintf(c->brief, sizeof c->brief, "SIMD share %.3g%%", 100.0 * c->share);
    describe_widths(c, in, all, roofs->precision, sources);
}

bool carm_runmix_is_balanced(const struct carm_runmix *mix)
{
    if (!carm_runmix_has(mix, CARM_RUNMIX_ADDS) || !carm_runmix_has(mix, CARM_RUNMIX_MULS)) {
        return false;
    }
    const double fmas = part(mix, CARM_RUNMIX_FMAS);
    const double all = mix->q[CARM_RUNMIX_ADDS] + mix->q[CARM_RUNMIX_MULS] + 2.0 * fmas;
    const double muls = mix->q[CARM_RUNMIX_MULS] + fmas;
    return all > 0.0 && muls >= 0.4 * all && muls <= 0.6 * all;
}

/* Seconds for n operations. lacks: set where the rate was not measured */
static double time_of(double n, double rate, bool *lacks)
{
    *lacks = *lacks || (n > 0.0 && !(rate > 0.0));
    return n > 0.0 && rate > 0.0 ? n / rate : 0.0;
}

/* Seconds if adds have units of their own (AMD since Zen, shown by mad's rate) and run beside multiplies and FMAs.
 * HUGE_VAL without such units, or if unknown. */
static double side_by_side(const struct carm_roofs *roofs, double adds, double muls, double fmas)
{
    const double add = op_rate(roofs, "add");
    const double mul = op_rate(roofs, "mul");
    const double fma = op_rate(roofs, "fma");
    const bool apart = add > 0.0 && mul > 0.0 && op_rate(roofs, "mad") > own_units * fmax(add, mul);
    if (!apart || (fmas > 0.0 && !(fma > 0.0))) {
        return HUGE_VAL;
    }
    return fmax(adds / add, muls / mul + (fmas > 0.0 ? 2.0 * fmas / fma : 0.0));
}

static void find_balance(const struct carm_roofs *roofs, const struct carm_runmix *mix,
                         struct carm_runtime_ceiling *c)
{
    const double fma = op_rate(roofs, "fma");
    const double mad = op_rate(roofs, "mad");
    bool lacks = false;
    for (int i = CARM_RUNMIX_FP; i <= CARM_RUNMIX_FMAS; i++) {
        if (!carm_runmix_has(mix, (enum carm_runmix_part)i)) {
            unknown(c, "its adds, multiplies and FMAs were not counted separately");
            return;
        }
    }
    const double muls = mix->q[CARM_RUNMIX_MULS];
    const double fmas = mix->q[CARM_RUNMIX_FMAS];
    const double others =
        fmax(mix->q[CARM_RUNMIX_FP] - mix->q[CARM_RUNMIX_ADDS] - muls - fmas, 0.0);
    const double adds = mix->q[CARM_RUNMIX_ADDS] + others;
    const double all = adds + muls + 2.0 * fmas;
    if (!(all > 0.0) || !(peak_of(roofs) > 0.0)) {
        unknown(c, "none of its instructions compute");
        return;
    }
    const double pairs = mad > 0.0 ? fmin(adds, muls) : 0.0;
    const double seconds = time_of(2.0 * pairs, mad, &lacks) +
                           time_of(adds - pairs, op_rate(roofs, "add"), &lacks) +
                           time_of(muls - pairs, op_rate(roofs, "mul"), &lacks) +
                           time_of(2.0 * fmas, fma > 0.0 ? fma : mad, &lacks);
    if (lacks) {
        unknown(
            c, "the model has no roof for one of its operations (carm build measures add, mul, mad "
               "and fma)");
        return;
    }
    /* additions beside FMAs may give more than the peak of FMAs */
    const double rate = fmin(all / fmin(seconds, side_by_side(roofs, adds, muls, fmas)),
                             carm_roofs_find_peak(roofs)->rate);
    set_known(c, rate, fmax(rate, peak_of(roofs)));
    c->share = 2.0 * fmas / all;
    c->step = "FMA, or as many multiplies as adds";
    snprintf(c->name, sizeof c->name, "balance as run: %.3g%% of flops in FMAs", 100.0 * c->share);
    snprintf(c->brief, sizeof c->brief, "%.3g%% of flops in FMAs", 100.0 * c->share);
    snprintf(c->how, sizeof c->how,
             "%.3g%% adds, %.3g%% multiplies, %.3g%% FMAs, %.3g%% others (as adds) of its FP "
             "instructions; rates: the roofs' operations",
             100.0 * mix->q[CARM_RUNMIX_ADDS] / (adds + muls + fmas),
             100.0 * muls / (adds + muls + fmas), 100.0 * fmas / (adds + muls + fmas),
             100.0 * others / (adds + muls + fmas));
}

/* 1/4 of "fp 1/4"; 0 = another name */
static double fraction_of(const char *name)
{
    if (strcmp(name, "fp 1") == 0) {
        return 1.0;
    }
    const long d = strncmp(name, "fp 1/", 5) == 0 ? strtol(name + 5, NULL, 10) : 0;
    return d > 0 ? 1.0 / (double)d : 0.0;
}

/* The measured ceilings next to a share: the largest one not above it, the smallest one above. */
static void neighbours(const struct carm_roofs *roofs, double share,
                       const struct carm_ceiling_roof **low, const struct carm_ceiling_roof **high)
{
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        const double at = fraction_of(c->name);
        if (c->group != CARM_CEILING_MIX || !(at > 0.0) || !(c->rate > 0.0)) {
            continue;
        }
        if (at <= share && (!*low || at > fraction_of((*low)->name))) {
            *low = c;
        } else if (at > share && (!*high || at < fraction_of((*high)->name))) {
            *high = c;
        }
    }
}

static double rate_between(const struct carm_ceiling_roof *low,
                           const struct carm_ceiling_roof *high, double share)
{
    if (!high) {
        return low->rate;
    }
    const double b = fraction_of(high->name);
    if (!low) {
        return high->rate * share / b;
    }
    const double a = fraction_of(low->name);
    const double t = (1.0 / share - 1.0 / b) / (1.0 / a - 1.0 / b);
    return 1.0 / ((1.0 - t) / high->rate + t / low->rate);
}

static void find_fp_share(const struct carm_roofs *roofs, const struct carm_runmix *mix,
                          struct carm_runtime_ceiling *c)
{
    const struct carm_ceiling_roof *low = NULL;
    const struct carm_ceiling_roof *high = NULL;
    if (!carm_runmix_has(mix, CARM_RUNMIX_FP) || !(mix->q[CARM_RUNMIX_INSTRUCTIONS] > 0.0)) {
        unknown(c, "its floating-point instructions were not counted");
        return;
    }
    const double share = fmin(mix->q[CARM_RUNMIX_FP] / mix->q[CARM_RUNMIX_INSTRUCTIONS], 1.0);
    neighbours(roofs, share, &low, &high);
    if (!(share > 0.0)) {
        unknown(c, "none of its instructions compute");
        return;
    }
    if ((!low && !high) || !(peak_of(roofs) > 0.0)) {
        unknown(c, "the model has no ceilings of instruction mix (carm build --ceilings measures "
                   "them)");
        return;
    }
    set_known(c, rate_between(low, high, share), peak_of(roofs));
    c->share = share;
    c->step = "fewer other instructions between the computing ones";
    snprintf(c->name, sizeof c->name, "FP share as run: %.3g%% of instructions", 100.0 * share);
    snprintf(c->brief, sizeof c->brief, "FP share %.3g%%", 100.0 * share);
    snprintf(c->how, sizeof c->how, "%.4g of %.4g instructions compute; rates: %.40s%s%.40s",
             mix->q[CARM_RUNMIX_FP], mix->q[CARM_RUNMIX_INSTRUCTIONS], low ? low->name : "",
             low && high ? " and " : "", high ? high->name : "");
}

/* The best memory ceiling whose name contains the word. Ceilings of small sets are left out: a prefetch does not change
 * the size of a set. */
static double memory_ceiling(const struct carm_roofs *roofs, const char *what)
{
    double best = 0.0;
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == CARM_CEILING_MEMORY && strstr(c->name, what) &&
            strcmp(c->name, "small set") != 0) {
            best = fmax(best, c->rate);
        }
    }
    return best;
}

static void find_prefetch(const struct carm_roofs *roofs, const struct carm_runmix *mix,
                          struct carm_runtime_ceiling *c)
{
    const double slope =
        fmax(carm_original_bandwidth(roofs, "DRAM", true, NULL), memory_ceiling(roofs, ""));
    const double without = memory_ceiling(roofs, "no-prefetch");
    c->memory = true;
    if (!carm_runmix_has(mix, CARM_RUNMIX_PREFETCHES) || !(mix->q[CARM_RUNMIX_LOADS] > 0.0)) {
        unknown(c, "its software prefetches were not counted");
        return;
    }
    c->share = mix->q[CARM_RUNMIX_PREFETCHES] / mix->q[CARM_RUNMIX_LOADS];
    const bool present = c->share >= prefetching;
    if (!(slope > 0.0) || (!present && !(without > 0.0))) {
        unknown(c, "the model has no memory ceiling without software prefetch (carm build "
                   "--ceilings measures it)");
        return;
    }
    set_known(c, present ? slope : without, slope);
    c->step = "prefetch by software";
    snprintf(c->name, sizeof c->name, "software prefetch as run: %s",
             present ? "present" : "absent");
    snprintf(c->brief, sizeof c->brief, "%s software prefetch", present ? "with" : "no");
    snprintf(c->how, sizeof c->how, "%.3g prefetches for each load; rate: %s", c->share,
             present ? "the best stream" : "streams without software prefetch");
}

void carm_runtime_find(const struct carm_model *model, const struct carm_roofs *roofs,
                       const struct carm_runmix *mix, double flops, struct carm_runtime *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < CARM_RUNTIME_COUNT; i++) {
        out->ceilings[i].step = "";
    }
    find_simd(model, roofs, mix, flops, &out->ceilings[CARM_RUNTIME_SIMD]);
    find_balance(roofs, mix, &out->ceilings[CARM_RUNTIME_BALANCE]);
    find_fp_share(roofs, mix, &out->ceilings[CARM_RUNTIME_FP_SHARE]);
    find_prefetch(roofs, mix, &out->ceilings[CARM_RUNTIME_PREFETCH]);
}

double carm_runtime_times(const struct carm_runtime_ceiling *ceiling, enum carm_place_which which,
                          const struct carm_place *place)
{
    if (!ceiling->known || (ceiling->memory && which != CARM_PLACE_ORIGINAL)) {
        return 1.0;
    }
    const double at = ceiling->memory ? ceiling->rate * place->intensity : ceiling->rate;
    const double until =
        ceiling->memory ? ceiling->architecture * place->intensity : ceiling->architecture;
    return fmax(fmin(place->roof, until) / fmax(at, place->performance), 1.0);
}

void carm_runtime_advise(const struct carm_runtime *runtime, enum carm_place_which which,
                         struct carm_place *place)
{
    const struct carm_runtime_ceiling *worst = NULL;
    char rest[CARM_PLACE_ADVICE_MAX], own[160];
    double most = CARM_PLACE_WORTHWHILE;
    for (int i = 0; i < CARM_RUNTIME_COUNT && !place->over; i++) {
        const double times = carm_runtime_times(&runtime->ceilings[i], which, place);
        if (times >= most) {
            most = times;
            worst = &runtime->ceilings[i];
        }
    }
    if (!worst) {
        return;
    }
    /* the lower ceiling binds, so it is named first */
    const double at = worst->memory ? worst->rate * place->intensity : worst->rate;
    const bool first = at <= place->ceilings[place->above].at * (1.0 + CARM_PLACE_TOLERANCE);
    snprintf(own, sizeof own, "%s: %s: at most %.1fx", worst->brief, worst->step, most);
    memcpy(rest, place->advice, sizeof rest);
    if (strlen(own) + 2 + strlen(rest) < sizeof place->advice) {
        const size_t n = strlen(first ? own : rest);
        memcpy(place->advice, first ? own : rest, n);
        memcpy(place->advice + n, "; ", 2);
        snprintf(place->advice + n + 2, sizeof place->advice - n - 2, "%s", first ? rest : own);
    }
}
