/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The comparison as text for people. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/compare/print.h"
#include "cli/opt.h"
#include "models/validation.h"

enum { NAME_WIDTH = 20, FACT_WIDTH = 14, SHORT_WIDTH = 12, WIDTH_MOST = 110 };

char *carm_compare_percent(char *dst, size_t size, double share)
{
    const double percent = 100.0 * share;
    snprintf(dst, size, fabs(percent) < 0.05 ? "0.0%%" : "%+.1f%%", percent);
    return dst;
}

static void put_text(const struct carm_compare_page *page, int width, const char *s)
{
    char clean[2 * CARM_TEXT_MAX];
    carm_text_clean(clean, sizeof clean, s, page->ascii);
    const int pad = abs(width) - (int)carm_text_width(clean);
    printf("%*s%s%*s", width < 0 && pad > 0 ? pad : 0, "", clean, width > 0 && pad > 0 ? pad : 0,
           "");
}

/* ---- models, machines, levels ---- */

static void put_list(const struct carm_compare_page *page)
{
    printf("Comparison with A, the baseline\n");
    for (size_t i = 0; i < page->compare->n; i++) {
        printf("  %c  ", carm_compare_letter(i));
        put_text(page, 0, page->files[i]);
        printf("\n");
    }
}

/* Width of the column of names, for facts that differ. */
static int fit_names(const struct carm_compare_fact *f, size_t n)
{
    int width = FACT_WIDTH;
    for (size_t i = 0; i < n; i++) {
        const int w = f[i].same ? 0 : (int)strlen(f[i].name);
        width = w > width ? w : width;
    }
    return width;
}

/* Sets the columns to the width of their contents. returns the width of a line */
static int fit_columns(const struct carm_compare_page *page, const struct carm_compare_fact *f,
                       size_t n, int width[CARM_COMPARE_MOST])
{
    int total = fit_names(f, n);
    for (size_t m = 0; m < page->compare->n; m++) {
        width[m] = SHORT_WIDTH;
        for (size_t i = 0; i < n; i++) {
            const int w = f[i].same ? 0 : (int)carm_text_width(f[i].text[m]);
            width[m] = w > width[m] ? w : width[m];
        }
        total += width[m] + 2;
    }
    width[page->compare->n - 1] = 0; /* last column */
    return total;
}

/* Prints the differences: a line for each fact, or for each fact and model if lines would be too
 * long. */
static void put_differing(const struct carm_compare_page *page, const struct carm_compare_fact *f,
                          size_t n)
{
    int width[CARM_COMPARE_MOST];
    const int names = fit_names(f, n);
    const bool wide = fit_columns(page, f, n, width) > WIDTH_MOST;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (f[i].same) {
            continue;
        }
        if (!any && !wide) {
            printf("  %-*s", names, "");
            for (size_t m = 0; m < page->compare->n; m++) {
                printf("  %-*c", width[m], carm_compare_letter(m));
            }
            printf("\n");
        }
        any = true;
        printf("  %-*s", names, f[i].name);
        for (size_t m = 0; m < page->compare->n; m++) {
            if (wide) {
                printf("%*s  %c ", m ? names + 2 : 0, "", carm_compare_letter(m));
                put_text(page, 0, f[i].text[m]);
                printf("\n");
            } else {
                printf("  ");
                put_text(page, width[m], f[i].text[m]);
            }
        }
        printf("%s", wide ? "" : "\n");
    }
}

/* Prints the facts that all models share: "host sample, CPU ..." */
static void put_common(const struct carm_compare_fact *f, size_t n)
{
    char line[1024] = "";
    for (size_t i = 0; i < n; i++) {
        if (f[i].same && strcmp(f[i].text[0], "-") != 0 &&
            !carm_text_list_whole(line, sizeof line, ", ", "%s %.200s", f[i].name, f[i].text[0])) {
            break;
        }
    }
    if (*line) {
        carm_opt_print_wrapped("  in common: ", 4, "%s", line);
    }
}

