/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the Roofline paper prints against what its other figures give: tables, rows, statements of the
 * text. */
#pragma once

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "models/published.h"

struct findings {
    struct carm_published_disagreement *items;
    size_t n, room;
    bool full;                                /* out of memory: later ones go to spill */
    struct carm_published_disagreement spill; /* so that whoever adds one needs no check */
};

/* A new finding of that id; printed and computed are the caller's to fill. */
__attribute__((format(printf, 2, 3))) static struct carm_published_disagreement *add_finding(
    struct findings *f, const char *fmt, ...)
{
    if (carm_array_grow(&f->items, &f->room, f->n, 1, sizeof *f->items, "", NULL)) {
        f->full = true;
        return &f->spill;
    }
    struct carm_published_disagreement *d = &f->items[f->n++];
    memset(d, 0, sizeof *d);
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(d->id, sizeof d->id, fmt, ap);
    va_end(ap);
    return d;
}

/* Decimals that the paper prints an intensity with: two digits that count. */
static int decimals_of(double v)
{
    return v >= 1 ? 1 : 2;
}

/* Whether the quotient of two rates printed with one decimal can be the printed intensity. */
static bool rounding_explains(double numerator, double denominator, double printed)
{
    const double half = 0.05, low = (numerator - half) / (denominator + half),
                 high = (numerator + half) / (denominator - half);
    return high >= printed - 0.005 && low < printed + 0.005;
}

/* Gflop/s over GB/s against the printed intensity. */
static void check_quotient(struct findings *f, const struct carm_published_machine *m,
                           const struct carm_published_result *res)
{
    const double quotient = res->performance / res->bandwidth;
    if (fabs(quotient - res->intensity) <= 0.005) {
        return;
    }
    const bool explained =
        rounding_explains(res->performance / 1e9, res->bandwidth / 1e9, res->intensity);
    struct carm_published_disagreement *d = add_finding(f, "%s/%s/intensity", m->name, res->kernel);
    (void)snprintf(d->printed, sizeof d->printed, "%.2f flop/byte", res->intensity);
    (void)snprintf(d->computed, sizeof d->computed, "%.1f / %.1f = %.3f flop/byte; %s",
                   res->performance / 1e9, res->bandwidth / 1e9, quotient,
                   explained ? "within the rounding of the printed rates"
                             : "beyond the rounding of the printed rates");
}

static void check_range(struct findings *f, const struct carm_published *p,
                        const struct carm_published_machine *m,
                        const struct carm_published_result *res)
{
    const struct carm_published_kernel *k = carm_published_kernel(p, res->kernel);
    if (!k || (res->intensity >= k->low && res->intensity <= k->high)) {
        return;
    }
    struct carm_published_disagreement *d = add_finding(f, "%s/%s/range", m->name, res->kernel);
    (void)snprintf(d->printed, sizeof d->printed, "%.2f to %.2f flop/byte (table 2)", k->low,
                   k->high);
    (void)snprintf(d->computed, sizeof d->computed, "%.2f flop/byte (table 4)", res->intensity);
}

/* flop/s of a printed ceiling at an intensity; 0 where there is none. */
static double printed_height(const struct carm_published_bound *c, double intensity)
{
    return c->flops ? c->value : c->value * intensity;
}

/* Whether the achieved performance lies between the ceilings as printed. */
static void check_bound(struct findings *f, const struct carm_published_machine *m,
                        const struct carm_published_result *res)
{
    const double low = printed_height(&res->lower, res->intensity);
    const double high = printed_height(&res->upper, res->intensity);
    if (low <= res->performance && res->performance <= high) {
        return;
    }
    struct carm_published_disagreement *d = add_finding(f, "%s/%s/bound", m->name, res->kernel);
    (void)snprintf(d->printed, sizeof d->printed, "%.2f between %.2f and %.2f Gflop/s",
                   res->performance / 1e9, low / 1e9, high / 1e9);
    (void)snprintf(d->computed, sizeof d->computed, "%.2f is %s %.2f Gflop/s by %.1f%%",
                   res->performance / 1e9, res->performance > high ? "above" : "below",
                   (res->performance > high ? high : low) / 1e9,
                   100 * fabs(res->performance / (res->performance > high ? high : low) - 1));
}

