/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/sol/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/opt.h"
#include "models/file/sol/arch.h"
#include "models/file/sol/graph.h"
#include "models/file/sol/open.h"

enum { NUMBER = CARM_TEXT_NUMBER_MAX };

/* ---- numbers ---- */

/* Decimals for four significant digits, without an exponent. */
static int digits(double v)
{
    return v < 9.9995 ? 3 : v < 99.995 ? 2 : v < 999.95 ? 1 : 0;
}

static char *text_time(char *dst, size_t size, double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1.0, "s"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && seconds >= 999.95 * units[i].unit) {
        i++;
    }
    const double v = seconds / units[i].unit;
    if (v >= 1e7 || (v > 0.0 && v < 0.001)) {
        snprintf(dst, size, "%.3g %s", v, units[i].name);
    } else {
        snprintf(dst, size, "%.*f %s", v == 0.0 ? 0 : digits(v), v, units[i].name);
    }
    return dst;
}

static char *text_count(char *dst, size_t size, double count)
{
    if (count < 9999999.5) {
        const bool small = count < 99.95 && count != floor(count);
        snprintf(dst, size, small ? "%.3g" : "%.0f", count);
        return dst;
    }
    carm_text_si(dst, size, count, "");
    const size_t n = strlen(dst);
    if (n > 0 && dst[n - 1] == ' ') {
        dst[n - 1] = '\0';
    }
    return dst;
}

static char *text_ratio(char *dst, size_t size, double v)
{
    if (!isfinite(v)) {
        snprintf(dst, size, "inf");
    } else if (v >= 9999.5) {
        snprintf(dst, size, "%.3g", v);
    } else if (v < 0.001 && v > 0.0) {
        snprintf(dst, size, "%.2g", v);
    } else {
        snprintf(dst, size, "%.*f", v == 0.0 ? 0 : digits(v), v);
    }
    return dst;
}

static char *text_factor(char *dst, size_t size, double v)
{
    if (!isfinite(v)) {
        snprintf(dst, size, "inf");
    } else {
        snprintf(dst, size, v < 9.995 ? "%.2f" : v < 999.5 ? "%.1f" : "%.3g", v);
    }
    return dst;
}

static char *text_bytes(char *dst, size_t size, uint64_t bytes)
{
    if (bytes == 0) {
        snprintf(dst, size, "0");
        return dst;
    }
    return carm_text_bytes(dst, size, bytes);
}

/* ---- advice ---- */

/* Smallest gain that is mentioned. Chosen by hand. */
static const double worth = 1.05;

static void print_gains(const struct carm_sol_view *v)
{
    const struct carm_sol_estimate *unfused = &v->result->models[CARM_SOL_UNFUSED];
    const struct carm_sol_estimate *fused = carm_sol_view_graph(v, CARM_SOL_FUSED);
    const struct carm_sol_estimate *prefetched = carm_sol_view_graph(v, CARM_SOL_PREFETCHED);
    const double fusing = carm_sol_speedup(unfused, fused);
    const double overlap = carm_sol_speedup(fused, prefetched);
    const double small = 100.0 * (worth - 1.0);
    char a[NUMBER], b[NUMBER];
    text_factor(a, sizeof a, fusing);
    text_factor(b, sizeof b, overlap);
    if (fusing >= worth && overlap >= worth) {
        carm_opt_print_wrapped(
            "  ", 2, "Fusing gives at most %sx, prefetching across operations another %sx.", a, b);
    } else if (fusing >= worth) {
        carm_opt_print_wrapped("  ", 2,
                               "Fusing gives at most %sx; prefetching across operations adds less "
                               "than %.0f%%.",
                               a, small);
    } else if (overlap >= worth) {
        carm_opt_print_wrapped("  ", 2,
                               "Prefetching across operations gives at most %sx; fusing alone "
                               "gives less than %.0f%%.",
                               b, small);
    } else {
        carm_opt_print_wrapped("  ", 2, "Neither fusing nor prefetching gains more than %.0f%%.",
                               small);
    }
}