static void put_facts(const struct carm_compare_page *page, const char *heading,
                      size_t (*collect)(const struct carm_compare *compare, bool ascii,
                                        struct carm_compare_fact *facts))
{
    struct carm_compare_fact *facts = calloc(CARM_COMPARE_FACTS_MAX, sizeof *facts);
    if (facts) {
        const size_t n = collect(page->compare, page->ascii, facts);
        printf("\n%s\n", heading);
        put_differing(page, facts, n);
        put_common(facts, n);
    }
    free(facts);
}

static void put_machines(const struct carm_compare_page *page)
{
    put_facts(page, "Machines", carm_compare_machine_facts);
    put_facts(page, "Memory levels", carm_compare_level_facts);
}

static bool is_pair(const struct carm_compare_page *page)
{
    return page->compare->n == 2;
}

/* ---- sets ---- */

static void set_name(const struct carm_compare_page *page, const struct carm_compare_set *set,
                     char *dst, size_t size)
{
    char isa[CARM_NAME_MAX];
    char precision[CARM_NAME_MAX];
    snprintf(dst, size, "%s %s, %d thread%s%s%s",
             carm_text_clean(isa, sizeof isa, set->isa, page->ascii),
             carm_text_clean(precision, sizeof precision, set->precision, page->ascii),
             set->threads, set->threads == 1 ? "" : "s", *set->layout ? " of " : "", set->layout);
}

/* Adds ", WHAT" to a line while there is room, then dots. */
static void append(char *line, size_t size, const char *what)
{
    static const char more[] = ", ...";
    const size_t used = strlen(line);
    const bool full = used >= sizeof more && strcmp(line + used + 1 - sizeof more, more) == 0;
    if (used + strlen(what) + 2 + sizeof more < size) {
        snprintf(line + used, size - used, "%s%s", used && !full ? ", " : "", full ? "" : what);
    } else if (!full) {
        snprintf(line + used, size - used, "%s", more);
    }
}

/* Prints "core clock A 3.500 GHz, B 3.465 GHz (-1.0%)", and models whose threads are placed
 * differently. */
static void put_clocks(const struct carm_compare_page *page, const struct carm_compare_set *set)
{
    char number[CARM_TEXT_NUMBER_MAX];
    char percent[CARM_TEXT_NUMBER_MAX];
    char line[64 * CARM_COMPARE_MOST];
    const struct carm_roofs *base = set->roofs[0];
    if (!base || !(base->clock_hz > 0.0)) { /* roofs of another tool have no clock */
        return;
    }
    snprintf(line, sizeof line, "A %s", carm_text_si(number, sizeof number, base->clock_hz, "Hz"));
    for (size_t i = 1; i < page->compare->n; i++) {
        const struct carm_roofs *r = set->roofs[i];
        if (r && r->clock_hz > 0.0) {
            char one[2 * CARM_TEXT_NUMBER_MAX + 8];
            snprintf(
                one, sizeof one, "%c %s (%s)", carm_compare_letter(i),
                carm_text_si(number, sizeof number, r->clock_hz, "Hz"),
                carm_compare_percent(percent, sizeof percent, r->clock_hz / base->clock_hz - 1.0));
            append(line, sizeof line, one);
        }
    }
    carm_opt_print_wrapped("  core clock ", 4, "%s", line);
}

/* Whether a model's threads were placed on other cores than the baseline's. Only the first set of a number of threads
 * reports it. */
static bool any_moved(const struct carm_compare_page *page, const struct carm_compare_set *set)
{
    bool any = false;
    for (const struct carm_compare_set *s = page->compare->sets; s < set; s++) {
        if (s->compared && s->threads == set->threads) {
            return false;
        }
    }
    for (size_t i = 1; i < page->compare->n; i++) {
        any = any || (set->roofs[0] && set->roofs[i] && carm_compare_moved(set, i));
    }
    return any;
}

