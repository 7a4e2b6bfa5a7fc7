/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/show/details.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/opt.h"
#include "models/scaling.h"
#include "models/ceilings.h"
#include "models/validation.h"
#include "plots/terminal.h"

static const char *size_or_dash(char *dst, size_t size, uint64_t bytes)
{
    return bytes ? carm_text_bytes(dst, size, bytes) : "-";
}

/* Prints the machine of another tool's file, which has few facts about it. */
static void print_foreign(const struct carm_show_page *page, const struct carm_model *m)
{
    printf("Roofs of ");
    carm_show_put(page, 0, m->roofs_of);
    printf(" on ");
    carm_show_put(page, 0, carm_machine_host(&m->machine));
    if (*m->created) {
        printf("\n  measured ");
        carm_show_put(page, 0, m->created);
    }
    printf("\n  mix      ");
    carm_show_put(page, 0, m->config.ldst);
    printf(" loads to stores; its file has no intervals, clocks and working sets\n");
}

void carm_show_machine(const struct carm_show_page *page, const struct carm_model *m)
{
    enum { IN_LINE = 3 }; /* caches */
    const struct carm_machine *mc = &m->machine;
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], c[CARM_TEXT_NUMBER_MAX];
    char place[256];
    if (*m->roofs_of) {
        print_foreign(page, m);
        return;
    }
    printf("Cache-aware roofline model of ");
    carm_show_put(page, 0, carm_machine_host(mc));
    printf("%s\n  CPU      ", carm_machine_place(place, sizeof place, mc));
    carm_show_put(page, 0, *mc->cpu ? mc->cpu : "unknown");
    printf("\n  usable   %d core%s, %d thread%s, %s memory, %s pages, TSC %s\n", mc->cores,
           mc->cores == 1 ? "" : "s", mc->threads, mc->threads == 1 ? "" : "s",
           carm_text_bytes(a, sizeof a, mc->memory_bytes),
           carm_text_bytes(b, sizeof b, mc->page_bytes),
           carm_text_si(c, sizeof c, mc->tsc_hz, "Hz"));
    if (*mc->hypervisor) {
        printf("  virtual  ");
        carm_show_put(page, 0, mc->hypervisor);
        printf("\n");
    }
    printf("  caches   ");
    for (size_t i = 0; i < mc->ncaches; i++) {
        printf("%sL%d %s / %d thread%s",
               !i            ? ""
               : i % IN_LINE ? ", "
                             : ",\n           ",
               mc->caches[i].level, carm_text_bytes(a, sizeof a, mc->caches[i].size_bytes),
               mc->caches[i].shared_by, mc->caches[i].shared_by == 1 ? "" : "s");
    }
    printf("%s\n  measured ", mc->ncaches ? "" : "none reported");
    carm_show_put(page, 0, m->created);
    printf(" by carm ");
    carm_show_put(page, 0, m->carm_version);
    if (*m->carm_commit) {
        printf(" (");
        carm_show_put(page, 0, m->carm_commit);
        printf(")");
    }
    printf(",\n           median of %llu repetitions%s\n  mix      ",
           (unsigned long long)m->config.reps, m->config.quick ? ", --quick" : "");
    carm_show_put(page, 0, m->config.ldst);
    printf(" loads to stores is the model's mix; other mixes are ceilings\n");
}

void carm_show_levels(const struct carm_show_page *page, const struct carm_model *m)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    carm_show_heading(page, "Memory levels");
    printf("  level      OS size   measured knee\n");
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_level *l = &m->levels[i];
        const char *knee = l->resolved ? size_or_dash(b, sizeof b, l->knee_bytes) : "unresolved";
        printf("  ");
        carm_show_put(page, 6, l->level);
        printf("  %10s  %14s", size_or_dash(a, sizeof a, l->os_size_bytes), knee);
        printf("\n");
        carm_show_note(page, 6, l->note);
    }
}

/* "±1.23%", or "not known". returns dst */
static char *interval_text(const struct carm_show_page *page, char *dst, size_t size, int decimals,
                           double value, struct carm_ci ci)
{
    const double percent = carm_show_interval_percent(value, ci);
    if (percent > 100.0 * CARM_NOT_KNOWN) {
        snprintf(dst, size, "not known");
    } else {
        snprintf(dst, size, "%s%.*f%%", page->plus_minus, decimals, percent);
    }
    return dst;
}

