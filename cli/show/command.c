/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm show: a model as text, with its roofline drawn in the terminal. */
#include "cli/show/command.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asm/isa.h"
#include "base/text.h"
#include "cli/opt.h"
#include "cli/screen.h"
#include "cli/show/latency.h"
#include "cli/show/published.h"
#include "cli/show/tables.h"
#include "models/ceilings.h"
#include "models/file/select.h"
#include "models/file/share.h"
#include "models/validation.h"
#include "plots/terminal.h"

static const char *opt_json, *opt_isa, *opt_threads, *opt_ascii, *opt_no_plot;
static const char *opt_csv, *opt_carm_tool, *opt_share, *opt_list;

/* How text goes out. */
struct page {
    bool ascii, colour;
    bool foreign; /* roofs of another tool: rates alone */
    int columns;  /* of the terminal; INT_MAX where it is none */
    const char *plus_minus;
};

/* A string of the file, made safe, in at least width columns; negative width = to the right. */
static void put(const struct page *page, int width, const char *s)
{
    char clean[CARM_TEXT_MAX];
    carm_text_clean(clean, sizeof clean, s, page->ascii);
    int pad = abs(width) - (int)carm_text_width(clean);
    pad = pad < 0 ? 0 : pad;
    printf("%*s%s%*s", width < 0 ? pad : 0, "", clean, width < 0 ? 0 : pad, "");
}

/* The same, cut after width columns. */
static void put_cut(const struct page *page, int width, const char *s)
{
    char fit[CARM_TEXT_MAX];
    put(page, width, carm_text_fit(fit, sizeof fit, s, (size_t)abs(width), page->ascii));
}

static const char *size_or_dash(char *dst, size_t size, uint64_t bytes)
{
    return bytes ? carm_text_bytes(dst, size, bytes) : "-";
}

__attribute__((format(printf, 2, 3))) static void heading(const struct page *page, const char *fmt,
                                                          ...)
{
    char line[512], clean[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    printf("\n%s%s%s\n", page->colour ? "\033[1m" : "",
           carm_text_clean(clean, sizeof clean, line, page->ascii), page->colour ? "\033[0m" : "");
}

/* What another tool's file says of its machine: next to nothing. */
static void print_foreign(const struct page *page, const struct carm_model *m)
{
    printf("Roofs of ");
    put(page, 0, m->roofs_of);
    printf(" on ");
    put(page, 0, carm_machine_host(&m->machine));
    if (*m->created) {
        printf("\n  measured ");
        put(page, 0, m->created);
    }
    printf("\n  mix      ");
    put(page, 0, m->config.ldst);
    printf(" loads to stores; its file has no intervals, clocks and working sets\n");
}

static void print_machine(const struct page *page, const struct carm_model *m)
{
    const struct carm_machine *mc = &m->machine;
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], c[CARM_TEXT_NUMBER_MAX];
    if (*m->roofs_of) {
        print_foreign(page, m);
        return;
    }
    printf("Cache-aware roofline model of ");
    put(page, 0, carm_machine_host(mc));
    printf("\n  CPU      ");
    put(page, 0, *mc->cpu ? mc->cpu : "unknown");
    printf("\n  usable   %d core%s, %d thread%s, %s memory, %s pages, TSC %s\n", mc->cores,
           mc->cores == 1 ? "" : "s", mc->threads, mc->threads == 1 ? "" : "s",
           carm_text_bytes(a, sizeof a, mc->memory_bytes),
           carm_text_bytes(b, sizeof b, mc->page_bytes),
           carm_text_si(c, sizeof c, mc->tsc_hz, "Hz"));
    if (*mc->hypervisor) {
        printf("  virtual  ");
        put(page, 0, mc->hypervisor);
        printf("\n");
    }
    printf("  caches   ");
    for (size_t i = 0; i < mc->ncaches; i++)
        printf("%sL%d %s / %d thread%s", i ? ", " : "", mc->caches[i].level,
               carm_text_bytes(a, sizeof a, mc->caches[i].size_bytes), mc->caches[i].shared_by,
               mc->caches[i].shared_by == 1 ? "" : "s");
    printf("%s\n  measured ", mc->ncaches ? "" : "none reported");
    put(page, 0, m->created);
    printf(" by carm ");
    put(page, 0, m->carm_version);
    if (*m->carm_commit) {
        printf(" (");
        put(page, 0, m->carm_commit);
        printf(")");
    }
    printf(", median of %llu repetitions%s\n  mix      ", (unsigned long long)m->config.reps,
           m->config.quick ? ", --quick" : "");
    put(page, 0, m->config.ldst);
    printf(" loads to stores, the model's mix; roofs of other mixes are ceilings\n");
}