static void put_moved(const struct carm_compare_page *page, const struct carm_compare_set *set)
{
    for (size_t i = 1; i < page->compare->n; i++) {
        const struct carm_roofs *base = set->roofs[0];
        const struct carm_roofs *r = set->roofs[i];
        if (base && r && carm_compare_moved(set, i)) {
            carm_opt_print_wrapped(
                "  note: ", 4,
                "a cache line moves from thread to thread in %.0f ns in A and in %.0f ns in %c: the "
                "threads ran on differently placed cores, which changes the results of shared caches "
                "and memory",
                1e9 * base->core_to_core_seconds, 1e9 * r->core_to_core_seconds,
                carm_compare_letter(i));
        }
    }
}

static const char *rate_text(char *dst, size_t size, const struct carm_compare_row *row, size_t i)
{
    const double rate = row->values[i].rate;
    return rate > 0.0 ? carm_text_si(dst, size, rate, row->bytes ? "B/s" : row->unit) : "-";
}

/* Roofs without a significant difference are shown on request. */
static bool is_shown(const struct carm_compare_page *page, const struct carm_compare_row *row)
{
    bool shown = false;
    for (size_t i = 1; i < CARM_COMPARE_MOST; i++) {
        const enum carm_compare_verdict v = row->diffs[i].verdict;
        shown =
            shown || v == CARM_COMPARE_SIGNIFICANT || (page->verbose && v != CARM_COMPARE_ABSENT);
    }
    return shown;
}

/* Marks of verdicts. The mark of CARM_COMPARE_ABSENT, which no shown row has, is for significant
 * differences that vanish per cycle. */
static const char marks[] = {[CARM_COMPARE_ABSENT] = 'c',
                             [CARM_COMPARE_DISTURBED] = '!',
                             [CARM_COMPARE_EQUAL] = ' ',
                             [CARM_COMPARE_SIGNIFICANT] = '*'};

static void put_verdict(const struct carm_compare_page *page, const struct carm_compare_row *row,
                        const struct carm_compare_diff *d)
{
    if (page->narrow) {
        putchar(marks[d->same_per_cycle ? CARM_COMPARE_ABSENT : d->verdict]);
    } else if (d->verdict == CARM_COMPARE_DISTURBED) {
        printf("! disturbed in %s", !row->values[1].disturbed   ? "A"
                                    : !row->values[0].disturbed ? "B"
                                                                : "both");
    } else if (d->verdict == CARM_COMPARE_SIGNIFICANT) {
        printf("* %s%s", d->same_per_cycle ? "the same per cycle" : "significant",
               strcmp(row->values[0].code, row->values[1].code) ? ", other code" : "");
    } else {
        printf("%s", d->change == 0.0 ? "equal" : "within noise");
    }
}

static void put_pair_row(const struct carm_compare_page *page, const struct carm_compare_row *row)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char b[CARM_TEXT_NUMBER_MAX];
    char change[CARM_TEXT_NUMBER_MAX];
    char cycle[CARM_TEXT_NUMBER_MAX] = "-";
    const struct carm_compare_diff *d = &row->diffs[1];
    if (d->has_cycles) {
        carm_compare_percent(cycle, sizeof cycle, d->cycle_change);
    }
    printf("  ");
    put_text(page, NAME_WIDTH, row->name);
    printf(" %13s %13s %8s ", rate_text(a, sizeof a, row, 0), rate_text(b, sizeof b, row, 1),
           carm_compare_percent(change, sizeof change, d->change));
    if (d->error > CARM_NOT_KNOWN) {
        printf("%*s", page->ascii ? 8 : 7, "unknown");
    } else {
        printf("%s%5.2f%%", page->ascii ? "+-" : "±", 100.0 * d->error);
    }
    printf(" %9s  ", cycle);
    put_verdict(page, row, d);
    printf("\n");
}

