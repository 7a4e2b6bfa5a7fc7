/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/page/fleet/data.h"

#include <math.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "base/number.h"
#include "base/text.h"
#include "base/version.h"

/* a tenth of the last digit that the page shows: 0.01% */
static const double share_step = 1e-5;

static void put_member(FILE *out, const char *name, const char *text)
{
    fprintf(out, ",\"%s\":", name);
    carm_json_put_string(out, text);
}

static void put_steps(FILE *out, double v, double step)
{
    if (isfinite(v)) {
        fprintf(out, "%ld", lround(v / step));
    } else {
        fputs("null", out);
    }
}

static void put_chance(FILE *out, double q)
{
    fprintf(out, "%d", isnan(q) ? -1 : (int)lround(-100.0 * log10(fmax(q, 1e-300))));
}

static void put_number(FILE *out, const char *name, double v)
{
    char text[CARM_NUMBER_MAX];
    fprintf(out, ",\"%s\":%s", name, isfinite(v) ? carm_number_exact(text, v) : "null");
}

static void put_count(FILE *out, const char *name, size_t n)
{
    fprintf(out, ",\"%s\":%zu", name, n);
}

/* Limits of a group's values of earlier models on a page, and of models of one node: the oldest are left out. Chosen by
 * hand. */
enum { VALUES_MOST = 1500000, MODELS_MOST = 64, MODELS_LEAST = 2 };

static size_t models_most(const struct carm_fleet_group *group)
{
    const size_t each = group->drift.n * group->now.ncolumns;
    const size_t most = each ? VALUES_MOST / each : 0;
    return most < MODELS_LEAST ? MODELS_LEAST : most > MODELS_MOST ? MODELS_MOST : most;
}

/* Writes a model's roofs relative to the median of the group's newest models. */
static void put_model(FILE *out, const struct carm_fleet_group *group,
                      const struct carm_fleet_row *row)
{
    bool first = true;
    carm_json_put_string(out, row->time);
    fputs(",[", out);
    for (size_t j = 0; j < group->now.ncolumns; j++) {
        const struct carm_fleet_column *c = &group->now.columns[j];
        if (c->family) {
            continue;
        }
        const struct carm_fleet_value *v = carm_fleet_value_of(row, c->roof.index);
        fputs(first ? "" : ",", out);
        first = false;
        put_steps(out, v && c->median > 0.0 ? (double)v->rate / c->median - 1.0 : NAN, share_step);
    }
    fputc(']', out);
}

/* Writes "history": [[node, number of models, [time, [share by column]], ...], ...], newest
 * first */
static void put_models(FILE *out, const struct carm_fleet *fleet,
                       const struct carm_fleet_group *group)
{
    const size_t most = models_most(group);
    bool first = true;
    fputs(",\n\"history\":[", out);
    for (size_t i = 0; i < group->nnodes; i++) {
        const struct carm_fleet_node *node = &group->nodes[i];
        if (node->nrows < 2) {
            continue;
        }
        fprintf(out, "%s[%zu,%zu", first ? "\n " : ",\n ", i, node->nrows);
        first = false;
        for (size_t k = 0; k < node->nrows && k < most; k++) {
            fputs(",[", out);
            put_model(out, group, &fleet->rows[node->rows[k]]);
            fputc(']', out);
        }
        fputc(']', out);
    }
    fputc(']', out);
}

static void put_label(FILE *out, const struct carm_fleet_column *c)
{
    char label[CARM_FLEET_LABEL_MAX];
    put_member(out, "roof", carm_fleet_label(label, sizeof label, c, false));
}

/* Writes the nodes whose own change is an outlier or suspect. */
static void put_drift(FILE *out, const struct carm_fleet_group *group)
{
    const struct carm_fleet_table *t = &group->drift;
    bool first = true;
    fputs(",\n\"drift\":[", out);
    for (size_t i = 0; i < t->n; i++) {
        const struct carm_fleet_judged *judged = &t->judged[i];
        if (judged->verdict == CARM_FLEET_SOUND || judged->worst < 0) {
            continue;
        }
        const struct carm_fleet_test *test = carm_fleet_test_of(t, i, (size_t)judged->worst);
        fprintf(out, "%s{\"node\":%zu,\"verdict\":\"%c\",\"chance\":", first ? "\n " : ",\n ",
                group->drifting[i], ".umsf"[judged->verdict]);
        put_chance(out, isnan(test->q) ? (double)test->p : (double)test->q);
        fputs(",\"share\":", out);
        put_steps(out, test->share, share_step);
        fputs(",\"z\":", out);
        put_steps(out, test->z, 1e-2);
        put_label(out, &t->columns[judged->worst]);
        fputc('}', out);
        first = false;
    }
    fputc(']', out);
}

