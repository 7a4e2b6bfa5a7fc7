/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statements of the Roofline paper's text against its tables. Each runs where the collection has
 * the claim and the rows for it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/published/check.h"

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
static void compare(const struct carm_published *p, struct carm_findings *f, const char *name,
                    double computed, int decimals, const char *unit)
{
    const double printed = carm_published_claim(p, name);
    if (printed == 0 || fabs(computed - printed) <= 0.5 * pow(10, -decimals) + 1e-9) {
        return;
    }
    struct carm_published_disagreement *d = carm_finding_add(f, "paper/%s", name);
    (void)snprintf(d->printed, sizeof d->printed, "%.*f %s", decimals, printed, unit);
    (void)snprintf(d->computed, sizeof d->computed, "%.*f %s", decimals, computed, unit);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_intensities(const struct carm_published *p, struct carm_findings *f)
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
        struct carm_published_disagreement *d = carm_finding_add(f, "paper/stencil");
        (void)snprintf(d->printed, sizeof d->printed, "%.2f flop/byte", stencil->low);
        (void)snprintf(d->computed, sizeof d->computed, "%.3f flop/byte",
                       carm_published_claim(p, "stencil_flops") / bytes);
    }
}

/* "35 to 55 flops per 8-byte operand": the printed ridge points of the two x86 computers, times 8 */
static void check_operands(const struct carm_published *p, struct carm_findings *f)
{
    const struct carm_published_machine *x4 = machine(p, "opteron-x4"), *xeon = machine(p, "xeon");
    if (x4 && xeon) {
        compare(p, f, "least_flops_per_operand", 8 * carm_published_fact(x4, "ridge"), 0, "flop");
        compare(p, f, "most_flops_per_operand", 8 * carm_published_fact(xeon, "ridge"), 0, "flop");
    }
}

static void put_superlative(struct carm_findings *f, const char *name, const char *claimed,
                            double its, const char *best, double most, const char *unit)
{
    struct carm_published_disagreement *d = carm_finding_add(f, "paper/%s", name);
    (void)snprintf(d->printed, sizeof d->printed, "%s", claimed);
    (void)snprintf(d->computed, sizeof d->computed, "%s %.1f %s, %s %.1f %s", best, most / 1e9,
                   unit, claimed, its / 1e9, unit);
}

/* Which machine has the most of a fact. */
static void check_highest(const struct carm_published *p, struct carm_findings *f, const char *name,
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
static void check_highest_results(const struct carm_published *p, struct carm_findings *f)
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
static void check_chain(const struct carm_published *p, struct carm_findings *f)
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
        struct carm_published_disagreement *d = carm_finding_add(f, "%s/dependent chain", m->name);
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
            c->bounded += carm_printed_height(&res->lower, res->intensity) <= res->performance &&
                          res->performance <= carm_printed_height(&res->upper, res->intensity);
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

static void check_counts(const struct carm_published *p, struct carm_findings *f,
                         const struct counts *c)
{
    const double claimed = carm_published_claim(p, "memory_ceilings_of_x86");
    struct carm_published_disagreement *d;
    if (claimed > 0 &&
        (claimed != (double)c->printed_memory || claimed != (double)c->computed_memory)) {
        d = carm_finding_add(f, "paper/memory_ceilings_of_x86");
        (void)snprintf(d->printed, sizeof d->printed, "%.0f of 16 ceilings are memory bound",
                       claimed);
        (void)snprintf(d->computed, sizeof d->computed, "%zu by table 4's types, %zu computed",
                       c->printed_memory, c->computed_memory);
    }
    const double bounded = carm_published_claim(p, "bounded_rows");
    if (bounded > 0 && bounded != (double)c->bounded) {
        d = carm_finding_add(f, "paper/bounded_rows");
        (void)snprintf(d->printed, sizeof d->printed, "all %.0f", bounded);
        (void)snprintf(d->computed, sizeof d->computed, "%zu of %zu", c->bounded, c->rows);
    }
    static const char *const ids[] = {"fft_of_x86", "fft_of_others"};
    for (size_t i = 0; i < 2; i++) {
        if (c->fft_wrong[i] > 0) {
            d = carm_finding_add(f, "paper/%s", ids[i]);
            (void)snprintf(d->printed, sizeof d->printed, "both ceilings %s",
                           claim_text(p, ids[i]));
            memcpy(d->computed, c->fft[i], sizeof d->computed);
        }
    }
}

/* "the same peak memory bandwidth" of two generations (section 3) */
static void check_same_bandwidth(const struct carm_published *p, struct carm_findings *f)
{
    const struct carm_published_machine *x2 = machine(p, "opteron-x2"),
                                        *x4 = machine(p, "opteron-x4");
    if (!x2 || !x4 || x2->memory.n == 0 || x4->memory.n == 0) {
        return;
    }
    const double a = x2->memory.list[x2->memory.n - 1].rate,
                 b = x4->memory.list[x4->memory.n - 1].rate;
    if (fabs(a - b) > 0.05e9) {
        struct carm_published_disagreement *d = carm_finding_add(f, "paper/same_bandwidth");
        (void)snprintf(d->printed, sizeof d->printed, "%s", "the X4 has the X2's memory bandwidth");
        (void)snprintf(d->computed, sizeof d->computed, "X2 %.1f GB/s, X4 %.1f GB/s", a / 1e9,
                       b / 1e9);
    }
}

int carm_published_check_text(const struct carm_published *published,
                              struct carm_findings *findings, struct carm_ceilings *ceilings,
                              struct carm_err *err)
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
