/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/own.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/place/runtime.h"
#include "models/roofline.h"

enum { KNOTS_MAX = 24, WIDTHS = CARM_PLACE_WIDTHS };
/* Smallest share of the flops for a width to count as used: see harness/count/row.c. */
static const double by_product = 0.01;
/* Below this share of the accesses, stores or loads do not count as a mix; chosen by hand. */
static const double few = 0.001;

/* ---- interpolation ---- */

struct knot {
    double at, time; /* seconds for each byte */
    const char *name;
};

struct between {
    const struct knot *from, *to; /* equal when the share is that of a measured mix */
};

/* The lower convex hull of the knots.
 * returns seconds for each byte; 0 = x is outside of them */
static double hull_at(const struct knot *knots, size_t n, double x, struct between *between)
{
    double best = 0.0;
    double wide = 0.0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            const struct knot *a = &knots[i];
            const struct knot *b = &knots[k];
            if (a->at > x || b->at < x || (a->at >= b->at && i != k)) {
                continue;
            }
            const double t = i == k ? 0.0 : (x - a->at) / (b->at - a->at);
            const double time = a->time + t * (b->time - a->time);
            const double span = b->at - a->at;
            /* of equal times the nearest mixes */
            if (!(best > 0.0) || time < best * (1.0 - 1e-9) ||
                (time <= best * (1.0 + 1e-9) && span < wide)) {
                best = time;
                wide = span;
                *between = (struct between){t < 1.0 ? a : b, t > 0.0 ? b : a};
            }
        }
    }
    return best;
}

/* ---- mixes ---- */

/* Share of the bytes that a mix stores; -1 = another kind of name */
static double stores_of(const char *ldst)
{
    char *end = NULL;
    if (strcmp(ldst, "update") == 0) {
        return 0.5;
    }
    if (strcmp(ldst, "nt") == 0) {
        return 1.0;
    }
    const double loads = strtod(ldst, &end);
    const double stores = *end == ':' ? strtod(end + 1, NULL) : -1.0;
    return loads >= 0.0 && stores >= 0.0 && isnormal(loads + stores) ? stores / (loads + stores)
                                                                     : -1.0;
}

/* Seconds for each byte of a level at a share of stores; 0 = no such roofs. */
static double time_of_mix(const struct carm_roofs *roofs, const char *level, double stores,
                          struct knot knots[KNOTS_MAX], struct between *between)
{
    size_t n = 0;
    for (size_t i = 0; i < roofs->nmemory && n < KNOTS_MAX; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        const double at = stores_of(m->ldst);
        if (strcmp(m->level, level) == 0 && m->bandwidth > 0.0 && at >= 0.0) {
            knots[n++] = (struct knot){at, 1.0 / m->bandwidth, m->ldst};
        }
    }
    return hull_at(knots, n, stores, between);
}

/* ---- widths of accesses ---- */

static unsigned element_of(const struct carm_roofs *roofs)
{
    return strcmp(roofs->precision, "sp") == 0 ? 4 : 8;
}

/* Bytes of an access; 0 = not known */
static double access_of(const struct carm_roofs *roofs)
{
    static const unsigned bytes[WIDTHS] = {0, 16, 32, 64};
    const int w = carm_place_width(roofs->isa);
    return w < 0 ? 0.0 : w == 0 ? element_of(roofs) : bytes[w];
}

static bool serves(const struct carm_roofs *r, const struct carm_roofs *roofs)
{
    return r->threads == roofs->threads && strcmp(r->precision, roofs->precision) == 0;
}

/* The roofs of a width with the highest peak, or NULL. */
static const struct carm_roofs *roofs_of_width(const struct carm_model *model,
                                               const struct carm_roofs *roofs, int w)
{
    const struct carm_roofs *best = NULL;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const struct carm_compute_roof *peak = carm_roofs_find_peak(r);
        if (serves(r, roofs) && carm_place_width(r->isa) == w && peak &&
            (!best || peak->rate > carm_roofs_find_peak(best)->rate)) {
            best = r;
        }
    }
    return best;
}