static void put_row(const struct carm_compare_page *page, const struct carm_compare_row *row)
{
    char text[CARM_TEXT_NUMBER_MAX];
    printf("  ");
    put_text(page, NAME_WIDTH, row->name);
    printf(" %13s", rate_text(text, sizeof text, row, 0));
    for (size_t i = 1; i < page->compare->n; i++) {
        const struct carm_compare_diff *d = &row->diffs[i];
        if (d->verdict == CARM_COMPARE_ABSENT) {
            printf(" %9s ", "-");
        } else {
            printf(" %9s%c", carm_compare_percent(text, sizeof text, d->change),
                   marks[d->same_per_cycle ? CARM_COMPARE_ABSENT : d->verdict]);
        }
    }
    printf("\n");
}

/* Whether a set of the models' best ISAs compares a roof. */
static bool is_under_best(const struct carm_compare *c, const struct carm_compare_set *set,
                          const char *roof, size_t model)
{
    for (size_t s = 0; s < c->nsets; s++) {
        const struct carm_compare_set *best = &c->sets[s];
        if (best->threads != set->threads || strcmp(best->precision, set->precision) != 0 ||
            strcmp(best->isa, CARM_COMPARE_BEST) != 0) {
            continue;
        }
        for (size_t k = 0; k < best->nrows; k++) {
            if (strcmp(best->rows[k].name, roof) == 0 && best->rows[k].values[model].rate > 0.0) {
                return true;
            }
        }
    }
    return false;
}

/* Prints the roofs that a model does not have although another model of the set has them: at all,
 * or with this ISA. */
static void put_lacks(const struct carm_compare_page *page, const struct carm_compare_set *set)
{
    for (size_t i = 0; i < page->compare->n; i++) {
        char line[2][1500] = {"", ""};
        char head[160], isa[CARM_NAME_MAX];
        for (size_t k = 0; set->roofs[i] && k < set->nrows; k++) {
            if (!(set->rows[k].values[i].rate > 0.0)) {
                const bool best = is_under_best(page->compare, set, set->rows[k].name, i);
                append(line[best], sizeof line[best], set->rows[k].name);
            }
        }
        snprintf(head, sizeof head, "  not in %c: ", carm_compare_letter(i));
        if (*line[0]) {
            carm_opt_print_wrapped(head, 4, "%s", line[0]);
        }
        snprintf(head, sizeof head, "  not in %c with %s, compared under " CARM_COMPARE_BEST ": ",
                 carm_compare_letter(i), carm_text_clean(isa, sizeof isa, set->isa, page->ascii));
        if (*line[1]) {
            carm_opt_print_wrapped(head, 4, "%s", line[1]);
        }
    }
}

static void put_set(const struct carm_compare_page *page, const struct carm_compare_set *set)
{
    char name[3 * CARM_NAME_MAX];
    bool any = page->verbose;
    for (size_t k = 0; k < set->nrows; k++) {
        any = any || is_shown(page, &set->rows[k]);
    }
    if (any || any_moved(page, set)) {
        set_name(page, set, name, sizeof name);
        printf("\n%s\n", name);
        put_clocks(page, set);
        if (any_moved(page, set)) {
            put_moved(page, set);
        }
    }
    if (!any) {
        return;
    }
    printf("  %-*s %13c", NAME_WIDTH, "roof", 'A');
    if (is_pair(page)) {
        printf(" %13c %8s %7s %9s", 'B', "change", "95% CI", "per cycle");
    } else {
        for (size_t i = 1; i < page->compare->n; i++) {
            printf(" %9c ", carm_compare_letter(i));
        }
    }
    printf("\n");
    for (size_t k = 0; k < set->nrows; k++) {
        if (is_shown(page, &set->rows[k]) && is_pair(page)) {
            put_pair_row(page, &set->rows[k]);
        } else if (is_shown(page, &set->rows[k])) {
            put_row(page, &set->rows[k]);
        }
    }
    put_lacks(page, set);
}

