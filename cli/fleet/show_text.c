/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The groups of a fleet as people read them. */
#include <math.h>
#include <string.h>

#include "cli/fleet/show.h"
#include "cli/opt.h"
#include "base/text.h"

enum { NAME_WIDTH = 15, HOST_WIDTH = 13 };

/* ---- one group ------------------------------------------------------------------------------------ */

/* "+3.3%", as short as it is for large ones */
static const char *percent(char *dst, size_t size, double share)
{
    if (isnan(share)) {
        (void)snprintf(dst, size, "-");
    } else {
        (void)snprintf(dst, size, fabs(share) < 0.9995 ? "%+.1f%%" : "%+.0f%%", 100.0 * share);
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
    (void)carm_text_fit(host, sizeof host, group->nodes[node].name, HOST_WIDTH, page->ascii);
    const int blanks = width - (int)carm_text_width(host);
    (void)printf(" %7s %s%*s", percent(number, sizeof number, share), host, blanks > 0 ? blanks : 0,
                 "");
}

static void put_column(const struct carm_fleet_page *page, const struct carm_fleet_group *group,
                       size_t column)
{
    const struct carm_fleet_column *c = &group->now.columns[column];
    char number[CARM_TEXT_NUMBER_MAX];
    char low[CARM_TEXT_NUMBER_MAX];
    char high[CARM_TEXT_NUMBER_MAX];
    char name[CARM_TEXT_MAX];
    char text[CARM_TEXT_MAX];
    const char *unit = strcmp(c->roof.unit, "byte/s") == 0 ? "B/s" : c->roof.unit;
    if (c->family && c->roof.threads) {
        (void)snprintf(text, sizeof text, "%s, %d thr", c->roof.name, c->roof.threads);
    } else {
        (void)snprintf(text, sizeof text, "%s", c->roof.name);
    }
    (void)carm_text_fit(name, sizeof name, text, NAME_WIDTH, page->ascii);
    (void)printf("  %s%*s %6zu", name, NAME_WIDTH - (int)carm_text_width(name), "", c->centre.n);
    if (c->centre.n == 0) {
        (void)printf("  disturbed on all nodes\n");
        return;
    }
    (void)printf(" %14s %5.1f%% %7s %6s",
                 c->family ? "" : carm_text_si(number, sizeof number, c->median, unit),
                 100.0 * c->sigma, percent(low, sizeof low, expm1(c->centre.p5 - c->centre.median)),
                 percent(high, sizeof high, expm1(c->centre.p95 - c->centre.median)));
    put_extreme(page, group, c->low, column, HOST_WIDTH);
    put_extreme(page, group, c->high, column, 0);
    (void)putchar('\n');
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
        (void)snprintf(text, sizeof text, "roofs of a level");
    } else {
        (void)snprintf(text, sizeof text, "%s %s, %d thread%s", c->roof.isa, c->roof.precision,
                       c->roof.threads, c->roof.threads == 1 ? "" : "s");
    }
    (void)carm_text_fit(clean, sizeof clean, text, NAME_WIDTH + 5, page->ascii);
    /* the set's name takes the room of the names and some of the numbers of nodes */
    const int blanks = NAME_WIDTH + 7 - (int)carm_text_width(clean);
    (void)printf("\n  %s%*s %14s %6s %7s %6s %7s %-*s %7s\n", clean, blanks > 1 ? blanks : 1, "n",
                 "median", "spread", "5%", "95%", "lowest", HOST_WIDTH, "", "highest");
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

static void put_difference(const char *what, const char *mine, const char *first, bool ascii,
                           bool *any)
{
    char a[CARM_TEXT_MAX];
    char b[CARM_TEXT_MAX];
    if (strcmp(mine, first) != 0) {
        (void)carm_text_clean(a, sizeof a, *mine ? mine : "none", ascii);
        (void)carm_text_clean(b, sizeof b, *first ? first : "none", ascii);
        carm_opt_print_wrapped(*any ? "    " : "  unlike group 1: ", 4, "%s %s, not %s", what, a,
                               b);
        *any = true;
    }
}

static void put_number(const char *what, long long mine, long long first, bool *any)
{
    char a[24];
    char b[24];
    (void)snprintf(a, sizeof a, "%lld", mine);
    (void)snprintf(b, sizeof b, "%lld", first);
    put_difference(what, a, b, true, any);
}

static void put_differences(const struct carm_fleet_page *page,
                            const struct carm_fleet_group *group)
{
    const struct carm_fleet_group *first = page->fleet->groups;
    const struct carm_fleet_machine *m = &group->machine;
    const struct carm_fleet_machine *f = &first->machine;
    char mine[2 * CARM_TEXT_NUMBER_MAX + 8];
    char other[2 * CARM_TEXT_NUMBER_MAX + 8];
    bool any = false;
    if (group == first) {
        return;
    }
    put_difference("CPU", m->cpu, f->cpu, page->ascii, &any);
    put_number("cores", m->cores, f->cores, &any);
    put_number("threads", m->threads, f->threads, &any);
    put_difference("memory", carm_fleet_memory_text(mine, sizeof mine, group),
                   carm_fleet_memory_text(other, sizeof other, first), page->ascii, &any);
    put_difference("caches", m->caches, f->caches, page->ascii, &any);
    put_difference("hypervisor", m->hypervisor, f->hypervisor, page->ascii, &any);
    put_number("page bytes", (long long)m->page_bytes, (long long)f->page_bytes, &any);
    put_difference("measured", m->isas, f->isas, page->ascii, &any);
    put_difference("by", m->quick ? "carm build --quick" : "carm build",
                   f->quick ? "carm build --quick" : "carm build", page->ascii, &any);
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
    (void)carm_text_clean(cpu, sizeof cpu, *m->cpu ? m->cpu : "unknown CPU", page->ascii);
    (void)putchar('\n');
    carm_opt_print_wrapped("", 2, "Group %zu: %zu node%s, %s, %d core%s, %d thread%s, %s", g + 1,
                           group->nnodes, group->nnodes == 1 ? "" : "s", cpu, m->cores,
                           m->cores == 1 ? "" : "s", m->threads, m->threads == 1 ? "" : "s",
                           carm_fleet_memory_text(memory, sizeof memory, group));
    (void)snprintf(rest, sizeof rest, "%s%s%s; pages of %s; %s%s",
                   *m->hypervisor ? m->hypervisor : "", *m->hypervisor ? "; " : "", m->caches,
                   carm_text_bytes(page_size, sizeof page_size, m->page_bytes), m->isas,
                   m->quick ? "; --quick" : "");
    carm_opt_print_wrapped("  ", 2, "%s", carm_text_clean(clean, sizeof clean, rest, page->ascii));
    put_differences(page, group);
    if (group->nnodes < 3) {
        carm_opt_print_wrapped("  ", 2,
                               "fewer than three nodes do not tell which is off: carm compare sets "
                               "one against the other");
    } else if (group->nnodes < CARM_FLEET_FEW) {
        carm_opt_print_wrapped("  ", 2,
                               "fewer than %d nodes do not tell their spread: what moves from run "
                               "to run on such machines is taken for it (carm compare)",
                               CARM_FLEET_FEW);
    }
    put_columns(page, group);
}

/* ---- the whole ------------------------------------------------------------------------------------ */

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
        (void)snprintf(more, sizeof more, "; %zu broken, left out", f->nbroken);
    }
    if (failed) {
        (void)snprintf(more + strlen(more), sizeof more - strlen(more), "; %zu failed row%s",
                       failed, failed == 1 ? "" : "s");
    }
    carm_opt_print_wrapped("", 2, "%zu file%s: %zu model%s of %zu node%s in %zu group%s%s",
                           f->nfiles, f->nfiles == 1 ? "" : "s", f->nrows - failed,
                           f->nrows - failed == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
                           f->ngroups, f->ngroups == 1 ? "" : "s", more);
}

void carm_fleet_put_text(const struct carm_fleet_page *page)
{
    put_summary(page);
    for (size_t g = 0; g < page->fleet->ngroups; g++) {
        if (carm_fleet_wants_group(page, g)) {
            put_group(page, g);
        }
    }
    carm_fleet_put_lists(page);
}
