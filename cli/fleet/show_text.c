/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The groups of a fleet, its outliers and the changes, as text for people. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/fleet/show.h"
#include "cli/opt.h"

/* Widths of columns: a group's table, and the lists. Both fit into 80 columns. */
enum { NAME_WIDTH = 15, EXTREME_WIDTH = 10, HOST_WIDTH = 18, ROOF_WIDTH = 31 };

/* ---- one group ---- */

/* "+3.3%"; large values without the decimal. returns dst */
static const char *percent(char *dst, size_t size, double share)
{
    if (isnan(share)) {
        snprintf(dst, size, "-");
    } else {
        snprintf(dst, size, fabs(share) < 0.9995 ? "%+.1f%%" : "%+.0f%%", 100.0 * share);
    }
    return dst;
}

static void put_extreme(const struct carm_fleet_page *page, const struct carm_fleet_group *group,
                        ptrdiff_t node, size_t column, int width)
{
    char number[CARM_TEXT_NUMBER_MAX];
    char host[CARM_TEXT_MAX];
    if (node < 0) {
        return;
    }
    const double share = carm_fleet_test_of(&group->now, (size_t)node, column)->share;
    carm_text_cut_begin(host, sizeof host, group->nodes[node].name, EXTREME_WIDTH, page->ascii);
    const int blanks = width - (int)carm_text_width(host);
    printf(" %6s %s%*s", percent(number, sizeof number, share), host, blanks > 0 ? blanks : 0, "");
}

static void put_column(const struct carm_fleet_page *page, const struct carm_fleet_group *group,
                       size_t column)
{
    const struct carm_fleet_column *c = &group->now.columns[column];
    char number[CARM_TEXT_NUMBER_MAX];
    char name[CARM_TEXT_MAX];
    char text[CARM_TEXT_MAX];
    const char *unit = strcmp(c->roof.unit, "byte/s") == 0 ? "B/s" : c->roof.unit;
    if (c->family && c->roof.threads) {
        snprintf(text, sizeof text, "%s, %d thr", c->roof.name, c->roof.threads);
    } else {
        snprintf(text, sizeof text, "%s", c->roof.name);
    }
    carm_text_fit(name, sizeof name, text, NAME_WIDTH, page->ascii);
    printf("  %s%*s %5zu", name, NAME_WIDTH - (int)carm_text_width(name), "", c->centre.n);
    if (c->centre.n == 0) {
        printf("  disturbed on all nodes\n");
        return;
    }
    printf(" %13s %5.1f%%", c->family ? "" : carm_text_si(number, sizeof number, c->median, unit),
           100.0 * c->sigma);
    put_extreme(page, group, c->low, column, EXTREME_WIDTH);
    put_extreme(page, group, c->high, column, 0);
    putchar('\n');
}

static bool same_set(const struct carm_fleet_column *a, const struct carm_fleet_column *b)
{
    return a->family == b->family &&
           (a->family ||
            (a->roof.threads == b->roof.threads && strcmp(a->roof.isa, b->roof.isa) == 0 &&
             strcmp(a->roof.precision, b->roof.precision) == 0));
}

static void put_heading(const struct carm_fleet_page *page, const struct carm_fleet_column *c)
{
    char text[CARM_FLEET_LABEL_MAX];
    char clean[CARM_FLEET_LABEL_MAX];
    if (c->family) {
        snprintf(text, sizeof text, "roofs of a level");
    } else {
        snprintf(text, sizeof text, "%s %s, %d thr", c->roof.isa, c->roof.precision,
                 c->roof.threads);
    }
    carm_text_fit(clean, sizeof clean, text, NAME_WIDTH + 4, page->ascii);
    /* the set's name takes the columns of names and a part of the numbers of nodes */
    const int blanks = NAME_WIDTH + 6 - (int)carm_text_width(clean);
    printf("\n  %s%*s %13s %6s %6s %-*s %7s\n", clean, blanks > 1 ? blanks : 1, "n", "median",
           "spread", "lowest", EXTREME_WIDTH, "", "highest");
}

