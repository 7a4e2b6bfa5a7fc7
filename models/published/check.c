/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a paper prints against what its other figures give: tables and rows. The statements of its
 * text are in published_claims.c. */
#include "models/published/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct carm_published_disagreement *carm_finding_add(struct carm_findings *f, const char *fmt, ...)
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

int carm_finding_decimals(double v)
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
static void check_quotient(struct carm_findings *f, const struct carm_published_machine *m,
                           const struct carm_published_result *res)
{
    const double quotient = res->performance / res->bandwidth;
    if (fabs(quotient - res->intensity) <= 0.005) {
        return;
    }
    const bool explained =
        rounding_explains(res->performance / 1e9, res->bandwidth / 1e9, res->intensity);
    struct carm_published_disagreement *d =
        carm_finding_add(f, "%s/%s/intensity", m->name, res->kernel);
    (void)snprintf(d->printed, sizeof d->printed, "%.2f flop/byte", res->intensity);
    (void)snprintf(d->computed, sizeof d->computed, "%.1f / %.1f = %.3f flop/byte; %s",
                   res->performance / 1e9, res->bandwidth / 1e9, quotient,
                   explained ? "within the rounding of the printed rates"
                             : "beyond the rounding of the printed rates");
}

static void check_range(struct carm_findings *f, const struct carm_published *p,
                        const struct carm_published_machine *m,
                        const struct carm_published_result *res)
{
    const struct carm_published_kernel *k = carm_published_kernel(p, res->kernel);
    if (!k || (res->intensity >= k->low && res->intensity <= k->high)) {
        return;
    }
    struct carm_published_disagreement *d =
        carm_finding_add(f, "%s/%s/range", m->name, res->kernel);
    (void)snprintf(d->printed, sizeof d->printed, "%.2f to %.2f flop/byte (table 2)", k->low,
                   k->high);
    (void)snprintf(d->computed, sizeof d->computed, "%.2f flop/byte (table 4)", res->intensity);
}

double carm_printed_height(const struct carm_published_bound *c, double intensity)
{
    return c->flops ? c->value : c->value * intensity;
}

/* Whether the achieved performance lies between the ceilings as printed. */
static void check_bound(struct carm_findings *f, const struct carm_published_machine *m,
                        const struct carm_published_result *res)
{
    const double low = carm_printed_height(&res->lower, res->intensity);
    const double high = carm_printed_height(&res->upper, res->intensity);
    if (low <= res->performance && res->performance <= high) {
        return;
    }
    struct carm_published_disagreement *d =
        carm_finding_add(f, "%s/%s/bound", m->name, res->kernel);
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
                   carm_printed_height(c, intensity) / 1e9);
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
static void check_value(struct carm_findings *f, const struct carm_published_machine *m,
                        const struct carm_published_result *res, const struct carm_ceilings *l,
                        const struct carm_published_bound *c)
{
    const struct carm_ceiling *list = c->flops ? l->compute : l->memory;
    const size_t n = c->flops ? l->ncompute : l->nmemory;
    const char *unit = c->flops ? "Gflop/s" : "GB/s";
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, c->name) == 0 && fabs(list[i].rate - c->value) > 0.05e9) {
            struct carm_published_disagreement *d =
                carm_finding_add(f, "%s/%s/%s value", m->name, res->kernel, c->name);
            (void)snprintf(d->printed, sizeof d->printed, "%.1f %s", c->value / 1e9, unit);
            (void)snprintf(d->computed, sizeof d->computed, "%.1f %s", list[i].rate / 1e9, unit);
        }
    }
}

/* One side of a row: the ceiling that lies there, its name, its value and its type. */
static void check_side(struct carm_findings *f, const struct carm_published_machine *m,
                       const struct carm_published_result *res, const struct carm_ceilings *l,
                       const struct carm_published_bound *c, const struct carm_ceiling_around *s)
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
        carm_finding_add(f, "%s/%s/%s %s", m->name, res->kernel, side, what);
    put_printed(c, res->intensity, d->printed, sizeof d->printed);
    put_computed(l, s, d->computed, sizeof d->computed);
}

static int check_row(struct carm_findings *f, const struct carm_published *p,
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
    check_side(f, m, res, l, &res->upper, &upper);
    check_side(f, m, res, l, &res->lower, &lower);
    return 0;
}

/* A.1.3 and A.1.4 against the ceilings: the peak of SIMD multiplications and additions together, or of
 * scalar instructions one by one; a share of the issued instructions. */
static void check_formulas(struct carm_findings *f, const struct carm_published_machine *m)
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
                carm_finding_add(f, "%s/%s formula", m->name, ceiling->name);
            (void)snprintf(d->printed, sizeof d->printed, "%.1f Gflop/s", ceiling->rate / 1e9);
            (void)snprintf(d->computed, sizeof d->computed, "%.2f Gflop/s by %s", formula / 1e9,
                           share ? "A.1.4" : "A.1.3");
        }
    }
}

/* Facts of a machine against its roofs. */
static void check_machine(struct carm_findings *f, const struct carm_published_machine *m,
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
    const int decimals = carm_finding_decimals(printed);
    if (printed > 0 && fabs(ridge - printed) > 0.5 * pow(10, -decimals)) {
        d = carm_finding_add(f, "%s/ridge", m->name);
        (void)snprintf(d->printed, sizeof d->printed, "%.*f flop/byte", decimals, printed);
        (void)snprintf(d->computed, sizeof d->computed, "%.1f / %.1f = %.2f flop/byte",
                       peak->rate / 1e9, slope->rate / 1e9, ridge);
    }
    if (stream > 0 && fabs(stream - slope->rate) > 0.05e9) {
        d = carm_finding_add(f, "%s/stream", m->name);
        (void)snprintf(d->printed, sizeof d->printed, "%.1f GB/s (table 1)", stream / 1e9);
        (void)snprintf(d->computed, sizeof d->computed, "%.1f GB/s (table 4, %s)",
                       slope->rate / 1e9, slope->name);
    }
    if (top > 0 && fabs(top - peak->rate) > 0.5e9) {
        d = carm_finding_add(f, "%s/peak", m->name);
        (void)snprintf(d->printed, sizeof d->printed, "%.1f Gflop/s", top / 1e9);
        (void)snprintf(d->computed, sizeof d->computed, "%.1f Gflop/s", peak->rate / 1e9);
    }
}

int carm_published_check(const struct carm_published *published,
                         struct carm_published_disagreement **found, size_t *n,
                         struct carm_err *err)
{
    struct carm_findings f = {0};
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
        rc = carm_published_check_text(published, &f, l, err);
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
