/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fleet as one JSON object. It is written piece by piece, a line for each roof and node: as one tree,
 * a hundred thousand nodes would take gigabytes. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "cli/fleet/show.h"

struct writer {
    const struct carm_fleet_page *page;
    struct carm_err *err;
    int rc;
};

/* Writes and releases an object. Characters beyond ASCII are escaped, so that names cannot send
 * control sequences to a terminal. */
static void put(struct writer *w, const char *before, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    json_decref(o);
    if (text) {
        printf("%s%s", before, text);
    } else if (!w->rc) {
        w->rc = carm_fail(w->err, CARM_ENOMEM, "not enough memory for the fleet as JSON");
    }
    free(text);
}

static bool name_node(json_t *o, const char *name, const struct carm_fleet_group *group,
                      ptrdiff_t node)
{
    return node < 0 ? carm_jwrite_value(o, name, json_null())
                    : carm_jwrite_text(o, name, group->nodes[node].name);
}

static bool name_column(json_t *o, const struct carm_fleet_column *c)
{
    return carm_jwrite_text_or_null(o, "isa", c->roof.isa) &&
           carm_jwrite_text_or_null(o, "precision", c->roof.precision) &&
           carm_jwrite_count_or_null(o, "threads", (uint64_t)c->roof.threads) &&
           carm_jwrite_text(o, "kind", carm_fleet_kind_name(c)) &&
           carm_jwrite_text(o, "name", c->roof.name);
}

static json_t *make_extreme(const struct carm_fleet_group *group, size_t j, ptrdiff_t node)
{
    json_t *o = json_object();
    const bool ok =
        name_node(o, "node", group, node) &&
        carm_jwrite_number(
            o, "off",
            node < 0 ? NAN : (double)carm_fleet_test_of(&group->now, (size_t)node, j)->share);
    return carm_jwrite_done(o, ok);
}

static json_t *make_column(const struct carm_fleet_group *group, size_t j)
{
    const struct carm_fleet_column *c = &group->now.columns[j];
    const struct carm_fleet_centre *centre = &c->centre;
    const bool some = centre->n > 0;
    json_t *o = json_object();
    const bool ok =
        name_column(o, c) && carm_jwrite_text_or_null(o, "unit", c->roof.unit) &&
        carm_jwrite_count(o, "n", centre->n) && carm_jwrite_count(o, "disturbed", c->ndisturbed) &&
        carm_jwrite_number(o, "median", some && !c->family ? c->median : NAN) &&
        carm_jwrite_number(o, "spread", some ? c->sigma : NAN) &&
        carm_jwrite_number(o, "p5", some ? expm1(centre->p5 - centre->median) : NAN) &&
        carm_jwrite_number(o, "p95", some ? expm1(centre->p95 - centre->median) : NAN) &&
        carm_jwrite_value(o, "lowest", make_extreme(group, j, c->low)) &&
        carm_jwrite_value(o, "highest", make_extreme(group, j, c->high)) &&
        carm_jwrite_number(o, "correlation", c->family ? c->correlation : NAN);
    return carm_jwrite_done(o, ok);
}

static json_t *make_shift(const struct carm_fleet_column *c)
{
    json_t *o = json_object();
    const bool ok = name_column(o, c) && carm_jwrite_count(o, "n", c->centre.n) &&
                    carm_jwrite_number(o, "change", expm1(c->centre.median)) &&
                    carm_jwrite_number(o, "p", carm_fleet_shift_p(c));
    return carm_jwrite_done(o, ok);
}

static json_t *make_group(const struct carm_fleet_group *group, size_t g)
{
    const struct carm_fleet_machine *m = &group->machine;
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_count(o, "group", g + 1) && carm_jwrite_count(o, "nodes", group->nnodes) &&
        carm_jwrite_text(o, "cpu", m->cpu) &&
        carm_jwrite_text_or_null(o, "hypervisor", m->hypervisor) &&
        carm_jwrite_int(o, "cores", m->cores) && carm_jwrite_int(o, "threads", m->threads) &&
        carm_jwrite_count(o, "memory_bytes_min", group->memory_min) &&
        carm_jwrite_count(o, "memory_bytes_max", group->memory_max) &&
        carm_jwrite_count(o, "page_bytes", m->page_bytes) &&
        carm_jwrite_text(o, "caches", m->caches) && carm_jwrite_text(o, "isas", m->isas) &&
        carm_jwrite_bool(o, "quick", m->quick);
    return carm_jwrite_done(o, ok);
}