static void put_columns(const struct carm_fleet_page *page, const struct carm_fleet_group *group)
{
    const struct carm_fleet_column *last = NULL;
    for (size_t j = 0; j < group->now.ncolumns; j++) {
        const struct carm_fleet_column *c = &group->now.columns[j];
        if (!carm_fleet_wants_column(page, c)) {
            continue;
        }
        if (!last || !same_set(last, c)) {
            put_heading(page, c);
        }
        put_column(page, group, j);
        last = c;
    }
}

/* The properties in which a group's machines differ from another group's. */
enum { DIFFERENCES = 9 };
struct difference {
    const char *what;
    char text[2][CARM_TEXT_MAX]; /* of the group, of the other group; "" = equal */
};

static void set_number(struct difference *d, const char *what, long long mine, long long other)
{
    d->what = what;
    snprintf(d->text[0], sizeof d->text[0], "%lld", mine);
    snprintf(d->text[1], sizeof d->text[1], "%lld", other);
}

static void set_text(struct difference *d, const char *what, const char *mine, const char *other,
                     bool ascii)
{
    d->what = what;
    carm_text_clean(d->text[0], sizeof d->text[0], *mine ? mine : "none", ascii);
    carm_text_clean(d->text[1], sizeof d->text[1], *other ? other : "none", ascii);
}

static void find_differences(const struct carm_fleet_group *group,
                             const struct carm_fleet_group *other, bool ascii,
                             struct difference d[DIFFERENCES])
{
    static const char *const by[] = {"carm build", "carm build --quick"};
    const struct carm_fleet_machine *m = &group->machine, *f = &other->machine;
    char mine[2 * CARM_TEXT_NUMBER_MAX + 8];
    char theirs[2 * CARM_TEXT_NUMBER_MAX + 8];
    set_text(&d[0], "CPU", m->cpu, f->cpu, ascii);
    set_number(&d[1], "cores", m->cores, f->cores);
    set_number(&d[2], "threads", m->threads, f->threads);
    set_text(&d[3], "memory", carm_fleet_memory_text(mine, sizeof mine, group),
             carm_fleet_memory_text(theirs, sizeof theirs, other), ascii);
    set_text(&d[4], "caches", m->caches, f->caches, ascii);
    set_text(&d[5], "hypervisor", m->hypervisor, f->hypervisor, ascii);
    set_number(&d[6], "page bytes", (long long)m->page_bytes, (long long)f->page_bytes);
    set_text(&d[7], "measured", m->isas, f->isas, ascii);
    set_text(&d[8], "by", by[m->quick], by[f->quick], ascii);
}

static bool differs(const struct difference *d)
{
    return strcmp(d->text[0], d->text[1]) != 0;
}

static void put_differences(const struct carm_fleet_page *page,
                            const struct carm_fleet_group *group)
{
    struct difference d[DIFFERENCES];
    bool any = false;
    find_differences(group, page->fleet->groups, page->ascii, d);
    for (size_t i = 0; i < DIFFERENCES; i++) {
        if (differs(&d[i])) {
            carm_opt_print_wrapped(any ? "    " : "  unlike group 1: ", 4, "%s %s, not %s",
                                   d[i].what, d[i].text[0], d[i].text[1]);
            any = true;
        }
    }
}

static void put_group(const struct carm_fleet_page *page, size_t g)
{
    const struct carm_fleet_group *group = &page->fleet->groups[g];
    const struct carm_fleet_machine *m = &group->machine;
    char cpu[CARM_TEXT_MAX];
    char rest[2 * CARM_TEXT_MAX];
    char clean[2 * CARM_TEXT_MAX];
    char memory[2 * CARM_TEXT_NUMBER_MAX + 8];
    char page_size[CARM_TEXT_NUMBER_MAX];
    carm_text_clean(cpu, sizeof cpu, *m->cpu ? m->cpu : "unknown CPU", page->ascii);
    putchar('\n');
    carm_opt_print_wrapped("", 2, "Group %zu: %zu node%s, %s, %d core%s, %d thread%s, %s", g + 1,
                           group->nnodes, group->nnodes == 1 ? "" : "s", cpu, m->cores,
                           m->cores == 1 ? "" : "s", m->threads, m->threads == 1 ? "" : "s",
                           carm_fleet_memory_text(memory, sizeof memory, group));
    snprintf(rest, sizeof rest, "%s%s%s; pages of %s; %s%s", *m->hypervisor ? m->hypervisor : "",
             *m->hypervisor ? "; " : "", m->caches,
             carm_text_bytes(page_size, sizeof page_size, m->page_bytes), m->isas,
             m->quick ? "; --quick" : "");
    carm_opt_print_wrapped("  ", 2, "%s", carm_text_clean(clean, sizeof clean, rest, page->ascii));
    put_differences(page, group);
    if (group->nnodes < 3) {
        carm_opt_print_wrapped(
            "  ", 2,
            "with fewer than three nodes, outliers cannot be identified: carm compare compares two of them");
    } else if (group->nnodes < CARM_FLEET_FEW) {
        carm_opt_print_wrapped(
            "  ", 2,
            "with fewer than %d nodes, their spread cannot be estimated: the intervals of their rounds are used instead, or without rounds the run-to-run variation that is usual on such machines (carm compare)",
            CARM_FLEET_FEW);
    }
    put_columns(page, group);
}