/* Prints advice where memory limits: the largest part of the bytes, and how to reduce it. */
static void print_memory(const struct carm_sol_view *v, const struct carm_sol_estimate *best)
{
    const double all = (double)best->bytes;
    const double elements = (double)best->elements;
    const double weights = elements > 0.0 ? (double)v->analysis->total.weight / elements : 0.0;
    const double spilled = all > 0.0 ? (double)best->spilled_bytes / all : 0.0;
    const double rest = fmax(1.0 - weights - spilled, 0.0);
    const bool known = v->graph || v->analysis->total.weight > 0; /* an analysis may not have it */
    double share = rest;
    const char *what = known ? "model inputs and outputs" : "external tensors";
    const char *remedy = "Narrower elements reduce them.";
    if (weights >= spilled && weights >= rest) {
        share = fmin(weights, 1.0);
        what = "weights";
        remedy = "A larger batch uses each of them more often; narrower weights have fewer bytes.";
    } else if (spilled >= rest) {
        share = spilled;
        what = "spilled intermediates";
        remedy = "A smaller batch, or tiles that fit on the chip, avoid them.";
    }
    carm_opt_print_wrapped(
        "  ", 2, "Memory bandwidth limits even fused+prefetched: %.0f%% of its bytes are %s. %s",
        100.0 * share, what, remedy);
}

static void print_limit(const struct carm_sol_view *v)
{
    const struct carm_sol_estimate *best = carm_sol_view_graph(v, CARM_SOL_PREFETCHED);
    char word[16], macs[NUMBER], other[NUMBER];
    switch (best->bound) {
    case CARM_SOL_BY_MEMORY:
        print_memory(v, best);
        break;
    case CARM_SOL_BY_LEVEL:
        carm_opt_print_wrapped(
            "  ", 2,
            "The bandwidth of %s limits fused+prefetched. Fewer passes over the intermediates, or "
            "blocks that stay closer to the cores, help.",
            carm_text_cut(word, sizeof word, carm_sol_bound_word(v->arch, best), 10, v->ascii));
        break;
    case CARM_SOL_BY_COMPUTE:
        text_count(macs, sizeof macs, best->tc_cycles);
        text_count(other, sizeof other, best->sm_cycles);
        if (best->sm_cycles > best->tc_cycles) {
            carm_opt_print_wrapped("  ", 2,
                                   "Other operations limit fused+prefetched: they take %s cycles, "
                                   "the contractions %s. Only fewer of them help.",
                                   other, macs);
        } else {
            carm_opt_print_wrapped("  ", 2,
                                   "Contractions limit fused+prefetched: they take %s cycles at "
                                   "the peak of %s. Only a narrower precision or fewer of them "
                                   "help.",
                                   macs, carm_sol_precision_name(v->precision));
        }
        break;
    case CARM_SOL_BY_NOTHING:
        carm_opt_print_wrapped("  ", 2, "The graph neither computes nor moves anything.");
        break;
    }
}

static void print_room(const struct carm_sol_view *v)
{
    const struct carm_sol_level *last = carm_sol_last_level(v->arch);
    char alive[NUMBER], spilled[NUMBER], word[16];
    if (!v->result->has_cached || !last || v->result->cached[CARM_SOL_FUSED].spilled_bytes == 0) {
        return;
    }
    carm_opt_print_wrapped(
        "  ", 2,
        "%s is too small for this order of operations: %s of intermediates spill to memory. With "
        "%s nothing would spill.",
        carm_text_cut(word, sizeof word, last->name, 10, v->ascii),
        text_bytes(spilled, sizeof spilled, v->result->cached[CARM_SOL_FUSED].spilled_bytes),
        text_bytes(alive, sizeof alive, v->result->peak_bytes));
}

/* Prints the limit and possible remedies, in a few sentences. */
static void print_advice(const struct carm_sol_view *view)
{
    if (view->result->models[CARM_SOL_UNFUSED].cycles > 0.0) {
        print_gains(view);
    }
    print_limit(view);
    print_room(view);
}

/* ---- estimates ---- */

static const char *const row_names[CARM_SOL_MODELS] = {
    [CARM_SOL_UNFUSED] = "unfused",
    [CARM_SOL_FUSED] = "fused",
    [CARM_SOL_PREFETCHED] = "fused+prefetched",
};