static void print_levels(const struct page *page, const struct carm_model *m)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    heading(page, "Memory levels");
    printf("  level      OS size   measured knee\n");
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_level *l = &m->levels[i];
        const char *knee = l->resolved ? size_or_dash(b, sizeof b, l->knee_bytes) : "unresolved";
        printf("  ");
        put(page, 6, l->level);
        printf("  %10s  %14s", size_or_dash(a, sizeof a, l->os_size_bytes), knee);
        printf("%s", *l->note ? "\n      " : "");
        put(page, 0, l->note);
        printf("\n");
    }
}

/* The longer side of the interval, as a share of the value. */
static double interval_percent(double value, struct carm_ci ci)
{
    return 100 * fmax(value - ci.lo, ci.hi - value) / value;
}

/* To each side: such an interval is of a few rounds that differ, and says nothing of another build. */
static const double not_known = 50.0;

/* The interval, right-aligned, with the mark of a disturbed point before it. */
static void print_interval(const struct page *page, double value, struct carm_ci ci, bool disturbed)
{
    char text[CARM_TEXT_NUMBER_MAX];
    const double percent = interval_percent(value, ci);
    if (percent > not_known) {
        snprintf(text, sizeof text, "%snot known", disturbed ? "! " : "");
    } else {
        snprintf(text, sizeof text, "%s%s%.2f%%", disturbed ? "! " : "", page->plus_minus, percent);
    }
    if (page->foreign) {
        snprintf(text, sizeof text, "-");
    }
    put(page, -9, text);
}

/* Columns of the mixes: "2:1update" needs more than the usual ones. */
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
static bool has_room_for_codes(const struct page *page, const struct carm_roofs *r)
{
    const size_t before = 56 + (size_t)mix_width(r); /* columns, of the wider table */
    size_t widest = 0;
    for (size_t i = 0; i < r->nmemory + r->ncompute; i++) {
        const char *code = i < r->nmemory ? r->memory[i].code : r->compute[i - r->nmemory].code;
        const size_t width = carm_text_width(code);
        widest = width > widest ? width : widest;
    }
    return before + widest <= (size_t)page->columns;
}

/* The DRAM peak is the bandwidth of one of the codes, and as disturbed as that. */
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

static void print_memory(const struct page *page, const struct carm_model *m,
                         const struct carm_roofs *r, bool codes)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    const int wide = mix_width(r);
    if (r->nmemory)
        printf("  level   %-*s    bandwidth   95%% CI%s%s\n", wide, "mix",
               page->foreign ? "" : "  B/cycle  working set",
               codes && !page->foreign ? "  test code" : "");
    for (size_t i = 0; i < r->nmemory; i++) {
        const struct carm_memory_roof *x = &r->memory[i];
        size_t level = 0;
        while (level < m->nlevels && strcmp(m->levels[level].level, x->level) != 0)
            level++;
        bool model = page->colour && strcmp(x->ldst, m->config.ldst) == 0;
        printf("  %s", model ? carm_draw_colour(level) : "");
        put(page, 6, x->level);
        printf("%s  ", model ? "\033[0m" : "");
        put(page, wide, x->ldst);
        printf(" %12s", carm_text_si(a, sizeof a, x->bandwidth, "B/s"));
        print_interval(page, x->bandwidth, x->ci95, x->disturbed);
        if (page->foreign) {
            printf("\n");
            continue;
        }
        printf("  %7.2f  %11s%s", x->bytes_per_cycle,
               carm_text_bytes(b, sizeof b, x->working_set_bytes), codes ? "  " : "");
        put(page, 0, codes ? x->code : "");
        printf("\n");
    }
    if (r->dram_peak.bandwidth > 0) {
        printf("  DRAM peak of the original model: %s%s%s",
               carm_text_si(a, sizeof a, r->dram_peak.bandwidth, "B/s"),
               is_peak_disturbed(r) ? "!" : "", page->foreign ? "" : ", test code ");
        put(page, 0, r->dram_peak.code);
        printf("\n");
    }
}

