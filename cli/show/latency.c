/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/show/latency.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/opt.h"
#include "models/core.h"
#include "models/latency.h"

static void print_levels(const struct carm_show_page *page, const struct carm_model *m)
{
    char size[CARM_TEXT_NUMBER_MAX];
    if (m->nlatency) {
        printf("\nLatency of dependent loads, one thread, idle machine\n"
               "  level  pages          ns   cycles  95%% interval, ns  up to\n");
    }
    for (size_t i = 0; i < m->nlatency; i++) {
        const struct carm_latency *l = &m->latency[i];
        char level[CARM_NAME_MAX];
        char note[CARM_TEXT_MAX];
        if (l->order == CARM_LATENCY_LINES) { /* faster by prefetching, so only in the plot */
            continue;
        }
        carm_text_clean(level, sizeof level, l->level, page->ascii);
        if (!(l->seconds > 0.0)) {
            printf("  %-5s  %-7s  ", level, carm_text_bytes(size, sizeof size, l->page_bytes));
            carm_opt_print_wrapped("", 9, "%s",
                                   carm_text_clean(note, sizeof note, l->note, page->ascii));
            continue;
        }
        printf("  %-5s  %-7s  %9.2f  %7.1f  %7.2f..%-7.2f  ", level,
               carm_text_bytes(size, sizeof size, l->page_bytes), 1e9 * l->seconds, l->cycles,
               1e9 * l->ci95.lo, 1e9 * l->ci95.hi);
        printf("%s%s\n", l->reach_bytes ? carm_text_bytes(size, sizeof size, l->reach_bytes) : "",
               l->disturbed ? " !" : "");
        carm_show_note(page, 9, l->note);
    }
}

static void print_flights(const struct carm_show_page *page, const struct carm_model *m)
{
    if (m->nin_flight) {
        printf("\nLoads in flight, one thread: independent chains until the rate no longer grows\n"
               "  level  loads               1 chain, ns  each, ns  chains  lines in flight\n");
    }
    for (size_t i = 0; i < m->nin_flight; i++) {
        const struct carm_in_flight *f = &m->in_flight[i];
        char level[CARM_NAME_MAX];
        char code[CARM_NAME_MAX];
        char text[CARM_NAME_MAX + 8];
        const bool small = f->page_bytes < 2 << 20;
        carm_text_clean(code, sizeof code, f->code, page->ascii);
        (void)snprintf(text, sizeof text, "%s, 4K", code);
        printf("  %-5s  %-18s  %11.2f  %8.2f  %6d  %15.1f%s\n",
               carm_text_clean(level, sizeof level, f->level, page->ascii), small ? text : code,
               1e9 * f->latency_seconds, 1e9 / f->rate, f->chains, f->lines,
               f->disturbed ? " !" : "");
    }
}

/* Figures in a line, and width of a name. */
enum { IN_LINE = 2, NAME_WIDTH = 19 };

/* Prints "3.0/0.50": latency and throughput, "-" for none. */
static void put_figure(const struct carm_core_figure *f)
{
    char text[32] = "";
    if (f && f->latency > 0.0 && f->throughput > 0.0) {
        (void)snprintf(text, sizeof text, "%.1f/%.2f", f->latency, f->throughput);
    } else if (f && f->latency > 0.0) {
        (void)snprintf(text, sizeof text, "%.1f", f->latency);
    } else if (f && f->throughput > 0.0) {
        (void)snprintf(text, sizeof text, "-/%.2f", f->throughput);
    }
    printf("  %11s", *text ? text : "-");
}

static void print_vectors(const struct carm_model *m)
{
    static const enum carm_core_kind kinds[] = {
        CARM_CORE_FP_ADD, CARM_CORE_FP_MUL, CARM_CORE_FP_FMA, CARM_CORE_FP_DIV, CARM_CORE_FP_SQRT};
    static const char *const isas[] = {"scalar", "sse", "avx2", "avx512"};
    printf("  %-*s", NAME_WIDTH, "dp");
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
        printf("  %11s", isas[k]);
    }
    printf("\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        printf("  %-*s", NAME_WIDTH, carm_core_kind_name(kinds[i]));
        for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
            put_figure(carm_core_find(m, kinds[i], isas[k], "dp"));
        }
        printf("\n");
    }
}

/* Prints the figures of general registers. */
static void print_others(const struct carm_model *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->ncore; i++) {
        const struct carm_core_figure *f = &m->core[i];
        if (*f->isa || strcmp(f->precision, "int32") == 0 ||
            !(f->latency > 0.0 || f->throughput > 0.0)) {
            continue;
        }
        printf("  %-*s", NAME_WIDTH, carm_core_kind_name(f->kind));
        put_figure(f);
        n++;
        if (n % IN_LINE == 0) {
            printf("\n");
        }
    }
    if (n % IN_LINE) {
        printf("\n");
    }
}