/* Writes one of several objects, with a comma between them. */
static void put_item(struct writer *w, bool *first, json_t *o)
{
    put(w, *first ? "\n  " : ",\n  ", o);
    *first = false;
}

static void put_columns(struct writer *w, size_t g)
{
    const struct carm_fleet_group *group = &w->page->fleet->groups[g];
    bool first = true;
    printf("{\"group\":%zu,\"roofs\":[", g + 1);
    for (size_t j = 0; j < group->now.ncolumns; j++) {
        if (carm_fleet_wants_column(w->page, &group->now.columns[j])) {
            put_item(w, &first, make_column(group, j));
        }
    }
    first = true;
    printf("],\"changes\":[");
    for (size_t j = 0; j < group->drift.ncolumns; j++) {
        if (carm_fleet_wants_column(w->page, &group->drift.columns[j])) {
            put_item(w, &first, make_shift(&group->drift.columns[j]));
        }
    }
    printf("]}");
}

static json_t *make_flag(const struct carm_fleet_table *t, size_t i, size_t j)
{
    const struct carm_fleet_test *test = carm_fleet_test_of(t, i, j);
    json_t *o = json_object();
    const bool ok = name_column(o, &t->columns[j]) && carm_jwrite_number(o, "off", test->share) &&
                    carm_jwrite_number(o, "z", test->z) && carm_jwrite_number(o, "p", test->p) &&
                    carm_jwrite_number(o, "q", test->q) &&
                    carm_jwrite_bool(o, "flagged", test->flagged);
    return carm_jwrite_done(o, ok);
}