static void put_other_sets(const struct carm_compare_page *page)
{
    char line[1500] = "";
    for (size_t s = 0; s < page->compare->nsets; s++) {
        const struct carm_compare_set *set = &page->compare->sets[s];
        char name[3 * CARM_NAME_MAX];
        char what[4 * CARM_NAME_MAX];
        char letters[2 * CARM_COMPARE_MOST] = "";
        if (set->compared) {
            continue;
        }
        for (size_t i = 0; i < page->compare->n; i++) {
            if (set->roofs[i]) {
                carm_text_list(letters, sizeof letters, " ", "%c", carm_compare_letter(i));
            }
        }
        set_name(page, set, name, sizeof name);
        snprintf(what, sizeof what, "%s (%s)", name, letters);
        append(line, sizeof line, what);
    }
    if (*line) {
        carm_opt_print_wrapped("\nnot compared: ", 2, "%s", line);
    }
}

/* ---- fitness ---- */

static void put_fitness(const struct carm_compare_page *page)
{
    struct carm_compare_score score;
    const struct carm_validation *before = NULL;
    size_t at = 0;
    while (carm_compare_next_score(page->compare, &page->options, &at, &score)) {
        const struct carm_validation *v = score.of[0];
        char name[2 * CARM_NAME_MAX + 2];
        if (strcmp(v->model, "cache-aware") != 0 &&
            (strcmp(v->model, "original") != 0 || strcmp(v->level, "all") != 0)) {
            continue;
        }
        if (!before) {
            printf("\nFitness (carm validate)\n  %-*s", NAME_WIDTH, "");
            for (size_t i = 0; i < page->compare->n; i++) {
                printf(" %8c", carm_compare_letter(i));
            }
            printf("\n");
        }
        if (!before || !carm_validation_set_equal(&before->set, &v->set)) {
            char isa[CARM_NAME_MAX], precision[CARM_NAME_MAX], op[CARM_NAME_MAX];
            printf("  %s %s %s, %d thread%s\n",
                   carm_text_clean(isa, sizeof isa, v->set.isa, page->ascii),
                   carm_text_clean(precision, sizeof precision, v->set.precision, page->ascii),
                   carm_text_clean(op, sizeof op, v->set.op, page->ascii), v->set.threads,
                   v->set.threads == 1 ? "" : "s");
        }
        before = v;
        snprintf(name, sizeof name, "%s, %s", v->model, v->level);
        printf("    ");
        put_text(page, NAME_WIDTH - 2, name);
        for (size_t i = 0; i < page->compare->n; i++) {
            if (score.of[i]) {
                printf(" %7.2f%%", score.of[i]->fitness);
            } else {
                printf(" %8s", "-");
            }
        }
        printf("\n");
    }
}

/* ---- the last lines ---- */

/* The part of the machine that a roof belongs to, as the answer names it: its level, or the peak. Ceilings have no
 * part: the roofs above them show the change. */
static const char *part_of(const struct carm_compare_row *row, char dst[16])
{
    switch (row->kind) {
    case CARM_COMPARE_MEMORY:
        snprintf(dst, 16, "%.*s", (int)strcspn(row->name, " "), row->name);
        return dst;
    case CARM_COMPARE_DRAM_PEAK:
        return "DRAM";
    case CARM_COMPARE_COMPUTE:
        return "peak";
    default:
        return NULL;
    }
}

enum { PARTS_MAX = 6 };

struct part {
    char name[16];
    double change; /* largest significant change, as a share of the baseline */
};

/* Orders parts by change, the largest first. */
static int by_change(const void *a, const void *b)
{
    const double x = fabs(((const struct part *)a)->change);
    const double y = fabs(((const struct part *)b)->change);
    return (x < y) - (x > y);
}