/* The interval, right-aligned, with the mark of a disturbed point before it. */
static void print_interval(const struct carm_show_page *page, double value, struct carm_ci ci,
                           bool disturbed)
{
    char interval[CARM_TEXT_NUMBER_MAX];
    char text[CARM_TEXT_NUMBER_MAX + 2];
    snprintf(text, sizeof text, "%s%s", disturbed ? "! " : "",
             interval_text(page, interval, sizeof interval, 2, value, ci));
    if (page->foreign) {
        snprintf(text, sizeof text, "-");
    }
    carm_show_put(page, -9, text);
}

/* Width of the mixes' column: "2:1update" needs more than usual mixes. */
static int mix_width(const struct carm_roofs *r)
{
    int wide = 6;
    for (size_t i = 0; i < r->nmemory; i++) {
        const int width = (int)carm_text_width(r->memory[i].ldst);
        wide = width > wide ? width : wide;
    }
    return wide;
}

/* True when the tables have room for their last column, the test codes. */
static bool has_room_for_codes(const struct carm_show_page *page, const struct carm_roofs *r,
                               bool ceilings)
{
    const int before = ceilings ? 79 : 56 + mix_width(r); /* columns of the widest table */
    size_t widest = 0;
    for (size_t i = 0; i < r->nmemory + r->ncompute + (ceilings ? r->nceilings : 0); i++) {
        const char *code = i < r->nmemory ? r->memory[i].code
                           : i < r->nmemory + r->ncompute
                               ? r->compute[i - r->nmemory].code
                               : r->ceilings[i - r->nmemory - r->ncompute].code;
        const size_t width = carm_text_width(code);
        widest = width > widest ? width : widest;
    }
    return before + (int)widest <= page->columns;
}

static void print_without_codes(void)
{
    printf("  test codes are shown on a wider terminal, in a pipe, and by --json\n");
}

/* Whether the DRAM peak, the bandwidth of one of the codes, is disturbed. */
static bool is_peak_disturbed(const struct carm_roofs *r)
{
    bool disturbed = false;
    for (size_t i = 0; i < r->nmemory; i++) {
        const struct carm_memory_roof *x = &r->memory[i];
        disturbed = disturbed || (x->disturbed && strcmp(x->level, "DRAM") == 0 &&
                                  strcmp(x->code, r->dram_peak.code) == 0);
    }
    return disturbed;
}

static void print_memory(const struct carm_show_page *page, const struct carm_model *m,
                         const struct carm_roofs *r, bool codes)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    const int wide = mix_width(r);
    if (r->nmemory) {
        printf("  level   %-*s    bandwidth   95%% CI%s%s\n", wide, "mix",
               page->foreign ? "" : "  B/cycle  working set",
               codes && !page->foreign ? "  test code" : "");
    }
    for (size_t i = 0; i < r->nmemory; i++) {
        const struct carm_memory_roof *x = &r->memory[i];
        size_t level = 0;
        while (level < m->nlevels && strcmp(m->levels[level].level, x->level) != 0) {
            level++;
        }
        bool model = page->colour && strcmp(x->ldst, m->config.ldst) == 0;
        printf("  %s", model ? carm_draw_colour(level) : "");
        carm_show_put(page, 6, x->level);
        printf("%s  ", model ? "\033[0m" : "");
        carm_show_put(page, wide, x->ldst);
        printf(" %12s", carm_text_si(a, sizeof a, x->bandwidth, "B/s"));
        print_interval(page, x->bandwidth, x->ci95, x->disturbed);
        if (page->foreign) {
            printf("\n");
            continue;
        }
        printf("  %7.2f  %11s%s", x->bytes_per_cycle,
               carm_text_bytes(b, sizeof b, x->working_set_bytes), codes ? "  " : "");
        carm_show_put(page, 0, codes ? x->code : "");
        printf("\n");
    }
    if (r->dram_peak.bandwidth > 0) {
        char code[CARM_NAME_MAX];
        carm_opt_print_wrapped("  ", 4, "DRAM peak of the original model: %s%s%s%s",
                               carm_text_si(a, sizeof a, r->dram_peak.bandwidth, "B/s"),
                               is_peak_disturbed(r) ? "!" : "", page->foreign ? "" : ", test code ",
                               carm_text_clean(code, sizeof code, r->dram_peak.code, page->ascii));
    }
}