/* Knots of all ISAs: time at the point's share of stores, over accesses for each byte. */
static size_t widths_of(const struct carm_model *model, const struct carm_roofs *roofs,
                        const char *level, double stores, struct knot out[KNOTS_MAX])
{
    struct knot mixes[KNOTS_MAX];
    struct between between;
    size_t n = 0;
    for (size_t i = 0; i < model->nroofs && n < KNOTS_MAX; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const double bytes = access_of(r);
        const double time =
            serves(r, roofs) && bytes > 0.0 ? time_of_mix(r, level, stores, mixes, &between) : 0.0;
        if (time > 0.0) {
            out[n++] = (struct knot){1.0 / bytes, time, r->isa};
        }
    }
    return n;
}

/* The knots with the fewest and with the most accesses. */
static struct between ends_of(const struct knot *knots, size_t n)
{
    struct between ends = {knots, knots};
    for (size_t i = 1; i < n; i++) {
        ends.from = knots[i].at < ends.from->at ? &knots[i] : ends.from;
        ends.to = knots[i].at > ends.to->at ? &knots[i] : ends.to;
    }
    return ends;
}

/* The factor by which narrow accesses exceed wide ones in rate, like carm_runtime_narrow_pipes for flops: cores that
 * split 64 bytes in two, or start one wide access in place of two narrow ones. */
static double narrow_accesses(const struct carm_roofs *roofs, const char *level)
{
    const struct carm_memory_roof *m = carm_roofs_find_memory(roofs, level, "1:0");
    const double each = m ? m->bytes_per_cycle / access_of(roofs) : 0.0;
    return each > 0.0 && each < 1.5 ? 2.0 : 1.0;
}

struct mix {
    double stores;   /* share, of bytes or of accesses */
    double accesses; /* for each byte; 0 = not known */
    double least;    /* least seconds for each byte, for access widths that no ISA was measured
                      * with */
    bool scaled;
};

/* Scales the first level's bandwidth for accesses narrower than all measured ones. */
static void find_scaled(const struct carm_model *model, const struct carm_roofs *roofs,
                        struct mix *mix)
{
    struct knot widths[KNOTS_MAX];
    const char *first = model->nlevels ? model->levels[0].level : "";
    const size_t n = widths_of(model, roofs, first, mix->stores, widths);
    if (n == 0) {
        return;
    }
    const struct knot *narrowest = ends_of(widths, n).to;
    if (mix->accesses > narrowest->at * (1.0 + 1e-9)) {
        mix->least = narrowest->time * mix->accesses / narrowest->at;
        mix->least /= n == 1 ? narrow_accesses(roofs, first) : 1.0;
        mix->scaled = true;
    }
}

/* Seconds for each byte of a level; 0 = not known. */
static double time_of_level(const struct carm_model *model, const struct carm_roofs *roofs,
                            const char *level, const struct mix *mix)
{
    struct knot widths[KNOTS_MAX];
    struct between between;
    if (!(mix->accesses > 0.0)) {
        return time_of_mix(roofs, level, mix->stores, widths, &between);
    }
    const size_t n = widths_of(model, roofs, level, mix->stores, widths);
    if (n == 0) {
        return 0.0;
    }
    const struct between ends = ends_of(widths, n);
    const double at = fmin(fmax(mix->accesses, ends.from->at), ends.to->at);
    return fmax(hull_at(widths, n, at, &between), mix->least);
}

/* ---- memory ---- */

static double part(const struct carm_runmix *mix, int which)
{
    return fmax(mix->q[which], 0.0);
}

/* Expresses the mix of loads and stores by bytes and, where loads and stores differ in width, also by accesses. returns
 * the number of expressions */