static void print_head(const struct carm_sol_view *v)
{
    char name[CARM_TEXT_MAX], arch[CARM_NAME_MAX], macs[NUMBER], other[NUMBER], ridge[NUMBER],
        mac_ridge[NUMBER], operations[48] = "totals only";
    if (v->graph || v->analysis->operations > 0) {
        snprintf(operations, sizeof operations, "%u operation%s", v->analysis->operations,
                 v->analysis->operations == 1 ? "" : "s");
    }
    printf("%s: %s, %s on %s at %.4g GHz\n",
           carm_text_cut(name, sizeof name, v->name, 40, v->ascii), operations,
           carm_sol_precision_name(v->precision),
           carm_text_cut(arch, sizeof arch, v->arch->name, 40, v->ascii), v->arch->freq_ghz);
    printf("  %s MAC, %s other operations\n  ridge point %s flop/byte (%s MAC/byte)\n",
           text_count(macs, sizeof macs, (double)v->analysis->total.macs),
           text_count(other, sizeof other, (double)v->analysis->total.other),
           text_ratio(ridge, sizeof ridge, v->result->ridge_point),
           text_ratio(mac_ridge, sizeof mac_ridge, v->result->mac_ridge_point));
}

/* One row of either table: the third figure is the compute cycles, or the spilled bytes. */
static void print_row(const struct carm_sol_view *v, enum carm_sol_model model,
                      const struct carm_sol_estimate *e, const char *third)
{
    char bytes[NUMBER], memory[NUMBER], seconds[NUMBER], intensity[NUMBER], speedup[NUMBER],
        bound[16];
    printf("  %-16s %8s %8s %8s %8s %6s %6sx %s\n", row_names[model],
           text_bytes(bytes, sizeof bytes, e->bytes), third,
           text_count(memory, sizeof memory, e->memory_cycles),
           text_time(seconds, sizeof seconds, e->seconds),
           text_ratio(intensity, sizeof intensity, e->intensity),
           text_factor(speedup, sizeof speedup,
                       carm_sol_speedup(&v->result->models[CARM_SOL_UNFUSED], e)),
           carm_text_cut(bound, sizeof bound, carm_sol_bound_word(v->arch, e), 10, v->ascii));
}

static void print_columns(const char *third, const char *of_what)
{
    printf("  %-16s %8s %8s %8s\n", "", "memory", third, "memory");
    printf("  %-16s %8s %8s %8s %8s %6s %7s %s\n", "estimate", "traffic", of_what, "cycles", "time",
           "flop/B", "faster", "limited by");
}

static void print_guide(const struct carm_sol_view *v)
{
    printf("\n");
    print_columns("compute", "cycles");
    for (int i = 0; i < CARM_SOL_MODELS; i++) {
        char compute[NUMBER];
        const struct carm_sol_estimate *e = &v->result->models[i];
        print_row(v, (enum carm_sol_model)i, e,
                  text_count(compute, sizeof compute, e->compute_cycles));
    }
}

/* "SRAM 50 MiB", "L1 64 KiB, L2 2 MiB, L3 32 MiB" */
static void list_levels(const struct carm_sol_view *v, char *dst, size_t size)
{
    *dst = '\0';
    for (size_t i = 0; i < v->arch->nlevels; i++) {
        const struct carm_sol_level *l = &v->arch->levels[i];
        char name[16], capacity[NUMBER];
        carm_text_list(
            dst, size, ", ", "%s %s", carm_text_cut(name, sizeof name, l->name, 10, v->ascii),
            l->capacity ? text_bytes(capacity, sizeof capacity, l->capacity) : "of unknown size");
    }
}

static void print_cached(const struct carm_sol_view *v)
{
    char levels[CARM_SOL_LEVELS_MAX * 48], alive[NUMBER], most[64] = "there are no intermediates";
    if (!v->result->has_cached) {
        return;
    }
    list_levels(v, levels, sizeof levels);
    if (v->result->peak_bytes > 0) {
        snprintf(most, sizeof most, "the intermediates take up to %s at once",
                 text_bytes(alive, sizeof alive, v->result->peak_bytes));
    }
    printf("\n");
    carm_opt_print_wrapped("  ", 2, "With finite storage on the chip: %s; %s", levels, most);
    print_columns("spilled", "bytes");
    for (int i = CARM_SOL_FUSED; i < CARM_SOL_MODELS; i++) {
        char spilled[NUMBER];
        const struct carm_sol_estimate *e = &v->result->cached[i];
        print_row(v, (enum carm_sol_model)i, e,
                  text_bytes(spilled, sizeof spilled, e->spilled_bytes));
    }
}