static void put_printed(const struct carm_published_bound *c, double intensity, char *dst,
                        size_t size)
{
    if (c->value == 0) {
        (void)snprintf(dst, size, "%s, none", c->compute ? "compute" : "memory");
        return;
    }
    (void)snprintf(dst, size, "%s, %s %.1f %s: %.2f Gflop/s", c->compute ? "compute" : "memory",
                   c->name, c->value / 1e9, c->flops ? "Gflop/s" : "GB/s",
                   printed_height(c, intensity) / 1e9);
}

static void put_computed(const struct carm_ceilings *l, const struct carm_ceiling_around *s,
                         char *dst, size_t size)
{
    if (!s->known) {
        (void)snprintf(dst, size, "none");
        return;
    }
    const struct carm_ceiling *ceiling = s->compute ? &l->compute[s->index] : &l->memory[s->index];
    (void)snprintf(dst, size, "%s, %s %.1f %s: %.2f Gflop/s", s->compute ? "compute" : "memory",
                   ceiling->name, ceiling->rate / 1e9, s->compute ? "Gflop/s" : "GB/s",
                   s->at / 1e9);
}

/* A ceiling that is printed by the name of a ceiling, with another value. */
static void check_value(struct findings *f, const struct carm_published_machine *m,
                        const struct carm_published_result *res, const struct carm_ceilings *l,
                        const struct carm_published_bound *c)
{
    const struct carm_ceiling *list = c->flops ? l->compute : l->memory;
    const size_t n = c->flops ? l->ncompute : l->nmemory;
    const char *unit = c->flops ? "Gflop/s" : "GB/s";
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, c->name) == 0 && fabs(list[i].rate - c->value) > 0.05e9) {
            struct carm_published_disagreement *d =
                add_finding(f, "%s/%s/%s value", m->name, res->kernel, c->name);
            (void)snprintf(d->printed, sizeof d->printed, "%.1f %s", c->value / 1e9, unit);
            (void)snprintf(d->computed, sizeof d->computed, "%.1f %s", list[i].rate / 1e9, unit);
        }
    }
}

/* One side of a row: the ceiling that lies there, its name, its value and its type. */
static void recompute_side(struct findings *f, const struct carm_published_machine *m,
                           const struct carm_published_result *res, const struct carm_ceilings *l,
                           const struct carm_published_bound *c,
                           const struct carm_ceiling_around *s)
{
    const char *side = c == &res->upper ? "upper" : "lower", *what = NULL;
    const struct carm_ceiling *ceiling = s->compute ? &l->compute[s->index] : &l->memory[s->index];
    if (!s->known || c->value == 0) {
        if (!s->known && c->value == 0) {
            return;
        }
        what = "ceiling";
    } else {
        const bool value = s->compute == c->flops && fabs(ceiling->rate - c->value) <= 0.05e9;
        const bool name = strcmp(ceiling->name, c->name) == 0;
        what = value && name && s->compute == c->compute ? NULL
               : value && name                           ? "type"
               : value                                   ? "name"
               : name                                    ? "value"
                                                         : "ceiling";
    }
    if (!what) {
        return;
    }
    struct carm_published_disagreement *d =
        add_finding(f, "%s/%s/%s %s", m->name, res->kernel, side, what);
    put_printed(c, res->intensity, d->printed, sizeof d->printed);
    put_computed(l, s, d->computed, sizeof d->computed);
}

static int check_row(struct findings *f, const struct carm_published *p,
                     const struct carm_published_machine *m,
                     const struct carm_published_result *res, struct carm_ceilings *l,
                     struct carm_err *err)
{
    struct carm_ceiling_around upper, lower;
    int rc = carm_published_place(p, m, res, l, &upper, &lower, err);
    if (rc) {
        return rc;
    }
    check_quotient(f, m, res);
    check_range(f, p, m, res);
    check_bound(f, m, res);
    check_value(f, m, res, l, &res->upper);
    check_value(f, m, res, l, &res->lower);
    recompute_side(f, m, res, l, &res->upper, &upper);
    recompute_side(f, m, res, l, &res->lower, &lower);
    return 0;
}

/* A.1.3 and A.1.4 against the ceilings: the peak of SIMD multiplications and additions together, or of
 * scalar instructions one by one; a share of the issued instructions. */