static size_t read_mix(const struct carm_runmix *counted, double bytes, struct mix out[2])
{
    const double accesses = part(counted, CARM_RUNMIX_LOADS) + part(counted, CARM_RUNMIX_STORES);
    const double moved =
        part(counted, CARM_RUNMIX_LOAD_BYTES) + part(counted, CARM_RUNMIX_STORE_BYTES);
    const bool each =
        carm_runmix_has(counted, CARM_RUNMIX_LOADS) && carm_runmix_has(counted, CARM_RUNMIX_STORES);
    const bool all = carm_runmix_has(counted, CARM_RUNMIX_LOAD_BYTES) &&
                     carm_runmix_has(counted, CARM_RUNMIX_STORE_BYTES) && moved > 0.0;
    const double total = all ? moved : bytes;
    size_t n = 0;
    if (all) {
        out[n++] = (struct mix){.stores = counted->q[CARM_RUNMIX_STORE_BYTES] / moved};
    }
    if (each && accesses > 0.0) {
        out[n++] = (struct mix){.stores = counted->q[CARM_RUNMIX_STORES] / accesses};
    }
    if (n == 2 && fabs(out[0].stores - out[1].stores) < 1e-9) {
        n = 1;
    }
    for (size_t i = 0; i < n; i++) {
        out[i].accesses = each && total > 0.0 ? accesses / total : 0.0;
    }
    return n;
}

/* "3:1 loads to stores (between 1:0 and 2:1), 8 bytes an access (scaled from wider ones)" */
static void describe_memory(const struct carm_roofs *roofs, const char *level,
                            const struct mix *mix, struct carm_own *out)
{
    struct knot knots[KNOTS_MAX];
    struct between b = {NULL, NULL};
    char *text = out->memory;
    const size_t size = sizeof out->memory;
    const double stores = mix->stores < few ? 0.0 : mix->stores > 1.0 - few ? 1.0 : mix->stores;
    if (stores > 0.0 && stores < 1.0) {
        const double ratio = (1.0 - stores) / stores;
        snprintf(text, size, ratio >= 1.0 ? "%.3g:1 loads to stores" : "1:%.3g loads to stores",
                 ratio >= 1.0 ? ratio : 1.0 / ratio);
    } else {
        snprintf(text, size, stores > 0.0 ? "stores alone" : "loads alone");
    }
    if (time_of_mix(roofs, level, stores, knots, &b) > 0.0 && b.from == b.to) {
        carm_text_append(text, size, " (measured: %.16s)", b.from->name);
    } else if (b.from) {
        carm_text_append(text, size, " (between %.16s and %.16s)", b.from->name, b.to->name);
    }
    if (mix->accesses > 0.0) {
        carm_text_append(text, size, ", %.3g bytes an access%s", 1.0 / mix->accesses,
                         mix->scaled ? " (scaled from wider ones)" : "");
    }
}

/* The faster of the expressions of a mix: loads and stores of different widths have a rate between both. */
static double fastest_reading(const struct carm_model *model, const struct carm_roofs *roofs,
                              const char *level, const struct mix *readings, size_t n)
{
    double best = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double time = time_of_level(model, roofs, level, &readings[i]);
        best = time > 0.0 && (!(best > 0.0) || time < best) ? time : best;
    }
    return best;
}

static void find_memory(const struct carm_model *model, const struct carm_roofs *roofs,
                        const struct carm_runmix *counted, double bytes, struct carm_own *out)
{
    struct mix readings[2];
    const size_t n = read_mix(counted, bytes, readings);
    if (n == 0) {
        snprintf(out->memory, sizeof out->memory, "%s",
                 bytes == 0.0 && carm_runmix_has(counted, CARM_RUNMIX_LOADS)
                     ? "it loads and stores nothing"
                     : "its loads and stores were not counted");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        find_scaled(model, roofs, &readings[i]);
    }
    out->stores = readings[0].stores;
    out->access_bytes = readings[0].accesses > 0.0 ? 1.0 / readings[0].accesses : 0.0;
    const char *fastest = "";
    for (size_t i = 0; i < model->nlevels && out->nlevels < CARM_TRAFFIC_MAX; i++) {
        const double time = fastest_reading(model, roofs, model->levels[i].level, readings, n);
        if (time > 0.0) {
            const struct carm_own_level level = {model->levels[i].level, 1.0 / time};
            out->levels[out->nlevels++] = level;
            fastest = level.bandwidth > out->bandwidth ? level.level : fastest;
            out->bandwidth = fmax(out->bandwidth, level.bandwidth);
        }
    }
    out->has_memory = out->nlevels > 0;
    if (out->has_memory) {
        describe_memory(roofs, fastest, &readings[0], out);
    } else {
        snprintf(out->memory, sizeof out->memory,
                 "the model has no mixes with fewer and with more stores than its own (carm build "
                 "--ldst 1:0,2:1,1:1,0:1 measures them)");
    }
}