static void print_compute(const struct carm_show_page *page, const struct carm_roofs *r, bool codes)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char head[24] = "";
    if (!page->foreign) {
        snprintf(head, sizeof head, "  %4s/cycle", carm_precision_operation(r->precision));
    }
    if (r->ncompute) {
        printf("  op             performance   95%% CI%s%s\n", head,
               codes && !page->foreign ? "          test code" : "");
    }
    for (size_t i = 0; i < r->ncompute; i++) {
        const struct carm_compute_roof *x = &r->compute[i];
        printf("  ");
        carm_show_put(page, 8, x->op);
        printf("  %15s", carm_text_si(a, sizeof a, x->rate, carm_precision_rate(r->precision)));
        print_interval(page, x->rate, x->ci95, x->disturbed);
        if (page->foreign) {
            printf("\n");
            continue;
        }
        printf("  %10.2f%s", x->flops_per_cycle, codes ? "            " : "");
        carm_show_put(page, 0, codes ? x->code : "");
        printf("\n");
    }
}

/* Prints how the set was counted: the distinct values of its roofs. */
static void print_counted(const struct carm_show_page *page, const struct carm_roofs *r)
{
    const char *seen[4];
    size_t nseen = 0, n = r->nmemory + r->ncompute;
    for (size_t i = 0; i < n && nseen < sizeof seen / sizeof *seen && !page->foreign; i++) {
        const char *by =
            i < r->nmemory ? r->memory[i].counted_by : r->compute[i - r->nmemory].counted_by;
        size_t k = 0;
        while (k < nseen && strcmp(seen[k], by) != 0) {
            k++;
        }
        if (k == nseen) {
            seen[nseen++] = by;
        }
    }
    for (size_t k = 0; k < nseen; k++) {
        printf(k ? ", " : "  bytes and %ss counted: ", carm_precision_operation(r->precision));
        carm_show_put(page, 0, seen[k]);
    }
    if (nseen) {
        printf("; B/cycle and %s/cycle are per core\n", carm_precision_operation(r->precision));
    }
}

/* "  rounds   16 to 48 of each roof, on 3 days: quiet 83%, threads on one core 17%" */
static void print_rounds(const struct carm_roofs *r)
{
    struct carm_rounds_summary s;
    char line[512] = "";
    carm_roofs_summarize(r, &s);
    if (s.most == 0) {
        return;
    }
    for (int i = 0; i < CARM_STATE_COUNT; i++) {
        if (s.shares[i] > 0.0) {
            carm_text_list(line, sizeof line, ", ", "%s %.0f%%",
                           carm_state_name((enum carm_state)i), fmax(1.0, 100.0 * s.shares[i]));
        }
    }
    char most[32] = "";
    if (s.most > s.least) {
        snprintf(most, sizeof most, " to %zu", s.most);
    }
    carm_opt_print_wrapped("  ", 4,
                           "made of %zu%s rounds each, on %d day%s; state of the machine: %s",
                           s.least, most, s.days, s.days == 1 ? "" : "s", line);
}

static void print_note(const struct carm_show_page *page, bool disturbed, const char *what,
                       const char *kind, const char *note)
{
    if (!disturbed && !*note) {
        return;
    }
    char text[2 * CARM_TEXT_MAX], clean[sizeof text];
    snprintf(text, sizeof text, "%s%s%s%s%s", what, *kind ? " " : "", kind, *note ? ": " : "",
             note);
    carm_opt_print_wrapped("  ", 4, "%s %s", disturbed ? "! disturbed," : "note,",
                           carm_text_clean(clean, sizeof clean, text, page->ascii));
}

static void print_notes(const struct carm_show_page *page, const struct carm_roofs *r)
{
    for (size_t i = 0; i < r->nmemory; i++) {
        print_note(page, r->memory[i].disturbed, r->memory[i].level, r->memory[i].ldst,
                   r->memory[i].note);
    }
    for (size_t i = 0; i < r->ncompute; i++) {
        print_note(page, r->compute[i].disturbed, r->compute[i].op, "", r->compute[i].note);
    }
}