static void check_formulas(struct findings *f, const struct carm_published_machine *m)
{
    const double scalar = carm_published_fact(m, "cores") * carm_published_fact(m, "clock");
    const double width = carm_published_fact(m, "simd_width");
    const double peak =
        width > 0 ? 2 * scalar * width / carm_published_fact(m, "simd_throughput") : scalar;
    const double issue = carm_published_fact(m, "issue");
    for (size_t i = 0; i < m->compute.n; i++) {
        const struct carm_ceiling *ceiling = &m->compute.list[i];
        const bool share = strcmp(ceiling->name, "25% issued FP") == 0;
        const double formula = share ? 0.25 * issue * scalar : peak;
        if ((share || i + 1 == m->compute.n) && fabs(formula - ceiling->rate) > 0.05e9) {
            struct carm_published_disagreement *d =
                add_finding(f, "%s/%s formula", m->name, ceiling->name);
            (void)snprintf(d->printed, sizeof d->printed, "%.1f Gflop/s", ceiling->rate / 1e9);
            (void)snprintf(d->computed, sizeof d->computed, "%.2f Gflop/s by %s", formula / 1e9,
                           share ? "A.1.4" : "A.1.3");
        }
    }
}

/* Facts of a machine against its roofs. */
static void check_machine(struct findings *f, const struct carm_published_machine *m,
                          struct carm_ceilings *l)
{
    struct carm_published_disagreement *d;
    carm_published_ceilings(m, CARM_BALANCE_TOP, l);
    const struct carm_ceiling *slope = carm_ceilings_slope(l), *peak = carm_ceilings_peak(l);
    const double ridge = carm_ceilings_ridge(l), printed = carm_published_fact(m, "ridge");
    const double stream = carm_published_fact(m, "stream"), top = carm_published_fact(m, "peak");
    if (!slope || !peak) {
        return;
    }
    const int decimals = decimals_of(printed);
    if (printed > 0 && fabs(ridge - printed) > 0.5 * pow(10, -decimals)) {
        d = add_finding(f, "%s/ridge", m->name);
        (void)snprintf(d->printed, sizeof d->printed, "%.*f flop/byte", decimals, printed);
        (void)snprintf(d->computed, sizeof d->computed, "%.1f / %.1f = %.2f flop/byte",
                       peak->rate / 1e9, slope->rate / 1e9, ridge);
    }
    if (stream > 0 && fabs(stream - slope->rate) > 0.05e9) {
        d = add_finding(f, "%s/stream", m->name);
        (void)snprintf(d->printed, sizeof d->printed, "%.1f GB/s (table 1)", stream / 1e9);
        (void)snprintf(d->computed, sizeof d->computed, "%.1f GB/s (table 4, %s)",
                       slope->rate / 1e9, slope->name);
    }
    if (top > 0 && fabs(top - peak->rate) > 0.5e9) {
        d = add_finding(f, "%s/peak", m->name);
        (void)snprintf(d->printed, sizeof d->printed, "%.1f Gflop/s", top / 1e9);
        (void)snprintf(d->computed, sizeof d->computed, "%.1f Gflop/s", peak->rate / 1e9);
    }
}

/* ---- the statements of the text ----------------------------------------------------------------
 * Each runs where the collection has the claim and the rows for it. */

enum { ROWS_MAX = 1024 };

static const char *claim_text(const struct carm_published *p, const char *name)
{
    for (size_t i = 0; i < p->nclaims; i++) {
        if (strcmp(p->claims[i].name, name) == 0) {
            return p->claims[i].text;
        }
    }
    return "";
}

static const struct carm_published_machine *machine(const struct carm_published *p,
                                                    const char *name)
{
    for (size_t i = 0; i < p->nmachines; i++) {
        if (strcmp(p->machines[i].name, name) == 0) {
            return &p->machines[i];
        }
    }
    return NULL;
}

static bool is_x86(const struct carm_published_machine *m)
{
    for (size_t i = 0; i < m->nfacts; i++) {
        if (strcmp(m->facts[i].name, "isa") == 0) {
            return strcmp(m->facts[i].text, "x86/64") == 0;
        }
    }
    return false;
}

