/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/show/summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/opt.h"
#include "cli/screen.h"
#include "models/latency.h"
#include "models/scaling.h"
#include "plots/terminal.h"

enum {
    THREADS_MAX = 3,    /* columns of the table */
    LABEL_COLUMNS = 24, /* "  peak   avx512 2fma+add" */
    CELL_COLUMNS = 22,  /* " 88.58 Gflop/s +-12.5%!" */
    CPU_COLUMNS = 36,
    TEXT_ROWS = 19,    /* lines without the picture, for four levels and four ISAs */
    PICTURE_ROWS = 20, /* if standard output is no terminal */
};

void carm_show_draw(const struct carm_show_page *page, const struct carm_model *m,
                    const struct carm_select *sel, int columns, int rows)
{
    const struct carm_roofs *r = carm_select_best(sel, m);
    struct carm_draw_level levels[CARM_DRAW_LEVELS_MAX];
    char names[CARM_DRAW_LEVELS_MAX][16], peak_name[16], title[CARM_TEXT_MAX];
    struct carm_draw_roofline picture = {.levels = levels,
                                         .title = title,
                                         .ascii = page->ascii,
                                         .colour = page->colour,
                                         .peak_name = peak_name,
                                         .operation = carm_precision_operation(r->precision),
                                         .columns = columns,
                                         .rows = rows};
    const struct carm_roofs *whose = r;
    const struct carm_compute_roof *peak = carm_select_best_peak(sel, m, r, &whose);
    char name[2 * CARM_NAME_MAX];
    snprintf(name, sizeof name, "%s%s%s", whose != r ? whose->isa : "", whose != r ? " " : "",
             peak ? peak->op : "");
    for (size_t i = 0; i < m->nlevels && i < CARM_DRAW_LEVELS_MAX; i++) {
        const struct carm_memory_roof *x =
            carm_select_best_memory(sel, m, r, m->levels[i].level, &whose);
        if (!x) {
            continue;
        }
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
    printf("\n");
    carm_draw_print(stdout, &picture);
}

/* The sets of one precision, by threads: the columns of the table. */
struct columns {
    const struct carm_roofs *sets[THREADS_MAX]; /* the widest ISA's, threads ascending */
    size_t n;
    size_t left_out; /* numbers of threads without a column */
};

/* The selected set of a precision and number of threads with the best roofs, or NULL. */
static const struct carm_roofs *find_set(const struct carm_model *m, const struct carm_select *sel,
                                         const char *precision, int threads)
{
    struct carm_select one = *sel;
    one.nthreads = 1;
    one.threads[0] = threads;
    snprintf(one.precision, sizeof one.precision, "%s", precision);
    return carm_select_best(&one, m);
}

/* Finds the columns: the fewest threads and the largest numbers of threads of a precision's
 * selected sets. */
static void find_columns(const struct carm_model *m, const struct carm_select *sel,
                         const char *precision, size_t most, struct columns *c)
{
    int last = 0;
    memset(c, 0, sizeof *c);
    for (;;) {
        int next = 0;
        for (size_t i = 0; i < m->nroofs; i++) {
            const struct carm_roofs *r = &m->roofs[i];
            if (carm_select_has(sel, r->isa, r->threads) && strcmp(r->precision, precision) == 0 &&
                r->threads > last && (next == 0 || r->threads < next)) {
                next = r->threads;
            }
        }
        if (next == 0) {
            return;
        }
        if (c->n == most) { /* drops the second column, or the only one */
            const size_t first = most > 1 ? 1 : 0;
            memmove(&c->sets[first], &c->sets[first + 1],
                    (most - first - 1) * sizeof(const struct carm_roofs *));
            c->n--;
            c->left_out++;
        }
        c->sets[c->n++] = find_set(m, sel, precision, next);
        last = next;
    }
}

static void put_cell(const struct carm_show_page *page, double rate, const char *unit,
                     struct carm_ci ci, bool disturbed)
{
    char number[CARM_TEXT_NUMBER_MAX];
    char text[2 * CARM_TEXT_NUMBER_MAX];
    if (!(rate > 0.0)) {
        carm_show_put(page, -CELL_COLUMNS, "-   ");
        return;
    }
    carm_text_si(number, sizeof number, rate, unit);
    const double percent = carm_show_interval_percent(rate, ci);
    const char *mark = disturbed ? "!" : " ";
    if (page->foreign) {
        snprintf(text, sizeof text, "%s", number);
    } else if (percent > 100.0 * CARM_NOT_KNOWN) {
        snprintf(text, sizeof text, "%s %s?  %s", number, page->plus_minus, mark);
    } else {
        snprintf(text, sizeof text, "%s %s%.1f%%%s", number, page->plus_minus, fmax(0.1, percent),
                 mark);
    }
    carm_show_put(page, -CELL_COLUMNS, text);
}

static void put_label(const struct carm_show_page *page, const char *what, const char *isa,
                      const char *op)
{
    printf("  ");
    carm_show_put_cut(page, 6, what);
    printf(" ");
    carm_show_put_cut(page, 6, strcmp(isa, "unknown") == 0 ? "" : isa);
    printf(" ");
    carm_show_put_cut(page, LABEL_COLUMNS - 16, op);
}

/* Prints one level: the roof that programs are placed under, the best of all ISAs. */
static void print_level(const struct carm_show_page *page, const struct carm_model *m,
                        const struct carm_select *sel, const struct columns *c, const char *level)
{
    const struct carm_memory_roof *roofs[THREADS_MAX] = {NULL};
    const struct carm_roofs *whose = NULL;
    bool any = false;
    for (size_t i = 0; i < c->n; i++) {
        whose = c->sets[i];
        roofs[i] = carm_select_best_memory(sel, m, c->sets[i], level, &whose);
        any = any || roofs[i];
    }
    if (!any) {
        return;
    }
    put_label(page, level, whose->isa, "");
    for (size_t i = 0; i < c->n; i++) {
        const struct carm_memory_roof *x = roofs[i];
        put_cell(page, x ? x->bandwidth : 0.0, "B/s", x ? x->ci95 : (struct carm_ci){0.0, 0.0},
                 x && x->disturbed);
    }
    printf("\n");
}

/* Prints the highest compute roof of one ISA. */
static void print_peak(const struct carm_show_page *page, const struct carm_model *m,
                       const struct carm_select *sel, const struct columns *c, const char *isa)
{
    const struct carm_compute_roof *peaks[THREADS_MAX] = {NULL};
    const struct carm_compute_roof *last = NULL;
    const char *precision = c->sets[0]->precision;
    for (size_t i = 0; i < c->n; i++) {
        const struct carm_roofs *r = carm_model_find_roofs(m, isa, precision, c->sets[i]->threads);
        peaks[i] = r && carm_select_has(sel, isa, r->threads) ? carm_roofs_find_peak(r) : NULL;
        last = peaks[i] ? peaks[i] : last;
    }
    if (!last) {
        return;
    }
    put_label(page, "peak", isa, last->op);
    for (size_t i = 0; i < c->n; i++) {
        const struct carm_compute_roof *x = peaks[i];
        put_cell(page, x ? x->rate : 0.0, carm_precision_rate(precision),
                 x ? x->ci95 : (struct carm_ci){0.0, 0.0}, x && x->disturbed);
    }
    printf("\n");
}

/* Prints the peaks of the ISAs of a precision's sets, each once, in the model's order. */
static void print_peaks(const struct carm_show_page *page, const struct carm_model *m,
                        const struct carm_select *sel, const struct columns *c)
{
    for (size_t i = 0; i < m->nroofs; i++) {
        const char *isa = m->roofs[i].isa;
        size_t first = 0;
        while (strcmp(m->roofs[first].isa, isa) != 0) {
            first++;
        }
        if (first == i) {
            print_peak(page, m, sel, c, isa);
        }
    }
}

static void print_table(const struct carm_show_page *page, const struct carm_model *m,
                        const struct carm_select *sel, const struct columns *c)
{
    printf("%*s", LABEL_COLUMNS, "");
    for (size_t i = 0; i < c->n; i++) {
        char head[CARM_TEXT_NUMBER_MAX];
        snprintf(head, sizeof head, "%d thread%s ", c->sets[i]->threads,
                 c->sets[i]->threads == 1 ? "" : "s");
        carm_show_put(page, -CELL_COLUMNS, head);
    }
    printf("\n");
    for (size_t i = 0; i < m->nlevels; i++) {
        print_level(page, m, sel, c, m->levels[i].level);
    }
    print_peaks(page, m, sel, c);
}

static void print_head(const struct carm_show_page *page, const struct carm_model *m,
                       const struct carm_select *sel, const struct carm_roofs *r)
{
    const struct carm_machine *mc = &m->machine;
    char number[CARM_TEXT_NUMBER_MAX];
    char cpu[CARM_TEXT_MAX], threads[CARM_NAME_MAX + 32], place[256];
    const struct carm_roofs *whose = r;
    const struct carm_compute_roof *peak = carm_select_best_peak(sel, m, r, &whose);
    const char *last = m->nlevels ? m->levels[m->nlevels - 1].level : "";
    const struct carm_memory_roof *memory = carm_select_best_memory(sel, m, r, last, &whose);
    carm_show_put(page, 0, carm_machine_host(mc));
    printf(": ");
    if (peak) {
        printf("%s",
               carm_text_si(number, sizeof number, peak->rate, carm_precision_rate(r->precision)));
        printf(" (");
        carm_show_put(page, 0, r->precision);
        printf(")%s", memory ? " and " : "");
    }
    if (memory) {
        printf("%s from ", carm_text_si(number, sizeof number, memory->bandwidth, "B/s"));
        carm_show_put(page, 0, last);
    }
    printf(" with %s%s\n  ", carm_roofs_threads(threads, sizeof threads, r),
           *r->place ? "" : carm_machine_place(place, sizeof place, &m->machine));
    if (page->foreign) {
        carm_show_put(page, 0, m->roofs_of);
        printf("'s roofs%s", *m->created ? ", measured " : "");
        carm_show_put(page, 0, m->created);
        printf("; it gives no intervals and clocks\n");
        return;
    }
    carm_show_put(page, 0,
                  carm_text_cut(cpu, sizeof cpu, *mc->cpu ? mc->cpu : "unknown CPU", CPU_COLUMNS,
                                page->ascii));
    printf(", %d core%s, %d thread%s, %s", mc->cores, mc->cores == 1 ? "" : "s", mc->threads,
           mc->threads == 1 ? "" : "s", carm_text_bytes(number, sizeof number, mc->memory_bytes));
    printf("%s", *mc->hypervisor ? ", " : "");
    carm_show_put(page, 0, mc->hypervisor);
    printf("\n  ");
    for (size_t i = 0; i < mc->ncaches; i++) {
        printf("%sL%d %s", i ? ", " : "", mc->caches[i].level,
               carm_text_bytes(number, sizeof number, mc->caches[i].size_bytes));
    }
    printf("%smeasured %.10s by carm ", mc->ncaches ? "; " : "", m->created);
    carm_show_put(page, 0, m->carm_version);
    printf("%s\n", m->config.quick ? ", --quick" : "");
}

/* Prints "idle load: L1 1.1 ns, L2 3.8 ns, ..." with the largest pages that were available. */
static void print_latency(const struct carm_show_page *page, const struct carm_model *m)
{
    uint64_t pages = 0;
    bool any = false;
    for (size_t i = 0; i < m->nlatency; i++) {
        const struct carm_latency *l = &m->latency[i];
        if (l->order == CARM_LATENCY_RANDOM && l->seconds > 0.0 && l->page_bytes > pages) {
            pages = l->page_bytes;
        }
    }
    for (size_t i = 0; i < m->nlatency; i++) {
        const struct carm_latency *l = &m->latency[i];
        if (l->order == CARM_LATENCY_RANDOM && l->seconds > 0.0 && l->page_bytes == pages) {
            printf("%s", any ? ", " : "a load waits for ");
            carm_show_put(page, 0, l->level);
            printf(" %.3g ns%s", 1e9 * l->seconds, l->disturbed ? "!" : "");
            any = true;
        }
    }
    printf("%s", any ? "\n" : "");
}

/* Prints a line each: the threads at which bandwidth saturates, and the figures of memory
 * domains. */
static void print_scaling(const struct carm_show_page *page, const struct carm_model *m)
{
    char domains[CARM_SCALING_STEPS][CARM_NUMA_LINE];
    const size_t ndomains = carm_numa_say(m, domains, CARM_SCALING_STEPS);
    char lines[CARM_SCALING_STEPS][CARM_SCALING_LINE];
    const size_t n = carm_scaling_say(m, lines, CARM_SCALING_STEPS);
    for (size_t i = 0; i < n; i++) {
        carm_show_put(page, 0, lines[i]);
        printf("\n");
    }
    for (size_t i = 0; i < ndomains; i++) {
        carm_show_put(page, 0, domains[i]);
        printf("\n");
    }
}

/* "memory limits below: L1 0.18, L2 0.5, ... flop/byte (fma)" */
static void print_ridges(const struct carm_show_page *page, const struct carm_model *m,
                         const struct carm_select *sel, const struct carm_roofs *r)
{
    const struct carm_roofs *whose = r;
    const struct carm_compute_roof *peak = carm_select_best_peak(sel, m, r, &whose);
    bool any = false;
    for (size_t i = 0; peak && i < m->nlevels; i++) {
        const struct carm_memory_roof *x =
            carm_select_best_memory(sel, m, r, m->levels[i].level, &whose);
        if (x) {
            printf("%s", any ? ", " : "memory-bound below ");
            printf("%.2g (", peak->rate / x->bandwidth);
            carm_show_put_cut(page, (int)fmin(8.0, (double)strlen(x->level)), x->level);
            printf(")");
            any = true;
        }
    }
    if (any) {
        printf(" %s/byte\n", carm_precision_operation(r->precision));
    }
}

/* One line: intervals, disturbed roofs, validation. */
static void print_trust(const struct carm_show_page *page, const struct carm_model *m,
                        const struct carm_select *sel, const struct carm_roofs *set, bool mine)
{
    size_t n = 0;
    size_t disturbed = 0;
    const struct carm_validation *score = NULL;
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        if (carm_select_has(sel, r->isa, r->threads)) {
            disturbed += carm_roofs_count_disturbed(r);
            n += r->nmemory + r->ncompute;
        }
    }
    for (size_t i = 0; i < m->nvalidation && !score; i++) {
        const struct carm_validation *v = &m->validation[i];
        if (strcmp(v->model, "cache-aware") == 0 && strcmp(v->level, "all") == 0 &&
            v->set.threads == set->threads && strcmp(v->set.isa, set->isa) == 0) {
            score = v;
        }
    }
    if (page->foreign) {
        printf("sure: not known, its file has no intervals\n");
        return;
    }
    char validated[96] = "not validated yet (carm validate)";
    if (score) {
        snprintf(validated, sizeof validated, "its fitness for test loops is %.0f%%",
                 score->fitness_beside > 0.0 ? score->fitness_beside : score->fitness);
    }
    if (disturbed) {
        carm_opt_print_wrapped("sure: ", 6, "%zu of %zu roofs %s disturbed (!)%s; %s", disturbed, n,
                               disturbed == 1 ? "was" : "were",
                               mine ? ", carm build again adds rounds" : "", validated);
    } else {
        carm_opt_print_wrapped("sure: ", 6, "no roof of %zu was disturbed; %s", n, validated);
    }
}