/* Prints the ridge points I = F / B of each level's best roof of all ISAs and each operation's roof. */
static void print_ridges(const struct carm_show_page *page, const struct carm_model *m,
                         const struct carm_select *sel, const struct carm_roofs *r)
{
    bool head = false;
    const struct carm_roofs *whose = r;
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_memory_roof *x =
            carm_roofs_find_memory(r, m->levels[i].level, m->config.ldst)
                ? carm_select_best_memory(sel, m, r, m->levels[i].level, &whose)
                : NULL;
        if (!x || r->ncompute == 0) {
            continue;
        }
        if (!head) {
            printf("  ridge points at ");
            carm_show_put(page, 0, m->config.ldst);
            printf(", %s/byte:\n         ", carm_precision_operation(r->precision));
            for (size_t k = 0; k < r->ncompute; k++) {
                carm_show_put(page, -10, r->compute[k].op);
            }
            printf("\n");
            head = true;
        }
        printf("  ");
        carm_show_put(page, 6, x->level);
        printf(" ");
        for (size_t k = 0; k < r->ncompute; k++) {
            printf("%10.4g", r->compute[k].rate / x->bandwidth);
        }
        printf("\n");
    }
}

/* ---- ceilings ---- */

static const char *unit_of(enum carm_ceiling_group group)
{
    return group == CARM_CEILING_MEMORY || group == CARM_CEILING_TRAFFIC ? "B/s" : "flop/s";
}

static const char *title_of(enum carm_ceiling_group group)
{
    static const char *const titles[CARM_CEILING_GROUP_COUNT] = {
        [CARM_CEILING_IN_CORE] = "in-core: parallelism and balance",
        [CARM_CEILING_MIX] = "mix: share of floating point among instructions",
        [CARM_CEILING_MEMORY] = "memory: traffic with one optimisation less",
        [CARM_CEILING_BUSY] = "busy: some of the threads compute",
        [CARM_CEILING_TRAFFIC] = "traffic: some of the threads load",
    };
    return titles[group];
}

static void print_ceiling(const struct carm_show_page *page, const struct carm_roofs *roofs,
                          const struct carm_ceiling_roof *c, bool codes)
{
    char interval[CARM_TEXT_NUMBER_MAX];
    char number[CARM_TEXT_NUMBER_MAX];
    char gap[64] = "";
    const char *by = "";
    printf("    ");
    carm_show_put(page, 16, c->name);
    if (!(c->rate > 0.0)) {
        char note[CARM_TEXT_MAX];
        carm_opt_print_wrapped("              -  ", 6, "%s",
                               carm_text_clean(note, sizeof note, c->note, page->ascii));
        return;
    }
    const double times = carm_ceiling_gap(roofs, c, &by);
    if (times > 0.0) {
        snprintf(gap, sizeof gap, "x%.2f by %s", times, by);
    }
    printf(" %14s  %s%s  ", carm_text_si(number, sizeof number, c->rate, unit_of(c->group)),
           c->disturbed ? "! " : "  ",
           interval_text(page, interval, sizeof interval, 2, c->rate, c->ci95));
    carm_show_put(page, codes ? 27 : 0, gap);
    printf("%s", codes ? "  " : "");
    carm_show_put(page, 0, codes ? c->code : "");
    printf("\n");
    carm_show_note(page, 6, c->note);
}

static void print_group(const struct carm_show_page *page, const struct carm_roofs *roofs,
                        enum carm_ceiling_group group, bool codes)
{
    bool head = false;
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == group) {
            if (!head) {
                printf("    %s\n", title_of(group));
                head = true;
            }
            print_ceiling(page, roofs, c, codes);
        }
    }
}

static void put_chain(const char *head, const struct carm_ceiling *list, size_t n, const char *unit)
{
    char line[1536] = "";
    char number[CARM_TEXT_NUMBER_MAX];
    for (size_t i = 0; i < n; i++) {
        if (!list[i].aside) {
            carm_text_list(line, sizeof line, " < ", "%s (%s)", list[i].name,
                           carm_text_si(number, sizeof number, list[i].rate, unit));
        }
    }
    if (*line) {
        carm_opt_print_wrapped(head, 6, "%s", line);
    }
}

/* Prints the ceilings in the order in which the paper breaks through them, without ceilings that cost nothing here. */
static void put_chains(const struct carm_model *model, const struct carm_roofs *roofs)
{
    struct carm_ceilings top;
    struct carm_ceilings bottom;
    if (carm_ceilings_of_roofs(model, roofs, CARM_BALANCE_TOP, &top, NULL) ||
        carm_ceilings_of_roofs(model, roofs, CARM_BALANCE_BOTTOM, &bottom, NULL)) {
        return;
    }
    put_chain("    in order, balance on top: ", top.compute, top.ncompute, "flop/s");
    put_chain("    in order, balance at the bottom: ", bottom.compute, bottom.ncompute, "flop/s");
    put_chain("    in order, memory: ", top.memory, top.nmemory, "B/s");
}