/* ---- outliers, suspects, drift and failed nodes ---- */

/* A node in a list: its table, and the column that put it there. */
struct entry {
    const struct carm_fleet_group *group;
    const struct carm_fleet_table *table;
    size_t g, i; /* i in the table */
    const struct carm_fleet_test *test;
    const struct carm_fleet_column *column;
};

struct list {
    struct entry *entries;
    size_t n;
};

/* The column for a list: with --roof the flagged column that it selects, else the most certain
 * column. */
static ptrdiff_t choose(const struct carm_fleet_page *page, const struct carm_fleet_table *t,
                        size_t node)
{
    ptrdiff_t best = CARM_FLEET_NONE;
    if (!page->roof) {
        return t->judged[node].worst;
    }
    for (size_t j = 0; j < t->ncolumns; j++) {
        const struct carm_fleet_test *test = carm_fleet_test_of(t, node, j);
        const bool mine = test->flagged || (ptrdiff_t)j == t->judged[node].worst;
        if (mine && carm_fleet_wants_column(page, &t->columns[j]) &&
            (best < 0 || fabsf(test->z) > fabsf(carm_fleet_test_of(t, node, (size_t)best)->z))) {
            best = (ptrdiff_t)j;
        }
    }
    return best;
}

/* Orders entries by certainty, the most certain first. */
static int by_z(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    const float zx = fabsf(x->test->z);
    const float zy = fabsf(y->test->z);
    if (zx != zy) {
        return zx < zy ? 1 : -1;
    }
    return x->g != y->g ? (x->g > y->g) - (x->g < y->g) : (x->i > y->i) - (x->i < y->i);
}

static struct list gather(const struct carm_fleet_page *page, bool drift,
                          enum carm_fleet_verdict verdict)
{
    const struct carm_fleet *f = page->fleet;
    struct list list = {calloc(carm_fleet_count(f, drift, verdict) + 1, sizeof *list.entries), 0};
    for (size_t g = 0; list.entries && g < f->ngroups; g++) {
        const struct carm_fleet_group *group = &f->groups[g];
        const struct carm_fleet_table *t = drift ? &group->drift : &group->now;
        for (size_t i = 0; i < t->n && carm_fleet_wants_group(page, g); i++) {
            const ptrdiff_t j =
                t->judged[i].verdict == verdict ? choose(page, t, i) : CARM_FLEET_NONE;
            if (j >= 0) {
                list.entries[list.n++] = (struct entry){
                    group, t, g, i, carm_fleet_test_of(t, i, (size_t)j), &t->columns[j]};
            }
        }
    }
    if (list.n) {
        qsort(list.entries, list.n, sizeof *list.entries, by_z);
    }
    return list;
}

static size_t count_flagged(const struct entry *e)
{
    size_t n = 0;
    for (size_t j = 0; j < e->table->ncolumns; j++) {
        n += carm_fleet_test_of(e->table, e->i, j)->flagged;
    }
    return n;
}

static void put_padded(const char *text, int width)
{
    printf("%s%*s", text, width - (int)carm_text_width(text), "");
}