/* Prints the figures that change when all hardware threads run. */
static void print_together(const struct carm_model *m)
{
    static const double clearly = 1.15; /* without shared units, on a Zen 4: up to 1.08 */
    size_t measured = 0, slower = 0;
    int threads = 0;
    for (size_t i = 0; i < m->ncore; i++) {
        const double factor = carm_core_together_factor(&m->core[i]);
        measured += factor > 0.0 ? 1 : 0;
        slower += factor > clearly ? 1 : 0;
        threads = factor > 0.0 ? m->core[i].together.threads : threads;
    }
    if (measured == 0) {
        return;
    }
    printf("  All %d hardware threads at once: ", threads);
    if (slower == 0) {
        printf("no figure of %zu is more than 15%% slower\n", measured);
        return;
    }
    printf("%zu of %zu figures %s more than 15%% slower. By how much:\n", slower, measured,
           slower == 1 ? "is" : "are");
    size_t n = 0;
    for (size_t i = 0; i < m->ncore; i++) {
        const struct carm_core_figure *f = &m->core[i];
        const double factor = carm_core_together_factor(f);
        char name[64];
        if (factor > clearly) {
            (void)snprintf(name, sizeof name, "%s%s%.16s", carm_core_kind_name(f->kind),
                           *f->isa ? " " : "", f->isa);
            printf("  %-*s  %11.2f%s", NAME_WIDTH, name, factor, ++n % IN_LINE == 0 ? "\n" : "");
        }
    }
    if (n % IN_LINE) {
        printf("\n");
    }
}

static void print_pairs(const struct carm_model *m)
{
    double least = 0.0;
    double most = 0.0;
    for (size_t i = 0; i < m->ncore_to_core; i++) {
        const double s = m->core_to_core[i].seconds;
        least = i == 0 || s < least ? s : least;
        most = s > most ? s : most;
    }
    if (m->ncore_to_core) {
        char to[32] = "";
        if (m->ncore_to_core > 1) {
            (void)snprintf(to, sizeof to, " to %.0f", 1e9 * most);
        }
        printf("\nA line from core to core: %.0f%s ns, %zu pair%s\n", 1e9 * least, to,
               m->ncore_to_core, m->ncore_to_core == 1 ? "" : "s");
    }
}

/* Prints two lines for each mix: the latency, and below it the bandwidth of streams and chase. */
static void print_loaded(const struct carm_show_page *page, const struct carm_model *m)
{
    enum { POINTS = 9 }; /* in a line */
    char text[16];
    if (m->nloaded) {
        printf("\nLatency beside streaming threads, all %d threads together\n",
               m->loaded[0].threads);
    }
    for (size_t i = 0; i < m->nloaded; i++) {
        const struct carm_loaded *l = &m->loaded[i];
        char mix[CARM_NAME_MAX];
        carm_text_clean(mix, sizeof mix, l->ldst, page->ascii);
        for (size_t from = 0; from < l->npoints; from += POINTS) {
            const size_t end = from + POINTS < l->npoints ? from + POINTS : l->npoints;
            printf("  %-4s  ns  ", from ? "" : mix);
            for (size_t k = from; k < end; k++) {
                printf("%7.0f", 1e9 * l->points[k].seconds);
            }
            printf("\n        GB/s");
            for (size_t k = from; k < end; k++) {
                const struct carm_loaded_point *p = &l->points[k];
                (void)snprintf(text, sizeof text, "%.1f%s", p->bandwidth / 1e9,
                               p->disturbed ? "!" : "");
                printf("%7s", text);
            }
            printf("\n");
        }
    }
}

/* "numa:0", "all" */
static const char *domain(char dst[16], int node)
{
    (void)snprintf(dst, 16, node < 0 ? "all" : "numa:%d", node);
    return dst;
}

static void print_numa(const struct carm_show_page *page, const struct carm_model *m)
{
    if (m->nnuma) {
        printf("\nMemory domains: bandwidth from cache to memory, and latency of dependent loads\n"
               "  cores     memory    threads  bandwidth     latency\n");
    }
    for (size_t i = 0; i < m->nnuma; i++) {
        const struct carm_numa_pair *p = &m->numa[i];
        char a[CARM_TEXT_NUMBER_MAX] = "-", b[32] = "-", from[16], to[16];
        if (p->bandwidth > 0.0) {
            carm_text_si(a, sizeof a, p->bandwidth, "B/s");
        }
        if (p->seconds > 0.0) {
            (void)snprintf(b, sizeof b, "%.0f ns", 1e9 * p->seconds);
        }
        printf("  %-8s  %-8s  %7d  %-12s  %s%s\n", domain(from, p->from), domain(to, p->to),
               p->threads, a, b, p->disturbed ? " !" : "");
        carm_show_note(page, 12, p->note);
    }
}

void carm_show_latency(const struct carm_show_page *page, const struct carm_model *m)
{
    print_levels(page, m);
    print_flights(page, m);
    print_loaded(page, m);
    if (m->ncore) {
        printf("\nInside the core: latency/throughput in cycles (the others: --json)\n");
        print_vectors(m);
        print_others(m);
        print_together(m);
    }
    print_pairs(m);
    print_numa(page, m);
}