/* The flagged roofs of a node; of a suspect the most certain roof. */
static json_t *make_flags(const struct carm_fleet_page *page, const struct carm_fleet_table *t,
                          size_t i)
{
    json_t *array = json_array();
    for (size_t j = 0; array && j < t->ncolumns; j++) {
        const bool mine =
            carm_fleet_test_of(t, i, j)->flagged || t->judged[i].worst == (ptrdiff_t)j;
        if (mine && carm_fleet_wants_column(page, &t->columns[j]) &&
            json_array_append_new(array, make_flag(t, i, j)) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *make_verdict(const struct carm_fleet_page *page, const struct carm_fleet_table *t,
                            size_t i)
{
    json_t *o = json_object();
    const bool ok = carm_jwrite_text(o, "verdict", carm_fleet_verdict_name(t->judged[i].verdict)) &&
                    carm_jwrite_number(o, "p", t->judged[i].p) &&
                    carm_jwrite_number(o, "q", t->judged[i].q) &&
                    carm_jwrite_value(o, "roofs", make_flags(page, t, i));
    return carm_jwrite_done(o, ok);
}

static json_t *make_node(const struct carm_fleet_page *page, size_t g, size_t i)
{
    const struct carm_fleet_group *group = &page->fleet->groups[g];
    const struct carm_fleet_node *node = &group->nodes[i];
    const struct carm_fleet_row *row = &page->fleet->rows[node->rows[0]];
    const struct carm_fleet_row *oldest = &page->fleet->rows[node->rows[node->nrows - 1]];
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_text(o, "node", node->name) && carm_jwrite_count(o, "group", g + 1) &&
        carm_jwrite_text(o, "file", row->file) && carm_jwrite_count_or_null(o, "line", row->line) &&
        carm_jwrite_text_or_null(o, "time", row->time) &&
        carm_jwrite_count(o, "earlier", node->nrows - 1) &&
        carm_jwrite_text_or_null(o, "since", node->nrows > 1 ? oldest->time : "") &&
        carm_jwrite_value(o, "judged", make_verdict(page, &group->now, i)) &&
        carm_jwrite_value(o, "change",
                          node->drift < 0 ? json_null()
                                          : make_verdict(page, &group->drift, (size_t)node->drift));
    return carm_jwrite_done(o, ok);
}

static json_t *make_failed(const struct carm_fleet_row *row)
{
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_text(o, "host", row->host) && carm_jwrite_text_or_null(o, "job", row->job) &&
        carm_jwrite_value(o, "rank", row->rank < 0 ? json_null() : json_integer(row->rank)) &&
        carm_jwrite_text_or_null(o, "time", row->time) &&
        carm_jwrite_text(o, "status", row->status) && carm_jwrite_text(o, "reason", row->reason) &&
        carm_jwrite_text(o, "file", row->file) && carm_jwrite_count_or_null(o, "line", row->line);
    return carm_jwrite_done(o, ok);
}

static json_t *make_broken(const struct carm_fleet_broken *b)
{
    json_t *o = json_object();
    const bool ok = carm_jwrite_text(o, "file", b->file) &&
                    carm_jwrite_count_or_null(o, "line", b->line) &&
                    carm_jwrite_text(o, "reason", b->reason);
    return carm_jwrite_done(o, ok);
}

static json_t *make_note(const char *text)
{
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_text(o, "text", text));
}

static json_t *make_counts(const struct carm_fleet_page *page)
{
    const struct carm_fleet *f = page->fleet;
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_count(o, "files", f->nfiles) &&
        carm_jwrite_count(o, "models", f->nrows - carm_fleet_count_failed(f)) &&
        carm_jwrite_count(o, "judged", f->njudged) &&
        carm_jwrite_number(o, "fdr", page->options.fdr) &&
        carm_jwrite_number(o, "least_difference", page->options.min_share) &&
        carm_jwrite_count(o, "slow", carm_fleet_count(f, false, CARM_FLEET_SLOW)) &&
        carm_jwrite_count(o, "fast", carm_fleet_count(f, false, CARM_FLEET_FAST)) &&
        carm_jwrite_count(o, "suspects", carm_fleet_count(f, false, CARM_FLEET_SUSPECT_NODE)) &&
        carm_jwrite_count(o, "small", carm_fleet_count(f, false, CARM_FLEET_SMALL));
    return carm_jwrite_done(o, ok);
}

static void put_nodes(struct writer *w)
{
    const struct carm_fleet *f = w->page->fleet;
    bool first = true;
    for (size_t g = 0; g < f->ngroups; g++) {
        for (size_t i = 0; i < f->groups[g].nnodes && carm_fleet_wants_group(w->page, g); i++) {
            put_item(w, &first, make_node(w->page, g, i));
        }
    }
}

static void put_rest(struct writer *w)
{
    const struct carm_fleet *f = w->page->fleet;
    bool first = true;
    printf("],\n \"failed\":[");
    for (size_t i = 0; i < f->nrows; i++) {
        if (f->rows[i].machine < 0) {
            put_item(w, &first, make_failed(&f->rows[i]));
        }
    }
    printf("],\n \"broken\":[");
    first = true;
    for (size_t i = 0; i < f->nbroken; i++) {
        put_item(w, &first, make_broken(&f->broken[i]));
    }
    printf("],\n \"notes\":[");
    first = true;
    for (size_t i = 0; i < f->nnotes; i++) {
        put_item(w, &first, make_note(f->notes[i]));
    }
    printf("]}\n");
}

int carm_fleet_put_json(const struct carm_fleet_page *page, struct carm_err *err)
{
    struct writer w = {page, err, 0};
    const struct carm_fleet *f = page->fleet;
    bool first = true;
    printf("{\"schema\":\"carm-fleet-show/1\",\n");
    put(&w, " \"counts\":", make_counts(page));
    printf(",\n \"groups\":[");
    for (size_t g = 0; g < f->ngroups; g++) {
        if (carm_fleet_wants_group(page, g)) {
            put_item(&w, &first, make_group(&f->groups[g], g));
        }
    }
    printf("],\n \"columns\":[");
    first = true;
    for (size_t g = 0; g < f->ngroups; g++) {
        if (carm_fleet_wants_group(page, g)) {
            printf("%s", first ? "\n " : ",\n ");
            first = false;
            put_columns(&w, g);
        }
    }
    printf("],\n \"nodes\":[");
    put_nodes(&w);
    put_rest(&w);
    return w.rc;
}
