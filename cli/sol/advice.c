/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>

#include "cli/opt.h"
#include "cli/sol/print.h"
#include "base/text.h"

/* Gains below this are not worth a word. */
static const double worth = 1.05;

static void print_gains(const struct carm_sol_view *v)
{
    const struct carm_sol_estimate *unfused = &v->result->models[CARM_SOL_UNFUSED];
    const struct carm_sol_estimate *fused = carm_sol_view_graph(v, CARM_SOL_FUSED);
    const struct carm_sol_estimate *prefetched = carm_sol_view_graph(v, CARM_SOL_PREFETCHED);
    const double fusing = carm_sol_speedup(unfused, fused);
    const double overlap = carm_sol_speedup(fused, prefetched);
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    (void)carm_sol_text_factor(a, sizeof a, fusing);
    (void)carm_sol_text_factor(b, sizeof b, overlap);
    if (fusing >= worth && overlap >= worth) {
        carm_opt_print_wrapped("  ", 2,
                               "Fusing is worth %sx at most, prefetching across operations another "
                               "%sx.",
                               a, b);
    } else if (fusing >= worth) {
        carm_opt_print_wrapped("  ", 2,
                               "Fusing is worth %sx at most, prefetching across operations next to "
                               "nothing more.",
                               a);
    } else if (overlap >= worth) {
        carm_opt_print_wrapped("  ", 2,
                               "Fusing is worth next to nothing, prefetching across operations %sx "
                               "at most.",
                               b);
    } else {
        carm_opt_print_wrapped("  ", 2,
                               "Neither fusing nor prefetching is worth more than %.0f%% here.",
                               100.0 * (worth - 1.0));
    }
}

/* Memory limits: which of its bytes are the most, and what makes fewer of them. */
static void print_memory(const struct carm_sol_view *v, const struct carm_sol_estimate *best)
{
    const double all = (double)best->bytes;
    const double elements = (double)best->elements;
    const double weights = elements > 0.0 ? (double)v->analysis->total.weight / elements : 0.0;
    const double spilled = all > 0.0 ? (double)best->spilled_bytes / all : 0.0;
    const double rest = fmax(1.0 - weights - spilled, 0.0);
    if (weights >= spilled && weights >= rest) {
        carm_opt_print_wrapped("  ", 2,
                               "Memory limits fused+prefetched, too: %.0f%% of its bytes are "
                               "weights; a larger batch or narrower weights make less of them.",
                               100.0 * fmin(weights, 1.0));
    } else if (spilled >= rest) {
        carm_opt_print_wrapped(
            "  ", 2,
            "Memory limits fused+prefetched, too: %.0f%% of its bytes are spilled "
            "intermediates; a smaller batch or tiles that fit avoid them.",
            100.0 * spilled);
    } else {
        /* an analysis need not tell the weights */
        const bool told = v->graph || v->analysis->total.weight > 0;
        carm_opt_print_wrapped("  ", 2,
                               "Memory limits fused+prefetched, too: %.0f%% of its bytes are %s; "
                               "narrower elements make less of them.",
                               100.0 * rest,
                               told ? "model inputs and outputs" : "external tensors");
    }
}

static void print_limit(const struct carm_sol_view *v)
{
    const struct carm_sol_estimate *best = carm_sol_view_graph(v, CARM_SOL_PREFETCHED);
    char word[16], macs[CARM_TEXT_NUMBER_MAX], other[CARM_TEXT_NUMBER_MAX];
    switch (best->bound) {
    case CARM_SOL_BY_MEMORY:
        print_memory(v, best);
        break;
    case CARM_SOL_BY_LEVEL:
        carm_opt_print_wrapped(
            "  ", 2,
            "The bandwidth of %s limits fused+prefetched: fewer passes over the "
            "intermediates, or blocks that stay closer to the cores, relieve it.",
            carm_sol_text_cut(word, sizeof word, carm_sol_bound_word(v->arch, best), 10, v->ascii));
        break;
    case CARM_SOL_BY_COMPUTE:
        (void)carm_sol_text_count(macs, sizeof macs, best->tc_cycles);
        (void)carm_sol_text_count(other, sizeof other, best->sm_cycles);
        if (best->sm_cycles > best->tc_cycles) {
            carm_opt_print_wrapped("  ", 2,
                                   "Other operations limit fused+prefetched: %s cycles of them "
                                   "against %s of contractions; only fewer of them help.",
                                   other, macs);
        } else {
            carm_opt_print_wrapped("  ", 2,
                                   "Contractions limit fused+prefetched: %s cycles at the peak of "
                                   "%s; only a narrower precision or fewer of them help.",
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
    char alive[CARM_TEXT_NUMBER_MAX], spilled[CARM_TEXT_NUMBER_MAX], word[16];
    if (!v->result->has_cached || !last || v->result->cached[CARM_SOL_FUSED].spilled_bytes == 0) {
        return;
    }
    carm_opt_print_wrapped(
        "  ", 2,
        "%s is too small for this order of operations: %s are spilled, none would be with %s.",
        carm_sol_text_cut(word, sizeof word, last->name, 10, v->ascii),
        carm_sol_text_bytes(spilled, sizeof spilled,
                            v->result->cached[CARM_SOL_FUSED].spilled_bytes),
        carm_sol_text_bytes(alive, sizeof alive, v->result->peak_bytes));
}

void carm_sol_print_advice(const struct carm_sol_view *view)
{
    if (view->result->models[CARM_SOL_UNFUSED].cycles > 0.0) {
        print_gains(view);
    }
    print_limit(view);
    print_room(view);
}
