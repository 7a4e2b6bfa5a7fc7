/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/fleet/hint.h"
#include "plots/page/fleet/put.h"
#include "cli/fleet/show.h"
#include "base/number.h"
#include "base/json_write.h"
#include "base/text.h"

static const double share_step = 1e-5;

/* ---- pieces --------------------------------------------------------------------------------------- */

void carm_fleet_put_member(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, ",\"%s\":", name);
    carm_json_put_string(out, text);
}

void carm_fleet_put_steps(FILE *out, double v, double step)
{
    if (isfinite(v)) {
        (void)fprintf(out, "%ld", lround(v / step));
    } else {
        (void)fputs("null", out);
    }
}

void carm_fleet_put_chance(FILE *out, double q)
{
    (void)fprintf(out, "%d", isnan(q) ? -1 : (int)lround(-100.0 * log10(fmax(q, 1e-300))));
}

static void put_number(FILE *out, const char *name, double v)
{
    char text[CARM_NUMBER_MAX];
    (void)fprintf(out, ",\"%s\":%s", name, isfinite(v) ? carm_number_exact(text, v) : "null");
}

static void put_count(FILE *out, const char *name, size_t n)
{
    (void)fprintf(out, ",\"%s\":%zu", name, n);
}

/* Strings of the pool are one pointer where they are equal. */
size_t carm_fleet_roof_of(const struct carm_fleet *fleet, const struct carm_fleet_column *column)
{
    const struct carm_fleet_roof *a = &column->roof;
    size_t i = 0;
    for (; i < fleet->nroofs && !column->family; i++) {
        const struct carm_fleet_roof *b = &fleet->roofs[i];
        if (a->name == b->name && a->isa == b->isa && a->precision == b->precision &&
            a->threads == b->threads && a->kind == b->kind && a->clock == b->clock) {
            return i;
        }
    }
    return fleet->nroofs;
}

static int by_roof(const void *key, const void *value)
{
    const size_t roof = *(const size_t *)key;
    const struct carm_fleet_value *v = value;
    return (roof > v->roof) - (roof < v->roof);
}

const struct carm_fleet_value *carm_fleet_value_of(const struct carm_fleet_row *row, size_t roof)
{
    return row->nvalues ? bsearch(&roof, row->values, row->nvalues, sizeof *row->values, by_roof)
                        : NULL;
}

/* ---- one group ------------------------------------------------------------------------------------ */

static void put_column(FILE *out, const struct carm_fleet_column *c)
{
    const struct carm_fleet_centre *centre = &c->centre;
    const struct carm_fleet_roof *r = &c->roof;
    const double none = centre->n ? 0.0 : NAN;
    (void)fprintf(out, "{\"kind\":\"%s\"",
                  c->family  ? "level"
                  : r->clock ? "clock"
                             : carm_compare_kind_name(r->kind));
    carm_fleet_put_member(out, "isa", r->isa);
    carm_fleet_put_member(out, "precision", r->precision);
    (void)fprintf(out, ",\"threads\":%d", r->threads);
    carm_fleet_put_member(out, "name", r->name);
    carm_fleet_put_member(out, "family", r->family);
    carm_fleet_put_member(out, "unit", r->unit);
    put_count(out, "n", centre->n);
    put_count(out, "disturbed", c->ndisturbed);
    put_count(out, "roofs", c->family ? c->nroofs : 1);
    put_number(out, "median", c->family ? NAN : c->median + none);
    put_number(out, "spread", c->sigma + none);
    put_number(out, "p5", expm1(centre->p5 - centre->median) + none);
    put_number(out, "p95", expm1(centre->p95 - centre->median) + none);
    (void)fprintf(out, ",\"low\":%td,\"high\":%td}", c->low, c->high);
}

static void put_machine(FILE *out, const struct carm_fleet_group *group)
{
    const struct carm_fleet_machine *m = &group->machine;
    (void)fprintf(out,
                  "\"nodes\":%zu,\"cores\":%d,\"threads\":%d,\"page_bytes\":%llu,\"memory\":[%llu,"
                  "%llu],\"quick\":%s",
                  group->nnodes, m->cores, m->threads, (unsigned long long)m->page_bytes,
                  (unsigned long long)group->memory_min, (unsigned long long)group->memory_max,
                  m->quick ? "true" : "false");
    carm_fleet_put_member(out, "cpu", m->cpu);
    carm_fleet_put_member(out, "hypervisor", m->hypervisor);
    carm_fleet_put_member(out, "caches", m->caches);
    carm_fleet_put_member(out, "isas", m->isas);
}