static void print_compute(const struct page *page, const struct carm_roofs *r, bool codes)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char head[24] = "";
    if (!page->foreign)
        snprintf(head, sizeof head, "  %4s/cycle", carm_precision_operation(r->precision));
    if (r->ncompute)
        printf("  op             performance   95%% CI%s%s\n", head,
               codes && !page->foreign ? "          test code" : "");
    for (size_t i = 0; i < r->ncompute; i++) {
        const struct carm_compute_roof *x = &r->compute[i];
        printf("  ");
        put(page, 8, x->op);
        printf("  %15s", carm_text_si(a, sizeof a, x->rate, carm_precision_rate(r->precision)));
        print_interval(page, x->rate, x->ci95, x->disturbed);
        if (page->foreign) {
            printf("\n");
            continue;
        }
        printf("  %10.2f%s", x->flops_per_cycle, codes ? "            " : "");
        put(page, 0, codes ? x->code : "");
        printf("\n");
    }
}

/* How the set was counted: the distinct answers of its roofs. */
static void print_counted(const struct page *page, const struct carm_roofs *r)
{
    const char *seen[4];
    size_t nseen = 0, n = r->nmemory + r->ncompute;
    for (size_t i = 0; i < n && nseen < sizeof seen / sizeof *seen && !page->foreign; i++) {
        const char *by =
            i < r->nmemory ? r->memory[i].counted_by : r->compute[i - r->nmemory].counted_by;
        size_t k = 0;
        while (k < nseen && strcmp(seen[k], by) != 0)
            k++;
        if (k == nseen)
            seen[nseen++] = by;
    }
    for (size_t k = 0; k < nseen; k++) {
        printf(k ? ", " : "  bytes and %ss counted: ", carm_precision_operation(r->precision));
        put(page, 0, seen[k]);
    }
    if (nseen)
        printf("; B/cycle and %s/cycle are per core\n", carm_precision_operation(r->precision));
}

/* "  rounds   16 to 48 of each roof, on 3 days: quiet 83%, threads on one core 17%" */
static void print_rounds(const struct page *page, const struct carm_roofs *r)
{
    struct carm_rounds_summary s;
    char line[512] = "";
    char part[128];
    carm_roofs_summarize(r, &s);
    if (s.most == 0) {
        return;
    }
    for (int i = 0; i < CARM_STATE_COUNT; i++) {
        if (s.shares[i] > 0.0) {
            snprintf(part, sizeof part, "%s%s %.0f%%", line[0] ? ", " : "",
                     carm_state_name((enum carm_state)i), fmax(1.0, 100.0 * s.shares[i]));
            strncat(line, part, sizeof line - strlen(line) - 1);
        }
    }
    printf("  made of %zu", s.least);
    if (s.most > s.least) {
        printf(" to %zu", s.most);
    }
    printf(" rounds each, on %d day%s; state of the machine: ", s.days, s.days == 1 ? "" : "s");
    put(page, 0, line);
    printf("\n");
}

static void print_note(const struct page *page, bool disturbed, const char *what, const char *kind,
                       const char *note)
{
    if (!disturbed && !*note)
        return;
    printf("  %s ", disturbed ? "! disturbed," : "note,");
    put(page, 0, what);
    printf(" ");
    put(page, 0, kind);
    printf("%s", *note ? ": " : "");
    put(page, 0, note);
    printf("\n");
}

static void print_notes(const struct page *page, const struct carm_roofs *r)
{
    for (size_t i = 0; i < r->nmemory; i++)
        print_note(page, r->memory[i].disturbed, r->memory[i].level, r->memory[i].ldst,
                   r->memory[i].note);
    for (size_t i = 0; i < r->ncompute; i++)
        print_note(page, r->compute[i].disturbed, r->compute[i].op, "", r->compute[i].note);
}

