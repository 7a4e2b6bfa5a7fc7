/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/sol/print.h"

#include <stdio.h>
#include <string.h>

#include "cli/opt.h"
#include "base/text.h"

enum { SHORT = CARM_TEXT_NUMBER_MAX };

static const char *const row_names[CARM_SOL_MODELS] = {
    [CARM_SOL_UNFUSED] = "unfused",
    [CARM_SOL_FUSED] = "fused",
    [CARM_SOL_PREFETCHED] = "fused+prefetched",
};

static void print_head(const struct carm_sol_view *v)
{
    char name[CARM_TEXT_MAX], arch[CARM_NAME_MAX], macs[SHORT], other[SHORT], ridge[SHORT],
        mac_ridge[SHORT], operations[48] = "totals alone";
    if (v->analysis->operations > 0) {
        (void)snprintf(operations, sizeof operations, "%u operation%s", v->analysis->operations,
                       v->analysis->operations == 1 ? "" : "s");
    }
    (void)printf("%s: %s, %s on %s at %.4g GHz\n",
                 carm_sol_text_cut(name, sizeof name, v->name, 40, v->ascii), operations,
                 carm_sol_precision_name(v->precision),
                 carm_sol_text_cut(arch, sizeof arch, v->arch->name, 40, v->ascii),
                 v->arch->freq_ghz);
    (void)printf("  %s MAC, %s other operations; ridge point %s flop/byte (%s MAC/byte)\n",
                 carm_sol_text_count(macs, sizeof macs, (double)v->analysis->total.macs),
                 carm_sol_text_count(other, sizeof other, (double)v->analysis->total.other),
                 carm_sol_text_ratio(ridge, sizeof ridge, v->result->ridge_point),
                 carm_sol_text_ratio(mac_ridge, sizeof mac_ridge, v->result->mac_ridge_point));
}

/* One row of either table: the third figure is the compute cycles, or the spilled bytes. */
static void print_row(const struct carm_sol_view *v, enum carm_sol_model model,
                      const struct carm_sol_estimate *e, const char *third)
{
    char bytes[SHORT], memory[SHORT], seconds[SHORT], intensity[SHORT], speedup[SHORT], bound[16];
    (void)printf(
        "  %-17s %10s %10s %10s %10s %8s  %-10s %7sx\n", row_names[model],
        carm_sol_text_bytes(bytes, sizeof bytes, e->bytes), third,
        carm_sol_text_count(memory, sizeof memory, e->memory_cycles),
        carm_sol_text_time(seconds, sizeof seconds, e->seconds),
        carm_sol_text_ratio(intensity, sizeof intensity, e->intensity),
        carm_sol_text_cut(bound, sizeof bound, carm_sol_bound_word(v->arch, e), 10, v->ascii),
        carm_sol_text_factor(speedup, sizeof speedup,
                             carm_sol_speedup(&v->result->models[CARM_SOL_UNFUSED], e)));
}

static void print_columns(const char *third, const char *of_what)
{
    (void)printf("  %-17s %10s %10s %10s\n", "", "memory", third, "memory");
    (void)printf("  %-17s %10s %10s %10s %10s %8s  %-10s %8s\n", "estimate", "traffic", of_what,
                 "cycles", "time", "flop/B", "limited by", "speed-up");
}

static void print_guide(const struct carm_sol_view *v)
{
    (void)printf("\n");
    print_columns("compute", "cycles");
    for (int i = 0; i < CARM_SOL_MODELS; i++) {
        char compute[SHORT];
        const struct carm_sol_estimate *e = &v->result->models[i];
        print_row(v, (enum carm_sol_model)i, e,
                  carm_sol_text_count(compute, sizeof compute, e->compute_cycles));
    }
}

/* "SRAM 50 MiB", "L1 64 KiB, L2 2 MiB, L3 32 MiB" */
static void list_levels(const struct carm_sol_view *v, char *dst, size_t size)
{
    *dst = '\0';
    for (size_t i = 0; i < v->arch->nlevels; i++) {
        const struct carm_sol_level *l = &v->arch->levels[i];
        char name[16], capacity[SHORT];
        const size_t used = strlen(dst);
        (void)snprintf(dst + used, size - used, "%s%s %s", used ? ", " : "",
                       carm_sol_text_cut(name, sizeof name, l->name, 10, v->ascii),
                       l->capacity ? carm_sol_text_bytes(capacity, sizeof capacity, l->capacity)
                                   : "of unknown size");
    }
}

static void print_cached(const struct carm_sol_view *v)
{
    char levels[CARM_SOL_LEVELS_MAX * 48], alive[SHORT], most[64] = "there are no intermediates";
    if (!v->result->has_cached) {
        return;
    }
    list_levels(v, levels, sizeof levels);
    if (v->result->peak_bytes > 0) {
        (void)snprintf(most, sizeof most, "intermediates take up to %s at once",
                       carm_sol_text_bytes(alive, sizeof alive, v->result->peak_bytes));
    }
    (void)printf("\n");
    carm_opt_print_wrapped("  ", 2, "Keeping what fits on the chip: %s; %s", levels, most);
    print_columns("spilled", "bytes");
    for (int i = CARM_SOL_FUSED; i < CARM_SOL_MODELS; i++) {
        char spilled[SHORT];
        const struct carm_sol_estimate *e = &v->result->cached[i];
        print_row(v, (enum carm_sol_model)i, e,
                  carm_sol_text_bytes(spilled, sizeof spilled, e->spilled_bytes));
    }
}

static const char *design(const struct carm_sol_view *v)
{
    if (v->as_implemented) {
        return "As implemented: each estimate is the slower of compute and memory of the whole "
               "graph.";
    }
    if (v->result->whole_graph) {
        return "The file has totals alone: each estimate is the slower of compute and memory of the "
               "whole graph, as with --as-implemented.";
    }
    return "Intended design: unfused and fused add up the slower of compute and memory of each "
           "operation, fused+prefetched takes the slower of the two of the whole graph.";
}

void carm_sol_print(const struct carm_sol_view *view)
{
    print_head(view);
    print_guide(view);
    print_cached(view);
    (void)printf("\n");
    carm_opt_print_wrapped(
        "  ", 2, "%s Each time is a lower bound under its assumption about memory traffic.",
        design(view));
}