/* Writes the changes that the group's nodes share, as in carm fleet show. */
static void put_shifts(FILE *out, const struct carm_fleet_report *report,
                       const struct carm_fleet_group *group)
{
    const struct carm_fleet_table *t = &group->drift;
    bool first = true;
    fputs(",\n\"shifts\":[", out);
    for (size_t j = 0; j < t->ncolumns; j++) {
        const struct carm_fleet_column *c = &t->columns[j];
        if (!carm_fleet_shifted(t, j, &report->options)) {
            continue;
        }
        fprintf(out, "%s{\"n\":%zu,\"share\":", first ? "\n " : ",\n ", c->centre.n);
        put_steps(out, expm1(c->centre.median), share_step);
        put_label(out, c);
        fputc('}', out);
        first = false;
    }
    fputc(']', out);
}

static void put_history(FILE *out, const struct carm_fleet_report *report,
                        const struct carm_fleet_group *group)
{
    put_models(out, report->fleet, group);
    put_drift(out, group);
    put_shifts(out, report, group);
}

static void put_column(FILE *out, const struct carm_fleet_column *c)
{
    const struct carm_fleet_centre *centre = &c->centre;
    const struct carm_fleet_roof *r = &c->roof;
    const double none = centre->n ? 0.0 : NAN;
    fprintf(out, "{\"kind\":\"%s\"", carm_fleet_kind_name(c));
    put_member(out, "isa", r->isa);
    put_member(out, "precision", r->precision);
    fprintf(out, ",\"threads\":%d", r->threads);
    put_member(out, "name", r->name);
    put_member(out, "family", r->family);
    put_member(out, "unit", r->unit);
    put_count(out, "n", centre->n);
    put_count(out, "disturbed", c->ndisturbed);
    put_count(out, "roofs", c->family ? c->nroofs : 1);
    put_number(out, "median", c->family ? NAN : c->median + none);
    put_number(out, "spread", c->sigma + none);
    put_number(out, "p5", expm1(centre->p5 - centre->median) + none);
    put_number(out, "p95", expm1(centre->p95 - centre->median) + none);
    fprintf(out, ",\"low\":%td,\"high\":%td}", c->low, c->high);
}

static void put_machine(FILE *out, const struct carm_fleet_group *group)
{
    const struct carm_fleet_machine *m = &group->machine;
    fprintf(out,
            "\"nodes\":%zu,\"cores\":%d,\"threads\":%d,\"page_bytes\":%llu,\"memory\":[%llu,"
            "%llu],\"quick\":%s",
            group->nnodes, m->cores, m->threads, (unsigned long long)m->page_bytes,
            (unsigned long long)group->memory_min, (unsigned long long)group->memory_max,
            m->quick ? "true" : "false");
    put_member(out, "cpu", m->cpu);
    put_member(out, "hypervisor", m->hypervisor);
    put_member(out, "caches", m->caches);
    put_member(out, "isas", m->isas);
}

enum node_text { NODE_NAME, NODE_FILE, NODE_TIME };

static void put_node_texts(FILE *out, const char *name, const struct carm_fleet_report *report,
                           const struct carm_fleet_group *group, enum node_text which)
{
    char place[CARM_TEXT_MAX + 64];
    fprintf(out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < group->nnodes; i++) {
        const struct carm_fleet_node *node = &group->nodes[i];
        const struct carm_fleet_row *row = &report->fleet->rows[node->rows[0]];
        const char *text = which == NODE_NAME ? node->name : row->time;
        if (which == NODE_FILE && row->line) {
            snprintf(place, sizeof place, "%.*s, line %zu", CARM_TEXT_MAX, row->file, row->line);
            text = place;
        } else if (which == NODE_FILE) {
            text = row->file;
        }
        fputs(i ? "," : "", out);
        carm_json_put_string(out, text);
    }
    fputc(']', out);
}

static void put_judged(FILE *out, const struct carm_fleet_group *group)
{
    const struct carm_fleet_table *t = &group->now;
    fputs(",\n\"verdict\":\"", out); /* a letter for each node; m = small */
    for (size_t i = 0; i < t->n; i++) {
        fputc(".umsf"[t->judged[i].verdict], out);
    }
    fputs("\",\n\"worst\":[", out);
    for (size_t i = 0; i < t->n; i++) {
        fprintf(out, "%s%td", i ? "," : "", t->judged[i].worst);
    }
    fputs("],\n\"chance\":[", out);
    for (size_t i = 0; i < t->n; i++) {
        fputs(i ? "," : "", out);
        put_chance(out, t->judged[i].q);
    }
    fputs("],\n\"hints\":[", out);
    for (size_t i = 0; i < t->n; i++) {
        fputs(i ? "," : "", out);
        carm_json_put_string(out, carm_fleet_hint(t, i));
    }
    fputc(']', out);
}

enum cell { CELL_SHARE, CELL_OWN, CELL_Z, CELL_Q };

static void put_cell(FILE *out, enum cell which, const struct carm_fleet_test *test,
                     const struct carm_fleet_row *row, const struct carm_fleet_column *c)
{
    if (which == CELL_Q) {
        put_chance(out, test->q);
    } else if (which == CELL_SHARE) {
        put_steps(out, test->share, share_step);
    } else if (which == CELL_Z) {
        put_steps(out, test->z, 1e-2);
    } else {
        const struct carm_fleet_value *v =
            c->family ? NULL : carm_fleet_value_of(row, c->roof.index);
        put_steps(out, v ? (double)v->own : NAN, share_step);
    }
}