/* The intensity at which each level's roof, the best of all ISAs, reaches each operation's: I = F / B. */
static void print_ridges(const struct page *page, const struct carm_model *m,
                         const struct carm_select *sel, const struct carm_roofs *r)
{
    bool head = false;
    const struct carm_roofs *whose = r;
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_memory_roof *x =
            carm_roofs_find_memory(r, m->levels[i].level, m->config.ldst)
                ? carm_select_best_memory(sel, m, r, m->levels[i].level, &whose)
                : NULL;
        if (!x || r->ncompute == 0)
            continue;
        if (!head) {
            printf("  ridge points at ");
            put(page, 0, m->config.ldst);
            printf(", %s/byte:\n         ", carm_precision_operation(r->precision));
            for (size_t k = 0; k < r->ncompute; k++)
                put(page, -10, r->compute[k].op);
            printf("\n");
            head = true;
        }
        printf("  ");
        put(page, 6, x->level);
        printf(" ");
        for (size_t k = 0; k < r->ncompute; k++)
            printf("%10.4g", r->compute[k].rate / x->bandwidth);
        printf("\n");
    }
}

/* ---- ceilings ------------------------------------------------------------------------------------- */

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

static void print_ceiling(const struct page *page, const struct carm_roofs *roofs,
                          const struct carm_ceiling_roof *c)
{
    char number[CARM_TEXT_NUMBER_MAX];
    char gap[64] = "";
    const char *by = "";
    printf("    ");
    put(page, 16, c->name);
    if (!(c->rate > 0.0)) {
        printf(" %14s  ", "-");
        put(page, 0, c->note);
        printf("\n");
        return;
    }
    const double times = carm_ceiling_gap(roofs, c, &by);
    const double side = fmax(c->rate - c->ci95.lo, c->ci95.hi - c->rate);
    if (times > 0.0) {
        snprintf(gap, sizeof gap, "x%.2f by %s", times, by);
    }
    printf(" %14s  %s%s%.2f%%  ", carm_text_si(number, sizeof number, c->rate, unit_of(c->group)),
           c->disturbed ? "! " : "  ", page->plus_minus, 100.0 * side / c->rate);
    put(page, 27, gap);
    printf("  ");
    put(page, 0, c->code);
    printf("\n");
    if (c->note[0]) {
        printf("      ");
        put(page, 0, c->note);
        printf("\n");
    }
}

static void print_group(const struct page *page, const struct carm_roofs *roofs,
                        enum carm_ceiling_group group)
{
    bool head = false;
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == group) {
            if (!head) {
                printf("    %s\n", title_of(group));
                head = true;
            }
            print_ceiling(page, roofs, c);
        }
    }
}

static void put_chain(const char *head, const struct carm_ceiling *list, size_t n, const char *unit)
{
    char line[1536];
    char number[CARM_TEXT_NUMBER_MAX];
    size_t used = 0;
    line[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (!list[i].aside && used < sizeof line) {
            const int put =
                snprintf(line + used, sizeof line - used, "%s%s (%s)", used ? " < " : "",
                         list[i].name, carm_text_si(number, sizeof number, list[i].rate, unit));
            used += put > 0 ? (size_t)put : 0;
        }
    }
    if (used) {
        carm_opt_print_wrapped(head, 6, "%s", line);
    }
}

/* The order in which the paper breaks through them; what costs nothing here is left out. */
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

static void print_ceilings(const struct page *page, const struct carm_model *model,
                           const struct carm_roofs *roofs)
{
    if (roofs->nceilings == 0) {
        return;
    }
    printf("  ceilings                 rate    95%% CI  to the next one               test "
           "code\n");
    for (int g = 0; g < CARM_CEILING_GROUP_COUNT; g++) {
        print_group(page, roofs, (enum carm_ceiling_group)g);
    }
    put_chains(model, roofs);
}

/* ---- one set of roofs ----------------------------------------------------------------------------- */

/* Where narrower vectors are faster than those of the set: that is the roof, then. */
static void print_narrower(const struct page *page, const struct carm_model *m,
                           const struct carm_select *sel, const struct carm_roofs *r)
{
    char a[CARM_TEXT_NUMBER_MAX];
    const struct carm_roofs *whose = r;
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_memory_roof *x =
            carm_select_best_memory(sel, m, r, m->levels[i].level, &whose);
        if (x && whose != r) {
            printf("  %s: ", x->level);
            put(page, 0, whose->isa);
            printf(" is faster: %s is the roof that carm plot and carm place take\n",
                   carm_text_si(a, sizeof a, x->bandwidth, "B/s"));
        }
    }
    const struct carm_compute_roof *peak = carm_select_best_peak(sel, m, r, &whose);
    if (peak && whose != r) {
        printf("  peak: ");
        put(page, 0, whose->isa);
        printf(" %s is faster: %s is the roof that carm plot and carm place take\n", peak->op,
               carm_text_si(a, sizeof a, peak->rate, carm_precision_rate(r->precision)));
    }
}