static void print_ceilings(const struct carm_show_page *page, const struct carm_model *model,
                           const struct carm_roofs *roofs, bool codes)
{
    if (roofs->nceilings == 0) {
        return;
    }
    printf("  ceilings                 rate    95%% CI  to the next one%s\n",
           codes ? "               test code" : "");
    for (int g = 0; g < CARM_CEILING_GROUP_COUNT; g++) {
        print_group(page, roofs, (enum carm_ceiling_group)g, codes);
    }
    put_chains(model, roofs);
}

/* ---- one set of roofs ---- */

static void print_faster(const struct carm_show_page *page, const char *roof, const char *by,
                         const char *rate)
{
    char text[4 * CARM_NAME_MAX], clean[sizeof text];
    snprintf(text, sizeof text, "%s: %s is faster", roof, by);
    carm_opt_print_wrapped("  ", 4, "%s: %s is the roof that carm plot and carm place take",
                           carm_text_clean(clean, sizeof clean, text, page->ascii), rate);
}

/* Prints roofs of narrower vectors that are faster than the set's: they are the set's roofs. */
static void print_narrower(const struct carm_show_page *page, const struct carm_model *m,
                           const struct carm_select *sel, const struct carm_roofs *r)
{
    char rate[CARM_TEXT_NUMBER_MAX];
    const struct carm_roofs *whose = r;
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_memory_roof *x =
            carm_select_best_memory(sel, m, r, m->levels[i].level, &whose);
        if (x && whose != r) {
            print_faster(page, x->level, whose->isa,
                         carm_text_si(rate, sizeof rate, x->bandwidth, "B/s"));
        }
    }
    const struct carm_compute_roof *peak = carm_select_best_peak(sel, m, r, &whose);
    if (peak && whose != r) {
        char op[2 * CARM_NAME_MAX];
        snprintf(op, sizeof op, "%s %s", whose->isa, peak->op);
        print_faster(
            page, "peak", op,
            carm_text_si(rate, sizeof rate, peak->rate, carm_precision_rate(r->precision)));
    }
}

static void print_set(const struct carm_show_page *page, const struct carm_model *m,
                      const struct carm_select *sel, const struct carm_roofs *r, bool ceilings)
{
    const bool codes = has_room_for_codes(page, r, ceilings && r->nceilings);
    print_memory(page, m, r, codes);
    print_compute(page, r, codes);
    print_narrower(page, m, sel, r);
    print_ridges(page, m, sel, r);
    if (ceilings) {
        print_ceilings(page, m, r, codes);
    }
    print_counted(page, r);
    print_rounds(r);
    if (!codes) {
        print_without_codes();
    }
    print_notes(page, r);
}

static void print_set_name(const struct carm_show_page *page, const struct carm_roofs *r)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char latency[48] = "";
    char threads[CARM_NAME_MAX + 32];
    if (r->core_to_core_seconds > 0) {
        snprintf(latency, sizeof latency, ", core-to-core latency %.0f ns",
                 1e9 * r->core_to_core_seconds);
    }
    carm_show_heading(
        page, "%s %s, %s%s%s%s", r->isa, r->precision,
        carm_roofs_threads(threads, sizeof threads, r), r->clock_hz > 0.0 ? ", core clock " : "",
        r->clock_hz > 0.0 ? carm_text_si(a, sizeof a, r->clock_hz, "Hz") : "", latency);
}

void carm_show_roofs(const struct carm_show_page *page, const struct carm_model *m,
                     const struct carm_select *sel, bool ceilings)
{
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        if (carm_select_has(sel, r->isa, r->threads)) {
            print_set_name(page, r);
            print_set(page, m, sel, r, ceilings);
        }
    }
}

void carm_show_ceilings(const struct carm_show_page *page, const struct carm_model *m,
                        const struct carm_select *sel)
{
    bool any = false;
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        if (r->nceilings && carm_select_has(sel, r->isa, r->threads)) {
            const bool codes = has_room_for_codes(page, r, true);
            print_set_name(page, r);
            print_ceilings(page, m, r, codes);
            if (!codes) {
                print_without_codes();
            }
            any = true;
        }
    }
    if (!any) {
        printf("\nNo ceilings: carm build --ceilings measures them.\n");
    }
}