static void put_cells(FILE *out, const char *name, enum cell which,
                      const struct carm_fleet_report *report, const struct carm_fleet_group *group)
{
    const struct carm_fleet_table *t = &group->now;
    fprintf(out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < t->n; i++) {
        const struct carm_fleet_row *row = &report->fleet->rows[group->nodes[i].rows[0]];
        for (size_t j = 0; j < t->ncolumns; j++) {
            fputs(i || j ? "," : "", out);
            put_cell(out, which, carm_fleet_test_of(t, i, j), row, &t->columns[j]);
        }
    }
    fputc(']', out);
}

static void put_states(FILE *out, const struct carm_fleet_table *t)
{
    fputs(",\n\"state\":\"", out);
    for (size_t k = 0; k < t->n * t->ncolumns; k++) {
        const struct carm_fleet_test *test = &t->tests[k];
        fputc('0' + (isnan(test->share) ? 0 : 1) + (test->disturbed ? 2 : 0) +
                  (test->flagged ? 4 : 0),
              out);
    }
    fputc('"', out);
}

static void put_group(FILE *out, const struct carm_fleet_report *report,
                      const struct carm_fleet_group *group)
{
    const struct carm_fleet_table *t = &group->now;
    fputc('{', out);
    put_machine(out, group);
    fputs(",\n\"columns\":[", out);
    for (size_t j = 0; j < t->ncolumns; j++) {
        fputs(j ? ",\n " : "\n ", out);
        put_column(out, &t->columns[j]);
    }
    fputc(']', out);
    put_node_texts(out, "names", report, group, NODE_NAME);
    put_node_texts(out, "files", report, group, NODE_FILE);
    put_node_texts(out, "times", report, group, NODE_TIME);
    put_judged(out, group);
    put_cells(out, "share", CELL_SHARE, report, group);
    put_cells(out, "own", CELL_OWN, report, group);
    put_cells(out, "z", CELL_Z, report, group);
    put_cells(out, "q", CELL_Q, report, group);
    put_states(out, t);
    put_history(out, report, group);
    fputc('}', out);
}

static void put_counts(FILE *out, const struct carm_fleet_report *report)
{
    const struct carm_fleet *f = report->fleet;
    fprintf(out, ",\n\"counts\":{\"files\":%zu", f->nfiles);
    put_count(out, "models", f->nrows - carm_fleet_count_failed(f));
    put_count(out, "judged", f->njudged);
    put_count(out, "drifting", f->ndrifting);
    put_number(out, "fdr", report->options.fdr);
    put_number(out, "least", report->options.min_share);
    put_number(out, "suspect", CARM_FLEET_SUSPECT);
    put_count(out, "few", CARM_FLEET_FEW);
    fputc('}', out);
}

static void put_failed(FILE *out, const struct carm_fleet *f)
{
    bool first = true;
    fputs(",\n\"failed\":[", out);
    for (size_t i = 0; i < f->nrows; i++) {
        const struct carm_fleet_row *row = &f->rows[i];
        if (row->machine >= 0) {
            continue;
        }
        fprintf(out, "%s{\"line\":%zu,\"rank\":%d", first ? "\n " : ",\n ", row->line, row->rank);
        put_member(out, "host", row->host);
        put_member(out, "job", row->job);
        put_member(out, "time", row->time);
        put_member(out, "status", row->status);
        put_member(out, "reason", row->reason);
        put_member(out, "file", row->file);
        fputc('}', out);
        first = false;
    }
    fputs("],\n\"broken\":[", out);
    for (size_t i = 0; i < f->nbroken; i++) {
        fprintf(out, "%s{\"line\":%zu", i ? ",\n " : "\n ", f->broken[i].line);
        put_member(out, "file", f->broken[i].file);
        put_member(out, "reason", f->broken[i].reason);
        fputc('}', out);
    }
    fputs("],\n\"notes\":[", out);
    for (size_t i = 0; i < f->nnotes; i++) {
        fputs(i ? ",\n " : "\n ", out);
        carm_json_put_string(out, f->notes[i]);
    }
    fputc(']', out);
}

static void put_object(FILE *out, const struct carm_fleet_report *report)
{
    char now[CARM_NAME_MAX];
    fputs("{\"schema\":\"carm-fleet-page/1\"", out);
    put_member(out, "title", report->title ? report->title : "");
    put_member(out, "generated", carm_text_now(now, sizeof now));
    put_member(out, "version", carm_version);
    put_counts(out, report);
    put_failed(out, report->fleet);
    fputs(",\n\"groups\":[", out);
    for (size_t g = 0; g < report->fleet->ngroups; g++) {
        fputs(g ? ",\n" : "\n", out);
        put_group(out, report, &report->fleet->groups[g]);
    }
    fputs("]}\n", out);
}

int carm_fleet_report_data(const struct carm_fleet_report *report, char **text,
                           struct carm_err *err)
{
    char *data = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&data, &size);
    *text = NULL;
    if (!out) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    put_object(out, report);
    const bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad) {
        free(data);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    *text = data;
    return 0;
}