static const char *design(const struct carm_sol_view *v)
{
    if (v->as_implemented) {
        return "As implemented: each estimate is the larger of compute time and memory time of the "
               "whole graph.";
    }
    if (v->result->whole_graph) {
        return "The file has only totals: each estimate is the larger of compute time and memory time "
               "of the whole graph, as with --as-implemented.";
    }
    return "Intended design: unfused and fused add up the larger of compute time and memory time of "
           "each operation; fused+prefetched is the larger of the two for the whole graph.";
}

enum { REMARKS_MOST = 8 };

/* Prints warnings about the file and about the machine. */
static void print_remarks(const struct carm_sol_view *view)
{
    char text[256];
    uint32_t n = 0;
    for (; carm_sol_view_remark(view, n, text, sizeof text); n++) {
        if (n == 0) {
            printf("\n");
        }
        if (n < REMARKS_MOST) {
            carm_opt_print_wrapped("  ", 2, "%s", text);
        }
    }
    if (n > REMARKS_MOST) {
        carm_opt_print_wrapped("  ", 2, "And %u more of these: --json has all.", n - REMARKS_MOST);
    }
    if (*view->arch->note) {
        printf("\n");
        carm_opt_print_wrapped("  ", 2, "%s: %s", view->arch->name, view->arch->note);
    }
}

void carm_sol_print(const struct carm_sol_view *view)
{
    print_head(view);
    print_advice(view);
    print_guide(view);
    print_cached(view);
    printf("\n");
    carm_opt_print_wrapped(
        "  ", 2, "%s Each time is a lower bound under its row's assumption about memory traffic.",
        design(view));
    print_remarks(view);
}

/* ---- operations ---- */

enum { NAME_COLUMNS = 18, TYPE_COLUMNS = 10, BOUND_COLUMNS = 8 };

struct costly {
    double seconds; /* unfused */
    uint32_t layer;
};

/* Orders operations by time, the longest first; equal ones by their order in the graph. */
static int costliest_first(const void *a, const void *b)
{
    const struct costly *x = a, *y = b;
    if (x->seconds != y->seconds) {
        return (x->seconds < y->seconds) - (x->seconds > y->seconds);
    }
    return (x->layer > y->layer) - (x->layer < y->layer);
}

struct sums {
    double flops, unfused, fused;
    uint64_t bytes;
};

static void add(struct sums *sums, const struct carm_sol_view *v, uint32_t i)
{
    const struct carm_sol_estimate unfused = carm_sol_view_layer(v, i, CARM_SOL_UNFUSED);
    sums->flops += carm_sol_flops(&v->analysis->layers[i]);
    sums->bytes += unfused.bytes;
    sums->unfused += unfused.seconds;
    sums->fused += carm_sol_view_layer(v, i, CARM_SOL_FUSED).seconds;
}

static void print_line(const char *name, const char *type, const struct sums *s, double all,
                       const char *bound)
{
    char flops[NUMBER], bytes[NUMBER], unfused[NUMBER], fused[NUMBER];
    /* columns are counted in characters, printf counts bytes */
    printf("  %s%*s %s%*s %7s %8s %8s %4.0f%% %8s%s%s\n", name,
           NAME_COLUMNS - (int)carm_text_width(name), "", type,
           TYPE_COLUMNS - (int)carm_text_width(type), "", text_count(flops, sizeof flops, s->flops),
           text_bytes(bytes, sizeof bytes, s->bytes),
           text_time(unfused, sizeof unfused, s->unfused),
           all > 0.0 ? 100.0 * s->unfused / all : 0.0, text_time(fused, sizeof fused, s->fused),
           *bound ? "  " : "", bound);
}

static void print_layer(const struct carm_sol_view *v, uint32_t i, double all)
{
    char name[256], type[64], bound[16];
    struct sums s = {0};
    const struct carm_sol_estimate fused = carm_sol_view_layer(v, i, CARM_SOL_FUSED);
    add(&s, v, i);
    carm_text_cut_begin(name, sizeof name, carm_sol_view_layer_name(v, i), NAME_COLUMNS, v->ascii);
    carm_text_cut(type, sizeof type, carm_sol_view_layer_type(v, i), TYPE_COLUMNS, v->ascii);
    print_line(name, type, &s, all,
               carm_text_cut(bound, sizeof bound, carm_sol_bound_word(v->arch, &fused),
                             BOUND_COLUMNS, v->ascii));
}