/* ---- compute ---- */

/* The widest vectors with more than a by-product of the flops; -1 = unknown */
static int widest_of(const struct carm_roofs *roofs, const struct carm_runmix *mix, double flops)
{
    const int first = element_of(roofs) == 4 ? CARM_RUNMIX_SP : CARM_RUNMIX_DP;
    int w = WIDTHS - 1;
    while (w >= 0 && !(mix->q[first + w] >= by_product * flops)) {
        w--;
    }
    return w;
}

/* The balance of operations at the rates of the widest vectors in use: rates of their own roofs, or
 * the machine's rates scaled by the width's best rate.
 * out  in: at the rates of `roofs` */
static void narrow_balance(const struct carm_model *model, const struct carm_roofs *roofs,
                           const struct carm_runmix *mix, double flops, int w,
                           struct carm_runtime_ceiling *out)
{
    const struct carm_roofs *narrow = roofs_of_width(model, roofs, w);
    struct carm_runtime found;
    if (narrow == roofs) {
        return;
    }
    if (narrow) {
        carm_runtime_find(model, narrow, mix, flops, &found);
        *out = found.ceilings[CARM_RUNTIME_BALANCE];
        if (out->known) {
            return;
        }
    }
    struct carm_runmix all = *mix;
    const int first = element_of(roofs) == 4 ? CARM_RUNMIX_SP : CARM_RUNMIX_DP;
    for (int i = CARM_RUNMIX_DP; i < CARM_RUNMIX_COUNT; i++) {
        all.q[i] = i == first + w ? flops : CARM_POINT_UNKNOWN;
    }
    carm_runtime_find(model, roofs, &all, flops, &found);
    const struct carm_runtime_ceiling *simd = &found.ceilings[CARM_RUNTIME_SIMD];
    *out = found.ceilings[CARM_RUNTIME_BALANCE];
    out->rate *= simd->known ? simd->rate / simd->architecture : 1.0;
}

/* The share of the rate at width w that remains if some instructions are narrower, or have wider
 * elements: an instruction takes the same time for fewer lanes. flops: of the point */
static double narrower_part(const struct carm_model *model, const struct carm_roofs *roofs,
                            const struct carm_runmix *mix, double flops, int w)
{
    const struct carm_roofs *narrow = roofs_of_width(model, roofs, w);
    const double lanes = narrow ? access_of(narrow) / element_of(roofs) : 1.0;
    const double all = (part(mix, CARM_RUNMIX_FP) + part(mix, CARM_RUNMIX_FMAS)) * lanes;
    const double left = all > 0.0 ? flops / all : 1.0;
    const bool mixed = left < 1.0 - by_product;
    return mixed && narrow ? fmin(left * carm_runtime_narrow_pipes(narrow, (unsigned)lanes), 1.0)
                           : 1.0;
}

/* The roof of an operation at width w; without roofs of this width, the machine's roof, which is not too low. NULL =
 * the model has no roof of the operation */
static const struct carm_compute_roof *roof_at(const struct carm_model *model,
                                               const struct carm_roofs *roofs, int w,
                                               const char *op)
{
    const struct carm_roofs *narrow = roofs_of_width(model, roofs, w);
    const struct carm_compute_roof *found = narrow ? carm_roofs_find_compute(narrow, op) : NULL;
    return found ? found : carm_roofs_find_compute(roofs, op);
}

/* Divisions and roots go through one divider beside the other units, one after the other. Without a roof of sqrt, or
 * without a separate count of roots, roots count as divisions, as they take at least as long. */