enum node_text { NODE_NAME, NODE_FILE, NODE_TIME };

static void put_node_texts(FILE *out, const char *name, const struct carm_fleet_report *report,
                           const struct carm_fleet_group *group, enum node_text which)
{
    char place[CARM_TEXT_MAX + 64];
    (void)fprintf(out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < group->nnodes; i++) {
        const struct carm_fleet_node *node = &group->nodes[i];
        const struct carm_fleet_row *row = &report->fleet->rows[node->rows[0]];
        const char *text = which == NODE_NAME ? node->name : row->time;
        if (which == NODE_FILE && row->line) {
            (void)snprintf(place, sizeof place, "%.*s, line %zu", CARM_TEXT_MAX, row->file,
                           row->line);
            text = place;
        } else if (which == NODE_FILE) {
            text = row->file;
        }
        (void)fputs(i ? "," : "", out);
        carm_json_put_string(out, text);
    }
    (void)fputc(']', out);
}

static void put_judged(FILE *out, const struct carm_fleet_group *group)
{
    const struct carm_fleet_table *t = &group->now;
    (void)fputs(",\n\"verdict\":\"", out); /* a letter for each; m = small */
    for (size_t i = 0; i < t->n; i++) {
        (void)fputc(".umsf"[t->judged[i].verdict], out);
    }
    (void)fputs("\",\n\"worst\":[", out);
    for (size_t i = 0; i < t->n; i++) {
        (void)fprintf(out, "%s%td", i ? "," : "", t->judged[i].worst);
    }
    (void)fputs("],\n\"chance\":[", out);
    for (size_t i = 0; i < t->n; i++) {
        (void)fputs(i ? "," : "", out);
        carm_fleet_put_chance(out, t->judged[i].q);
    }
    (void)fputs("],\n\"hints\":[", out);
    for (size_t i = 0; i < t->n; i++) {
        (void)fputs(i ? "," : "", out);
        carm_json_put_string(out, carm_fleet_hint(t, i));
    }
    (void)fputc(']', out);
}

enum cell { CELL_SHARE, CELL_OWN, CELL_Z, CELL_Q };

static void put_cell(FILE *out, enum cell which, const struct carm_fleet_test *test,
                     const struct carm_fleet_row *row, size_t roof)
{
    if (which == CELL_Q) {
        carm_fleet_put_chance(out, test->q);
    } else if (which == CELL_SHARE) {
        carm_fleet_put_steps(out, test->share, share_step);
    } else if (which == CELL_Z) {
        carm_fleet_put_steps(out, test->z, 1e-2);
    } else {
        const struct carm_fleet_value *v = carm_fleet_value_of(row, roof);
        carm_fleet_put_steps(out, v ? (double)v->own : NAN, share_step);
    }
}

/* roofs  [ncolumns] index of each */
static void put_cells(FILE *out, const char *name, enum cell which,
                      const struct carm_fleet_report *report, const struct carm_fleet_group *group,
                      const size_t *roofs)
{
    const struct carm_fleet_table *t = &group->now;
    (void)fprintf(out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < t->n; i++) {
        const struct carm_fleet_row *row = &report->fleet->rows[group->nodes[i].rows[0]];
        for (size_t j = 0; j < t->ncolumns; j++) {
            (void)fputs(i || j ? "," : "", out);
            put_cell(out, which, carm_fleet_test_of(t, i, j), row, roofs[j]);
        }
    }
    (void)fputc(']', out);
}

static void put_states(FILE *out, const struct carm_fleet_table *t)
{
    (void)fputs(",\n\"state\":\"", out);
    for (size_t k = 0; k < t->n * t->ncolumns; k++) {
        const struct carm_fleet_test *test = &t->tests[k];
        (void)fputc('0' + (isnan(test->share) ? 0 : 1) + (test->disturbed ? 2 : 0) +
                        (test->flagged ? 4 : 0),
                    out);
    }
    (void)fputc('"', out);
}