/* Collects operations that compute or move data. returns their number */
static uint32_t collect(const struct carm_sol_view *v, struct costly *costly, struct sums *all)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < carm_sol_view_layers(v); i++) {
        if (carm_sol_view_works(v, i)) {
            costly[n++] = (struct costly){carm_sol_view_layer(v, i, CARM_SOL_UNFUSED).seconds, i};
            add(all, v, i);
        }
    }
    qsort(costly, n, sizeof *costly, costliest_first);
    return n;
}

static void print_table(const struct carm_sol_view *v, const struct costly *costly, uint32_t n,
                        const struct sums *all, size_t most)
{
    struct sums rest = {0};
    const uint32_t shown = n <= most ? n : (uint32_t)most;
    printf("\n  %-*s %-*s %7s %8s %8s %5s %8s  %s\n", NAME_COLUMNS, "", TYPE_COLUMNS, "", "",
           "unfused", "unfused", "", "fused", "fused:");
    printf("  %-*s %-*s %7s %8s %8s %5s %8s  %s\n", NAME_COLUMNS, "operation", TYPE_COLUMNS, "type",
           "flop", "traffic", "time", "share", "time", "limit");
    for (uint32_t i = 0; i < shown; i++) {
        print_layer(v, costly[i].layer, all->unfused);
    }
    for (uint32_t i = shown; i < n; i++) {
        add(&rest, v, costly[i].layer);
    }
    if (n > shown) {
        char others[48];
        snprintf(others, sizeof others, "%u more", n - shown);
        print_line(others, "", &rest, all->unfused, "");
    }
    print_line("all", "", all, all->unfused, "");
    if (v->result->whole_graph) {
        printf("  The times of the operations add up to more than the time of the whole graph.\n");
    }
}

int carm_sol_print_layers(const struct carm_sol_view *view, size_t most, struct carm_err *err)
{
    const uint32_t layers = carm_sol_view_layers(view);
    struct sums all = {0};
    struct costly *costly = malloc((layers ? layers : 1) * sizeof *costly);
    if (!costly) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a table of %u operations",
                         layers);
    }
    const uint32_t n = collect(view, costly, &all);
    print_table(view, costly, n, &all, most);
    free(costly);
    return 0;
}

/* ---- the built-in files ---- */

static void list_arch(const char *name)
{
    struct carm_sol_arch arch;
    struct carm_err err;
    size_t size = 0;
    const char *text = carm_sol_arch_text(name, &size);
    if (text && carm_sol_arch_parse(text, size, name, &arch, &err) == 0) {
        printf("  %-24s%s, %g GHz, %g byte/cycle of DRAM\n", name, arch.name, arch.freq_ghz,
               arch.dram_byte_per_cycle);
        if (*arch.note) {
            carm_opt_print_wrapped("                          ", 26, "%s", arch.note);
        }
    }
}

/* Prints an example: a graph, else an analysis. */
static void list_example(const char *name)
{
    struct carm_sol_graph *graph = NULL;
    struct carm_sol_analysis *analysis = NULL;
    struct carm_err err;
    size_t size = 0;
    const char *text = carm_sol_example_text(name, &size);
    if (text && carm_sol_graph_parse(text, size, name, &graph, &err) == 0 &&
        carm_sol_analyse(graph, &analysis, &err) == 0) {
        printf("  %-24sgraph of %u operations\n", name, analysis->operations);
    } else {
        printf("  %-24sanalysis: totals only\n", name);
    }
    carm_sol_analysis_close(analysis);
    carm_sol_graph_close(graph);
}

void carm_sol_print_list(void)
{
    printf("Architectures, for --arch:\n");
    for (const char *const *name = carm_sol_arch_names(); *name; name++) {
        list_arch(*name);
    }
    printf("  MODEL.json              a CPU that carm build measured\n\nExamples:\n");
    for (const char *const *name = carm_sol_example_names(); *name; name++) {
        list_example(*name);
    }
}