static void print_set(const struct page *page, const struct carm_model *m,
                      const struct carm_select *sel, const struct carm_roofs *r)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char latency[48] = "";
    if (r->core_to_core_seconds > 0)
        snprintf(latency, sizeof latency, ", core-to-core latency %.0f ns",
                 1e9 * r->core_to_core_seconds);
    heading(page, "%s %s, %d thread%s%s%s%s", r->isa, r->precision, r->threads,
            r->threads == 1 ? "" : "s", r->clock_hz > 0.0 ? ", core clock " : "",
            r->clock_hz > 0.0 ? carm_text_si(a, sizeof a, r->clock_hz, "Hz") : "", latency);
    const bool codes = has_room_for_codes(page, r);
    print_memory(page, m, r, codes);
    print_compute(page, r, codes);
    print_narrower(page, m, sel, r);
    print_ridges(page, m, sel, r);
    print_ceilings(page, m, r);
    print_counted(page, r);
    print_rounds(page, r);
    if (!codes)
        printf("  test codes are shown on a wider terminal, in a pipe, and by --json\n");
    print_notes(page, r);
}

/* ---- validation ----------------------------------------------------------------------------------- */

/* One model's fitness on every level; beside: against roofs of the same rounds. */
static void print_score(const struct page *page, const struct carm_model *m,
                        const struct carm_validation *like, bool beside)
{
    printf("    ");
    put_cut(page, 24, beside ? "  paired" : like->model);
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

static void print_validation(const struct page *page, const struct carm_model *m,
                             const struct carm_select *select)
{
    const struct carm_validation *set = NULL; /* of the row before */
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
            printf("\nValidation%s%s: fitness of test code C's points, 100%% / (1 + rRMSE)\n",
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
                put_cut(page, -8, carm_validation_level(m, l));
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

/* ---- the whole ------------------------------------------------------------------------------------ */

static void draw_set(const struct page *page, const struct carm_model *m,
                     const struct carm_select *sel, const struct carm_roofs *r)
{
    struct carm_draw_level levels[CARM_DRAW_LEVELS_MAX];
    char names[CARM_DRAW_LEVELS_MAX][16], peak_name[16], title[CARM_TEXT_MAX];
    struct carm_draw_roofline picture = {.levels = levels,
                                         .title = title,
                                         .ascii = page->ascii,
                                         .colour = page->colour,
                                         .peak_name = peak_name,
                                         .operation = carm_precision_operation(r->precision)};
    const struct carm_roofs *whose = r;
    const struct carm_compute_roof *peak = carm_select_best_peak(sel, m, r, &whose);
    char name[2 * CARM_NAME_MAX];
    snprintf(name, sizeof name, "%s%s%s", whose != r ? whose->isa : "", whose != r ? " " : "",
             peak ? peak->op : "");
    for (size_t i = 0; i < m->nlevels && i < CARM_DRAW_LEVELS_MAX; i++) {
        const struct carm_memory_roof *x =
            carm_select_best_memory(sel, m, r, m->levels[i].level, &whose);
        if (!x)
            continue;
        size_t n = picture.nlevels++;
        char level[2 * CARM_NAME_MAX];
        snprintf(level, sizeof level, "%s%s%s", whose != r ? whose->isa : "", whose != r ? " " : "",
                 x->level);
        levels[n].name = carm_text_clean(names[n], sizeof names[n], level, page->ascii);
        levels[n].bandwidth = x->bandwidth;
        levels[n].colour = i;
    }
    if (!peak || picture.nlevels == 0) {
        printf("\nNothing to draw: no %s was measured.\n",
               peak ? "memory roof with the model's mix" : "compute roof");
        return;
    }
    carm_text_clean(peak_name, sizeof peak_name, name, page->ascii);
    picture.peak = peak->rate;
    char isa[CARM_NAME_MAX], mix[CARM_NAME_MAX];
    snprintf(title, sizeof title, "%.20s %.8s, %d thread%s, %.16s loads to stores",
             carm_text_clean(isa, sizeof isa, r->isa, page->ascii), r->precision, r->threads,
             r->threads == 1 ? "" : "s",
             carm_text_clean(mix, sizeof mix, m->config.ldst, page->ascii));
    carm_screen_size(STDOUT_FILENO, &picture.columns, &picture.rows);
    printf("\n");
    carm_draw_print(stdout, &picture);
}

static void show(const struct carm_model *m, const struct carm_select *sel)
{
    struct page page = {.ascii = opt_ascii || !carm_screen_unicode(STDOUT_FILENO),
                        .colour = carm_screen_colour(STDOUT_FILENO),
                        .foreign = *m->roofs_of != '\0'};
    page.plus_minus = page.ascii ? "+-" : "±";
    int rows = 0;
    carm_screen_size(STDOUT_FILENO, &page.columns, &rows);
    page.columns = isatty(STDOUT_FILENO) ? page.columns : INT_MAX;
    print_machine(&page, m);
    print_levels(&page, m);
    for (size_t i = 0; i < m->nroofs; i++)
        if (carm_select_has(sel, m->roofs[i].isa, m->roofs[i].threads))
            print_set(&page, m, sel, &m->roofs[i]);
    carm_show_latency(m, page.ascii);
    print_validation(&page, m, sel);
    if (!opt_no_plot)
        draw_set(&page, m, sel, carm_select_best(sel, m));
}

static bool goes_to_output(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int put_tables(const struct carm_model *m, const struct carm_select *sel,
                      struct carm_err *err)
{
    const struct carm_show_table table = {m, sel};
    int rc = 0;
    if (opt_csv) {
        rc = carm_show_put_csv(&table, goes_to_output(opt_csv) ? NULL : opt_csv, err);
    }
    if (!rc && opt_carm_tool) {
        rc = carm_show_put_carm_tool(&table, goes_to_output(opt_carm_tool) ? NULL : opt_carm_tool,
                                     err);
    }
    if (!rc && opt_share) {
        rc = carm_model_share_write(m, goes_to_output(opt_share) ? NULL : opt_share, err);
    }
    return rc;
}

/* Whether the text gives way to what an option writes. */
static bool output_is_taken(void)
{
    return goes_to_output(opt_csv) || goes_to_output(opt_carm_tool) || goes_to_output(opt_share);
}

/* What is wrong with the options, or NULL. */
static const char *misuse(int noperands)
{
    if (goes_to_output(opt_csv) + goes_to_output(opt_carm_tool) + goes_to_output(opt_share) > 1) {
        return "only one of --csv, --carm-tool and --share can go to standard output";
    }
    if (opt_list && (noperands || opt_json || opt_isa || opt_threads || opt_csv || opt_carm_tool ||
                     opt_share)) {
        return "--list prints the names of machines and takes neither one nor other options";
    }
    if (opt_json && (opt_isa || opt_threads || opt_ascii || opt_no_plot || opt_csv ||
                     opt_carm_tool || opt_share)) {
        return "--json prints the whole file and takes no other option";
    }
    if (opt_share && (opt_isa || opt_threads)) {
        return "--share writes the whole model: it goes without --isa and --threads";
    }
    return NULL;
}

static int list_machines(void)
{
    struct carm_err err = {""};
    if (carm_show_machines(opt_ascii || !carm_screen_unicode(STDOUT_FILENO), &err)) {
        return carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    }
    return fflush(stdout) != 0 || ferror(stdout)
               ? carm_say_error(CARM_EXIT_FAILED, "cannot write the output: %s", strerror(errno))
               : CARM_EXIT_OK;
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_select sel;
    struct carm_model *m = NULL;
    char *text = NULL;
    int code = CARM_EXIT_FAILED;
    const char *wrong = misuse(noperands);
    if (wrong)
        return carm_say_error(CARM_EXIT_MISUSE, "%s", wrong);
    if (carm_select_parse(&sel, opt_isa, opt_threads, &err))
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    setlocale(LC_NUMERIC, "C");
    if (opt_list)
        return list_machines();
    const char *misplaced = opt_share       ? "--share"
                            : opt_csv       ? "--csv"
                            : opt_carm_tool ? "--carm-tool"
                                            : NULL;
    if (carm_show_published_operand(noperands ? operands[0] : NULL, misplaced, opt_json != NULL,
                                    !opt_no_plot, opt_ascii || !carm_screen_unicode(STDOUT_FILENO),
                                    &code))
        return code;
    if (carm_select_open(noperands ? operands[0] : NULL, &m, &text, &err) ||
        (!opt_json && carm_select_check(&sel, m, &err))) {
        carm_say_error(code, "%s", err.text);
        goto out;
    }
    if (opt_json && !text) {
        carm_say_error(code, "--json prints a model file as it is, and %.200s has %.80s",
                       operands[0], m->machine.cpu);
        goto out;
    }
    if (put_tables(m, &sel, &err)) {
        carm_say_error(code, "%s", err.text);
        goto out;
    }
    if (opt_json)
        fputs(text, stdout);
    else if (!output_is_taken())
        show(m, &sel);
    if (fflush(stdout) != 0 || ferror(stdout))
        carm_say_error(code, "cannot write the output: %s", strerror(errno));
    else
        code = CARM_EXIT_OK;
out:
    free(text);
    carm_model_free(m);
    return code;
}

static const struct carm_opt opts[] = {
    {"json", 0, NULL, NULL, "Print the model file's text instead.", &opt_json, NULL},
    {"isa", 0, "LIST", "all", "Only these instruction sets, such as avx2,avx512.", &opt_isa,
     CARM_WORDS(CARM_ISA_TABLE)},
    {"threads", 0, "LIST", "all", "Only these numbers of threads, such as 1,8.", &opt_threads,
     NULL},
    {"csv", 0, carm_opt_outfile, NULL,
     "Also write the roofs and ceilings as CSV, a row for each; - writes them to standard output "
     "instead of the text.",
     &opt_csv, NULL},
    {"carm-tool", 0, carm_opt_outfile, NULL,
     "The same in the form of the CARM Tool's roofline CSV: a row for each set and mix of loads and "
     "stores.",
     &opt_carm_tool, NULL},
    {"share", 0, carm_opt_outfile, NULL,
     "Also write the model for others: without names of hosts, users and paths; - writes it to standard output "
     "instead of the text.",
     &opt_share, NULL},
    {"list", 0, NULL, NULL, "Print the names that can stand for MACHINE.", &opt_list, NULL},
    {"ascii", 0, NULL, NULL, "Plain ASCII, also where the locale has UTF-8.", &opt_ascii, NULL},
    {"no-plot", 0, NULL, NULL, "Tables only.", &opt_no_plot, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_show = {
    .name = "show",
    .summary = "a model as text, with a roofline drawn in the terminal",
    .operands = "[MODEL | MACHINE]",
    .details =
        "Prints the machine, its memory levels (what the OS reports and where the measured curve "
        "leaves the plateau), the memory and compute roofs of each set of ISA, precision and "
        "threads with their 95% confidence intervals, the ridge points, the ceilings of carm build "
        "--ceilings, and what carm validate found.\n\n"
        "The picture is of the set with the highest peak among those shown. Without MODEL, carm show reads the one that carm build wrote for this machine. A roof marked ! was disturbed while it was measured.\n\n"
        "MODEL may also be the roofs of another tool: ERT's JSON, or a CSV of the CARM Tool.\n\n"
        "MACHINE is one of --list. A measured one is a model like any other. For one that a paper "
        "published (opteron-x2, xeon, opteron-x4, t2plus, cell), it prints the ceilings, the "
        "kernels with the ceilings next to them, and every figure that disagrees with the paper's "
        "other figures.\n\n"
        "Colour goes to terminals only; NO_COLOR switches it off.",
    .examples =
        "carm show\ncarm show --isa avx2 --threads 1 other-machine.json\n"
        "carm show --json | jq .levels\ncarm show --csv - | cut -d, -f1-8\ncarm show opteron-x4\n"
        "carm show --list\ncarm show --share my-machine.json",
    .opts = opts,
    .max_operands = 1,
    .run = run,
};