static int put_group(FILE *out, const struct carm_fleet_report *report,
                     const struct carm_fleet_group *group, struct carm_err *err)
{
    const struct carm_fleet_table *t = &group->now;
    size_t *roofs = calloc(t->ncolumns + 1, sizeof *roofs);
    if (!roofs) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    (void)fputc('{', out);
    put_machine(out, group);
    (void)fputs(",\n\"columns\":[", out);
    for (size_t j = 0; j < t->ncolumns; j++) {
        roofs[j] = carm_fleet_roof_of(report->fleet, &t->columns[j]);
        (void)fputs(j ? ",\n " : "\n ", out);
        put_column(out, &t->columns[j]);
    }
    (void)fputc(']', out);
    put_node_texts(out, "names", report, group, NODE_NAME);
    put_node_texts(out, "files", report, group, NODE_FILE);
    put_node_texts(out, "times", report, group, NODE_TIME);
    put_judged(out, group);
    put_cells(out, "share", CELL_SHARE, report, group, roofs);
    put_cells(out, "own", CELL_OWN, report, group, roofs);
    put_cells(out, "z", CELL_Z, report, group, roofs);
    put_cells(out, "q", CELL_Q, report, group, roofs);
    put_states(out, t);
    carm_fleet_put_history(out, report, group);
    (void)fputc('}', out);
    free(roofs);
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static void put_counts(FILE *out, const struct carm_fleet_report *report)
{
    const struct carm_fleet *f = report->fleet;
    (void)fprintf(out, ",\n\"counts\":{\"files\":%zu", f->nfiles);
    put_count(out, "models", f->nrows - carm_fleet_count_failed(f));
    put_count(out, "judged", f->njudged);
    put_count(out, "drifting", f->ndrifting);
    put_number(out, "fdr", report->options.fdr);
    put_number(out, "least", report->options.min_share);
    put_number(out, "suspect", CARM_FLEET_SUSPECT);
    put_count(out, "few", CARM_FLEET_FEW);
    (void)fputc('}', out);
}

static void put_failed(FILE *out, const struct carm_fleet *f)
{
    bool first = true;
    (void)fputs(",\n\"failed\":[", out);
    for (size_t i = 0; i < f->nrows; i++) {
        const struct carm_fleet_row *row = &f->rows[i];
        if (row->machine >= 0) {
            continue;
        }
        (void)fprintf(out, "%s{\"line\":%zu,\"rank\":%d", first ? "\n " : ",\n ", row->line,
                      row->rank);
        carm_fleet_put_member(out, "host", row->host);
        carm_fleet_put_member(out, "job", row->job);
        carm_fleet_put_member(out, "time", row->time);
        carm_fleet_put_member(out, "status", row->status);
        carm_fleet_put_member(out, "reason", row->reason);
        carm_fleet_put_member(out, "file", row->file);
        (void)fputc('}', out);
        first = false;
    }
    (void)fputs("],\n\"broken\":[", out);
    for (size_t i = 0; i < f->nbroken; i++) {
        (void)fprintf(out, "%s{\"line\":%zu", i ? ",\n " : "\n ", f->broken[i].line);
        carm_fleet_put_member(out, "file", f->broken[i].file);
        carm_fleet_put_member(out, "reason", f->broken[i].reason);
        (void)fputc('}', out);
    }
    (void)fputs("],\n\"notes\":[", out);
    for (size_t i = 0; i < f->nnotes; i++) {
        (void)fputs(i ? ",\n " : "\n ", out);
        carm_json_put_string(out, f->notes[i]);
    }
    (void)fputc(']', out);
}

static int put_object(FILE *out, const struct carm_fleet_report *report, struct carm_err *err)
{
    char now[CARM_NAME_MAX];
    int rc = 0;
    (void)fputs("{\"schema\":\"carm-fleet-page/1\"", out);
    carm_fleet_put_member(out, "title", report->title ? report->title : "");
    carm_fleet_put_member(out, "generated", carm_text_now(now, sizeof now));
    carm_fleet_put_member(out, "version", CARM_VERSION);
    put_counts(out, report);
    put_failed(out, report->fleet);
    (void)fputs(",\n\"groups\":[", out);
    for (size_t g = 0; g < report->fleet->ngroups && rc == 0; g++) {
        (void)fputs(g ? ",\n" : "\n", out);
        rc = put_group(out, report, &report->fleet->groups[g], err);
    }
    (void)fputs("]}\n", out);
    return rc;
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
    int rc = put_object(out, report, err);
    const bool bad = ferror(out) != 0;
    if ((fclose(out) != 0 || bad) && !rc) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    if (rc) {
        free(data);
        return rc;
    }
    *text = data;
    return 0;
}