static const struct carm_fleet_node *node_of(const struct entry *e)
{
    const bool drift = e->table == &e->group->drift;
    return &e->group->nodes[drift ? e->group->drifting[e->i] : e->i];
}

static void put_entry(const struct carm_fleet_page *page, const struct entry *e)
{
    char host[CARM_TEXT_MAX];
    char label[CARM_FLEET_LABEL_MAX];
    char roof[CARM_FLEET_LABEL_MAX];
    const size_t flagged = count_flagged(e);
    carm_text_cut_begin(host, sizeof host, node_of(e)->name, HOST_WIDTH, page->ascii);
    carm_fleet_label(label, sizeof label, e->column, page->ascii);
    carm_text_fit(roof, sizeof roof, label, ROOF_WIDTH, page->ascii);
    printf("  ");
    put_padded(host, HOST_WIDTH);
    printf(" %5zu %+6.1f%%  ", e->g + 1, 100.0 * (double)e->test->share);
    put_padded(roof, ROOF_WIDTH);
    printf(" %+6.1f", (double)e->test->z);
    if (flagged > 1) {
        printf("  +%zu", flagged - 1);
    }
    putchar('\n');
}

static void put_history(const struct carm_fleet_page *page, const struct entry *e)
{
    const struct carm_fleet_node *node = node_of(e);
    const struct carm_fleet_row *rows = page->fleet->rows;
    char now[CARM_NAME_MAX];
    char first[CARM_NAME_MAX];
    carm_text_clean(now, sizeof now, rows[node->rows[0]].time, page->ascii);
    carm_text_clean(first, sizeof first, rows[node->rows[node->nrows - 1]].time, page->ascii);
    printf("      %s against %zu model%s since %s\n", now, node->nrows - 1,
           node->nrows == 2 ? "" : "s", first);
}

static void put_entries(const struct carm_fleet_page *page, const struct list *list, bool drift)
{
    printf("  %-*s %5s %7s  %-*s %6s  %s\n", HOST_WIDTH, "node", "group", "off", ROOF_WIDTH, "roof",
           "sigmas", "more");
    const char *last = "";
    for (size_t i = 0; i < list->n && i < page->top; i++) {
        const struct entry *e = &list->entries[i];
        const char *text = drift ? "" : carm_fleet_hint(e->table, e->i);
        put_entry(page, e);
        if (drift) {
            put_history(page, e);
        } else if (*text && strcmp(text, last) != 0) {
            printf("      %s\n", text);
        }
        last = text;
    }
    if (list->n > page->top) {
        printf("  and %zu more: --top %zu\n", list->n - page->top, list->n);
    }
}

static void put_list(const struct carm_fleet_page *page, bool drift,
                     enum carm_fleet_verdict verdict, const char *title)
{
    struct list list = gather(page, drift, verdict);
    if (list.n) {
        printf("\n%s: %zu of %zu nodes\n", title, list.n,
               drift ? page->fleet->ndrifting : page->fleet->njudged);
        put_entries(page, &list, drift);
    }
    free(list.entries);
}

/* ---- the sections of the text ---- */

static void put_outliers(const struct carm_fleet_page *page)
{
    put_list(page, false, CARM_FLEET_SLOW, "Slow outliers");
    put_list(page, false, CARM_FLEET_FAST, "Fast outliers");
    if (page->suspects) {
        put_list(page, false, CARM_FLEET_SUSPECT_NODE, "Suspects");
    }
}

/* ---- odd nodes: few of a type with another memory, page size or ISA, or without some roofs ---- */

/* Why a node is odd; "" = not odd. returns dst */
static const char *odd_text(const struct carm_fleet_page *page, size_t g, size_t node, char *dst,
                            size_t size)
{
    const struct carm_fleet *f = page->fleet;
    const ptrdiff_t like = carm_fleet_like(f, g);
    size_t first = 0;
    const size_t missing = like < 0 ? carm_fleet_missing(&f->groups[g], node, &first) : 0;
    dst[0] = '\0';
    if (missing) {
        char label[CARM_FLEET_LABEL_MAX], more[32] = "";
        if (missing > 1) {
            snprintf(more, sizeof more, " and %zu more", missing - 1);
        }
        snprintf(
            dst, size, "no roof %s%s",
            carm_fleet_label(label, sizeof label, &f->groups[g].now.columns[first], page->ascii),
            more);
    } else if (like >= 0) {
        struct difference d[DIFFERENCES];
        find_differences(&f->groups[g], &f->groups[like], page->ascii, d);
        for (size_t i = 0; i < DIFFERENCES; i++) {
            if (differs(&d[i])) {
                carm_text_list(dst, size, "; ", "%s %.60s, not %.60s", d[i].what, d[i].text[0],
                               d[i].text[1]);
            }
        }
    }
    return dst;
}