static void find_divides(const struct carm_model *model, const struct carm_roofs *roofs,
                         const struct carm_runmix *mix, int w, struct carm_own *out)
{
    const struct carm_compute_roof *div = roof_at(model, roofs, w, "div");
    const struct carm_compute_roof *root = roof_at(model, roofs, w, "sqrt");
    const double flops = part(mix, CARM_RUNMIX_FP) + part(mix, CARM_RUNMIX_FMAS);
    const double divides = part(mix, CARM_RUNMIX_DIVIDES);
    const double roots = fmin(part(mix, CARM_RUNMIX_ROOTS), divides);
    if (div && divides > 0.0 && flops > 0.0) {
        const double seconds =
            (divides - roots) / div->rate + roots / (root ? root->rate : div->rate);
        out->peak = fmin(out->peak, flops / seconds);
        carm_text_append(out->compute, sizeof out->compute, ", %.3g%% in divisions and roots",
                         100.0 * divides / flops);
    }
}

static void find_compute(const struct carm_model *model, const struct carm_roofs *roofs,
                         const struct carm_runmix *mix, double flops, struct carm_own *out)
{
    struct carm_runtime found;
    const struct carm_compute_roof *peak = carm_roofs_find_peak(roofs);
    if (!peak) {
        snprintf(out->compute, sizeof out->compute, "the model has no peak");
        return;
    }
    carm_runtime_find(model, roofs, mix, flops, &found);
    const struct carm_runtime_ceiling *simd = &found.ceilings[CARM_RUNTIME_SIMD];
    struct carm_runtime_ceiling *balance = &found.ceilings[CARM_RUNTIME_BALANCE];
    const int w = simd->known ? widest_of(roofs, mix, flops) : -1;
    if (balance->known && w >= 0) {
        narrow_balance(model, roofs, mix, flops, w, balance);
    }
    out->has_compute = simd->known || balance->known;
    out->peak = peak->rate;
    if (simd->known) { /* from the rates of FMAs alone; additions beside FMAs can exceed them */
        const double spare = peak->rate / carm_roofs_find_plain_peak(roofs)->rate;
        out->peak = fmin(out->peak, simd->rate * spare);
    }
    snprintf(out->compute, sizeof out->compute, "%s",
             simd->how); /* or the reason why the own roof is unknown */
    if (balance->known) {
        out->peak = fmin(out->peak, balance->rate *
                                        (w < 0 ? 1.0 : narrower_part(model, roofs, mix, flops, w)));
        carm_text_append(out->compute, sizeof out->compute, "; %s", balance->brief);
        find_divides(model, roofs, mix, w, out);
    } else {
        carm_text_append(out->compute, sizeof out->compute, "; %s", balance->how);
    }
}

/* ---- operations on integers ---- */

/* The highest rate of instructions on vectors of integers, of any width and kind; 0 = not in the model. */
static double integer_instructions(const struct carm_model *model, const struct carm_roofs *roofs)
{
    /* bytes of a vector, by width; scalar code has none */
    static const double bytes[WIDTHS] = {0, 16, 32, 64};
    double best = 0.0;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const int w = carm_place_width(r->isa);
        if (r->threads != roofs->threads || carm_precision_rank(r->precision) != 2 || w <= 0) {
            continue;
        }
        const double lanes = 8.0 * bytes[w] / strtod(r->precision + strlen("int"), NULL);
        for (size_t k = 0; k < r->ncompute; k++) {
            const struct carm_compute_roof *c = &r->compute[k];
            const bool pairs = strcmp(c->op, "dot") == 0 || strcmp(c->op, "ifma") == 0;
            best = fmax(best, c->rate / lanes / (pairs ? 2.0 : 1.0));
        }
    }
    return best;
}