static void print_next(const struct carm_model *m, const struct columns *c, const char *precision,
                       const char *operand) /* NULL = this machine's model */
{
    char others[128] = "";
    for (size_t i = 0; i < m->nroofs; i++) {
        const char *p = m->roofs[i].precision;
        char known[CARM_NAME_MAX + 3];
        snprintf(known, sizeof known, " %s,", p);
        if (strcmp(p, precision) != 0 && !strstr(others, known)) {
            strncat(others, known, sizeof others - strlen(others) - 1);
        }
    }
    if (*others || c->left_out) {
        printf("also measured:%s", others);
        if (c->left_out) {
            printf(" %zu other number%s of threads,", c->left_out, c->left_out == 1 ? "" : "s");
        }
        printf(" in carm show --roofs\n");
    }
    printf("%severy figure: carm show --verbose", operand ? "" : "next: carm run -- ./app; ");
    if (operand) {
        char clean[CARM_TEXT_MAX];
        printf(" %s", carm_text_clean(clean, sizeof clean, operand, true));
    }
    printf("\n");
}

void carm_show_summary(const struct carm_show_page *page, const struct carm_model *m,
                       const struct carm_select *sel, const char *operand, bool plot)
{
    const struct carm_roofs *best = carm_select_best(sel, m);
    const bool mine = !operand || strcmp(operand, "mine") == 0;
    struct columns c;
    int columns = 0;
    int rows = 0;
    carm_screen_size(STDOUT_FILENO, &columns, &rows);
    size_t most = columns > LABEL_COLUMNS ? (size_t)(columns - LABEL_COLUMNS) / CELL_COLUMNS : 1;
    most = most < 1 ? 1 : most > THREADS_MAX ? THREADS_MAX : most;
    find_columns(m, sel, best->precision, most, &c);
    print_head(page, m, sel, best);
    if (plot) {
        rows = isatty(STDOUT_FILENO) ? rows - TEXT_ROWS : PICTURE_ROWS;
        carm_show_draw(page, m, sel, columns,
                       rows < CARM_DRAW_ROWS_MIN ? CARM_DRAW_ROWS_MIN : rows);
    }
    printf("\n");
    print_table(page, m, sel, &c);
    printf("\n");
    print_ridges(page, m, sel, best);
    print_latency(page, m);
    print_scaling(page, m);
    print_trust(page, m, sel, best, mine);
    print_next(m, &c, best->precision, mine ? NULL : operand);
}