void carm_show_curves(const struct carm_show_page *page, const struct carm_model *m,
                      const struct carm_select *sel)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char interval[CARM_TEXT_NUMBER_MAX];
    char b[CARM_TEXT_NUMBER_MAX];
    for (size_t i = 0; i < m->ncurves; i++) {
        const struct carm_curve *c = &m->curves[i];
        if (!carm_select_has(sel, c->isa, c->threads)) {
            continue;
        }
        carm_show_heading(page, "%s %s %s, %d thread%s: bandwidth over working set", c->isa,
                          c->precision, c->kind, c->threads, c->threads == 1 ? "" : "s");
        for (size_t k = 0; k < c->npoints; k++) {
            const struct carm_curve_point *p = &c->points[k];
            printf("  %10s  %12s  %s%s\n", carm_text_bytes(a, sizeof a, (uint64_t)p->x),
                   carm_text_si(b, sizeof b, p->value, "B/s"),
                   interval_text(page, interval, sizeof interval, 1, p->value, p->ci95),
                   p->disturbed ? " !" : "");
        }
    }
    if (m->ncurves == 0) {
        printf("\nNo curves: carm build measures them, another tool's roofs have none.\n");
    }
}

void carm_show_scaling(const struct carm_show_page *page, const struct carm_model *m)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char interval[CARM_TEXT_NUMBER_MAX];
    for (size_t i = 0; i < m->nscaling; i++) {
        const struct carm_scaling *c = &m->scaling[i];
        const char *unit =
            strcmp(c->level, CARM_SCALING_PEAK) == 0 ? carm_precision_rate(c->precision) : "B/s";
        carm_show_heading(page, "%s %s %s %s over threads, %s", c->isa, c->precision, c->level,
                          c->kind, c->layout);
        for (size_t k = 0; k < c->npoints; k++) {
            const struct carm_scaling_point *p = &c->points[k];
            printf("  %10d  %12s  %s%s\n", p->threads, carm_text_si(a, sizeof a, p->rate, unit),
                   interval_text(page, interval, sizeof interval, 1, p->rate, p->ci95),
                   p->disturbed ? " !" : "");
        }
    }
}

/* ---- validation ---- */

/* Prints one model's fitness on every level. beside: against roofs of the same rounds */
static void print_score(const struct carm_show_page *page, const struct carm_model *m,
                        const struct carm_validation *like, bool beside)
{
    printf("    ");
    carm_show_put_cut(page, 24, beside ? "  paired" : like->model);
    for (size_t l = 0; l <= m->nlevels; l++) {
        const struct carm_validation *v =
            carm_validation_find_score(m, &like->set, like->model, carm_validation_level(m, l));
        const double fitness = !v ? 0.0 : beside ? v->fitness_beside : v->fitness;
        if (fitness > 0.0) {
            printf("%8.2f%%", fitness);
        } else {
            printf("%9s", "-");
        }
    }
    printf("\n");
}

void carm_show_validation(const struct carm_show_page *page, const struct carm_model *m,
                          const struct carm_select *select)
{
    const struct carm_validation *set = NULL; /* set of the previous row */
    const struct carm_validation *row = NULL;
    for (size_t i = 0; i < m->nvalidation; i++) {
        const struct carm_validation *v = &m->validation[i];
        char a[CARM_NAME_MAX];
        char b[CARM_NAME_MAX];
        char c[CARM_NAME_MAX];
        if (!carm_select_has(select, v->set.isa, v->set.threads)) {
            continue;
        }
        if (!row) {
            printf("\nValidation%s%s: fitness of test code C, 100%% / (1 + rRMSE)\n",
                   m->validated[0] ? " of " : "",
                   carm_text_clean(a, sizeof a, m->validated, page->ascii));
        }
        if (!set || !carm_validation_set_equal(&set->set, &v->set)) {
            printf("  %s %s %s, %d thread%s\n    %-24s",
                   carm_text_clean(a, sizeof a, v->set.isa, page->ascii),
                   carm_text_clean(b, sizeof b, v->set.precision, page->ascii),
                   carm_text_clean(c, sizeof c, v->set.op, page->ascii), v->set.threads,
                   v->set.threads == 1 ? "" : "s", "model");
            for (size_t l = 0; l <= m->nlevels; l++) {
                printf(" ");
                carm_show_put_cut(page, -8, carm_validation_level(m, l));
            }
            printf("\n");
            set = v;
            row = NULL;
        }
        if (!row || strcmp(row->model, v->model) != 0) {
            print_score(page, m, v, false);
            if (strcmp(v->model, "cache-aware") == 0 && v->fitness_beside > 0.0) {
                print_score(page, m, v, true);
            }
            row = v;
        }
    }
}