/* Notes a number unless it is the claimed one at its decimals. */
static void compare(const struct carm_published *p, struct findings *f, const char *name,
                    double computed, int decimals, const char *unit)
{
    const double printed = carm_published_claim(p, name);
    if (printed == 0 || fabs(computed - printed) <= 0.5 * pow(10, -decimals) + 1e-9) {
        return;
    }
    struct carm_published_disagreement *d = add_finding(f, "paper/%s", name);
    (void)snprintf(d->printed, sizeof d->printed, "%.*f %s", decimals, printed, unit);
    (void)snprintf(d->computed, sizeof d->computed, "%.*f %s", decimals, computed, unit);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_intensities(const struct carm_published *p, struct findings *f)
{
    double all[ROWS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < p->nmachines; i++) {
        for (size_t k = 0; k < p->machines[i].nresults && n < ROWS_MAX; k++) {
            all[n++] = p->machines[i].results[k].intensity;
        }
    }
    if (n > 0) {
        qsort(all, n, sizeof *all, ascending);
        compare(p, f, "median_intensity", (all[(n - 1) / 2] + all[n / 2]) / 2, 2, "flop/byte");
        compare(p, f, "least_intensity", all[0], 2, "flop/byte");
        compare(p, f, "greatest_intensity", all[n - 1], 2, "flop/byte");
    }
    const struct carm_published_kernel *stencil = carm_published_kernel(p, "Stencil");
    const double bytes = carm_published_claim(p, "stencil_bytes");
    if (stencil && bytes > 0 &&
        fabs(carm_published_claim(p, "stencil_flops") / bytes - stencil->low) > 0.005) {
        struct carm_published_disagreement *d = add_finding(f, "paper/stencil");
        (void)snprintf(d->printed, sizeof d->printed, "%.2f flop/byte", stencil->low);
        (void)snprintf(d->computed, sizeof d->computed, "%.3f flop/byte",
                       carm_published_claim(p, "stencil_flops") / bytes);
    }
}

/* "35 to 55 flops per 8-byte operand": the printed ridge points of the two x86 computers, times 8 */
static void check_operands(const struct carm_published *p, struct findings *f)
{
    const struct carm_published_machine *x4 = machine(p, "opteron-x4"), *xeon = machine(p, "xeon");
    if (x4 && xeon) {
        compare(p, f, "least_flops_per_operand", 8 * carm_published_fact(x4, "ridge"), 0, "flop");
        compare(p, f, "most_flops_per_operand", 8 * carm_published_fact(xeon, "ridge"), 0, "flop");
    }
}

static void put_superlative(struct findings *f, const char *name, const char *claimed, double its,
                            const char *best, double most, const char *unit)
{
    struct carm_published_disagreement *d = add_finding(f, "paper/%s", name);
    (void)snprintf(d->printed, sizeof d->printed, "%s", claimed);
    (void)snprintf(d->computed, sizeof d->computed, "%s %.1f %s, %s %.1f %s", best, most / 1e9,
                   unit, claimed, its / 1e9, unit);
}

/* Which machine has the most of a fact. */
static void check_highest(const struct carm_published *p, struct findings *f, const char *name,
                          const char *fact, const char *unit)
{
    const struct carm_published_machine *claimed = machine(p, claim_text(p, name)), *best = claimed;
    if (!claimed) {
        return;
    }
    for (size_t i = 0; i < p->nmachines; i++) {
        if (carm_published_fact(&p->machines[i], fact) > carm_published_fact(best, fact)) {
            best = &p->machines[i];
        }
    }
    if (best != claimed) {
        put_superlative(f, name, claimed->name, carm_published_fact(claimed, fact), best->name,
                        carm_published_fact(best, fact), unit);
    }
}

/* The first result that is above the machine's own of that kernel. */
static void check_highest_results(const struct carm_published *p, struct findings *f)
{
    const struct carm_published_machine *claimed = machine(p, claim_text(p, "highest_results"));
    for (size_t i = 0; claimed && i < p->nmachines; i++) {
        for (size_t j = 0; j < p->machines[i].nresults; j++) {
            const struct carm_published_result *other = &p->machines[i].results[j];
            for (size_t k = 0; k < claimed->nresults; k++) {
                const struct carm_published_result *its = &claimed->results[k];
                if (strcmp(other->kernel, its->kernel) == 0 &&
                    other->performance > its->performance) {
                    put_superlative(f, "highest_results", claimed->name, its->performance,
                                    p->machines[i].name, other->performance, "Gflop/s");
                    return;
                }
            }
        }
    }
}

/* A.1.3: cores x frequency x max(1, threads per core / latency) is cores x frequency for any latency
 * where a core has one thread; printed ceilings of a dependent chain lie below it by the latency. */
static void check_chain(const struct carm_published *p, struct findings *f)
{
    static const char *const lowest[] = {"TLP only", "Without ILP or SIMD"};
    for (size_t i = 0; i < p->nmachines; i++) {
        const struct carm_published_machine *m = &p->machines[i];
        const struct carm_ceiling *ceiling = &m->compute.list[0];
        const double formula = carm_published_fact(m, "cores") * carm_published_fact(m, "clock");
        if ((strcmp(ceiling->name, lowest[0]) != 0 && strcmp(ceiling->name, lowest[1]) != 0) ||
            fabs(ceiling->rate - formula) <= 0.05e9) {
            continue;
        }
        struct carm_published_disagreement *d = add_finding(f, "%s/dependent chain", m->name);
        (void)snprintf(d->printed, sizeof d->printed, "%.1f Gflop/s (%s)", ceiling->rate / 1e9,
                       ceiling->name);
        (void)snprintf(d->computed, sizeof d->computed,
                       "%.1f Gflop/s by A.1.3 with max; with min, %.1f cycles of latency give "
                       "%.1f",
                       formula / 1e9, round(formula / ceiling->rate),
                       formula / round(formula / ceiling->rate) / 1e9);
    }
}

static const char *type_of(bool known, bool compute)
{
    return !known ? "none" : compute ? "compute" : "memory";
}

/* How the rows count, as printed and as computed. */
struct counts {
    size_t printed_memory, computed_memory; /* ceilings of the x86 computers; "none" counts as the
                                             * slope's, as in the table */
    size_t rows, bounded;
    size_t fft_wrong[2]; /* x86 0, others 1: as printed */
    char fft[2][CARM_TEXT_MAX];
};

static void count_fft(struct counts *c, const struct carm_published_machine *m,
                      const struct carm_published_result *res, const struct carm_ceiling_around *up,
                      const struct carm_ceiling_around *low, const char *claim)
{
    const size_t group = is_x86(m) ? 0 : 1, used = strlen(c->fft[group]);
    const bool compute = strcmp(claim, "compute") == 0;
    if (res->upper.compute != compute || res->lower.compute != compute || !up->known ||
        !low->known || up->compute != compute || low->compute != compute) {
        c->fft_wrong[group]++;
    }
    (void)snprintf(c->fft[group] + used, sizeof c->fft[group] - used,
                   "%s%s: printed %s and %s, computed %s and %s", used ? "; " : "", m->name,
                   type_of(true, res->upper.compute), type_of(true, res->lower.compute),
                   type_of(up->known, up->compute), type_of(low->known, low->compute));
}

static int count_rows(const struct carm_published *p, struct counts *c, struct carm_ceilings *l,
                      struct carm_err *err)
{
    struct carm_ceiling_around up, low;
    for (size_t i = 0; i < p->nmachines; i++) {
        const struct carm_published_machine *m = &p->machines[i];
        for (size_t k = 0; k < m->nresults; k++) {
            const struct carm_published_result *res = &m->results[k];
            int rc = carm_published_place(p, m, res, l, &up, &low, err);
            if (rc) {
                return rc;
            }
            c->rows++;
            c->bounded += printed_height(&res->lower, res->intensity) <= res->performance &&
                          res->performance <= printed_height(&res->upper, res->intensity);
            if (is_x86(m)) {
                c->printed_memory += (size_t)!res->upper.compute + (size_t)!res->lower.compute;
                c->computed_memory +=
                    (size_t) !(up.known && up.compute) + (size_t) !(low.known && low.compute);
            }
            if (strcmp(res->kernel, "3-D FFT") == 0) {
                count_fft(c, m, res, &up, &low,
                          claim_text(p, is_x86(m) ? "fft_of_x86" : "fft_of_others"));
            }
        }
    }
    return 0;
}

static void check_counts(const struct carm_published *p, struct findings *f, const struct counts *c)
{
    const double claimed = carm_published_claim(p, "memory_ceilings_of_x86");
    struct carm_published_disagreement *d;
    if (claimed > 0 &&
        (claimed != (double)c->printed_memory || claimed != (double)c->computed_memory)) {
        d = add_finding(f, "paper/memory_ceilings_of_x86");
        (void)snprintf(d->printed, sizeof d->printed, "%.0f of 16 ceilings are memory bound",
                       claimed);
        (void)snprintf(d->computed, sizeof d->computed, "%zu by table 4's types, %zu computed",
                       c->printed_memory, c->computed_memory);
    }
    const double bounded = carm_published_claim(p, "bounded_rows");
    if (bounded > 0 && bounded != (double)c->bounded) {
        d = add_finding(f, "paper/bounded_rows");
        (void)snprintf(d->printed, sizeof d->printed, "all %.0f", bounded);
        (void)snprintf(d->computed, sizeof d->computed, "%zu of %zu", c->bounded, c->rows);
    }
    static const char *const ids[] = {"fft_of_x86", "fft_of_others"};
    for (size_t i = 0; i < 2; i++) {
        if (c->fft_wrong[i] > 0) {
            d = add_finding(f, "paper/%s", ids[i]);
            (void)snprintf(d->printed, sizeof d->printed, "both ceilings %s",
                           claim_text(p, ids[i]));
            memcpy(d->computed, c->fft[i], sizeof d->computed);
        }
    }
}

/* "the same peak memory bandwidth" of two generations (section 3) */
static void check_same_bandwidth(const struct carm_published *p, struct findings *f)
{
    const struct carm_published_machine *x2 = machine(p, "opteron-x2"),
                                        *x4 = machine(p, "opteron-x4");
    if (!x2 || !x4 || x2->memory.n == 0 || x4->memory.n == 0) {
        return;
    }
    const double a = x2->memory.list[x2->memory.n - 1].rate,
                 b = x4->memory.list[x4->memory.n - 1].rate;
    if (fabs(a - b) > 0.05e9) {
        struct carm_published_disagreement *d = add_finding(f, "paper/same_bandwidth");
        (void)snprintf(d->printed, sizeof d->printed, "%s", "the X4 has the X2's memory bandwidth");
        (void)snprintf(d->computed, sizeof d->computed, "X2 %.1f GB/s, X4 %.1f GB/s", a / 1e9,
                       b / 1e9);
    }
}

/* The statements of the paper's text that its tables bear out, or do not.
 * returns 0 or -CARM_EINVAL (rows that cannot be placed) */
static int check_text(const struct carm_published *published, struct findings *findings,
                      struct carm_ceilings *ceilings, struct carm_err *err)
{
    struct counts c = {0};
    int rc = count_rows(published, &c, ceilings, err);
    if (rc) {
        return rc;
    }
    check_counts(published, findings, &c);
    check_intensities(published, findings);
    check_operands(published, findings);
    check_highest(published, findings, "highest_stream", "stream", "GB/s");
    check_highest(published, findings, "highest_peak", "peak", "Gflop/s");
    check_highest_results(published, findings);
    check_chain(published, findings);
    check_same_bandwidth(published, findings);
    return 0;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

/* Recomputes what the paper prints: rates over rates, ridge points, peaks, ceilings, sandwiches,
 * the statements of the text; and notes what does not agree at the printed precision.
 * found  out: to be released with free; id, printed and computed are filled
 * n      out
 * returns 0, -CARM_EINVAL (rows that cannot be placed) or -CARM_ENOMEM */
static int recompute(const struct carm_published *published,
                     struct carm_published_disagreement **found, size_t *n, struct carm_err *err)
{
    struct findings f = {0};
    struct carm_ceilings *l = malloc(sizeof *l);
    int rc = 0;
    *found = NULL;
    *n = 0;
    if (!l) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < published->nmachines && rc == 0; i++) {
        const struct carm_published_machine *m = &published->machines[i];
        check_machine(&f, m, l);
        check_formulas(&f, m);
        for (size_t k = 0; k < m->nresults && rc == 0; k++) {
            rc = check_row(&f, published, m, &m->results[k], l, err);
        }
    }
    if (rc == 0) {
        rc = check_text(published, &f, l, err);
    }
    if (rc == 0 && f.full) {
        rc = carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    free(l);
    if (rc) {
        free(f.items);
        f.items = NULL;
        f.n = 0;
    }
    *found = f.items;
    *n = f.n;
    return rc;
}