/* Finds the parts in which a model differs, the largest change first. returns their number */
static size_t find_parts(const struct carm_compare *c, size_t model, struct part *parts)
{
    size_t n = 0;
    for (size_t s = 0; s < c->nsets; s++) {
        for (size_t r = 0; r < c->sets[s].nrows; r++) {
            char buf[16];
            const struct carm_compare_row *row = &c->sets[s].rows[r];
            const char *name = part_of(row, buf);
            if (!name || row->diffs[model].verdict != CARM_COMPARE_SIGNIFICANT) {
                continue;
            }
            size_t k = 0;
            while (k < n && strcmp(parts[k].name, name) != 0) {
                k++;
            }
            if (k == PARTS_MAX) {
                continue;
            }
            if (k == n) {
                snprintf(parts[n].name, sizeof parts[n].name, "%s", name);
                parts[n++].change = 0.0;
            }
            if (fabs(row->diffs[model].change) > fabs(parts[k].change)) {
                parts[k].change = row->diffs[model].change;
            }
        }
    }
    qsort(parts, n, sizeof *parts, by_change);
    return n;
}

/* ", mostly its clock (+14%)" where the core clock alone explains most of a model's significant differences, else "".
 * returns dst */
static const char *clock_text(char dst[64], const struct carm_compare *c, size_t model)
{
    size_t all = 0, by_clock = 0;
    double ratios = 0.0;
    for (size_t s = 0; s < c->nsets; s++) {
        for (size_t r = 0; r < c->sets[s].nrows; r++) {
            const struct carm_compare_diff *d = &c->sets[s].rows[r].diffs[model];
            all += d->verdict == CARM_COMPARE_SIGNIFICANT;
            by_clock += d->same_per_cycle;
            ratios += d->same_per_cycle ? (1.0 + d->change) / (1.0 + d->cycle_change) : 0.0;
        }
    }
    dst[0] = '\0';
    if (2 * by_clock > all) {
        snprintf(dst, 64, ", %s its clock (%+.2g%%)", by_clock == all ? "all by" : "mostly",
                 100.0 * (ratios / (double)by_clock - 1.0));
    }
    return dst;
}

/* "B is slower: L1 -12%, DRAM -4%." for each model that differs */
static void put_answers(const struct carm_compare *c)
{
    char clock[64];
    for (size_t m = 1; m < c->n; m++) {
        struct part parts[PARTS_MAX] = {{"", 0.0}};
        char text[256] = "";
        bool faster = false, slower = false;
        const size_t n = find_parts(c, m, parts);
        for (size_t i = 0; i < n; i++) {
            faster = faster || parts[i].change > 0.0;
            slower = slower || parts[i].change < 0.0;
            carm_text_list(text, sizeof text, ", ", "%s %+.2g%%", parts[i].name,
                           100.0 * parts[i].change);
        }
        if (n > 0) {
            carm_opt_print_wrapped("", 0, "%c is %s: %s%s.", carm_compare_letter(m),
                                   !slower   ? "faster"
                                   : !faster ? "slower"
                                             : "faster in some, slower in other respects",
                                   text, clock_text(clock, c, m));
        }
    }
}

/* Prints the answer, then the number of comparisons behind it. returns false where nothing can be compared */
static bool put_verdict_line(const struct carm_compare_page *page)
{
    const struct carm_compare *c = page->compare;
    struct carm_compare_drop worst;
    const struct carm_compare_counts n = carm_compare_counts(c);
    const size_t significant = n.of[CARM_COMPARE_SIGNIFICANT];
    const size_t equal = n.of[CARM_COMPARE_EQUAL];
    const size_t disturbed = n.of[CARM_COMPARE_DISTURBED];
    const size_t drops = carm_compare_drops(c, 0.0, false, &worst);
    char lower[80] = "", higher[80] = "", clocks[64] = "";
    char marked[80] = "";
    if (significant + equal + disturbed == 0) {
        carm_opt_print_wrapped(
            "\n", 0,
            "Nothing can be compared: the baseline shares no ISA, precision and number of "
            "threads with another model.");
        return false;
    }
    if (n.same_per_cycle) {
        snprintf(clocks, sizeof clocks, ", %zu by the core clock alone", n.same_per_cycle);
    }
    if (drops) {
        snprintf(lower, sizeof lower, "%zu lower", drops);
    }
    if (significant > drops) {
        snprintf(higher, sizeof higher, "%s%zu higher", drops ? ", " : "", significant - drops);
    }
    if (disturbed) {
        snprintf(marked, sizeof marked, " %zu more %s disturbed, so not compared.", disturbed,
                 disturbed == 1 ? "was" : "were");
    }
    putchar('\n');
    put_answers(c);
    if (significant + equal == 0) {
        carm_opt_print_wrapped("", 0,
                               "Nothing to judge: all %zu roofs were disturbed in one model or the "
                               "other. Run `carm build` again on both, which adds rounds.",
                               disturbed);
    } else if (significant == 0) {
        carm_opt_print_wrapped("", 0, "No significant difference in %zu roofs.%s", equal, marked);
    } else {
        carm_opt_print_wrapped("", 0, "%zu of %zu %s differ: %s%s%s.%s", significant,
                               significant + equal, is_pair(page) ? "roofs" : "comparisons", lower,
                               higher, clocks, marked);
    }
    return true;
}