static size_t count_odd(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    size_t n = 0, first = 0;
    for (size_t g = 0; g < f->ngroups; g++) {
        const bool all = carm_fleet_like(f, g) >= 0;
        for (size_t i = 0; i < f->groups[g].nnodes; i++) {
            n += all || carm_fleet_missing(&f->groups[g], i, &first) > 0;
        }
    }
    return n;
}

static void put_odd(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    const size_t all = count_odd(page);
    size_t n = 0;
    if (all == 0 || page->group || page->roof) {
        return;
    }
    printf("\nOdd nodes: %zu, unlike most nodes of their type\n", all);
    for (size_t g = 0; g < f->ngroups && n < page->top; g++) {
        for (size_t i = 0; i < f->groups[g].nnodes && n < page->top; i++) {
            char why[1024], head[CARM_TEXT_MAX + 8], host[CARM_TEXT_MAX];
            if (*odd_text(page, g, i, why, sizeof why)) {
                snprintf(head, sizeof head, "  %s  ",
                         carm_text_cut_begin(host, sizeof host, f->groups[g].nodes[i].name,
                                             HOST_WIDTH, page->ascii));
                carm_opt_print_wrapped(head, 6, "group %zu: %s", g + 1, why);
                n++;
            }
        }
    }
    if (all > n) {
        printf("  and %zu more: --top %zu\n", all - n, all);
    }
}

static void put_shifts(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    for (size_t g = 0; g < f->ngroups; g++) {
        const struct carm_fleet_table *t = &f->groups[g].drift;
        for (size_t j = 0; j < t->ncolumns && carm_fleet_wants_group(page, g); j++) {
            const struct carm_fleet_column *c = &t->columns[j];
            char label[CARM_FLEET_LABEL_MAX];
            if (carm_fleet_shifted(t, j, &page->options) && carm_fleet_wants_column(page, c)) {
                printf("  group %zu as a whole %+.1f%%: %s (%zu nodes)\n", g + 1,
                       100.0 * expm1(c->centre.median),
                       carm_fleet_label(label, sizeof label, c, page->ascii), c->centre.n);
            }
        }
    }
}

static void put_drift(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    if (f->ndrifting == 0) {
        return;
    }
    carm_opt_print_wrapped(
        "\n", 2,
        "Change: %zu node%s with earlier models; the newest model is compared with their median",
        f->ndrifting, f->ndrifting == 1 ? "" : "s");
    put_shifts(page);
    put_list(page, true, CARM_FLEET_SLOW, "Slower than before, beyond the group's change");
    put_list(page, true, CARM_FLEET_FAST, "Faster than before, beyond the group's change");
    if (carm_fleet_count(f, true, CARM_FLEET_SLOW) + carm_fleet_count(f, true, CARM_FLEET_FAST) ==
        0) {
        printf("  no node's own change is significant\n");
    }
}

static void put_failed(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    const size_t failed = carm_fleet_count_failed(f);
    size_t n = 0;
    if (failed == 0) {
        return;
    }
    printf("\nFailed: %zu row%s without a model\n", failed, failed == 1 ? "" : "s");
    for (size_t i = 0; i < f->nrows && n < page->top; i++) {
        const struct carm_fleet_row *row = &f->rows[i];
        char text[1024];
        char clean[1024];
        if (row->machine >= 0) {
            continue;
        }
        snprintf(text, sizeof text, "%.100s %s%s%.60s%s%.300s", row->host, row->time,
                 *row->time ? " " : "", row->status, *row->reason ? ": " : "", row->reason);
        carm_opt_print_wrapped("  ", 4, "%s",
                               carm_text_clean(clean, sizeof clean, text, page->ascii));
        n++;
    }
    if (failed > n) {
        printf("  and %zu more: --top %zu\n", failed - n, failed);
    }
}

