/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outliers, suspects, drift and failed nodes as people read them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/fleet/hint.h"
#include "cli/fleet/show.h"
#include "cli/opt.h"
#include "base/text.h"

enum { HOST_WIDTH = 20, ROOF_WIDTH = 34 };

/* A node in a list: of which table, and which column says it. */
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

/* ---- lists ---------------------------------------------------------------------------------------- */

/* The flagged column that goes into a list under --roof, the most certain one without. */
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

/* The most certain first. */
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
    (void)printf("%s%*s", text, width - (int)carm_text_width(text), "");
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
    (void)carm_text_fit(host, sizeof host, node_of(e)->name, HOST_WIDTH, page->ascii);
    (void)carm_fleet_label(label, sizeof label, e->column, page->ascii);
    (void)carm_text_fit(roof, sizeof roof, label, ROOF_WIDTH, page->ascii);
    (void)printf("  ");
    put_padded(host, HOST_WIDTH);
    (void)printf(" %5zu %+7.1f%%  ", e->g + 1, 100.0 * (double)e->test->share);
    put_padded(roof, ROOF_WIDTH);
    (void)printf(" %+7.1f %8.1g", (double)e->test->z,
                 (double)(isnan(e->test->q) ? e->test->p : e->test->q));
    if (flagged > 1) {
        (void)printf("  +%zu", flagged - 1);
    }
    (void)putchar('\n');
}

static void put_history(const struct carm_fleet_page *page, const struct entry *e)
{
    const struct carm_fleet_node *node = node_of(e);
    const struct carm_fleet_row *rows = page->fleet->rows;
    char now[CARM_NAME_MAX];
    char first[CARM_NAME_MAX];
    (void)carm_text_clean(now, sizeof now, rows[node->rows[0]].time, page->ascii);
    (void)carm_text_clean(first, sizeof first, rows[node->rows[node->nrows - 1]].time, page->ascii);
    (void)printf("      %s against %zu model%s since %s\n", now, node->nrows - 1,
                 node->nrows == 2 ? "" : "s", first);
}

static void put_entries(const struct carm_fleet_page *page, const struct list *list, bool drift)
{
    (void)printf("  %-*s %5s %8s  %-*s %7s %8s  %s\n", HOST_WIDTH, "node", "group", "off",
                 ROOF_WIDTH, "roof", "sigmas", "q", "more");
    const char *last = "";
    for (size_t i = 0; i < list->n && i < page->top; i++) {
        const struct entry *e = &list->entries[i];
        const char *text = drift ? "" : carm_fleet_hint(e->table, e->i);
        put_entry(page, e);
        if (drift) {
            put_history(page, e);
        } else if (*text && strcmp(text, last) != 0) {
            (void)printf("      %s\n", text);
        }
        last = text;
    }
    if (list->n > page->top) {
        (void)printf("  and %zu more: --top %zu\n", list->n - page->top, list->n);
    }
}

static void put_list(const struct carm_fleet_page *page, bool drift,
                     enum carm_fleet_verdict verdict, const char *title)
{
    struct list list = gather(page, drift, verdict);
    if (list.n) {
        (void)printf("\n%s: %zu of %zu nodes\n", title, list.n,
                     drift ? page->fleet->ndrifting : page->fleet->njudged);
        put_entries(page, &list, drift);
    }
    free(list.entries);
}

/* ---- the parts ------------------------------------------------------------------------------------ */

static void put_outliers(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    const size_t slow = carm_fleet_count(f, false, CARM_FLEET_SLOW);
    const size_t fast = carm_fleet_count(f, false, CARM_FLEET_FAST);
    const size_t suspects = carm_fleet_count(f, false, CARM_FLEET_SUSPECT_NODE);
    put_list(page, false, CARM_FLEET_SLOW, "Slow outliers");
    put_list(page, false, CARM_FLEET_FAST, "Fast outliers");
    if (page->suspects) {
        put_list(page, false, CARM_FLEET_SUSPECT_NODE,
                 "Suspects (p of the one node in place of q)");
    }
    (void)putchar('\n');
    carm_opt_print_wrapped(
        "", 0,
        "%zu of %zu nodes are outliers (%zu slow, %zu fast): at most %.3g%% of them are sound, on "
        "average. %zu more would be if each were the only node%s; up to %.0f%% of sound nodes are.",
        slow + fast, f->njudged, slow, fast, 100.0 * page->options.fdr, suspects,
        page->suspects || !suspects ? "" : " (--suspects)", 100.0 * CARM_FLEET_SUSPECT);
    if (slow || suspects) {
        carm_opt_print_wrapped(
            "", 0,
            "Next: measure such a node again while nothing else runs on it (carm build); what stays "
            "low, compare with a sound node of its group (carm compare SOUND.json NODE.json); if the "
            "core clock does not explain it, drain the node and look at its hardware.");
    }
}

static void put_shifts(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    for (size_t g = 0; g < f->ngroups; g++) {
        const struct carm_fleet_table *t = &f->groups[g].drift;
        for (size_t j = 0; j < t->ncolumns && carm_fleet_wants_group(page, g); j++) {
            const struct carm_fleet_column *c = &t->columns[j];
            const double share = expm1(c->centre.median);
            const double p = carm_fleet_shift_p(c) * (double)t->ncolumns;
            char label[CARM_FLEET_LABEL_MAX];
            if (p <= page->options.fdr && fabs(share) >= page->options.min_share &&
                carm_fleet_wants_column(page, c)) {
                (void)printf("  group %zu as a whole %+.1f%%: %s (%zu nodes)\n", g + 1,
                             100.0 * share, carm_fleet_label(label, sizeof label, c, page->ascii),
                             c->centre.n);
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
    (void)printf("\nChange: %zu node%s with earlier models, newest against their median\n",
                 f->ndrifting, f->ndrifting == 1 ? "" : "s");
    put_shifts(page);
    put_list(page, true, CARM_FLEET_SLOW, "Slower than before, beyond the group's change");
    put_list(page, true, CARM_FLEET_FAST, "Faster than before, beyond the group's change");
    if (carm_fleet_count(f, true, CARM_FLEET_SLOW) + carm_fleet_count(f, true, CARM_FLEET_FAST) ==
        0) {
        (void)printf("  no node's own change is significant\n");
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
    (void)printf("\nFailed: %zu row%s without a model\n", failed, failed == 1 ? "" : "s");
    for (size_t i = 0; i < f->nrows && n < page->top; i++) {
        const struct carm_fleet_row *row = &f->rows[i];
        char text[1024];
        char clean[1024];
        if (row->machine >= 0) {
            continue;
        }
        (void)snprintf(text, sizeof text, "%.100s %s%s%.60s%s%.300s", row->host, row->time,
                       *row->time ? " " : "", row->status, *row->reason ? ": " : "", row->reason);
        carm_opt_print_wrapped("  ", 4, "%s",
                               carm_text_clean(clean, sizeof clean, text, page->ascii));
        n++;
    }
    if (failed > n) {
        (void)printf("  and %zu more: --top %zu\n", failed - n, failed);
    }
}

void carm_fleet_put_lists(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    put_outliers(page);
    put_drift(page);
    put_failed(page);
    for (size_t i = 0; i < f->nnotes && i < page->top; i++) {
        char clean[1024];
        carm_opt_print_wrapped(i ? "note: " : "\nnote: ", 6, "%s",
                               carm_text_clean(clean, sizeof clean, f->notes[i], page->ascii));
    }
    if (f->nnotes > page->top) {
        (void)printf("and %zu more notes: --top %zu\n", f->nnotes - page->top, f->nnotes);
    }
}