/* Prints the rule for significant differences. */
static void put_rule(const struct carm_compare_page *page)
{
    const struct carm_compare_counts n = carm_compare_counts(page->compare);
    const size_t all = n.of[CARM_COMPARE_SIGNIFICANT] + n.of[CARM_COMPARE_EQUAL];
    if (page->noise >= 0.0) {
        carm_opt_print_wrapped(
            "\n", 0,
            "A difference is significant if it exceeds its 95%% interval and %.3g%% (--noise).",
            100.0 * page->noise);
        return;
    }
    if (n.by_rounds > 0) {
        carm_opt_print_wrapped(
            "\n", 0,
            "A difference is significant if it exceeds its 95%% interval and %.3g%%, or %.3g%% for "
            "the last cache and memory. The interval is made from the rounds of both models. It "
            "covers the variation from run to run and holds for all roofs together: two models of "
            "one machine differ significantly in 5%% of cases at most.",
            100.0 * carm_compare_floor(CARM_COMPARE_CORE, false),
            100.0 * carm_compare_floor(CARM_COMPARE_DRAM, false));
    }
    if (n.by_rounds < all || all == 0) {
        carm_opt_print_wrapped(
            "\n", 0,
            "%s is significant if it exceeds its 95%% interval and the variation from "
            "run to run: %.3g%% for computation and L1; in virtual machines %.3g%% for further "
            "caches of a core, %.3g%% for the last cache, %.3g%% for memory with one thread and "
            "%.3g%% with several; elsewhere %.3g%%, and %.3g%% for the last cache and memory.",
            n.by_rounds ? "Where a model has no rounds, a difference" : "A difference",
            100.0 * carm_compare_floor(CARM_COMPARE_CORE, true),
            100.0 * carm_compare_floor(CARM_COMPARE_PRIVATE, true),
            100.0 * carm_compare_floor(CARM_COMPARE_SHARED, true),
            100.0 * carm_compare_floor(CARM_COMPARE_DRAM, true),
            100.0 * carm_compare_floor(CARM_COMPARE_DRAM_SEVERAL, true),
            100.0 * carm_compare_floor(CARM_COMPARE_PRIVATE, false),
            100.0 * carm_compare_floor(CARM_COMPARE_DRAM, false));
    }
}

void carm_compare_put_table(const struct carm_compare_page *page)
{
    put_list(page);
    const bool compared = put_verdict_line(page);
    put_machines(page);
    for (size_t s = 0; s < page->compare->nsets; s++) {
        if (page->compare->sets[s].compared) {
            put_set(page, &page->compare->sets[s]);
        }
    }
    put_other_sets(page);
    put_fitness(page);
    if (!is_pair(page) || page->narrow) {
        printf("\n* significant, c significant but the same per cycle, ! disturbed\n");
    }
    if (compared) {
        put_rule(page);
    }
    if (compared && !page->verbose) {
        printf("next: carm compare --verbose (every roof)\n");
    }
}