static void find_integers(const struct carm_model *model, const struct carm_roofs *roofs,
                          const struct carm_runmix *mix, double operations, struct carm_own *out)
{
    static const struct {
        int part; /* CARM_RUNMIX_INT_... */
        const char *op, *other, *name;
    } kinds[] = {{CARM_RUNMIX_INT_ADDS, "add", "add", "additions"},
                 {CARM_RUNMIX_INT_MULS, "mul", "mul", "multiplications"},
                 {CARM_RUNMIX_INT_LOGIC, "logic", "logic", "logic"},
                 {CARM_RUNMIX_INT_DOTS, "dot", "ifma", "dot products"}};
    static const char *const elements[] = {"int8", "int16", "int32", "int64"};
    const double instructions = part(mix, CARM_RUNMIX_INT_INSTRUCTIONS);
    const double issue = integer_instructions(model, roofs);
    const struct carm_compute_roof *peak = carm_roofs_find_peak(roofs);
    if (!peak || !(instructions > 0.0) || !(issue > 0.0)) {
        snprintf(out->compute, sizeof out->compute, "its operations were not counted by kind");
        return;
    }
    double seconds = fmax(instructions / issue, operations / peak->rate);
    bool alone = false;
    for (int i = 0; i < 4; i++) {
        alone = alone || (strcmp(elements[i], roofs->precision) == 0 &&
                          part(mix, CARM_RUNMIX_INT + i) >= (1.0 - by_product) * operations);
    }
    snprintf(out->compute, sizeof out->compute, "%.3g operations an instruction",
             operations / instructions);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const double done = part(mix, kinds[i].part);
        const struct carm_compute_roof *c = carm_roofs_find_compute(roofs, kinds[i].op);
        c = c ? c : carm_roofs_find_compute(roofs, kinds[i].other);
        if (alone && c) {
            seconds = fmax(seconds, done / c->rate);
        }
        if (done >= by_product * operations) {
            carm_text_append(out->compute, sizeof out->compute, ", %.3g%% %s",
                             100.0 * done / operations, kinds[i].name);
        }
    }
    out->has_compute = true;
    out->peak = operations / seconds;
}

/* ---- the roof ---- */

void carm_own_find(const struct carm_model *model, const struct carm_roofs *roofs,
                   const struct carm_runmix *mix, double flops, double bytes, struct carm_own *out)
{
    memset(out, 0, sizeof *out);
    find_memory(model, roofs, mix, bytes, out);
    if (carm_precision_rank(roofs->precision) == 2) {
        find_integers(model, roofs, mix, flops, out);
    } else {
        find_compute(model, roofs, mix, flops, out);
    }
}

bool carm_own_place(const struct carm_own *own, const struct carm_place_set *set,
                    enum carm_place_which which, const struct carm_place *place,
                    struct carm_own_roof *out)
{
    const struct carm_place_side *side = &set->sides[which];
    const bool memory = which == CARM_PLACE_CACHE_AWARE && own->has_memory;
    if (!memory && !own->has_compute) {
        return false;
    }
    out->bandwidth = memory ? own->bandwidth : side->slope;
    out->peak = own->has_compute ? own->peak : side->peak;
    out->roof = carm_roofline_eval(place->intensity, out->bandwidth, out->peak);
    out->share = place->performance / out->roof;
    out->gain = place->roof / out->roof;
    return true;
}

char *carm_own_text(char *dst, size_t size, const struct carm_own_roof *roof,
                    const struct carm_place *place)
{
    const bool above = roof->share > 1.0 + CARM_PLACE_TOLERANCE;
    char times[CARM_TEXT_TIMES_MAX];
    snprintf(dst, size, "at %.1f%% of what its instructions allow, at %.1f%% of the machine's roof",
             100.0 * roof->share, 100.0 * place->share);
    if (above) {
        carm_text_append(
            dst, size,
            "; above its own roof: its counts are wrong, the roof is too low, or its accesses are "
            "faster than the measured vector ones (integer registers, lines stored whole)");
        return dst;
    }
    if (roof->share < 1e-3) {
        carm_text_append(dst, size, "; with these instructions over 1000x is left");
    } else if (roof->share < 1.0 - CARM_PLACE_TOLERANCE) {
        carm_text_append(dst, size, "; with these instructions at most %sx is left",
                         carm_text_times(times, 1.0 / roof->share));
    } else {
        carm_text_append(dst, size, "; with these instructions nothing is left");
    }
    if (roof->gain > 1.0 + CARM_PLACE_TOLERANCE) {
        carm_text_append(
            dst, size,
            "; wider vectors, other operations or another algorithm could give another %sx",
            carm_text_times(times, roof->gain));
    } else if (roof->gain < 1.0 - CARM_PLACE_TOLERANCE) {
        carm_text_append(dst, size,
                         "; its loads and stores are faster than those of the machine's roof");
    }
    return dst;
}