static void put_lists(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    put_outliers(page);
    put_odd(page);
    put_drift(page);
    put_failed(page);
    for (size_t i = 0; i < f->nnotes && i < page->top; i++) {
        char clean[1024];
        carm_opt_print_wrapped(i ? "note: " : "\nnote: ", 6, "%s",
                               carm_text_clean(clean, sizeof clean, f->notes[i], page->ascii));
    }
    if (f->nnotes > page->top) {
        printf("and %zu more notes: --top %zu\n", f->nnotes - page->top, f->nnotes);
    }
}

static void put_next(const struct carm_fleet_page *page)
{
    if (carm_fleet_count(page->fleet, false, CARM_FLEET_SLOW) ||
        carm_fleet_count(page->fleet, false, CARM_FLEET_SUSPECT_NODE)) {
        carm_opt_print_wrapped(
            "\n", 0,
            "next: measure such a node again while nothing else runs on it (carm build). If it is "
            "still slow, compare it with a sound node of its group (carm compare SOUND.json "
            "NODE.json). If the core clock does not explain the difference, drain the node and "
            "check its hardware.");
    } else {
        printf("\nnext: carm fleet report, with the same files: one interactive page\n");
    }
}

/* ---- the text of a fleet ---- */

static void put_summary(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    const size_t failed = carm_fleet_count_failed(f);
    size_t nodes = 0;
    char more[96] = "";
    for (size_t g = 0; g < f->ngroups; g++) {
        nodes += f->groups[g].nnodes;
    }
    if (f->nbroken) {
        snprintf(more, sizeof more, "; %zu broken, left out", f->nbroken);
    }
    if (failed) {
        carm_text_append(more, sizeof more, "; %zu failed row%s", failed, failed == 1 ? "" : "s");
    }
    carm_opt_print_wrapped("", 2, "%zu file%s: %zu model%s of %zu node%s in %zu group%s%s",
                           f->nfiles, f->nfiles == 1 ? "" : "s", f->nrows - failed,
                           f->nrows - failed == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
                           f->ngroups, f->ngroups == 1 ? "" : "s", more);
}

/* Prints the answer, before the tables that it comes from. */
static void put_verdict(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    const size_t slow = carm_fleet_count(f, false, CARM_FLEET_SLOW);
    const size_t fast = carm_fleet_count(f, false, CARM_FLEET_FAST);
    const size_t suspects = carm_fleet_count(f, false, CARM_FLEET_SUSPECT_NODE);
    if (f->njudged == 0) {
        printf("No node was judged: outliers show in groups of three nodes or more.\n");
    } else {
        carm_opt_print_wrapped(
            "", 2,
            "%zu of %zu nodes %s (%zu slow, %zu fast). Expect at most 1 false alarm in %.3g "
            "outliers. %zu more are suspects%s: each would be an outlier if it were the only node; up to "
            "%.0f%% of sound nodes are suspects.",
            slow + fast, f->njudged, slow + fast == 1 ? "is an outlier" : "are outliers", slow,
            fast, 1.0 / page->options.fdr, suspects,
            page->suspects || !suspects ? "" : " (--suspects)", 100.0 * CARM_FLEET_SUSPECT);
    }
    const size_t odd = count_odd(page);
    if (odd) {
        carm_opt_print_wrapped(
            "", 2,
            "%zu node%s odd: memory, pages, cores, ISAs or roofs differ from the other nodes of %s "
            "type.",
            odd, odd == 1 ? " is" : "s are", odd == 1 ? "its" : "their");
    }
}

void carm_fleet_put_text(const struct carm_fleet_page *page)
{
    put_verdict(page);
    put_summary(page);
    put_lists(page);
    for (size_t g = 0; g < page->fleet->ngroups; g++) {
        /* odd groups are listed below, unless --group selects one */
        if (carm_fleet_wants_group(page, g) &&
            (page->group || carm_fleet_like(page->fleet, g) < 0)) {
            put_group(page, g);
        }
    }
    put_next(page);
}
